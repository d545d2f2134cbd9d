# SPDX-License-Identifier: BSD-3-Clause
"""Programs started by other launchers on this host: mpirun (PMIx), hydra (PMI-1 and PMI-2)."""
import os
import re
import shutil
import signal
import socket
import subprocess
import unittest

import cluster_harness as harness
from cluster_harness import MEMBER, pid_of, wait_until

MPIRUN = shutil.which("mpirun.openmpi")
HYDRA = shutil.which("mpiexec.hydra")
LIBRARY = os.environ["TEST_LIBRARY"]  # folder of librhinet.so
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def launchers():
    if MPIRUN:
        yield "pmix", [MPIRUN, "--oversubscribe", "--bind-to", "none"]
    if HYDRA:
        yield "pmi1", [HYDRA]
        yield "pmi2", [HYDRA]


@unittest.skipUnless(MPIRUN or HYDRA, "neither Open MPI's mpirun nor hydra is here")
class Starters(harness.ClusterTest):
    def begin(self, starter, words, count, *mode, **more):
        # The marker finds what they start, manager processes included: all inherit it.
        return self.start(*words, "-n", count, MEMBER, *mode,
                          environment={**ROOT, "RHINET_STARTER": starter, **more})

    def check_no_manager_process(self, job):
        self.assertTrue(wait_until(lambda: not [pid for pid in harness.marked(job.marker)
                                                if harness.name_of(pid) == "rhinet-manager"], 10))

    def test_hello(self):
        for starter, words in launchers():
            with self.subTest(starter=starter):
                status, out, err = self.finish(self.begin(starter, words, 5, "hello"))
                self.assertEqual(status, 0, err)
                found = sorted(map(int, re.findall(r"hello rank (\d) of 5 node 0 of 1 ", out)))
                self.assertEqual(found, list(range(5)), out + err)

    def test_a_misspelt_setting_is_warned_about_once(self):
        for starter, words in launchers():
            with self.subTest(starter=starter):
                job = self.begin(starter, words, 4, "hello", RHINET_TIMOUT="5s")
                status, _, err = self.finish(job)
                self.assertEqual((status, err.count("did you mean RHINET_TIMEOUT?")), (0, 1), err)

    def test_cards_and_states(self):
        for starter, words in launchers():
            for mode in ("cards", "leave"):
                with self.subTest(starter=starter, mode=mode):
                    status, out, err = self.finish(self.begin(starter, words, 4, mode))
                    self.assertEqual(status, 0, err)
            self.assertIn("all have left: 3", out)

    def test_one_process_and_alone(self):
        for starter, words in launchers():
            status, out, err = self.finish(self.begin(starter, words, 1, "hello"))
            self.assertEqual((status, out.count("rank 0 of 1 ")), (0, 1), err)
            status, out, err = self.finish(self.begin("alone", words, 2, "hello"))
            self.assertEqual((status, out.count("rank 0 of 1 ")), (0, 2), err)

    def test_killed_members_leave_nothing(self):
        for starter, words in launchers():
            with self.subTest(starter=starter):
                job = self.begin(starter, words, 3, "idle")
                self.wait_ready(job, 3)
                for pid in [pid_of(job.out, rank) for rank in range(3)]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass  # the launcher was faster
                self.check_no_manager_process(job)
                self.assertNotEqual(self.finish(job)[0], 0)

    def test_killed_launcher(self):
        for starter, words in launchers():
            with self.subTest(starter=starter):
                job = self.begin(starter, words, 3, "idle")
                self.wait_ready(job, 3)
                os.kill(job.pid, signal.SIGKILL)
                job.process.wait()
                # Whether the ranks outlive it is the launcher's affair; the manager is ours.
                for pid in job.members():
                    os.kill(pid, signal.SIGKILL)
                self.check_no_manager_process(job)

    def skip_if_sanitized(self, reason):
        needs = subprocess.run(["ldd", f"{LIBRARY}/librhinet.so"], capture_output=True, text=True,
                               check=False)
        if "libasan" in needs.stdout or "libtsan" in needs.stdout:
            self.skipTest(reason)

    def test_the_manager_is_found_beside_the_library(self):
        self.skip_if_sanitized("launchers do not know of the sanitizer")
        program = os.path.join(LIBRARY, "..", "examples", "hello")
        library, manager = "librhinet.so.0", "librhinet-manager.so.0"
        shutil.copy(os.path.join(LIBRARY, library), self.folder)
        program = ["env", "LD_LIBRARY_PATH=", "LD_PRELOAD=" + os.path.join(self.folder, library),
                   program]
        if HYDRA:  # mpirun does not always end when a process fails
            job = self.start(HYDRA, "-n", 2, *program, environment={"RHINET_TIMEOUT": "3s"})
            status, _, err = self.finish(job)
            self.assertNotEqual(status, 0)
            self.assertRegex(err, f"task manager is needed.*{manager}.*belongs where librhinet")
        shutil.copy(os.path.join(LIBRARY, manager), self.folder)
        for _, words in list(launchers())[:2]:
            job = self.start(*words, "-n", 2, *program, environment=ROOT)
            status, out, err = self.finish(job)
            self.assertEqual((status, out.count("greetings")), (0, 2), err)

    def test_beside_mpi(self):
        self.skip_if_sanitized("MPI's compilers do not know of the sanitizer")
        sources = os.path.dirname(os.path.abspath(__file__))
        for kind, (_, words) in (("openmpi", next(launchers())), ("mpich", list(launchers())[-1])):
            compiler = shutil.which(f"mpicc.{kind}")
            if not compiler:
                self.skipTest(f"mpicc.{kind} is not here")
            program = os.path.join(self.folder, kind)
            subprocess.run([compiler, os.path.join(sources, "with_mpi.c"), "-o", program,
                            f"-I{sources}/../../include", f"-L{LIBRARY}", f"-Wl,-rpath,{LIBRARY}",
                            "-lrhinet"], check=True)
            for first in ("mpi", "rhinet"):
                with self.subTest(kind=kind, first=first):
                    job = self.start(*words, "-n", 3, program, first, environment=ROOT)
                    status, out, err = self.finish(job)
                    self.assertEqual((status, out), (0, "both agree: 1\n" * 3), err)

    def test_no_launcher_behind_the_setting(self):
        for starter, said in (("pmi1", "PMI_FD, PMI_RANK or PMI_SIZE is missing"),
                              ("pmix", "PMIx_Init: UNREACHABLE|without libpmix|cannot be loaded")):
            job = self.start(MEMBER, "hello", environment={"RHINET_STARTER": starter})
            status, out, err = self.finish(job)
            self.assertEqual((status, out), (1, ""))
            self.assertRegex(err, said)

    def test_broken_pmi(self):
        answers = {"it answers": "cmd=response_to_init rc=-1 pmi_version=0 pmi_subversion=0\n",
                   "it is closed": "", "an answer is too long": "x" * 5000}
        for said, answer in answers.items():
            ours, theirs = socket.socketpair()
            with ours, theirs:
                ours.sendall(answer.encode())
                if not answer:
                    ours.shutdown(1)
                job = self.start(MEMBER, "hello", pass_fds=[theirs.fileno()],
                                 environment={"PMI_FD": str(theirs.fileno()), "PMI_RANK": "0",
                                              "PMI_SIZE": "2"})
                status, out, err = self.finish(job)
            self.assertEqual((status, out), (1, ""))
            self.assertIn(said, err)


if __name__ == "__main__":
    harness.main()
