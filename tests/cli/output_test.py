#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Output that cannot be written: standard output on a full disk, and every file that a command
writes, full or in no folder. The command says so with the file's name, and fails. Then the same
commands with room: the text and the JSON beside it tell the same."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../support"))
import tap

RHINET = os.environ["CLI_PROGRAM_PATH"]
HANG_S = 60
SHORT = "--load 0.2 --warm 2us --time 10us"
SMALL = "cache bench --simulate --quick --nodes 2 sequential"

# What prints, in a folder with the files of Full.setUpClass().
PRINTS = (
    "help", "--version", "help route compute", "sim run --help", "completion bash",
    "completion zsh", "completion fish", "completion .words -- r", "info", "info --json",
    "info --settings", "info --settings --json", "info --counters", "info --counters --json",
    "route generate ring", "route generate ring --format edges",
    "route generate ring --format dot", "route compute net", "route compute net --json -",
    "route compute net --no-check --lft -", "route compute net --paths -",
    "route compute net --dot -", "route compute net --guid2lid -", "route compare net",
    "route compare net --json", "route check net table", "route check net table --json -",
    "route check net --paths paths", "route repair net table cut",
    "route repair net table cut --json -",
    "route repair net table cut --full", "route paper table-2 --ports 4",
    f"sim run --topology net {SHORT}", f"sim run --topology net {SHORT} --json -",
    f"sim run --topology net {SHORT} --log -", f"sim run --topology net {SHORT} --plot -",
    "sim thesis P3", "sim thesis P3 --json -", "sim thesis P3 --timeline -",
    "sim thesis P3 --packets -", "sim thesis P3 --pcap -", "sim constants",
    "sim constants --json", "sim bench --ports 4", "sim bench --ports 4 --json", SMALL,
    f"{SMALL} --json -",
)

# What writes a file, whose name comes last.
WRITES = (
    "route generate ring -o", "route generate ring --format edges -o",
    "route generate ring --format dot -o", "route compute net --lft", "route compute net --paths",
    "route compute net --dot", "route compute net --guid2lid", "route compute net --json",
    "route check net table --json", "route repair net table cut --lft",
    "route repair net table cut --json", f"sim run --topology net {SHORT} --json",
    f"sim run --topology net {SHORT} --log", f"sim run --topology net {SHORT} --plot",
    "sim thesis P3 --json", "sim thesis P3 --timeline", "sim thesis P3 --packets",
    "sim thesis P3 --pcap", f"{SMALL} --json",
)

# What writes pictures into a folder, which comes last, and the first of them.
PICTURES = (("sim thesis fig-6.1 --plot", "fig-6.1.svg"),
            (f"{SMALL} --plot", "simulated-sequential.svg"))

RING = "s0 s1\ns1 s2\ns2 s3\ns3 s0\nhosts s0 2\nhosts s1 2\nhosts s2 2\nhosts s3 2\n"


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="output-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        (cls.folder / "net").write_text(RING)
        (cls.folder / "cut").write_text(RING.replace("s3 s0\n", ""))
        (cls.folder / "full").symlink_to("/dev/full")
        cls.rhinet("route compute net --lft table --paths paths", 0)

    @classmethod
    def rhinet(cls, words, status, **more):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("RHINET_")}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
        done = subprocess.run([RHINET, *words.split()], cwd=cls.folder, text=True, env=clean,
                              timeout=HANG_S, stdin=subprocess.DEVNULL, check=False, **streams)
        if done.returncode != status:
            raise AssertionError(f"{words}: status {done.returncode}, not {status}\n{done.stderr}")
        return done


class Full(Case):
    def test_standard_output(self):
        for words in PRINTS:
            with self.subTest(words=words), open("/dev/full", "w", encoding="ascii") as full:
                said = self.rhinet(words, 1, stdout=full).stderr
                self.assertRegex(said, "cannot write to standard output|writing - failed: ")

    def test_no_standard_output(self):
        """Nobody may write into a file that happens to have its number."""
        for words in ("help", "route generate ring", "sim constants --json"):
            with self.subTest(words=words):
                run = subprocess.run(["sh", "-c", f"exec \"$0\" {words} >&-", RHINET], text=True,
                                     stderr=subprocess.PIPE, timeout=HANG_S, check=False)
                self.assertEqual(run.returncode, 1)
                self.assertIn("cannot write", run.stderr)

    def test_files(self):
        for words in WRITES:
            with self.subTest(words=words):
                self.assertIn("full", self.rhinet(f"{words} full", 1).stderr)
                missing = self.rhinet(f"{words} none/file", 1).stderr
                self.assertRegex(missing, "none/file[^ ]*: No such file or directory")
                self.assertFalse((self.folder / "none").exists())

    def test_pictures(self):
        for number, (words, name) in enumerate(PICTURES):
            with self.subTest(words=words):
                said = self.rhinet(f"{words} none/folder", 1).stderr
                self.assertIn("none/folder: No such file or directory", said)
                full = self.folder / f"full-{number}"
                full.mkdir()
                (full / name).symlink_to("/dev/full")
                self.assertIn(name, self.rhinet(f"{words} {full}", 1).stderr)


class Room(Case):
    def test_files_are_whole(self):
        """Reports are JSON, one or one a line; pictures are XML."""
        for words in WRITES:
            with self.subTest(words=words):
                self.rhinet(f"{words} out", 0)
                text = (self.folder / "out").read_text(errors="replace")
                self.assertGreater(len(text), 10)
                if "--json" in words:
                    for line in [text] if text.count("\n{") == 0 else text.splitlines():
                        self.assertTrue(json.loads(line))
                if "--plot" in words:
                    xml.dom.minidom.parseString(text)

    def test_thesis_text_and_json(self):
        text = self.rhinet("sim thesis table-6.2 --json rows", 0).stdout.splitlines()
        rows = [json.loads(line) for line in (self.folder / "rows").read_text().splitlines()]
        shown = [line.split()[0] for line in text[1:-1]]
        self.assertEqual(shown, [row["id"] for row in rows])
        held = sum(row["holds"] is True for row in rows)
        self.assertIn(f"{len(rows)} rows, {len(rows)} simulated, {held} of them hold", text[-1])

    def test_bench_text_and_json(self):
        for words, key in (("sim bench --ports 4", "what"), ("sim constants", "name")):
            text = self.rhinet(words, 0).stdout
            for line in self.rhinet(f"{words} --json", 0).stdout.splitlines():
                self.assertIn(json.loads(line)[key], text)

    def test_compare_text_and_json(self):
        text = self.rhinet("route compare net", 0).stdout
        said = self.rhinet("route compare net --json", 0).stdout
        self.assertGreater(len(json.loads(said)), 3)
        for row in json.loads(said):
            self.assertIn(row["algorithm"], text)


if __name__ == "__main__":
    tap.main()
