# SPDX-License-Identifier: BSD-3-Clause
"""Files that are replaced, truncated and rewritten in place while others read them: random
interleavings on two nodes, each read compared with a read without the cache at the same moment.

Writers of the job (seen): every read gives what the kernel would give, at once, on all nodes.
Writers elsewhere (unseen): a file that was opened after the writer had closed it is read as it is;
one that was open before has, byte by byte, what it had when it was opened, or what it has.
CACHE_INTERLEAVINGS: how many, of both kinds together."""

import itertools
import os
import random
import time

import actor
import cache_harness as harness

COUNT = int(os.environ.get("CACHE_INTERLEAVINGS", "500"))
SEED = int(os.environ.get("CACHE_SEED", "7"))
STEPS = 16
ACTORS = harness.ACTORS
LENGTH_MAX = 40000
KINDS = ("rewrite", "overwrite", "truncate", "append", "replace", "again")


def is_made_of(have, allowed):
    """Whether it is as long as one of them, and each byte is that of one of them at its place."""
    if have in allowed:
        return True
    if len(have) not in map(len, allowed):
        return False
    return all(any(text[k:k + 1] == byte for text in allowed) for k, byte in enumerate(have))


def summary(text):
    """Runs of one letter, as 12a7b."""
    return "".join(f"{len(list(run))}{letter}" for letter, run in itertools.groupby(text))


class Coherence(harness.ActorsTest):
    def setUp(self):
        super().setUp()
        self.data.mkdir()
        self.chance = random.Random(SEED)
        self.shadows = {}  # our own descriptors, for the same keys as the actors'

    def contents(self):
        letter = self.chance.choice("abcdefghijklmnopqrstuvwxyz")
        return letter * self.chance.randrange(1, LENGTH_MAX)

    # ---- One interleaving ---------------------------------------------------------------------

    def reader_opens(self, state):
        key, which = f"{state['path']}:{state['serial']}", self.chance.randrange(ACTORS)
        state["serial"] += 1
        have = self.tell(which, "open", key, state["path"], "read")
        want = actor.answer(self.shadows, ("open", key, state["path"], "read"))
        self.assertEqual(have, want)
        if want == "opened":
            state["readers"].append((which, key, len(state["versions"]) - 1))

    def reader_reads(self, state):
        if not state["readers"]:
            return
        which, key, version = self.chance.choice(state["readers"])
        place = self.chance.randrange(LENGTH_MAX)
        call = ("pread", key, self.chance.choice((1, 4096, LENGTH_MAX)),
                self.chance.choice((0, place)))
        have, want = self.tell(which, *call), actor.answer(self.shadows, call)
        allowed = [want]
        if state["unseen"]:
            allowed += [text[call[3]:call[3] + call[2]] for text in state["versions"][version:-1]]
        if not is_made_of(have, allowed):
            self.fail(f"{state['path']}: pread of {call[2:]} gave {summary(have)}, not "
                      f"{[summary(text) for text in allowed]}; changes: {state['log']}")

    def reader_closes(self, state):
        if state["readers"]:
            which, key, _ = state["readers"].pop(self.chance.randrange(len(state["readers"])))
            self.tell(which, "close", key)
            actor.answer(self.shadows, ("close", key))

    def change(self, state):
        """A writer's calls, in one go: by an actor, or by ourselves."""
        which = self.chance.randrange(ACTORS)
        if state["unseen"]:
            own = {}
            call = lambda *words: actor.answer(own, words)  # noqa: E731
        else:
            call = lambda *words: self.tell(which, *words)  # noqa: E731
        kind = self.chance.choice(KINDS)
        state["log"].append((kind, which))
        path, text = state["path"], self.contents()
        if kind == "truncate":
            call("truncate", path, self.chance.randrange(LENGTH_MAX))
        elif kind in ("replace", "again"):
            call("open", "w", path + ".new", "create")
            call("write", "w", text)
            call("close", "w")
            if kind == "again":
                call("unlink", path)
            call("rename", path + ".new", path)
        else:
            ways = {"rewrite": "truncate", "append": "append", "overwrite": "write"}
            call("open", "w", path, ways[kind])
            if not state["unseen"]:
                self.reader_reads(state)  # in the midst of it
            if kind == "overwrite":
                call("pwrite", "w", text, self.chance.randrange(LENGTH_MAX))
            else:
                call("write", "w", text)
            if not state["unseen"]:
                self.reader_reads(state)
            call("close", "w")
        state["versions"].append(self.read_file(path))

    @staticmethod
    def read_file(path):
        with open(path, "rb") as file:
            return file.read().decode("latin-1")

    def interleave(self, path, unseen):
        state = {"path": path, "serial": 0, "readers": [], "unseen": unseen, "log": [],
                 "versions": [self.read_file(path)]}
        steps = (self.reader_opens, self.reader_reads, self.reader_reads, self.reader_reads,
                 self.reader_closes, self.change)
        self.reader_opens(state)
        for _ in range(STEPS):
            self.chance.choice(steps)(state)
            if self.chance.randrange(12) == 0:
                time.sleep(harness.SETTLE_NS * 1.5e-9)
        while state["readers"]:
            self.reader_closes(state)

    def run_all(self, unseen, count):
        paths = [str(self.data / f"file{k}") for k in range(count)]
        for path in paths:
            with open(path, "w", encoding="latin-1") as file:
                file.write(self.contents())
        self.settle()
        job = self.begin()
        for path in paths:
            self.interleave(path, unseen)
        self.end(job)

    def test_seen_writers(self):
        self.run_all(False, COUNT - COUNT // 3)

    def test_unseen_writers(self):
        self.run_all(True, COUNT // 3)


if __name__ == "__main__":
    harness.main()
