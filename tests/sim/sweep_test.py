# SPDX-License-Identifier: BSD-3-Clause
"""--sweep, --seeds and `rhinet sim sensitivity`: figures of a sweep are those of single runs."""

import csv
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import tap

PROGRAM = os.environ["SIM_PROGRAM_PATH"]


def run(*words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120,
                          check=False)
    if done.returncode != status:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def thesis(row, *words):
    return json.loads(run("sim", "thesis", row, *words, "--json", "-").stdout)["simulated"]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sweep-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Thesis(Case):
    def test_all_combinations(self):
        """Any number of processes finds what single runs find."""
        for processes in (1, 3):
            sweep = json.loads(run("sim", "thesis", "P1", "--sweep", "core_ps=7519,15152",
                                   "--sweep", "pci_ps=10000:20000:5000", "--processes", processes,
                                   "--json", "-").stdout)
            self.assertEqual([axis["name"] for axis in sweep["axes"]], ["core_ps", "pci_ps"])
            self.assertEqual([tuple(point["at"].values()) for point in sweep["points"]],
                             [(a, b) for a in (7519, 15152) for b in (10000, 15000, 20000)])
            point = sweep["points"][4]
            self.assertEqual(point["figures"]["P1"]["mean"],
                             thesis("P1", "--set", "core_ps=15152", "--set", "pci_ps=15000"))

    def test_the_hosts_of_chapter_7(self):
        """What is said of a constant counts, also if it is the other hosts' value."""
        values = (18, 20, 45)
        points = json.loads(run("sim", "thesis", "R18", "--sweep", "post_cycles=18,20,45",
                                "--json", "-").stdout)["points"]
        found = [point["figures"]["R18"]["mean"] for point in points]
        self.assertEqual(found, [thesis("R18", "--set", f"post_cycles={value}")
                                 for value in values])
        self.assertEqual(found[2], thesis("R18"))
        for value, simulated in zip(values, found):  # each clock takes 15.152 ns
            self.assertAlmostEqual(found[2] - simulated, (45 - value) * 0.015152)
        self.assertEqual(thesis("R18", "--platform", "rhinet2-le"),
                         thesis("R18", "--set", "post_cycles=18", "--set", "pci_read_cycles=13"))

    def test_below_zero(self):
        """Without header generation BOTF's way of pulling loses."""
        (point,) = json.loads(run("sim", "thesis", "T6.3-gain", "--sweep", "header_cycles=0",
                                  "--json", "-").stdout)["points"]
        self.assertEqual(point["figures"]["T6.3-gain"]["mean"],
                         thesis("T6.3-gain", "--set", "header_cycles=0"))
        self.assertLess(point["figures"]["T6.3-gain"]["mean"], 0)

    def test_all_digits_of_values(self):
        path, pictures = self.folder / "it.csv", self.folder / "pictures"
        said = run("sim", "thesis", "M1", "--sweep", "pio_ps=1234567,1234568", "--sweep",
                   "core_ps=15152,1234567", "--csv", path, "--plot", pictures).stdout
        self.assertEqual([tuple(line.split()[:2]) for line in said.splitlines()[1:]],
                         [(a, b) for a in ("1234567", "1234568") for b in ("15152", "1234567")])
        self.assertEqual({row["pio_ps"] for row in csv.DictReader(path.open())},
                         {"1234567", "1234568"})
        self.assertIn("core_ps 1234567", (pictures / "M1.svg").read_text())

    def test_one_seed_has_no_interval(self):
        words = ("sim", "thesis", "M1", "--sweep", "core_ps=15152")
        (point,) = json.loads(run(*words, "--json", "-").stdout)["points"]
        self.assertIsNone(point["figures"]["M1"]["half_95"])
        (row,) = csv.DictReader(io.StringIO(run(*words, "--csv", "-").stdout))
        self.assertEqual(row["half_95"], "-")

    def test_more_lines_than_a_picture_has(self):
        for last in (6, 7):
            said = run("sim", "thesis", "M1", "--sweep", "core_ps=15152", "--sweep",
                       f"pio_ps=1:{last}:1", "--plot", self.folder).stderr
            self.assertEqual("the first 6 of 7 lines" in said, last == 7, said)

    def test_files(self):
        path, pictures = self.folder / "it.csv", self.folder / "pictures"
        said = run("sim", "thesis", "table-6.2", "--sweep", "core_ps=7519,15152", "--csv", path,
                   "--plot", pictures).stdout
        self.assertIn("T6.2-PUSH-6", said)
        rows = list(csv.DictReader(path.open()))
        self.assertEqual({row["core_ps"] for row in rows}, {"7519", "15152"})
        self.assertEqual({row["figure"] for row in rows},
                         {picture.stem for picture in pictures.iterdir()})
        drawn = xml.dom.minidom.parse(str(pictures / "T6.2-chip.svg"))
        self.assertEqual(len(drawn.getElementsByTagName("polyline")), 1)
        self.assertEqual(len(drawn.getElementsByTagName("circle")), 2)

    def test_refused(self):
        for words, says in (("core_px=1", "did you mean 'core_ps'"), ("core_ps", "NAME=LIST"),
                            ("core_ps=a,b", "whole numbers"), ("core_ps=1:2", "whole numbers"),
                            ("core_ps=5:1:1", "does not end"),
                            ("core_ps=1:1000:1", "more than 64 values")):
            self.assertIn(says, run("sim", "thesis", "P1", "--sweep", words, status=2).stderr)
        self.assertIn("--json - and --csv -", run("sim", "thesis", "P1", "--json", "-", "--csv",
                                                  "-", status=2).stderr)
        done = run("sim", "thesis", "P1", "--csv", "-", "--plot", self.folder / "none", status=2)
        self.assertEqual(("", False), (done.stdout, (self.folder / "none").exists()))
        self.assertIn("a picture needs --sweep", done.stderr)
        self.assertIn("given twice", run("sim", "thesis", "P1", "--sweep", "core_ps=1,2", "--sweep",
                                         "core_ps=3", status=2).stderr)
        self.assertIn("are more than", run("sim", "thesis", "P1", *(
            word for name in ("core_ps", "pci_ps", "pio_ps")
            for word in ("--sweep", f"{name}=1:64:1")), status=2).stderr)
        # what one combination cannot do is said, and ends all
        self.assertIn("core_ps is 1 to", run("sim", "thesis", "P1", "--sweep", "core_ps=0,1",
                                             status=1).stderr)


class Network(Case):
    def test_seeds(self):
        ring = self.folder / "ring"
        run("route", "generate", "ring", "--switches", 4, "--hosts", 3, "-o", ring)
        base = ("sim", "run", "--topology", ring, "--time", "100us", "--size", 64)
        found = csv.DictReader(io.StringIO(run(
            *base, "--load", "0.1,0.2", "--sweep", "switch_ps=50000,100000", "--seeds", 3, "--seed",
            7, "--csv", "-").stdout))
        rows = {(row["switch_ps"], row["load"], row["figure"]): row for row in found}
        self.assertEqual(len(rows), 4 * 9)
        single = [json.loads(run(*base, "--load", 0.2, "--set", "switch_ps=50000", "--seed", seed,
                                 "--json", "-").stdout)["points"][0] for seed in (7, 8, 9)]
        values = [point["latency_mean_us"] for point in single]
        row = rows["50000", "0.2", "latency_mean"]
        self.assertAlmostEqual(float(row["mean"]), statistics.mean(values), places=7)
        self.assertAlmostEqual(float(row["half_95"]),
                               4.303 * statistics.stdev(values) / 3 ** 0.5, places=5)
        self.assertAlmostEqual(float(row["least"]), min(values), places=7)
        self.assertAlmostEqual(float(row["most"]), max(values), places=7)
        self.assertEqual(row["seeds"], "3")
        self.assertEqual(rows["50000", "0.2", "accepted"]["unit"], "") # and what follows is there


class Sensitivity(Case):
    def test_effects(self):
        said = run("sim", "sensitivity", "P1", "--constant", "core_ps", "--constant", "patlb_sets",
                   "--change", 50, "--json", "-").stdout
        row = json.loads(said)
        effects = {effect["constant"]: effect for effect in row["effects"]}
        self.assertEqual(set(effects), {"core_ps"}) # nothing misses
        changed = thesis("P1", "--set", "core_ps=22728")
        self.assertEqual(effects["core_ps"]["simulated"], changed)
        plain = thesis("P1")
        self.assertAlmostEqual(effects["core_ps"]["elasticity"], (changed - plain) / plain / 0.5)
        self.assertEqual(row["simulated"], plain)

    def test_the_hosts_of_chapter_7(self):
        for set_to, before, after in ((None, 45, 50), (18, 18, 20)):
            words = () if set_to is None else ("--set", f"post_cycles={set_to}")
            row = json.loads(run("sim", "sensitivity", "R18", "--constant", "post_cycles", *words,
                                 "--json", "-").stdout)
            was, changed = (thesis("R18", "--set", f"post_cycles={value}")
                            for value in (before, after))
            self.assertEqual(row["simulated"], was)
            (effect,) = row["effects"]
            self.assertEqual(effect["simulated"], changed)
            self.assertAlmostEqual(effect["elasticity"],
                                   (changed - was) / was / ((after - before) / before))

    def test_from_zero(self):
        """A row that is 0 before moves, though not by percents."""
        row = json.loads(run("sim", "sensitivity", "T6.3-gain", "--set", "header_cycles=12",
                             "--constant", "header_cycles", "--json", "-").stdout)
        self.assertEqual(row["simulated"], 0)
        (effect,) = row["effects"]
        self.assertGreater(effect["simulated"], 0)
        self.assertIsNone(effect["elasticity"])

    def test_table(self):
        said = run("sim", "sensitivity", "table-6.2", "--top", 1).stdout
        self.assertRegex(said, r"T6.2-AOTF-1 .*pio_ps .*\+0.83")
        self.assertIn("did you mean 'core_ps'", run("sim", "sensitivity", "--constant", "core_px",
                                                    status=2).stderr)
        self.assertIn("nonsense", run("sim", "sensitivity", "nonsense", status=2).stderr)


if __name__ == "__main__":
    tap.main()
