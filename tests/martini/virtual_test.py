# SPDX-License-Identifier: BSD-3-Clause
"""Programs in virtual time on the simulated cluster: clocks and sleeps, what computing costs,
recordings, and unmodified MPI programs. TEST_CLOCKS is clocks.c, built."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import tap
from processes import marked, wait_until

RHINET, EXAMPLES = os.environ["TEST_RHINET"], os.environ["TEST_EXAMPLES"]
CLOCKS = os.environ["TEST_CLOCKS"]
MPICC, MPIRUN = shutil.which("mpicc.openmpi"), shutil.which("mpirun.openmpi")
HAS_MPI = MPICC and MPIRUN and os.environ.get("TEST_MPI") == "yes"
HERE = pathlib.Path(__file__).parent
LIMIT_S = 120
REPORT = re.compile(r"simulated: \d+ nodes, ([0-9.]+) ms of virtual time, \d+ events, hash (\w+)")
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def environment(**more):
    return {**os.environ, **ROOT, "RHINET_MARTINI": "report=-", "RHINET_TIMEOUT": "60s", **more}


def run(*words, command="run", **more):
    return subprocess.run([RHINET, command, "--nic", "martini", *map(str, words)], text=True,
                          capture_output=True, timeout=LIMIT_S, env=environment(**more),
                          check=False)


def example(name):
    return os.path.join(EXAMPLES, name)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="virtual-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def good(self, done):
        """Virtual ms and hash of a run that succeeded."""
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = REPORT.search(done.stderr)
        self.assertTrue(found, done.stderr)
        return float(found[1]), found[2]

    def refused(self, done, *words):
        self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


class Clocks(Case):
    def test_clocks_and_sleeps(self):
        first, second = (run("--clock", "virtual", "-n", 2, CLOCKS) for _ in range(2))
        ms, _ = self.good(first)
        self.assertGreater(ms, 3600e3)
        for line in ("machine's clock before: yes", "waited for rank 1: yes", "0 failed",
                     "date: Sat Jan  1 01:00:"):
            self.assertIn(line, first.stdout)
        self.assertEqual((first.stdout, self.good(first)), (second.stdout, self.good(second)))

    def test_only_if_asked_for(self):
        plain = run("-n", 3, example("hello"))
        self.assertEqual(self.good(plain),
                         self.good(run("--clock", "machine", "-n", 3, example("hello"))))
        for words in (["--compute", "none"], ["--clock", "virtual"], ["--platform", "dimmnet-1"],
                      *([f"--{name}", "x"] for name in ("trace", "pcap", "packets", "usage")),
                      ["--trace-limit", "1M"]):
            done = subprocess.run([RHINET, "run", *words, "-n", "2", example("hello")],
                                  text=True, capture_output=True, timeout=LIMIT_S, check=False)
            self.assertEqual(done.returncode, 2, words)
            self.assertRegex(done.stderr, f"{words[0]}.* for --nic martini")

    def test_a_long_list(self):
        """What options add to RHINET_MARTINI is not lost without a word."""
        for count in (40, 2000):
            self.refused(run("--usage", "-", "-n", 2, example("hello"),
                             RHINET_MARTINI="report=-" + ",seed=1" * count),
                         "RHINET_MARTINI is longer than 255 characters")


class Compute(Case):
    def recorded(self, path):
        """{rank: (ns, calls)} of a recording."""
        found = {}
        lines = path.read_text().splitlines()
        self.assertRegex(lines[0], r"^rhinet-compute 1 \d+$")
        for line in lines[1:]:
            rank, call, what = line.split()
            ns, _ = found.get(rank, (0, 0))
            found[rank] = (ns, int(call)) if what == "end" else (ns + int(what), 0)
        return found

    def least_ms(self, *words, **more):
        """Virtual time of the run of three that was disturbed least: measured time varies with what
        else runs here."""
        return min(self.good(run(*words, **more))[0] for _ in range(3))

    def test_none_takes_no_time(self):
        few, many = (run("--compute", "none", "-n", 4, example("ep"), pairs)
                     for pairs in (1000, 2000000))
        self.assertEqual(self.good(few), self.good(many))

    def test_a_recording_replays(self):
        path = self.folder / "recording"
        done = run("--compute", f"record:{path}", "-n", 4, example("ep"), 400000)
        was = self.good(done)
        for _ in range(2):
            again = run("--compute", f"replay:{path}", "-n", 4, example("ep"), 400000)
            self.assertEqual((self.good(again), again.stdout), (was, done.stdout))
        self.assertEqual(sorted(self.recorded(path)), ["0", "1", "2", "3"])

    def took_ms(self, ranks, total_ns):
        """What ep prints if its loop, the longest part of each rank's computing, takes all ranks
        together so long: by a recording, since measured time varies with what else runs here."""
        path = self.folder / f"{ranks}"
        self.good(run("--compute", f"record:{path}", "-n", ranks, example("ep"), 2000000))
        lines = [line.split() for line in path.read_text().splitlines()]
        for rank in range(ranks):
            loop = max((line for line in lines[1:] if line[0] == str(rank) and line[2] != "end"),
                       key=lambda line: int(line[2]))
            loop[2] = str(total_ns // ranks)
        path.write_text("".join(" ".join(line) + "\n" for line in lines))
        done = run("--compute", f"replay:{path}", "-n", ranks, example("ep"), 2000000)
        self.good(done)
        return float(re.search(r", ([0-9.]+) ms", done.stdout)[1])

    def test_ep_scales(self):
        alone, together = self.took_ms(1, 160000000), self.took_ms(16, 160000000)
        self.assertTrue(15 < alone / together <= 16, f"{alone} and {together}")

    def test_scaled(self):
        slow, usual = (self.least_ms("--compute", model, "-n", 2, example("ep"), 400000)
                       for model in ("scaled:100", "measured"))
        self.assertGreater(slow, 5 * usual)

    def test_the_library_copies_and_zeroes(self):
        """Where computing takes time, so does that; it is not measured, so it is the same."""
        free = self.good(run("--compute", "none", "-n", 4, example("sort")))
        first, second = (self.good(run("--compute", "scaled:0", "-n", 4, example("sort")))
                         for _ in range(2))
        self.assertEqual(first, second)
        self.assertGreater(first[0], free[0])

    def test_the_meter_stops_at_the_edge(self):
        """What rhinet does in its calls is not the program's computing: less is charged than when
        the meter stops at the NIC."""
        edge_ns = []
        for i in range(3):
            path = self.folder / f"{i}"
            self.good(run("--compute", f"record:{path}", "-n", 2, CLOCKS, "calls"))
            edge_ns.append(max(ns for ns, _ in self.recorded(path).values()))
        free = self.good(run("-n", 2, CLOCKS, "calls"))[0]
        nic = self.least_ms("-n", 2, CLOCKS, "calls", RHINET_MARTINI="report=-,compute=1000")
        self.assertLess(min(edge_ns), 0.8e6 * (nic - free))

    def test_refusals(self):
        good, other = self.folder / "good", self.folder / "other"
        self.good(run("--compute", f"record:{good}", "-n", 2, example("hello")))
        self.refused(run("--compute", f"replay:{good}", "-n", 3, example("hello")),
                     "recorded with 2 ranks, and this job has 3")
        self.refused(run("--compute", f"replay:{good}", "-n", 2, example("halo")),
                     "does not fit: rank 0 made")
        other.write_text("rhinet-compute 1 2\n0 5 10\n0 4 10\n")
        self.refused(run("--compute", f"replay:{other}", "-n", 2, example("hello")),
                     f"{other}:3: \"0 4 10\" is not RANK CALL NS")
        self.refused(run("--compute", f"replay:{self.folder}/none", "-n", 2, example("hello")),
                     "cannot read the recording")
        for model in ("much", "scaled:", "scaled:-1", "record:", "scaled:1x"):
            self.refused(run("--compute", model, "-n", 2, example("hello")), "--compute", model)

    def test_threads_cannot_be_recorded(self):
        done = run("--compute", f"record:{self.folder}/x", "-n", 2, CLOCKS, "threads")
        self.assertIn("a second thread", done.stderr)
        self.assertIn("a thread's clock: no", done.stdout)
        done = run("--compute", "measured", "-n", 2, CLOCKS, "threads")
        self.good(done)
        self.assertIn("a thread's clock: yes", done.stdout)


@unittest.skipUnless(HAS_MPI, "no Open MPI, or a sanitizer that its programs do not have")
class Mpi(Case):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory(prefix="virtual-")
        cls.program = f"{cls.place.name}/virtual_mpi"
        subprocess.run([MPICC, "-O1", "-o", cls.program, HERE / "virtual_mpi.c"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def mpirun(self, *words, **more):
        return run(*words, command="mpirun", **more)

    def test_2_and_16_nodes(self):
        for nodes in (2, 16):
            with self.subTest(nodes=nodes):
                done = self.mpirun("-n", nodes, self.program, *(["few"] if nodes == 16 else []))
                self.good(done)
                short = float(re.search(r"^8 B: ([0-9.]+) us$", done.stdout, re.M)[1])
                long = float(re.search(r"^65536 B: ([0-9.]+) us$", done.stdout, re.M)[1])
                # One way in the thesis: 5 us of PM/RHiNET, and 64 KB cannot beat the PCI bus.
                self.assertTrue(4 < short < 40, done.stdout)
                self.assertTrue(65536 / 528 < long < 20 * 65536 / 528, done.stdout)
                self.assertIn(f"sum {nodes * (nodes - 1) // 2}\n", done.stdout)
                waited = float(re.search(r"answer after ([0-9.]+) s", done.stdout)[1])
                self.assertTrue(1 <= waited < 1.001, done.stdout)

    def test_everything_of_mpi(self):
        program = f"{self.folder}/mpi_program"
        subprocess.run([MPICC, "-O1", "-o", program, HERE.parent / "provider/mpi_program.c",
                        "-lpthread"], check=True)
        done = self.mpirun("-n", 2, program)
        self.good(done)
        self.assertIn("ok collectives", done.stdout)
        self.assertIn("ok one_sided", done.stdout)

    def test_the_same_each_time(self):
        first, second = (self.mpirun("--compute", "none", "-n", 4, self.program)
                         for _ in range(2))
        self.assertEqual((self.good(first), first.stdout), (self.good(second), second.stdout))

    def test_a_recording_replays(self):
        path = self.folder / "recording"
        done = self.mpirun("--compute", f"record:{path}", "-n", 2, self.program)
        again = self.mpirun("--compute", f"replay:{path}", "-n", 2, self.program)
        self.assertEqual((self.good(done), done.stdout), (self.good(again), again.stdout))

    def test_a_killed_rank_ends_the_job(self):
        marker = ("RHINET_TEST_VIRTUAL", f"{os.getpid()}-killed")
        done = self.mpirun("-n", 3, self.program, "killed", **dict([marker]))
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"process rank 2 .* exited on signal 9")
        self.assertTrue(wait_until(lambda: not marked(*marker), LIMIT_S))

    def test_nothing_is_left_when_we_are_killed(self):
        marker = ("RHINET_TEST_VIRTUAL", f"{os.getpid()}-left")
        with subprocess.Popen([RHINET, "mpirun", "--nic", "martini", "-n", "2", "sleep", "600"],
                              env=environment(**dict([marker])), stderr=subprocess.DEVNULL) as job:
            # ours, the simulation, mpirun and a rank at least
            is_begun = wait_until(lambda: len(marked(*marker)) >= 4 or job.poll() is not None,
                                  LIMIT_S)
            alive = job.poll() is None
            job.send_signal(signal.SIGKILL)
        self.assertTrue(is_begun and alive)
        self.assertTrue(wait_until(lambda: not marked(*marker), LIMIT_S))

    def test_refusals(self):
        self.refused(self.mpirun(self.program), "how many nodes are to be simulated? Give -n N")
        self.refused(self.mpirun("--clock", "machine", "-n", 2, self.program),
                     "MPI programs need virtual clocks")
        done = self.mpirun("-n", 2, "true")  # no MPI in it: nobody comes to the simulation
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    tap.main()
