#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""`rhinet cache bench` on this machine: each experiment runs all its trials, reads what it says and
leaves nothing behind, whether it ends well or not. How fast it was is not asserted."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import tap  # noqa: E402

RHINET = os.environ["TEST_RHINET"]
HANG_S = 300
QUICK = ["--quick", "--pretend", "2G"]
MIB = 1 << 20


def environment(**settings):
    own = {name: value for name, value in os.environ.items() if not name.startswith("RHINET_")}
    return {**own, **{name: str(value) for name, value in settings.items()}}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rhinet-bench-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()

    def call(self, *words, program=RHINET, family="cache", **settings):
        return subprocess.run([program, family, *map(str, words)], capture_output=True, text=True,
                              timeout=HANG_S, check=False,
                              env=environment(**{"TMPDIR": self.scratch, **settings}))

    def check_refused(self, status, said, *words, **more):
        done = self.call(*words, **more)
        self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
        self.assertRegex(done.stderr, said, words)
        self.assertEqual(list(self.scratch.iterdir()), [])
        return done

    def bench(self, *words, **settings):
        """What it prints, the trials, and the pictures."""
        rows, plots = self.folder / "rows", self.folder / "plots"
        done = self.call("bench", *words, "--json", rows, "--plot", plots, **settings)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(self.scratch.iterdir()), [])
        trials = [json.loads(line) for line in rows.read_text().split("\n") if line]
        return done.stdout, trials, sorted(path.name for path in plots.iterdir())


class Experiments(Case):
    def test_sequential_and_random(self):
        said, trials, plots = self.bench(*QUICK, "--nodes", 2, "sequential", "random")
        self.assertEqual(plots, ["random.svg", "sequential.svg"])
        self.assertEqual(len(re.findall(r"MiB/s, all nodes together", said)), 2)
        counted = Counter((trial["experiment"], trial["nodes"], trial["plain"]) for trial in trials)
        self.assertEqual(counted, {("sequential", 1, True): 1, ("sequential", 1, False): 3,
                                   ("sequential", 2, True): 1, ("sequential", 2, False): 3,
                                   ("random", 2, True): 4, ("random", 2, False): 4})
        for trial in trials:
            each = trial["data_bytes"] if trial["experiment"] == "sequential" else 256 * 65536
            self.assertEqual(trial["bytes"], trial["nodes"] * each, trial)
            if trial["plain"]:
                self.assertEqual(trial["loads"], 0)


class Overhead(Case):
    """What the programs that are measured do is not ours: here they do nothing."""

    def programs(self, **scripts):
        place = self.folder / "bin"
        place.mkdir()
        for name in ("sh", "grep", "sha256sum", "dd"):
            if name in scripts and scripts[name] is None:
                continue
            (place / name).symlink_to("/bin/sh" if name == "sh" else "/bin/true")
            if name in scripts:
                (place / name).unlink()
                (place / name).write_text(scripts[name])
                (place / name).chmod(0o755)
        return place

    def test_table(self):
        done = self.call("bench", "--quick", "overhead", PATH=self.programs())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(re.findall(r" ms .*<= 1 (?:%|ms) +(?:ok|MISSED)$", done.stdout, re.M)),
                         4, done.stdout)
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_with_the_library(self):
        """Every other run has it, an agent's name, and a path; the others have nothing of it."""
        log = self.folder / "log"
        script = f'#!/bin/sh\necho "${{LD_PRELOAD##*/}} $RHINET_CACHE_SOCKET" >> {log}\n'
        done = self.call("bench", "--quick", "overhead", PATH=self.programs(dd=script))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(log.read_text().split("\n"),
                         [" ", "librhinet_cache.so rhinet-bench-none"] * 13 + [""])

    def test_a_program_fails(self):
        self.check_refused(1, "cannot run `exec sha256sum", "bench", "--quick", "overhead",
                           PATH=self.programs(sha256sum="#!/bin/sh\nexit 2\n"))

    def test_a_program_is_killed(self):
        self.check_refused(1, "cannot run `exec dd", "bench", "--quick", "overhead",
                           PATH=self.programs(dd="#!/bin/sh\nkill -9 $$\n"))

    def test_no_shell(self):
        self.check_refused(1, "cannot run `exec /bin/true", "bench", "--quick", "overhead",
                           PATH=self.programs(sh=None))

    def test_wrong_setting(self):
        self.check_refused(1, "RHINET_TIMEOUT", "bench", "overhead", RHINET_TIMEOUT="much")


class Refused(Case):
    def test_usage(self):
        for words in (["--run", " x" * 33], ["--nodes", "0"], ["--nodes", "x"], ["--nodes", ""],
                      ["--nodes", "1,2,3,4,5,6", "--simulate"], ["--nodes", "2,129"],
                      ["--pretend", "0"], ["--pretend", "fast"], ["--simulate", "overhead"],
                      ["--nodes", "1,2", "stride"]):
            self.check_refused(2, "rhinet help", "bench", *words)

    def test_no_place(self):
        there = self.folder / "a file"
        there.write_text("kept")
        nowhere = self.folder / "nowhere"
        for said, words, settings in (
                (r"nowhere \(--path\): No such", ["--path", nowhere], {}),
                (r"nowhere \(TMPDIR\): No such", [], {"TMPDIR": nowhere}),
                (r"\(--path\): No such file or directory", ["--path", "/" + "long/" * 250], {}),
                (r"\(TMPDIR\): No such file or directory", [], {"TMPDIR": "/" + "long/" * 250}),
                ("a file", ["--plot", there], {}),
                ("nowhere/rows", ["--json", nowhere / "rows"], {})):
            self.check_refused(1, said, "bench", *words, "sequential", **settings)
        self.assertEqual(there.read_text(), "kept")

    def test_a_long_folder(self):
        """It is used as it is, and not something shorter."""
        place = self.folder / ("x" * 100) / ("y" * 90)
        place.mkdir(parents=True)
        self.check_refused(1, "trial sequential on 1 nodes failed", "bench", *QUICK, "sequential",
                           "--run", "--nothing", TMPDIR=place)
        self.assertEqual(list(place.iterdir()), [])
        self.check_refused(1, f"no folder for data in {place}/no", "bench", *QUICK, "sequential",
                           "--path", place / "no")

    def test_files_of_the_same_name(self):
        """What the user keeps in the folder to be measured stays, whatever its name is."""
        place = self.folder / "kept"
        place.mkdir()
        for name in ("rhinet-bench-file", "rhinet-bench-files"):
            (place / name).write_text(name)
        for experiment in ("sequential", "speed"):
            self.check_refused(1, "nodes failed", "bench", *QUICK, experiment, "--path", place,
                               "--run", "--nothing")
        self.assertEqual(sorted((one.name, one.read_text()) for one in place.iterdir()),
                         [(name, name) for name in ("rhinet-bench-file", "rhinet-bench-files")])

    def test_no_trial(self):
        """The experiments end at the first trial that does, and say which it was."""
        for name, kind in (("sequential", "sequential on 1"), ("singlets", "random on 3"),
                           ("random", "random on 3"), ("stride", "stride on 3"),
                           ("speed", "hits on 1")):
            done = self.check_refused(1, f"trial {kind} nodes failed", "bench", *QUICK, "--nodes",
                                      3, "--run", "--nothing", name)
            self.assertEqual(done.stderr.count("nodes failed"), 1, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_all_end_with_the_first(self):
        done = self.check_refused(1, "trial hits on 1 nodes failed", "bench", *QUICK, "--run",
                                  "--nothing")
        self.assertNotIn("sequential", done.stderr)

    def test_a_program_alone(self):
        """Without what is installed beside it."""
        alone = self.folder / "alone"
        alone.write_bytes(Path(RHINET).read_bytes())
        alone.chmod(0o755)
        for said, words in (("librhinet_cache.so is not there", ["bench", "overhead"]),
                            ("needs rhinet-cache-mount", ["mount", "/", "/nowhere"])):
            self.check_refused(1, said, *words, program=alone)


class Trial(Case):
    """What an experiment's job runs, here as a job of one."""

    def trial(self, *words, **settings):
        return self.call(".trial", *words, family="bench", RHINET_CACHE_PATH=self.folder,
                         RHINET_CACHE_SETTLE="0s", **{"RHINET_CACHE_SIZE": "8M", **settings})

    def file(self, size):
        path = self.folder / "data"
        path.write_bytes(bytes(size))
        return path

    def check_fails(self, status, said, *words, **settings):
        done = self.trial(*words, **settings)
        self.assertEqual((done.returncode, done.stdout), (status, ""), (words, done.stderr))
        self.assertRegex(done.stderr, said, words)

    def test_kinds(self):
        data = self.file(300000)
        (self.folder / "0").write_bytes(bytes(1000))
        for words, count in ((["sequential", "cache", data, 65536, 0], 300000),
                             (["stride", "plain", data, 100000, 0], 300000),
                             (["random", "plain", data, 65536, 7], 7 * 65536),
                             (["files", "cache", self.folder, 4096, 1], 1000),
                             (["hits", "cache", data, 4096, 5], 31 * 5 * 4096)):
            done = self.trial(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            row = json.loads(done.stdout)
            self.assertEqual((row["kind"], row["bytes"], row["nodes"]), (words[0], count, 1))

    def test_usage(self):
        for words in (["nothing", "plain", "x", 1, 1], ["random", "plain", "x", "y", 1],
                      ["random", "plain", "x", 1, "y"], ["random", "plain", "x", 0, 1]):
            self.check_fails(2, "rhinet help", *words)

    def test_shorter_than_a_read(self):
        data = self.file(100)
        for kind, way in (("random", "plain"), ("random", "cache"), ("hits", "cache")):
            self.check_fails(1, "data is shorter than a read", kind, way, data, 4096, 1)

    def test_what_cannot_be_read(self):
        missing = self.folder / "missing"
        for kind in ("sequential", "stride", "random", "hits", "remote"):
            self.check_fails(1, "missing: No such file", kind, "cache", missing, 4096, 1)
        self.check_fails(1, "missing/0: No such file", "files", "plain", missing, 4096, 1)
        self.check_fails(1, "sequential: Input/output error", "sequential", "plain", self.folder,
                         4096, 1)
        self.check_fails(1, "/etc/passwd is not cached", "sequential", "cache", "/etc/passwd", 4096,
                         1)

    def test_settings(self):
        data = self.file(100)
        self.check_fails(1, "RHINET_CACHE_GROUPS", "sequential", "cache", data, 4096, 1,
                         RHINET_CACHE_GROUPS="x")
        self.check_fails(1, "makes no sense", "sequential", "cache", data, 4096, 1,
                         RHINET_CACHE_SIZE="1K")
        self.check_fails(1, "PMI_FD", "sequential", "cache", data, 4096, 1, RHINET_STARTER="pmi1")


class Simulated(Case):
    def test_all(self):
        """Without a name all that can be simulated."""
        said, trials, plots = self.bench("--simulate", "--quick", "--nodes", 2)
        self.assertEqual(plots, ["simulated-random.svg", "simulated-sequential.svg",
                                 "simulated-singlets.svg", "simulated-stride-1.svg",
                                 "simulated-stride-16.svg", "simulated-stride-256.svg"])
        self.assertEqual(Counter(trial["experiment"] for trial in trials),
                         {"sequential": 5, "singlets": 18, "random": 8, "stride": 15})
        self.assertEqual({trial["singlets"] for trial in trials if
                          trial["experiment"] == "singlets"}, {0, 0.3, 0.5, 0.7, 0.9, "auto"})
        for trial in trials:
            if trial["experiment"] == "stride":
                self.assertEqual(trial["bytes"], trial["data_bytes"], trial)
        self.assertEqual(said.count("simulated (MiB/s"), 6)

    def test_usual_nodes(self):
        _, trials, _ = self.bench("--simulate", "--quick", "sequential")
        self.assertEqual([trial["nodes"] for trial in trials], [12] * 5 + [24] * 5)


if __name__ == "__main__":
    tap.main()
