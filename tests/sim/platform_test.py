# SPDX-License-Identifier: BSD-3-Clause
"""`rhinet sim platform`, --platform, and where the built-in constants are from."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
sys.path.insert(0, str(ROOT / "src" / "sim" / "platform"))
import default  # noqa: E402
import tap  # noqa: E402

PROGRAM = os.environ["SIM_PROGRAM_PATH"]
SHARED = ROOT / "share" / "platforms"


def run(*words, status=0, **environment):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})
    if done.returncode != status:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


class Own(unittest.TestCase):
    def test_default_is_the_table(self):
        """If this fails: src/sim/platform/default.py src/sim/constants.h > the file."""
        header = (ROOT / "src" / "sim" / "constants.h").read_text(encoding="utf-8")
        self.assertEqual(default.platform(header),
                         (SHARED / "rhinet2-le.platform").read_text(encoding="utf-8"))

    def test_every_file_is_in_the_program(self):
        shown = {line.split()[0] for line in run("sim", "platform", "list").stdout.splitlines()[1:]}
        self.assertEqual(shown, {path.stem for path in SHARED.iterdir()})

    def test_no_validation_row_sets_a_constant(self):
        for path in SHARED.iterdir():
            self.assertIn("constants:", run("sim", "platform", "check", path.stem).stdout)
            self.assertEqual(run("sim", "platform", "show", path.stem).stdout,
                             run("sim", "platform", "show", path).stdout)

    def test_sources(self):
        for row in lines(run("sim", "platform", "show", "--json").stdout):
            self.assertIn(row["class"], ("known", "calibrated on", "assumed", "what-if"))
            self.assertEqual(bool(row["row"]), row["class"] == "calibrated on", row)
            if row["class"] == "known":
                self.assertTrue(row["source"], row)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="platform-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, text):
        path = self.folder / "mine"
        path.write_text("include rhinet2-le\n" + text)
        return path

    def test_check(self):
        for text, says in (
                ("core_ps = 5 ps; calibrated on T8;\n", "mine:2: core_ps is calibrated on 'T8'"),
                ("core_ps = 5 ps; calibrated on Q1;\n", "mine:2: core_ps is calibrated on 'Q1'"),
                ("core_ps = 5 ps; known; thesis 6.1 (P3)\n", "mine:2: core_ps is from row P3"),
                ("core_ps = 5 ps; calibrated on R18 as R17 has it;\n", "core_ps is from row R17")):
            self.assertIn(says, run("sim", "platform", "check", self.file(text), status=1).stderr)
        self.assertIn("constants",
                      run("sim", "platform", "check", self.file("")).stdout)

    def test_thesis(self):
        faster = self.file("core_ps = 7576 ps; assumed; twice the clock\n")
        plain, same, changed = (
            lines(run("sim", "thesis", "P1", *more, "--json", "-").stdout)[0]["simulated"]
            for more in ((), ("--platform", "rhinet2-le"), ("--platform", faster)))
        self.assertEqual(plain, same)
        self.assertLess(changed, plain)
        # one platform for all rows: chapter 6 on the hosts of 7 and 8, and the other way round
        for row, own, other in (("P1", "rhinet2-le", "rhinet2-he-sl"),
                                ("R18", "rhinet2-he-sl", "rhinet2-le")):
            usual, same, changed = (
                lines(run("sim", "thesis", row, *more, "--json", "-").stdout)[0]
                for more in ((), ("--platform", own), ("--platform", other)))
            self.assertEqual(usual, same)
            self.assertEqual((usual["holds"], changed["holds"]), (True, False), changed)

    def test_refused(self):
        said = run("sim", "thesis", "P1", "--platform", "rhinet2-la", status=1).stderr
        self.assertIn("did you mean 'rhinet2-le'", said)
        said = run("sim", "thesis", "P1", "--platform", "1-2:dimmnet-1", status=2).stderr
        self.assertIn("rhinet run --nic martini", said)
        self.assertIn("core_ps is 1 to",
                      run("sim", "thesis", "P1", "--set", "core_ps=0", status=1).stderr)


class Programs(unittest.TestCase):
    """`rhinet run --nic martini --platform`."""

    EXAMPLE = str(Path(PROGRAM).parent / "examples" / "ring")

    def hash(self, *words, **environment):
        environment.setdefault("RHINET_MARTINI", "report=-")
        said = run("run", "--nic", "martini", "-n", 3, *words, self.EXAMPLE, **environment).stderr
        return said[said.index("hash "):].split()[1]

    def test_which_machine(self):
        plain = self.hash()
        self.assertEqual(plain, self.hash("--platform", "rhinet2-le"))
        slot = self.hash("--platform", "dimmnet-1")
        mixed = self.hash("--platform", "1-2:dimmnet-1")
        self.assertEqual(len({plain, slot, mixed}), 3)
        self.assertEqual(mixed, self.hash(RHINET_MARTINI="report=-,platform=1-2:dimmnet-1"))
        # single constants change the machine, wherever they stand
        before, behind = (self.hash(RHINET_MARTINI=f"report=-,{text}") for text in (
            "core_ps=25000,platform=dimmnet-1", "platform=dimmnet-1,core_ps=25000"))
        self.assertEqual(before, behind)
        self.assertNotIn(before, (plain, slot))

    def test_refused(self):
        done = run("run", "--nic", "martini", "-n", 2, "--platform", "none", self.EXAMPLE, status=1)
        self.assertIn("'none' is no file and no platform", done.stderr)
        run("run", "-n", 2, "--platform", "a,b", self.EXAMPLE, status=2)


if __name__ == "__main__":
    tap.main()
