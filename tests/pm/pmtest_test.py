#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pmtest runs, says what it should and refuses what it cannot do. Its figures are not judged here:
this machine may be busy with anything."""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import tap  # noqa: E402

RHINET, PMTEST = os.environ["TEST_RHINET"], os.environ["TEST_PMTEST"]
QUICK = ["--rounds", "3", "--count", "50", "--json", "-"]


def pmtest(ranks, *options):
    return subprocess.run([RHINET, "run", "-n", str(ranks), PMTEST, *options], text=True,
                          capture_output=True, timeout=120, check=False)


class Measure(unittest.TestCase):
    def results(self, ranks, *options):
        done = pmtest(ranks, *QUICK, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["ranks"], ranks)
        for entry in report["results"]:
            self.assertGreater(entry["value"], 0)
        return report["results"]

    def test_all_by_default(self):
        results = self.results(2, "--sizes", "8,2040,8184")
        self.assertEqual({r["test"] for r in results}, {"pingpong", "burst"})
        self.assertEqual({r["implementation"] for r in results}, {"pm-ring", "pm-queue", "pm-auto"})
        self.assertFalse([r for r in results if r["implementation"] == "pm-queue"
                          and r["bytes"] > 2040])
        self.assertTrue(all(r["ratio"] > 0 for r in results if r["test"] == "pingpong"))

    def test_choice(self):
        results = self.results(3, "-t", "pingpong", "-p", "pm-ring", "-s", "0,8184", "--split")
        self.assertEqual([(r["implementation"], r["bytes"]) for r in results],
                         [("pm-ring", 0), ("pm-ring", 8184)])

    def test_cost(self):
        results = self.results(6, "-t", "cost")
        self.assertEqual([r["senders"] for r in results], [2, 4, 5] * 3)

    def test_table(self):
        done = pmtest(2, "-t", "burst", "-p", "pm-auto", "-s", "64", "-r", "1", "-c", "100")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"burst +pm-auto +64 bytes +[\d.]+ MB/s")


class Refuse(unittest.TestCase):
    def test_arguments(self):
        for options in (["-t", "dance"], ["-p", "pm-pigeon"], ["-s", "8185"], ["-s", "x"],
                        ["-r", "0"], ["-c", "-1"], ["more"], ["-p", "pm-ring,pm-ring"]):
            with self.subTest(options):
                done = subprocess.run([PMTEST, *options], text=True, capture_output=True,
                                      timeout=20, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn("pmtest:", done.stderr)

    def test_alone(self):
        done = subprocess.run([PMTEST], text=True, capture_output=True, timeout=20, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("rhinet run", done.stderr)

    def test_help(self):
        done = subprocess.run([PMTEST, "--help"], text=True, capture_output=True, timeout=20,
                              check=False)
        self.assertEqual(done.returncode, 0)
        self.assertIn("--json", done.stdout)

    def test_setting(self):
        done = subprocess.run([RHINET, "run", "-n", "2", PMTEST], text=True, capture_output=True,
                              timeout=20, check=False, env={**os.environ, "RHINET_PM": "pm-x"})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("RHINET_PM", done.stderr)


if __name__ == "__main__":
    tap.main()
