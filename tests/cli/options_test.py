#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every command at every level, as --help tells them: its help, what it says to a wrong option, its
options in the manual, and completion in bash. Nothing is listed here: who adds an option to a table
and forgets the manual finds out."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import tap

RHINET = os.environ["CLI_PROGRAM_PATH"]
MANUAL = os.path.join(HERE, "../../man")
HANG_S = 20
# Options that are explained in another command's page, which the own page names.
ELSEWHERE = {"cache": ["rhinet-run.1"], "dsm": ["rhinet-bench.1"],
             "bench": ["rhinet-cache.1", "rhinet-route.1", "rhinet-sim.1"]}
HIDDEN = (("cache", "node"), ("completion", ".words"), ("bench", ".rank"), ("bench", ".join"),
          ("bench", ".nothing"), ("bench", ".trial"))
# Two names of one experiment.
ALIASES = {("cache", "bench"): ("bench", "cache"), ("route", "paper"): ("bench", "route"),
           ("sim", "bench"): ("bench", "sim"), ("sim", "thesis"): ("bench", "thesis"),
           ("dsm", "bench", "pages"): ("bench", "pages")}

OPTION = re.compile(r"^  (?:(-\w), |    )--([\w-]+)(?: (\S+))?(?:  |$)", re.M)
COMMAND = re.compile(r"^  ([\w.]+)  +\S", re.M)


def rhinet(*words, status=0, hang_s=HANG_S):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RHINET_") and k != "COLUMNS"}
    run = subprocess.run([RHINET, *words], capture_output=True, text=True, timeout=hang_s,
                         stdin=subprocess.DEVNULL, env=clean, check=False)
    if run.returncode != status:
        raise AssertionError(f"{words}: status {run.returncode}, not {status}\n{run.stderr}")
    return run


def walk(path=()):
    """Each command's words and its help."""
    said = rhinet(*path, "--help").stdout
    yield path, said
    for name in COMMAND.findall(said):
        yield from walk((*path, name))


TREE = dict(walk())


def options_of(path):
    """Letter (or ""), name and value (or "") of each option."""
    return OPTION.findall(TREE[path])


def tags_of(page):
    """Option and value of each tag in the OPTIONS of a page: ("--ranks", "N"), ("-n", "N")."""
    with open(os.path.join(MANUAL, page), encoding="utf-8") as file:
        text = file.read()
    section = re.search(r"^\.SH OPTIONS\n(.*?)(?=^\.SH|\Z)", text, re.M | re.DOTALL)
    for line in re.findall(r"^\.TP\n(.*)", section[1] if section else "", re.M):
        plain = re.sub(r"^\.[BIR]+ ", "", line)
        plain = re.sub(r"\\f[A-Z]|\\&|\"", "", plain.replace("\\ ", " ")).replace("\\-", "-")
        plain = re.sub(r" *([|=\[\]]) *", r"\1", plain)  # macros with two fonts put spaces there
        for option in re.split(r",\s+(?=-)", plain):
            name, _, value = option.strip().partition(" ")
            yield name, "".join(value.split())


class Tree(unittest.TestCase):
    def test_all_levels_are_there(self):
        for path in ((), ("route",), ("route", "compute"), ("cache", "run"), ("sim", "thesis"),
                     ("bench", "pages"), ("dsm", "bench"), ("dsm", "bench", "pages")):
            self.assertIn(path, TREE)
        self.assertGreater(len(TREE), 35)

    def test_help(self):
        for path, said in TREE.items():
            with self.subTest(path=path):
                run = rhinet(*path, "-h")
                self.assertEqual((run.stdout, run.stderr), (said, ""))
                self.assertEqual(rhinet("help", *path).stdout, said)
                self.assertTrue(said.startswith(f"Usage: {' '.join(('rhinet', *path))} "), said)
                self.assertIn("--help", said)

    def test_help_names_what_operands_may_be(self):
        for words, name in ((("route", "paper"), "PART"), (("cache", "bench"), "EXPERIMENT")):
            wrong = rhinet(*words, "frob", status=2).stderr
            choices = re.search(r": (.*) is expected, not 'frob'", wrong)[1]
            self.assertIn(f"\n{name} is {choices}; all unless given.\n", TREE[words])

    def test_help_wins_over_what_is_missing(self):
        for words in (("run", "-n", "3", "--help"), ("route", "compute", "x", "y", "--help"),
                      ("sim", "run", "--size", "3", "--help")):
            self.assertIn("Usage: ", rhinet(*words).stdout)

    def test_two_names_of_one_command(self):
        for old, new in ALIASES.items():
            with self.subTest(old=old):
                said = TREE[old].replace(" ".join(old), " ".join(new), 1)
                self.assertEqual(said.replace(f"rhinet-{old[0]}.", "rhinet-bench."), TREE[new])
                for name in (old, new):  # each speaks under the name that it was called by
                    run = rhinet(*name, "--frobnicate", status=2)
                    self.assertTrue(run.stderr.startswith(f"rhinet {' '.join(name)}: "))
                    self.assertIn(f"`rhinet help {' '.join(name)}`", run.stderr)
                    self.assertIn(f"Usage: rhinet {' '.join(name)} ", rhinet("help", *name).stdout)

    def test_a_list_says_what_help_says(self):
        for path in TREE:
            lines = TREE[path].splitlines()
            words = dict(line.split("\t") for line in rhinet(
                "completion", ".words", "--", *path, "").stdout.splitlines() if "\t" in line)
            for name in COMMAND.findall(TREE[path]):
                with self.subTest(path=path, name=name):
                    help_line = TREE[(*path, name)].splitlines()[1].rstrip(".")
                    listed = next(k for k in lines if k.startswith(f"  {name} "))
                    for said in (listed.split(None, 1)[1], words[name]):
                        self.assertEqual(said[0].upper() + said[1:], help_line)

    def test_bench_lists_all_experiments(self):
        run = rhinet("bench")
        self.assertEqual((run.stdout, run.stderr), (TREE[("bench",)], ""))
        below = {path[1] for path in TREE if path[:1] == ("bench",) and len(path) > 1}
        self.assertEqual(set(COMMAND.findall(run.stdout)), below)
        self.assertLessEqual({new[1] for new in ALIASES.values()}, below)

    def test_hidden_commands_are_not_shown_but_answer(self):
        for path in HIDDEN:
            self.assertNotIn(path, TREE)
            self.assertIn("Usage: ", rhinet(*path, "--help").stdout)

    def test_unknown_option(self):
        for path in TREE:
            with self.subTest(path=path):
                run = rhinet(*path, "--frobnicate", status=2)
                self.assertIn("option", run.stderr)
                self.assertIn("--frobnicate", run.stderr)
                self.assertTrue(run.stderr.startswith(" ".join(("rhinet", *path)) + ": "))
                self.assertEqual(run.stdout, "")

    def test_nearest_option(self):
        for path in TREE:
            for _, name, _ in options_of(path):
                if len(name) < 5 or "Usage: rhinet " + " ".join((*path, "SUBC")) in TREE[path]:
                    continue
                with self.subTest(path=path, name=name):
                    wrong = f"--{name}q"
                    run = rhinet(*path, wrong, status=2)
                    self.assertIn(f"unknown option {wrong}; did you mean --{name}?", run.stderr)

    def test_value_is_missing(self):
        for path in TREE:
            for letter, name, value in options_of(path):
                for word in {f"--{name}", letter} - {""} if value else ():
                    with self.subTest(path=path, word=word):
                        run = rhinet(*path, word, status=2)
                        self.assertIn(f"{word} needs a value: ", run.stderr)


class Manual(unittest.TestCase):
    def pages(self):
        """Page by command; "" is the program itself."""
        names = sorted({path[0] for path in TREE if path})
        return {"": "rhinet.1", **{name: f"rhinet-{name}.1" for name in names}}

    def table(self, command):
        """What the tables of a command and all below it have."""
        found = set()
        for path in TREE:
            if path[:1] == (command,) or not (path or command):
                for letter, name, value in options_of(path):
                    found |= {(word, value) for word in (letter, f"--{name}") if word}
        return {(name, value) for name, value in found if name not in ("-h", "--help")}

    def manual(self, page):
        return {(name, value) for name, value in tags_of(page) if name not in ("-h", "--help")}

    def test_options_are_the_same(self):
        for command, page in self.pages().items():
            with self.subTest(command=command):
                own = self.manual(page)
                lent = set().union(*map(self.manual, ELSEWHERE.get(command, [])))
                table = self.table(command)
                self.assertEqual(sorted(table - own - lent), [], "not in the manual")
                self.assertEqual(sorted(own - table), [], "not in the program")

    def test_those_elsewhere_are_named(self):
        for command, pages in ELSEWHERE.items():
            with open(os.path.join(MANUAL, f"rhinet-{command}.1"), encoding="utf-8") as file:
                own = file.read()
            for page in pages:
                self.assertIn(page[:-2].replace("-", "\\-"), own)


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = rhinet("completion", "bash").stdout

    def complete(self, *words, cwd=None):
        script = self.script + \
            'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rhinet; printf "%s\\n" "${COMPREPLY[@]}"'
        run = subprocess.run(["bash", "-c", script, "bash", RHINET, *words], text=True, cwd=cwd,
                             capture_output=True, timeout=HANG_S, check=True)
        self.assertEqual(run.stderr, "")
        return run.stdout.split()

    def test_every_command_and_option(self):
        for path, said in TREE.items():
            with self.subTest(path=path):
                names = COMMAND.findall(said)
                if names:
                    self.assertEqual(sorted(self.complete(*path, "")), sorted(names))
                options = options_of(path)
                wanted = {f"--{name}" for _, name, _ in options} | {k for k, _, _ in options if k}
                self.assertEqual(set(self.complete(*path, "-")), wanted)

    def test_values(self):
        for words, wanted in ((("run", "--bind", ""), ["auto", "core", "none"]),
                              (("run", "--bind", "a"), ["auto"]),
                              (("run", "--bind", "=", "a"), ["auto"]),  # as bash splits it
                              (("run", "--bind", "="), ["auto", "core", "none"]),
                              (("run", "-n", "2", "--map", "c"), ["cyclic"]),
                              (("bench", "dsm", "--nic", ""), ["shm", "ofi", "mixed"]),
                              (("sim", "run", "--network", ""), ["rhinet2", "rhinet3"]),
                              (("route", "compute", "-a", "up"), ["up-down"]),
                              (("route", "generate", "drag"), ["dragonfly"]),
                              (("route", "paper", "t"), ["table-2"]),
                              (("bench", "route", "t"), ["table-2"]),
                              (("bench", "thesis", "al"), ["all"]),
                              (("help", "bench", "the"), ["thesis"]),
                              (("route", "compute", "--l", "--al"), ["--algorithm"]),
                              (("route", "paper", "--", "fig-24"), ["fig-24"]),
                              (("completion", "z"), ["zsh"]),
                              (("help", "cache", "w"), ["warm"]),
                              (("cache", "bench", "--quick", "str"), ["stride"])):
            with self.subTest(words=words):
                self.assertEqual(self.complete(*words), wanted)
        nics = self.complete("run", "--nic", "")
        self.assertLessEqual({"shm", "ofi", "mixed", "fault"}, set(nics))
        self.assertEqual(nics, self.complete("cache", "run", "--nic", ""))

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "fabric"), "w", encoding="ascii").close()
            for words in (("route", "compute", "fab"), ("route", "compute", "--lft", "fab"),
                          ("run", "--hostfile", "fab"), ("run", "-n", "2", "fab"),
                          ("run", "-n", "2", "prog", "fab"), ("run", "-n", "2", "--", "fab"),
                          ("run", "--", "prog", "fab"), ("sim", "run", "--routing", "fab")):
                self.assertIn("fabric", self.complete(*words, cwd=folder), words)
            for words in (("top", ""), ("run", "--bind", "fab"), ("cache", ""), ("run", "-n", "")):
                self.assertNotIn("fabric", self.complete(*words, cwd=folder), words)


if __name__ == "__main__":
    tap.main()
