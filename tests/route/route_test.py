#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""`rhinet route` as a user sees it: reports, stages of a repair, fabrics that are broken."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import tap

PROGRAM = os.environ["ROUTE_PROGRAM_PATH"]


def route(*words, status=0):
    done = subprocess.run([PROGRAM, "route", *map(str, words)], capture_output=True, text=True,
                          timeout=60, check=False)
    if done.returncode != status:
        raise AssertionError(f"{words} ended with {done.returncode}, not {status}:\n"
                             f"{done.stdout}{done.stderr}")
    return done


def cut(fabric, switch, port):
    """The fabric's text without one cable."""
    lines, at, far = [], None, None
    for line in fabric.read_text().splitlines():
        block = re.match(r'(?:Switch|Ca)\s+\d+ "([^"]+)"', line)
        at = block[1] if block else at
        cable = re.match(r'\[(\d+)\]\s+"([^"]+)"\[(\d+)\]', line)
        if cable and (at, cable[1]) == (switch, str(port)):
            far = (cable[2], cable[3])
        lines.append((at, cable and cable[1], line))
    assert far, f"{switch} has no cable at port {port}"
    gone = ((switch, str(port)), far)
    return "\n".join(line for at, number, line in lines if (at, number) not in gone) + "\n"


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="route-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.net, self.table = self.folder / "net", self.folder / "table"

    def made(self, *kind):
        route("generate", *kind, "-o", self.net)
        route("compute", self.net, "--lft", self.table)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path


class Check(Case):
    def test_json(self):
        self.made("ring", "--switches", 5, "--hosts", 2)
        out = self.folder / "report"
        route("check", self.net, self.table, "--json", out)
        report = json.loads(out.read_text())
        self.assertTrue(report["passed"])
        self.assertEqual(report["pairs"], 90)
        self.assertGreater(report["throughput"]["all"], 0)
        said = route("check", self.net, self.table, "--json", "-").stdout
        self.assertEqual(json.loads(said), report)

    def test_json_of_a_failure(self):
        self.made("ring", "--switches", 5, "--hosts", 2)
        lines = self.table.read_text().splitlines()
        entry = next(i for i, line in enumerate(lines) if line.startswith("0x"))
        self.file("table", "\n".join(lines[:entry] + lines[entry + 1:]) + "\n")
        report = json.loads(route("check", self.net, self.table, "--json", "-", status=1).stdout)
        self.assertFalse(report["passed"])
        self.assertNotEqual(report["problem"], "")

    def test_the_last_size_counts(self):
        once = route("generate", "torus", "--size", "3x3").stdout
        twice = route("generate", "torus", "--size", "2x2x2", "--size", "3x3").stdout
        self.assertEqual(twice, once)

    def test_lanes_within_limit(self):
        route("generate", "ring", "--switches", 9, "--hosts", 1, "-o", self.net)
        report = json.loads(route("compute", self.net, "-a", "buffer-pool", "--json", "-").stdout)
        needed = report["check"]["virtual_channels"]
        self.assertGreater(needed, 2)
        for limit, status in ((needed, 0), (needed - 1, 1)):
            paths = self.folder / "paths"
            done = route("compute", self.net, "-a", "buffer-pool", "--lane-limit", limit, "--lft",
                         self.table, "--paths", paths, status=status)
            self.assertEqual("MORE THAN THERE ARE" in done.stdout, status == 1)
            words = ("--lanes", "hop", "--lane-limit", limit, "--json", "-")
            for checked in ((self.table,), ("--paths", paths)):
                said = route("check", self.net, *checked, *words, status=status).stdout
                report = json.loads(said)
                self.assertEqual(report["virtual_channels_fit"], status == 0)
                self.assertEqual(report["passed"], status == 0)
        done = route("check", self.net, self.table, "--lane-limit", "0", status=2)
        self.assertIn("--lane-limit is a number from 1 to 64, not '0'", done.stderr)


class Broken(Case):
    def test_cut_off(self):
        """One switch without cables does not keep the others from their tables."""
        self.file("net", "a b\nb c\nc a\nswitch alone\nhosts a 2\nhosts b 2\nhosts c 2\n"
                         "hosts alone 1\n")
        done = route("compute", self.net, "--lft", self.table, "--json", "-")
        report = json.loads(done.stdout)
        self.assertEqual((report["switches"], report["hosts"]), (3, 6))
        self.assertEqual((report["cut_off_switches"], report["cut_off_hosts"]), (1, 1))
        self.assertIn("1 switches and 1 hosts are cut off", done.stderr)
        self.assertIn("'alone' first", done.stderr)
        self.assertNotIn("alone", self.table.read_text())
        report = json.loads(route("check", self.net, self.table, "--json", "-").stdout)
        self.assertEqual((report["passed"], report["cut_off_switches"]), (True, 1))

    def test_a_failure_cuts_off(self):
        """A switch loses its only cable: the others are mended all the same."""
        self.file("edges", "a b\nb c\nc a\nc end\nhosts a 2\nhosts b 2\nhosts c 2\nhosts end 1\n")
        route("compute", self.folder / "edges", "--lft", self.table)
        now = self.file("now", "switch a\nswitch b\nswitch c\nswitch end\na b\nb c\nc a\n"
                               "hosts a 2\nhosts b 2\nhosts c 2\nhosts end 1\n")
        said = route("repair", self.folder / "edges", self.table, now, "--json", "-").stdout
        report = json.loads(said)
        self.assertEqual(report["cut_off_switches"], 1)
        self.assertTrue(report["check"]["passed"] and report["transition_safe"])

    def test_wrong_lids(self):
        self.file("net", 'Switch 8 "S-1" # "Euclid 7 leaf" base port 0 lid 1 lmc 0\n'
                         '[1] "H-2"[1](2) # "x" lid 5 4xQDR\n[2] "H-3"[1](3) # "y" lid 5 4xQDR\n')
        done = route("compute", self.net, status=1)
        self.assertIn(f"{self.net}:3: LID 5 belongs to both 'H-2' port 1 and 'H-3' port 1 (line 2)",
                      done.stderr)


class Repair(Case):
    def files(self):
        return sorted(path.name for path in self.folder.glob("new*") if path.suffix != ".memo")

    def mended(self, *words):
        new = self.folder / "new"
        return json.loads(route("repair", self.net, self.table, self.folder / "now", "--lft", new,
                                "--json", "-", *words).stdout)

    def test_stages(self):
        """Some cables of a switch: there is a file for each stage, and the last one passes."""
        self.made("random", "--switches", 12, "--ports", 4, "--hosts", 2, "--seed", 3)
        most = 1
        for port in (3, 4, 5):
            self.file("now", cut(self.net, "s1", port))
            report = self.mended()
            most = max(most, report["stages"])
            self.assertTrue(report["transition_safe"])
            self.assertTrue(report["check"]["passed"])
            stages = [f"new.stage{i}" for i in range(1, report["stages"])]
            self.assertEqual(self.files(), ["new", *stages])
            route("check", self.folder / "now", self.folder / "new")
        self.assertGreater(most, 1)

    def test_words(self):
        self.made("fat-tree", "--ports", 4)
        self.file("now", cut(self.net, "m(0,0)", 1))
        new = self.folder / "new"
        done = route("repair", self.net, self.table, self.folder / "now", "--lft", new)
        self.assertIn("transition: 2 stages (each step checked)", done.stdout)
        self.assertIn(f"1. load {new}.stage1, and wait until all switches have it", done.stdout)
        self.assertIn(f"2. load {new}\n", done.stdout)
        done = route("repair", self.net, self.table, self.folder / "now", "--lft", "-", status=1)
        self.assertIn("the change needs 2 stages, a file for each", done.stderr)
        report = self.mended("--no-check")
        self.assertEqual(report["stages"], 2)
        self.assertNotIn("transition_safe", report)

    def test_nothing_to_do(self):
        self.made("fat-tree", "--ports", 4)
        shutil.copy(self.net, self.folder / "now")
        self.file("new.stage1", "of an older repair")
        self.assertEqual(self.mended()["stages"], 1)
        self.assertEqual(self.files(), ["new"])

    def test_replaced(self):
        """A table that deadlocks by itself: all is drained, and it says so."""
        route("generate", "ring", "--switches", 6, "--hosts", 2, "-o", self.net)
        route("compute", self.net, "-a", "shortest", "--lft", self.table, status=1)
        shutil.copy(self.net, self.folder / "now")
        report = self.mended()
        self.assertTrue(report["replaced"] and report["old_table_unsafe"])
        self.assertFalse(report["transition_safe"])
        self.assertEqual(report["stages"], 2)
        self.assertGreater(report["entries_dropped_meanwhile"], 0)
        done = route("repair", self.net, self.table, self.folder / "now")
        self.assertIn("the table in use is unsafe by itself", done.stdout)

    def test_memo_of_another_table(self):
        self.made("fat-tree", "--ports", 4)
        self.file("now", cut(self.net, "m(0,0)", 1))
        self.assertTrue(self.mended()["memo"])
        route("compute", self.folder / "now", "--lft", self.folder / "other")
        shutil.copy(self.folder / "other.memo", self.folder / "table.memo")
        done = route("repair", self.net, self.table, self.folder / "now", "--json", "-")
        self.assertIn("table.memo belongs to another table", done.stderr)
        self.assertFalse(json.loads(done.stdout)["memo"])

    def test_other_turns(self):
        """A sound table with other turns than ours may have: stages are checked all the same."""
        route("generate", "random", "--switches", 12, "--ports", 4, "--hosts", 2, "-o", self.net)
        route("compute", self.net, "-a", "up-down", "--lft", self.table)
        (self.folder / "table.memo").unlink(missing_ok=True)
        self.file("now", cut(self.net, "s1", 3))
        report = self.mended()
        self.assertTrue(report["transition_safe"])
        self.assertFalse(report["old_table_unsafe"])


if __name__ == "__main__":
    tap.main()
