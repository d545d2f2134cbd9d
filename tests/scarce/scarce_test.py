#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory, mappings, descriptors and threads run out, at every place that asks for one, one place at
a time (withhold.c). Whatever is missing, a command either does the same as ever, or it ends by
itself with a status and a word that says what is the matter; never by a signal, never in silence,
and never as if all were well with another result."""

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
HANG_S = 60
WORKERS = 2
TIMES = re.compile(r"second|^time:|\bm?s\b|events|\dk\b|\dM\b|\.\d{3}$")


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
        """How the command ends in a copy of the folder, and what it made: all but times."""
        with tempfile.TemporaryDirectory(prefix="rhinet-scarce-") as copy:
            for file in self.folder.iterdir():
                shutil.copy(file, copy)
            done = self.call(words, copy, **settings)
            texts = {file.name: file.read_text() for file in Path(copy).iterdir()}
        texts["what it prints"] = done.stdout
        return done, {name: [line for line in text.split("\n") if not TIMES.search(line)]
                      for name, text in texts.items()}

    def without(self, words, place, expected):
        """What is wrong if this place gets nothing, or None."""
        try:
            done, made = self.outcome(words, LD_PRELOAD=WITHHOLD, WITHHOLD_FROM=place)
        except subprocess.TimeoutExpired:
            return f"{place}: does not end"
        if done.returncode < 0 or done.returncode > 125:
            return f"{place}: ended by a signal: {done.returncode} {done.stderr[-300:]}"
        if done.returncode == 0 and made != expected:
            differ = [name for name in expected if made.get(name) != expected[name]]
            return f"{place}: says that all is well, but {differ} differ: {done.stderr[-300:]}"
        if done.returncode != 0 and not done.stderr.strip():
            return f"{place}: ends with {done.returncode} and no word"
        return None

    def check(self, *words):
        """Every place of this command that no other command has tried."""
        done, expected = self.outcome(words)
        self.assertEqual(done.returncode, 0, done.stderr)
        with tempfile.NamedTemporaryFile("r", prefix="rhinet-scarce-") as listed:
            self.outcome(words, LD_PRELOAD=WITHHOLD, WITHHOLD_LIST=listed.name)
            places = [place for place in listed.read().split() if place not in self.tried]
        self.tried.update(places)
        with ThreadPoolExecutor(WORKERS) as pool:
            wrong = list(filter(None, pool.map(
                lambda place: self.without(words, place, expected), places)))
        self.assertFalse(wrong, f"{' '.join(map(str, words))}: {len(wrong)} of {len(places)}:\n" +
                         "\n".join(wrong))


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
        self.check("route", "compute", "net", "--json", "-", *written)
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
                   "--trace", "trace", "--time", "20us")

    def test_thesis(self):
        self.check("sim", "thesis", "P3")
        self.check("sim", "thesis", "table-6.2", "--timeline", "line", "--packets", "packets",
                   "--pcap", "pcap")
        self.check("sim", "constants")


class Program(Scarce):
    def test_commands(self):
        for words in (["help"], ["help", "run"], ["--version"], ["completion", "bash"]):
            self.check(*words)


if __name__ == "__main__":
    tap.main()
