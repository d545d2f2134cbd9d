#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The scripts in tools/: the counts that `make test` ends with, what set-up says and does, how long
comment lines are broken, how mutants are judged."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import shutil
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
        out = "ok a\nFAIL b: why\nskip c: no d\nunsupported e: f\noutside g: h\n"
        told = self.count("FAIL", out, (1, 1, 1))
        self.assertIn("b: why", told[0])
        self.assertIn("c: no d", told[1])

    def test_crash_after_passed_cases(self):
        self.count("ERROR", "1..3\nok 1 - a\n", (1, 1, 0))
        self.count("TIMEOUT", "ok a\nok b\n", (2, 1, 0))

    def test_closing_line(self):
        counts = load_script("test").Counts()
        counts.passed, counts.failed, counts.skipped = 12, ["a"], []
        self.assertEqual(str(counts), "12 passed, 1 failed, 0 skipped")
        counts.outside = ["b", "c"]  # told apart, so that the closing line is the usual one
        self.assertEqual(str(counts), "12 passed, 1 failed, 0 skipped")

    def test_failures_are_told_last(self):
        """CI keeps the tail of a log: what failed, and why, must be in it."""
        script = load_script("test")
        entry = {"name": "rhinet:suite / t", "result": "FAIL", "stderr": "line 7: wrong\n",
                 "stdout": "ok a\nFAIL b: why\noutside c: no threads\n"}
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            script.print_summary([("gcc", script.count_test(entry)), ("clang", script.Counts())])
        lines = [line.strip() for line in out.getvalue().splitlines()]
        order = ["not applicable: gcc / suite / t: c: no threads",
                 "failed: gcc / suite / t: b: why", "line 7: wrong",
                 "clang: 0 passed, 0 failed, 0 skipped"]
        self.assertEqual(sorted(order, key=lines.index), order)


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
          "libpmix-dev libsodium-dev libxxhash-dev libfuse3-dev libmicrohttpd-dev"

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

    def test_what_is_only_wished(self):
        """All is there that is needed; what is not there can be done without, whoever asks."""
        lists = f"eval \"$(sed -n '/^build=/,/^bench=/p' {ROOT}/tools/setup)\"; echo $test"
        needed = " ".join(subprocess.run(["bash", "-c", lists], capture_output=True, text=True,
                                         check=True).stdout.split())
        run, log = self.run_setup("test", installed=needed, user=1000)
        self.assertEqual((run.returncode, run.stdout, log), (0, "", ""))
        run, log = self.run_setup("test", installed=needed, user=0,
                                  apt='case "$*" in *chromium*) exit 1 ;; esac')
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("chromium cannot be had", run.stdout)

    def test_wrong_step(self):
        run, log = self.run_setup("everything")
        self.assertEqual((run.returncode, log), (2, ""))


class Mutants(unittest.TestCase):
    """tools/mutants on a small project of its own."""

    FILES = {
        "meson.build": "project('small', 'c')\n"
                       "add = executable('add', 'add.c')\n"
                       "test('sum, small', add, suite: 'x')\n"
                       "test('hangs', find_program('sleep'), args: ['0'], timeout: 600)\n",
        "meson_options.txt": "option('tests', type: 'feature')\n"
                             "option('assertions', type: 'feature')\n",
        "add.c": "static int add(int a, int b)\n{\n    return a + b;\n}\n\n"
                 "int main(void)\n{\n    return add(2, 2) != 4;\n}\n",
    }

    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="mutants-test-"))
        self.addCleanup(shutil.rmtree, self.root)
        for name, text in self.FILES.items():
            (self.root / name).write_text(text, encoding="ascii")
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)

    def write(self, old, new, name="wrong", more=""):
        """Adds an entry to the list."""
        path = self.root / "tests/mutants/small.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="ascii") as file:
            file.write(f"[[mutant]]\nname = '{name}'\nfile = 'add.c'\nfrom = '{old}'\n"
                       f"to = '{new}'\ntests = ['sum, small']\n{more}\n")

    def run_mutants(self, *words):
        run = subprocess.run([ROOT / "tools/mutants", "--root", self.root, *words], text=True,
                             capture_output=True, timeout=300, check=False)
        return run.returncode, run.stdout + run.stderr

    def test_noticed_and_not(self):
        self.write("a + b", "a - b", "minus")
        self.write("a + b", "a * b", "times")
        status, out = self.run_mutants("--jobs", "1")
        self.assertIn("small: minus: noticed by sum, small", out)
        self.assertIn("survived: times in add.c: not explained", out)
        self.assertIn("1 of 2 mutants noticed, 50.0 %", out)
        self.assertEqual(status, 1)
        self.assertEqual((self.root / "add.c").read_text(encoding="ascii"), self.FILES["add.c"])
        self.assertEqual(self.run_mutants("--jobs", "2", "minus")[0], 0)

    def test_explained_survivor_needs_enough_others(self):
        judge = load_script("mutants")
        row = lambda number, verdict, why=None: (
            judge.Mutant("r", str(number), "f", "a", "b", ["t"], why), verdict, "t")
        rows = {number: row(number, "noticed") for number in range(9)}
        for verdict, why, good in (("survived", "equal", True), ("survived", None, False),
                                   ("does not build", "equal", False), ("noticed", None, True),
                                   ("noticed late", None, True)):
            rows[9] = row(9, verdict, why)
            self.assertEqual(judge.summary(rows)[1], good, verdict)
        rows[8], rows[9] = row(8, "survived", "equal"), row(9, "survived", "equal")
        self.assertFalse(judge.summary(rows)[1])  # 8 of 10

    def test_tests_that_always_fail_prove_nothing(self):
        failing = "static int a = 1;\nint main(void)\n{\n    return a;\n}\n"
        (self.root / "add.c").write_text(failing, encoding="ascii")
        self.write("a = 1", "a = 2")
        status, out = self.run_mutants()
        self.assertEqual(status, 1)
        self.assertIn("without any mistake", out)

    def test_mistake_must_compile(self):
        self.write("a + b", "a + c")
        status, out = self.run_mutants()
        self.assertEqual(status, 1)
        self.assertIn("does not build: wrong", out)

    def test_interrupted(self):
        for number in range(20):  # more than can be tried before the signal comes
            self.write("a + b", "a - b", f"minus-{number}")
        place = self.root / "place"
        place.mkdir()
        with subprocess.Popen([ROOT / "tools/mutants", "--root", self.root, "--jobs", "1"],
                              env={**os.environ, "TMPDIR": str(place)}, text=True,
                              stdout=subprocess.PIPE) as run:
            while "minus-0: noticed" not in run.stdout.readline():
                self.assertIsNone(run.poll())
            run.terminate()
            out = run.communicate(timeout=60)[0]
        self.assertEqual((run.returncode, "interrupted; so far" in out), (1, True), out)
        self.assertEqual(list(place.iterdir()), [])

    def test_entries_that_do_not_fit(self):
        self.write("no such text", "x", "gone")
        self.write("return", "x", "twice-there")
        self.write("a + b", "a", "same")
        self.write("a + b", "b", "same")
        status, out = self.run_mutants("--check")
        self.assertEqual(status, 1)
        self.assertIn("gone: its text is 0 times in add.c", out)
        self.assertIn("twice-there: its text is 2 times in add.c", out)
        self.assertIn("same is there twice", out)
        self.assertIn("3 findings", out)

    def test_unknown_test_and_field(self):
        self.write("a + b", "a")
        subprocess.run(["meson", "setup", "build"], cwd=self.root, capture_output=True, check=True)
        self.assertEqual(self.run_mutants("--check", "--build", self.root / "build")[0], 0)
        path = self.root / "tests/mutants/small.toml"
        text = path.read_text(encoding="ascii")
        path.write_text(text.replace("sum, small", "sum, large"), encoding="ascii")
        status, out = self.run_mutants("--check", "--build", self.root / "build")
        self.assertEqual((status, "no test 'sum, large'" in out), (1, True))
        path.write_text(text + "why = 'x'\n", encoding="ascii")
        status, out = self.run_mutants("--check")
        self.assertEqual((status, "unknown ['why']" in out), (1, True))
        self.assertIn("no such room", self.run_mutants("--room", "large")[1])


class Hunt(unittest.TestCase):
    """tools/test --hunt on a project whose tests fail now and then, by a rule."""

    FLAKY = "#!/bin/sh\necho x >> runs\n[ $(wc -l < runs) -ne 3 ] || { echo third; exit 1; }\n"
    # Passes only if another copy of it runs meanwhile.
    MEETS = "#!/bin/sh\nmkdir here || { touch met; exit 0; }\n" \
            "for i in $(seq 300); do [ -e met ] && exit 0; sleep 0.1; done; exit 1\n"

    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="hunt-test-"))
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "meson.build").write_text(
            "project('rhinet')\nhere = meson.current_source_dir()\n"
            "test('flaky', find_program('flaky'), workdir: here, suite: 'x')\n"
            "test('sound', find_program('true'), suite: 'x')\n"
            "test('meets', find_program('meets'), workdir: here, suite: 'y')\n", encoding="ascii")
        for name, text in (("flaky", self.FLAKY), ("meets", self.MEETS)):
            (self.root / name).write_text(text, encoding="ascii")
            (self.root / name).chmod(0o755)
        subprocess.run(["meson", "setup", "build"], cwd=self.root, capture_output=True, check=True)

    def hunt(self, *words):
        run = subprocess.run([ROOT / "tools/test", "--hunt", "--build", self.root / "build",
                              *words], capture_output=True, text=True, timeout=120, check=False)
        return run.returncode, run.stdout, run.stderr

    def test_flaky_is_found(self):
        status, out, _ = self.hunt("--count", "5", "--way", "alone", "--no-suite", "y")
        self.assertEqual(status, 1)
        self.assertIn("1 failed: x / flaky: 1 of 5 alone\n2 tests, 10 runs, 1 failed\n", out)
        log = (self.root / "build/hunt/alone-x___flaky-1.log").read_text(encoding="utf-8")
        self.assertIn("third", log)

    def test_two_copies_at_once(self):
        status, out, _ = self.hunt("--count", "1", "--way", "twice", "--suite", "y")
        self.assertEqual((status, out.split("\n")[-2]), (0, "1 tests, 2 runs, 0 failed"))

    def test_sound_beside_load(self):
        status, out, _ = self.hunt("--count", "3", "--way", "busy", "--way", "alone", "sound")
        self.assertEqual((status, out.split("\n")[-2]), (0, "1 tests, 6 runs, 0 failed"))

    def test_nothing_ran(self):
        status, _, err = self.hunt("--count", "1", "none")
        self.assertEqual(status, 1)
        self.assertIn("no test ran", err)


class Coverage(unittest.TestCase):
    """tools/coverage on a program that does not live to report."""

    FILES = {
        "meson.build": "project('rhinet', 'c')\nwild = executable('wild', 'src/a/wild.c')\n"
                       "test('killed', wild, args: ['k'], should_fail: true, suite: 'x')\n"
                       "test('left', wild, args: ['l', 'm'], should_fail: true, suite: 'z')\n"
                       "test('plain', wild, suite: 'y')\n",
        "meson_options.txt": "option('tests', type: 'feature')\n",
        "src/a/wild.c": "#include <signal.h>\n#include <unistd.h>\n\n"
                        "int main(int argc, char **argv)\n{\n    (void)argv;\n"
                        "    if (argc > 2)\n        _exit(1);\n"
                        "    if (argc > 1)\n        raise(SIGKILL);\n    return 0;\n}\n",
    }

    def setUp(self):
        self.root = Path(tempfile.mkdtemp(prefix="coverage-test-"))
        self.addCleanup(shutil.rmtree, self.root)
        for name, text in self.FILES.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text, encoding="ascii")

    def measure(self, *words):
        run = subprocess.run([ROOT / "tools/coverage", "--root", self.root, *words], text=True,
                             capture_output=True, timeout=300, check=False)
        return run.returncode, run.stdout + run.stderr

    def test_killed_process_counts(self):
        status, out = self.measure("--suite", "x", "--missing", "--branches", "60")
        self.assertEqual(status, 1, out)
        self.assertRegex(out, r"src/a +\d of +8 .* % +2 of +4 +50.0 %")
        self.assertIn("src/a/wild.c:7:9: never true", out)
        self.assertIn("src/a/wild.c:9:9: never false", out)
        self.assertIn("too low: total: branches 50.0 %, wanted 60", out)
        self.assertNotIn("failed in this build", out)

    def test_counts_add_up(self):
        self.measure("--suite", "x")
        self.measure("--suite", "z", "--add")
        status, out = self.measure("--test", "plain", "--add", "--room-branches", "100")
        self.assertEqual(status, 0, out)
        self.assertRegex(out, r"total +8 of +8 +100.0 % +4 of +4 ")
        self.assertEqual(self.measure("--no-run", "--lines", "100")[0], 0)
        self.assertIn("no such test", self.measure("--test", "none")[1])


if __name__ == "__main__":
    tap.main()
