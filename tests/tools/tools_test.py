#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The scripts in tools/: the counts that `make test` ends with, what set-up says and does, how long
comment lines are broken."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import tap

sys.dont_write_bytecode = True


def load_script(name):
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


class Counts(unittest.TestCase):
    """Each way in which a test can report, and what is counted for it."""

    def count(self, result, out, expected):
        entry = {"name": "rhinet:suite / test", "result": result, "stdout": out, "stderr": ""}
        counts = load_script("test").count_test(entry)
        self.assertEqual((counts.passed, len(counts.failed), len(counts.skipped)), expected)
        return counts.failed + counts.skipped

    def test_without_cases(self):
        self.count("OK", "", (1, 0, 0))
        self.count("FAIL", "", (0, 1, 0))
        self.count("TIMEOUT", "", (0, 1, 0))
        self.count("ERROR", "", (0, 1, 0))
        self.assertIn("no spin", self.count("SKIP", "x\nskipped: no spin\n", (0, 0, 1))[0])

    def test_tap(self):
        self.count("OK", "1..2\nok 1 - a\nok 2 - b\n", (2, 0, 0))
        self.assertIn("b", self.count("FAIL", "1..2\nok 1 - a\nnot ok 2 - b\n", (1, 1, 0))[0])
        self.assertIn("not root", self.count("OK", "1..1\nok 1 - a # SKIP not root", (0, 0, 1))[0])
        self.count("OK", "1..1\nnot ok 1 # SKIP test_a", (0, 0, 1))  # as cmocka writes it

    def test_plain_lines(self):
        told = self.count("FAIL", "ok a\nFAIL b: why\nskip c: no d\nunsupported e: f\n", (1, 1, 2))
        self.assertIn("b: why", told[0])
        self.assertIn("c: no d", told[1])

    def test_crash_after_passed_cases(self):
        self.count("ERROR", "1..3\nok 1 - a\n", (1, 1, 0))
        self.count("TIMEOUT", "ok a\nok b\n", (2, 1, 0))

    def test_closing_line(self):
        counts = load_script("test").Counts()
        counts.passed, counts.failed, counts.skipped = 12, ["a"], []
        self.assertEqual(str(counts), "12 passed, 1 failed, 0 skipped")


class Format(unittest.TestCase):
    """Comment lines of more than 100 characters."""

    FULL = "x" * 40 + " " + "y" * 40  # with the start of a comment, room for 16 more

    def wrap(self, lines, expected):
        self.assertEqual(load_script("format").wrap_comments(lines), expected)

    def test_what_fits_stays(self):
        lines = [f"/* {self.FULL} sixteen letters", " * x. */", "int " + "z" * 120 + ";"]
        self.wrap(lines, lines)

    def test_rest_goes_to_the_next_line(self):
        self.wrap([" /*", f" * {self.FULL} sixteen letters more", " * x. */"],
                  [" /*", f" * {self.FULL} sixteen letters", " * more x. */"])

    def test_rest_gets_a_line_of_its_own(self):
        self.wrap([f"    /* {self.FULL} sixteen letters", "     *", "     * x. */"],
                  [f"    /* {self.FULL} sixteen", "     * letters", "     *", "     * x. */"])

    def test_end_takes_a_word_with_it(self):
        self.wrap([f"/* {self.FULL} sixteen letters */"],
                  [f"/* {self.FULL} sixteen", " * letters */"])

    def test_list_keeps_its_shape(self):
        self.wrap(["/*", f" *  - {self.FULL} sixteen letters", " *    x", " *  - y */"],
                  ["/*", f" *  - {self.FULL} sixteen", " *    letters x", " *  - y */"])

    def test_code_is_left_alone(self):
        lines = ["    * " + "p " * 60 + "= 1;", "x = " + "1 + " * 30 + "1; /* why */"]
        self.wrap(lines, lines)


class Setup(unittest.TestCase):
    """tools/setup beside commands that only pretend."""

    def run_setup(self, *arguments, installed="", user=1000, apt="true"):
        with tempfile.TemporaryDirectory() as folder:
            commands = {
                "dpkg-query": f'case " {installed} " in *" $4 "*) printf installed ;;\n'
                              "*) exit 1 ;;\nesac",
                "id": f"echo {user}",
                "apt-get": f'echo "apt-get $*" >> "{folder}/log"; {apt}',
            }
            for name, body in commands.items():
                path = Path(folder, name)
                path.write_text(f"#!/bin/sh\n{body}\n", encoding="ascii")
                path.chmod(0o755)
            path = f"{folder}:{os.environ['PATH']}"
            run = subprocess.run([ROOT / "tools/setup", *arguments], capture_output=True, text=True,
                                 env={**os.environ, "PATH": path}, timeout=60, check=False)
            log = Path(folder, "log")
            return run, log.read_text(encoding="ascii") if log.exists() else ""

    ALL = "gcc libc6-dev meson ninja-build pkg-config libfabric-dev libjansson-dev " \
          "libpmix-dev libsodium-dev libxxhash-dev libfuse3-dev"

    def test_nothing_missing(self):
        run, log = self.run_setup("build", installed=self.ALL)
        self.assertEqual((run.returncode, run.stdout, run.stderr, log), (0, "", "", ""))

    def test_user_gets_the_line(self):
        run, log = self.run_setup("build", installed=self.ALL.replace("meson ", ""))
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stdout, "sudo sh -c 'apt-get update && apt-get install -y "
                                     "--no-install-recommends meson'\n")
        self.assertEqual(log, "")

    def test_root_installs_only_what_is_missing(self):
        run, log = self.run_setup("build", installed=self.ALL.replace("gcc ", ""), user=0)
        self.assertEqual(run.returncode, 0)
        self.assertIn("installing gcc", run.stdout)
        self.assertEqual(log, "apt-get update\n"
                              "apt-get install -y --no-install-recommends gcc\n")

    def test_failure_is_told(self):
        run, _ = self.run_setup("build", user=0, apt="echo no network; exit 1")
        self.assertEqual(run.returncode, 1)
        self.assertIn("no network", run.stderr)

    def test_wrong_step(self):
        run, log = self.run_setup("everything")
        self.assertEqual((run.returncode, log), (2, ""))


if __name__ == "__main__":
    tap.main()
