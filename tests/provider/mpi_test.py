# SPDX-License-Identifier: BSD-3-Clause
"""Unmodified MPI programs on the provider: mpi_program.c, compiled by Debian's mpicc, under Open
MPI's mpirun. TEST_PROVIDER is the folder of librhinet-fi.so."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import tap

MPICC, MPIRUN = shutil.which("mpicc.openmpi"), shutil.which("mpirun.openmpi")
HERE = pathlib.Path(__file__).parent
PROVIDER, RHINET = os.environ["TEST_PROVIDER"], os.environ["TEST_RHINET"]
LIMIT_S = 120
CASES = ["modes", "everybody", "unexpected", "any_source", "probes", "cut_and_cancelled", "types",
         "collectives", "communicators", "one_sided"]
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
SETTINGS = {
    **ROOT,
    "FI_PROVIDER_PATH": PROVIDER,
    "OMPI_MCA_pml": "cm",
    "OMPI_MCA_mtl": "ofi",
    "OMPI_MCA_opal_common_ofi_provider_include": "rhinet",
    "OMPI_MCA_osc": "pt2pt",  # one-sided by messages too, else it is Open MPI's own shared memory
    "OMPI_MCA_btl": "self",  # the others would leave their segments when a rank is killed
}

# Values of a line each; what stands behind them is for people.
HPCC_INPUT = "\n".join(["HPL", "", "HPL.out", "8 device", "1 size", "100", "1 block", "32",
                        "0 mapping", "1 grid", "1 P", "2 Q", "16.0 threshold", "1", "2 PFACT",
                        "1", "4 NBMIN", "1", "2 NDIV", "1", "1 RFACT", "1", "1 BCAST", "1",
                        "1 DEPTH", "2 SWAP", "64", "0 L1", "0 U", "1", "8 alignment", ""])


def marked(marker):
    """Processes that have inherited the marker and live."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and marker.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@unittest.skipUnless(MPICC and MPIRUN, "Open MPI is not here")
class Mpi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = f"{cls.folder.name}/mpi_program"
        subprocess.run([MPICC, "-O1", "-o", cls.program, HERE / "mpi_program.c", "-lpthread"],
                       check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def launch(self, count, *words, **settings):
        marker = f"RHINET_TEST_MPI={os.getpid()}-{self.id()}"
        name, value = marker.split("=")
        done = subprocess.run([MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", str(count),
                               self.program, *words],
                              env={**os.environ, **SETTINGS, **settings, name: value},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=LIMIT_S, check=False)
        return done, marker

    def check(self, count, cases, *words, **settings):
        done, _ = self.launch(count, *words, **settings)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(re.findall(r"^ok (\w+)$", done.stdout, re.M), cases, done.stderr)

    def test_it_is_ours(self):
        """Without the provider nothing else is taken."""
        done, _ = self.launch(2, "types", FI_PROVIDER_PATH=self.folder.name)
        self.assertNotEqual(done.returncode, 0)
        done, _ = self.launch(2, "types", RHINET_LOG="info")
        self.assertIn("libfabric provider rhinet: rank 1 of 2, NIC shm", done.stderr)

    def test_our_mpirun(self):
        done = subprocess.run([RHINET, "mpirun", "-n", "2", "--nic", "shm", "--",
                               "--oversubscribe", self.program, "types", "one_sided"],
                              env={**os.environ, **ROOT, "RHINET_LOG": "info"}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT_S,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "ok types\nok one_sided\n"),
                         done.stderr)
        self.assertIn("libfabric provider rhinet: rank 1 of 2, NIC shm", done.stderr)

    def test_an_mpirun_that_cannot(self):
        done = subprocess.run([RHINET, "mpirun", "--mpirun", "true", "-n", "2", self.program],
                              text=True, stderr=subprocess.PIPE, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("true is not Open MPI's mpirun", done.stderr)

    def test_bench(self):
        """Everybody who is here has a figure; in company there may be no good round."""
        done = subprocess.run([RHINET, "bench", "mpi", "--quick", "--rounds", "1", "--json", "-",
                               "--only", "send-8,ping-1M,fabric-8"], capture_output=True, text=True,
                              timeout=LIMIT_S, env={**os.environ, **ROOT}, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([row["name"] for row in rows], ["send-8", "ping-1M", "fabric-8"])
        for row in rows:
            if "value" not in row:
                self.assertGreater(row["discarded"], 0)
                continue
            beside = [peer["peer"] for peer in row["peers"]]
            self.assertEqual("Open MPI" in beside, row["name"] != "fabric-8", row)
            self.assertTrue(all(peer["value"] > 0 for peer in row["peers"]))

    def test_bench_without_mpi(self):
        """Who is missing is named, and what can be measured is measured."""
        done = subprocess.run([RHINET, "bench", "mpi", "--quick", "--rounds", "1", "--json", "-",
                               "--only", "send-8,fabric-8"], capture_output=True, text=True,
                              timeout=LIMIT_S, env={**os.environ, "PATH": self.folder.name},
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Open MPI is not here (no mpicc.openmpi)", done.stderr)
        self.assertIn("MPICH is not here (no mpicc.mpich)", done.stderr)
        self.assertIn("send-8 is left out", done.stderr)
        self.assertEqual([json.loads(line)["name"] for line in done.stdout.splitlines()],
                         ["fabric-8"])

    def test_1_rank(self):
        self.check(1, CASES)

    def test_2_ranks(self):
        self.check(2, CASES)

    def test_4_ranks(self):
        self.check(4, CASES)

    def test_8_ranks(self):
        self.check(8, ["everybody", "any_source", "collectives"],
                   "everybody", "any_source", "collectives")

    def test_long_messages_go_every_way(self):
        for way in ("ring", "pull", "both"):
            with self.subTest(way=way):
                self.check(2, ["modes", "probes"], "modes", "probes", RHINET_MSG_WAY=way)

    def test_network_nic(self):
        self.check(2, ["modes", "everybody"], "modes", "everybody", RHINET_NIC="ofi")

    def test_one_sided_by_rma(self):
        """Open MPI's other way: the provider's own writes, reads and atomics."""
        self.check(4, ["one_sided"], "one_sided", OMPI_MCA_osc="rdma", OMPI_MCA_btl="self,ofi")

    def test_threads(self):
        self.check(2, ["threads"], "threads")

    @unittest.skipUnless(shutil.which("hpcc"), "hpcc is not here")
    def test_hpcc(self):
        """Its smallest input: every part that checks its results finds them right."""
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "hpccinf.txt").write_text(HPCC_INPUT, "utf-8")
            done = subprocess.run([RHINET, "mpirun", "-n", "2", "--", "--oversubscribe",
                                   "--bind-to", "none", shutil.which("hpcc")], cwd=folder,
                                  env={**os.environ, **ROOT}, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
            said = pathlib.Path(folder, "hpccoutf.txt").read_text("utf-8")
        self.assertIn("\nSuccess=1\n", said)
        self.assertEqual(set(re.findall(r"(?m)^MPIRandomAccess\w*_Errors=(\d+)$", said)), {"0"})
        self.assertEqual(set(re.findall(r"(?m)^Node\(s\) with error (\d+)", said)), {"0"})
        self.assertRegex(said, r"(?m)^ +1 tests completed and passed residual checks,")
        self.assertNotIn("FAILED", said)

    def test_killed_rank_ends_the_job(self):
        done, marker = self.launch(3, "killed")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"process rank 2 .* exited on signal 9")
        self.assertEqual(marked(marker), [])


if __name__ == "__main__":
    tap.main()
