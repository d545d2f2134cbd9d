#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory, mappings, descriptors and threads run out, at every place that asks for one, one place at
a time (withhold.c). Whatever is missing, a command either does the same as ever, or it ends by
itself with a status and a word that says what is the matter; never by a signal, never in silence,
and never as if all were well with another result."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import tap  # noqa: E402

PROGRAM = os.environ["TEST_RHINET"]
WITHHOLD = os.environ["TEST_WITHHOLD"]
EXAMPLES = os.environ["TEST_EXAMPLES"]
HANG_S = 60
WORKERS = 2
SAID = re.compile(r"^(?!rhinet[^:]*: *$)\S", re.M)  # more than the command's name
TIMES = re.compile(r"second|^time:|\bm?s\b|events|\dk\b|\dM\b|\.\d{3}$|[<>]= \d|is_most")


def last_times(listed):
    """Of each place that asks often, about the last time: PLACE@8 of PLACE@1, @2, @4 and @8."""
    last = {}
    for place in listed:
        last[place.partition("@")[0]] = place
    return [place for place in last.values() if not place.endswith("@1")]


def is_library(place):
    return int(place.split("-")[1], 16) >> 56 > 0  # see withhold.c: not in the program itself


class Scarce(unittest.TestCase):
    tried = set()  # places of earlier commands need not be tried again

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rhinet-scarce-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def call(self, words, folder, **settings):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("RHINET_")}
        return subprocess.run([PROGRAM, *map(str, words)], cwd=folder, capture_output=True,
                              text=True, timeout=HANG_S, check=False,
                              env={**environment, **settings})

    def made(self, *words):
        done = self.call(words, self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def outcome(self, words, **settings):
        """How the command ends in a copy of the folder, and what it made: the lines but for
        times and the width of columns, in the order of their letters, since ranks print when they
        like."""
        with tempfile.TemporaryDirectory(prefix="rhinet-scarce-") as copy:
            for file in self.folder.iterdir():
                shutil.copy(file, copy)
            done = self.call(words, copy, **settings)
            texts = {file.name: file.read_text(errors="replace") for file in Path(copy).iterdir()}
        texts["what it prints"] = done.stdout
        return done, {name: sorted(" ".join(line.split()) for line in text.split("\n")
                                   if not TIMES.search(line)) for name, text in texts.items()}

    def without(self, words, place, expected, **settings):
        """What is wrong if this place gets nothing, or None."""
        try:
            done, made = self.outcome(words, **settings)
        except subprocess.TimeoutExpired:
            return f"{place}: does not end"
        if done.returncode < 0 or done.returncode > 128:
            return f"{place}: ended by a signal: {done.returncode} {done.stderr[-300:]}"
        if done.returncode == 0 and made != expected:
            differ = [name for name in expected if made.get(name) != expected[name]]
            return f"{place}: says that all is well, but {differ} differ: {done.stderr[-300:]}"
        if done.returncode != 0 and not SAID.search(done.stderr):
            return f"{place}: ends with {done.returncode} and no word: {done.stderr[-300:]}"
        return None

    def check_places(self, without, listing, is_later=False, **settings):
        """Every place that no other command has tried. The words of the command come from
        functions of the place, and of the file that lists them. Without settings it is the command
        that sets them for another program, of which only our library is looked at."""
        with tempfile.NamedTemporaryFile("r", prefix="rhinet-scarce-") as listed:
            done, expected = self.outcome(listing(listed.name), **(
                {"WITHHOLD_LIST": listed.name, **settings} if settings else {}))
            self.assertEqual(done.returncode, 0, done.stderr)
            asked = listed.read().split()
            first = [place for place in asked if place.endswith("@1")]
            places = [place for place in first + (last_times(asked) if is_later else [])
                      if place not in self.tried and (settings or is_library(place))]
        self.assertGreater(len(places) + len(self.tried), 0)
        self.tried.update(places)

        def one(place):
            return self.without(without(place), place, expected, **(
                {"WITHHOLD_FROM": place, **settings} if settings else {}))

        with ThreadPoolExecutor(WORKERS) as pool:
            wrong = list(filter(None, pool.map(one, places)))
        self.assertFalse(wrong, f"{len(wrong)} of {len(places)}, as of {without('PLACE')}:\n" +
                         "\n".join(wrong))

    def check(self, *words, is_later=False):
        """Every place of this command; later: those that ask often also get something at first."""
        self.check_places(lambda place: words, lambda file: words, is_later, LD_PRELOAD=WITHHOLD)


class Route(Scarce):
    def setUp(self):
        super().setUp()
        self.made("route", "generate", "random", "--switches", 8, "--ports", 3, "--hosts", 1,
                  "-o", "net")

    def test_generate(self):
        for kind in (["fat-tree", "--ports", 4], ["joined", "--ports", 4], ["ring"],
                     ["random", "--switches", 8], ["torus", "--size", "3x3"],
                     ["hypercube", "--dimensions", 3], ["dragonfly"], ["slim-fly", "--prime", 5]):
            self.check("route", "generate", *kind, "-o", "made")
        for form in ("edges", "dot"):
            self.check("route", "generate", "ring", "--format", form)

    def test_compute(self):
        written = ["--lft", "table", "--paths", "paths", "--dot", "dot", "--guid2lid", "lids"]
        self.check("route", "compute", "net", "--json", "-", *written, is_later=True)
        for name in ("up-down", "turn-prohibition", "fat-tree", "buffer-pool", "reduced-channels"):
            self.check("route", "compute", "net", "-a", name, "--threads", 1)
        self.check("route", "compare", "net")

    def test_kinds_of_fabrics(self):
        self.made("route", "generate", "joined", "--ports", 4, "-o", "joined")
        self.made("route", "generate", "ring", "--format", "edges", "-o", "edges")
        for name in ("joined", "edges"):
            self.check("route", "compute", name, "--lft", "table", "--threads", 1)
        for traffic in ("uniform", "groups:2"):
            self.check("route", "compute", "joined", "--traffic", traffic, "--no-check")

    def test_check_and_repair(self):
        self.made("route", "compute", "net", "--lft", "table", "--paths", "paths")
        self.made("route", "generate", "random", "--switches", 8, "--ports", 3, "--hosts", 1,
                  "--seed", 2, "-o", "other")
        self.check("route", "check", "net", "table", "--json", "-")
        self.check("route", "check", "net", "--paths", "paths")
        self.check("route", "repair", "net", "table", "other", "--lft", "mended", "--full")

    def test_paper(self):
        for part in ("table-2", "fig-21", "fig-24"):
            self.check("route", "paper", part, "--ports", 4)


class Sim(Scarce):
    TIME = ["--load", 0.2, "--warm", "2us", "--time", "10us"]

    def setUp(self):
        super().setUp()
        self.made("route", "generate", "ring", "--switches", 4, "--hosts", 1, "-o", "net")
        self.made("route", "compute", "net", "--lft", "table", "--paths", "paths")

    def test_run(self):
        self.check("sim", "run", "--topology", "net", "--routing", "table", *self.TIME, "--json",
                   "-", "--plot", "plot", "--log", "log", "--loads", 2)
        self.check("sim", "run", "--topology", "net", "--paths", "paths", *self.TIME)
        for traffic in ("hotspot", "all-to-all"):
            self.check("sim", "run", "--topology", "net", "--routing", "up-down", "--traffic",
                       traffic, *self.TIME)

    def test_trace(self):
        (self.folder / "trace").write_text("0 0 1 64\n100 1 2 64\n")
        (self.folder / "links").write_text("s1 1 800 30\n")
        self.check("sim", "run", "--topology", "net", "--routing", "shortest", "--traffic", "trace",
                   "--trace", "trace", "--time", "20us", is_later=True)

    def test_thesis(self):
        self.check("sim", "thesis", "P3")
        self.check("sim", "thesis", "table-6.2", "--timeline", "line", "--packets", "packets",
                   "--pcap", "pcap")
        self.check("sim", "constants")

    def test_messages(self):
        self.check("sim", "thesis", "pm")
        self.check("sim", "thesis", "pm-facts")

    def test_bench(self):
        for form in ([], ["--json"]):
            self.check("sim", "bench", "--ports", 4, *form)


# A remote shell that stays on this machine.
SHELL = """#!/bin/sh
shift
exec sh -c "$*"
"""


class Job(Scarce):
    """The launcher and the task manager; then the members, all of them at once."""

    LIMIT = ["--timeout", 20]
    HELLO = os.path.join(EXAMPLES, "hello")

    def preload(self, **settings):
        words = {"LD_PRELOAD": WITHHOLD, **settings}
        return [word for name, value in words.items() for word in ("--env", f"{name}={value}")]

    def test_launcher(self):
        for words in ([], ["--label", "--survive", "--bind", "none"], ["--nic", "martini"]):
            self.check("run", "-n", 2, *self.LIMIT, *words, self.HELLO)

    def test_hosts(self):
        shell = self.folder / "shell"
        shell.write_text(SHELL)
        shell.chmod(0o755)
        self.check("run", "-n", 2, *self.LIMIT, "--hosts", "a,b", "--rsh", shell, "--nic", "ofi",
                   self.HELLO)

    def test_members(self):
        run = ["run", "-n", 2, *self.LIMIT, "--nic", "shm"]
        self.check_places(lambda place: [*run, *self.preload(WITHHOLD_FROM=place), self.HELLO],
                          lambda file: [*run, *self.preload(WITHHOLD_LIST=file), self.HELLO])


class Program(Scarce):
    def test_commands(self):
        for words in (["help"], ["help", "run"], ["--version"], ["completion", "bash"],
                      ["completion", ".words", "--", "run", "--nic", ""]):
            self.check(*words)

    def test_info(self):
        """What the machine does at the moment differs from call to call: counters do not."""
        for words in (["--settings"], ["--settings", "--json"], ["--counters"],
                      ["--counters", "--json"]):
            self.check("info", *words)


class Cache(Scarce):
    """The cache on simulated nodes. Without memory for a transfer it reads the file itself, which
    takes longer: speeds may differ, but not what was read."""

    def outcome(self, words, **settings):
        done, made = super().outcome(words, **settings)
        rows = [json.loads(line) for line in made.get("rows", []) if line.startswith("{")]
        return done, {"rows": sorted((row["nodes"], row["bytes"], row["plain"]) for row in rows)}

    def test_simulated(self):
        self.check("cache", "bench", "--simulate", "--quick", "--nodes", 2, "sequential", "--json",
                   "rows", "--plot", ".")


if __name__ == "__main__":
    tap.main()
