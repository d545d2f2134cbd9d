# SPDX-License-Identifier: BSD-3-Clause
"""Jobs across hosts that have networks of their own: started by rhinet run, mpirun and hydra, and
links cut while they run. Runs inside tools/netns-cluster."""
import os
import re
import shutil
import signal
import subprocess
import unittest

import cluster_harness as harness
from cluster_harness import MARKER, MEMBER, NETNS_CLUSTER, pid_of, places, wait_until

MPIRUN = shutil.which("mpirun.openmpi")
HYDRA = shutil.which("mpiexec.hydra")
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
SHORT = {"RHINET_HOST_TIMEOUT": "2s"}  # a busy machine may keep a host waiting for one
HOSTS = 4

# Hydra puts options of ssh before the host.
SHELL = f"""#!/bin/sh
while :; do case $1 in -*) shift ;; *) break ;; esac; done
host=$1
shift
exec {NETNS_CLUSTER} rsh "$host" "export {MARKER}=${MARKER} LSAN_OPTIONS=$LSAN_OPTIONS;" "$@"
"""


class Hosts(harness.ClusterTest):
    def setUp(self):
        super().setUp()
        self.rsh = self.script("netns-shell", SHELL)
        self.addCleanup(self.mend)

    def change(self, *words):
        subprocess.run([NETNS_CLUSTER, *words], check=True)

    def mend(self):
        for number in range(1, HOSTS + 1):
            self.change("mend", f"n{number}")

    def names(self, count):
        return [f"n{number}" for number in range(1, count + 1)]


class Start(Hosts):
    def check_places(self, out, count, each):
        found = places(out)
        self.assertEqual(sorted(found), list(range(count * each)), out)
        self.assertEqual({node for node, _ in found.values()}, set(range(count)))
        for rank, address in re.findall(r"rank (\d+) .* address (\S+) ", out):
            node, host = found[int(rank)]
            self.assertEqual((host, address), (f"n{node + 1}", f"10.77.0.{node + 1}"))

    def test_run(self):
        for count in (2, HOSTS):
            names = ",".join(f"{name}:3" for name in self.names(count))
            status, out, err = self.run_hosts("--hosts", names, MEMBER, "hello")
            self.assertEqual((status, err), (0, ""))
            self.check_places(out, count, 3)

    def test_launcher_without_ranks(self):
        status, out, err = self.run_hosts("--hosts", "n3,n2", "-n", 4, MEMBER, "cards")
        self.assertEqual((status, err, len(out.splitlines())), (0, "", 4))

    def test_cards_and_states(self):
        for mode in ("cards", "leave"):
            status, out, err = self.run_hosts("--hosts", "n1,n2,n3,n4", "-n", 16, MEMBER, mode)
            self.assertEqual((status, err), (0, ""))

    def test_chosen_network(self):
        for name, value in (("RHINET_INTERFACE", "eth0"), ("RHINET_INTERFACE", "10.77.0.0/24"),
                            ("RHINET_PORTS", "7000-7010")):
            status, out, err = self.run_hosts("--hosts", "n1,n2", MEMBER, "hello",
                                              environment={name: value})
            self.assertEqual((status, err), (0, ""))
            self.check_places(out, 2, 1)

    @unittest.skipUnless(MPIRUN, "Open MPI's mpirun is not here")
    def test_mpirun(self):
        for count in (2, HOSTS):
            hosts = ",".join(f"{name}:2" for name in self.names(count))
            job = self.start(MPIRUN, "--mca", "plm_rsh_agent", self.rsh, "--host", hosts,
                             "--bind-to", "none", "-n", 2 * count, MEMBER, "hello",
                             environment=ROOT)
            status, out, err = self.finish(job)
            self.assertEqual(status, 0, err)
            self.check_places(out, count, 2)

    @unittest.skipUnless(HYDRA, "hydra is not here")
    def test_hydra(self):
        for count, starter in ((2, "pmi1"), (HOSTS, "pmi2")):
            job = self.start(HYDRA, "-launcher", "ssh", "-launcher-exec", self.rsh, "-hosts",
                             ",".join(self.names(count)), "-n", 2 * count, "-ppn", 2, MEMBER,
                             "hello", environment={"RHINET_STARTER": starter})
            status, out, err = self.finish(job)
            self.assertEqual(status, 0, err)
            self.check_places(out, count, 2)

    def test_time_to_join(self):
        starts = [("rhinet run", ["run"])]
        if MPIRUN:
            starts.append(("mpirun", [MPIRUN, "--mca", "plm_rsh_agent", self.rsh, "--host",
                                      "n1:32,n2:32", "--bind-to", "none", "-n", 64]))
        if HYDRA:
            starts.append(("hydra", [HYDRA, "-launcher", "ssh", "-launcher-exec", self.rsh,
                                     "-hosts", "n1,n2", "-n", 64, "-ppn", 32]))
        for name, words in starts:
            if name == "rhinet run":
                job = self.start_run("--hosts", "n1:32,n2:32", MEMBER, "time")
            else:
                job = self.start(*words, MEMBER, "time", environment=ROOT)
            status, out, err = self.finish(job)
            times = sorted(map(float, re.findall(r"join_ms (\S+)", out)))
            self.assertEqual((status, len(times)), (0, 64), err)
            print(f"2 hosts x 32 ranks by {name}: rh_join takes {times[32]:.0f} ms (median), "
                  f"{times[-1]:.0f} ms (longest)", flush=True)


class Unreachable(Hosts):
    def test_host_that_cannot_call_back(self):
        self.change("cut", "n2")
        status, out, err = self.run_hosts("--hosts", "n1,n2", MEMBER, "hello")
        self.assertEqual((status, out), (1, ""))
        self.assertRegex(err, r"\(host n2\): cannot reach the task manager of host n1 at "
                              r"10\.77\.0\.1 port \d+ \(.*\).*; is the port open in the firewall\?")
        self.assertRegex(err, r"host n2: the remote shell `.* n2` ended with status 1 before")

    def test_two_hosts_that_do_not_reach_each_other(self):
        self.change("cut", "n2", "n3")
        status, out, err = self.run_hosts("--hosts", "n1,n2,n3", MEMBER, "hello")
        self.assertEqual((status, out), (1, ""))
        self.assertRegex(err, r"\(host n3\): cannot reach the task manager of host n2 at "
                              r"10\.77\.0\.2 ")


class Cut(Hosts):
    """Six ranks, two on each of n1, n2, n3. The survivors of a cut see two deaths and end well."""

    def begin(self, *words, deaths=2):
        job = self.start_run("--hosts", "n1:2,n2:2,n3:2", "--survive", *words, MEMBER, "watch",
                             deaths, environment=SHORT)
        self.wait_ready(job, 6)
        return job

    def check_lost(self, job, host, ranks):
        status, out, err = self.finish(job)
        self.assertEqual(status, 1)
        self.assertRegex(err, rf"host {host} \(ranks {ranks[0]}-{ranks[1]}\) is lost: .*; the "
                              "others go on")
        self.assertEqual(err.count("is lost"), 1, err)
        for rank in set(range(6)) - set(ranks):
            for dead in ranks:
                self.assertIn(f"rank {rank} sees: watch: rank {dead} on host {host}: the host does "
                              "not answer", out)

    def test_both_ways(self):
        job = self.begin()
        self.change("cut", "n3")
        self.check_lost(job, "n3", (4, 5))

    def test_one_way_to_the_launcher(self):
        job = self.begin()
        self.change("cut", "n3", "n1", "one-way")
        self.check_lost(job, "n3", (4, 5))

    def test_one_way_from_the_launcher(self):
        job = self.begin()
        self.change("cut", "n1", "n3", "one-way")
        self.check_lost(job, "n3", (4, 5))
        self.assertIn("the first launcher does not answer", job.err)

    def test_two_that_lost_each_other(self):
        for words in (("n2", "n3"), ("n2", "n3", "one-way"), ("n3", "n2", "one-way")):
            with self.subTest(cut=words):
                job = self.begin()
                self.change("cut", *words)
                self.check_lost(job, "n3", (4, 5))
                self.assertRegex(job.err, "it and host n2 do not hear each other")
                self.mend()

    def check_nobody_is_lost(self, job, rest_s):
        wait_until(lambda: job.process.poll() is not None, rest_s)
        self.assertIsNone(job.process.poll(), job.err)
        self.assertNotIn("lost", job.err)
        os.kill(job.pid, signal.SIGTERM)
        self.finish(job)

    def test_an_outage_shorter_than_the_limit_loses_nobody(self):
        # TCP alone would come back twice as long after the cut as the cut was.
        for words, outage_s in ((("n2",), 2), (("n1",), 3.2), (("n2", "n3"), 3.2),
                                (("n3", "n1", "one-way"), 3.2), (("n1", "n3", "one-way"), 3.2)):
            with self.subTest(cut=words, outage_s=outage_s):
                job = self.start_run("--hosts", "n1,n2,n3", MEMBER, "idle", environment={
                    "RHINET_HOST_TIMEOUT": "4s"})
                self.wait_ready(job, 3)
                self.change("cut", *words)
                wait_until(lambda: False, outage_s)
                self.mend()
                self.check_nobody_is_lost(job, 5)

    def test_outage_after_outage(self):
        # Silences must not add up.
        job = self.start_run("--hosts", "n1,n2", MEMBER, "idle", environment={
            "RHINET_HOST_TIMEOUT": "3s"})
        self.wait_ready(job, 2)
        for _ in range(3):
            self.change("cut", "n2")
            wait_until(lambda: False, 2)
            self.mend()
            wait_until(lambda: False, 1)
        self.check_nobody_is_lost(job, 4)

    def test_one_that_lost_several_is_given_up(self):
        for lonely, ranks in (("n2", "1"), ("n3", "2")):
            with self.subTest(lonely=lonely):
                job = self.start_run("--hosts", "n1,n2,n3,n4", "--survive", MEMBER, "watch", 1,
                                     environment=SHORT)
                self.wait_ready(job, 4)
                for other in {"n2", "n3", "n4"} - {lonely}:
                    self.change("cut", lonely, other)
                status, _, err = self.finish(job)
                self.assertEqual((status, err.count("is lost")), (1, 1), err)
                self.assertRegex(err, rf"host {lonely} \(rank {ranks}\) is lost: it and 2 other "
                                      r"hosts, among them n\d, do not hear each other")
                self.mend()

    def test_managers_that_are_all_stopped_lose_nobody(self):
        job = self.start_run("--hosts", "n1,n2,n3", MEMBER, "idle", environment=SHORT)
        self.wait_ready(job, 3)
        managers = [job.pid, *job.nodes()]
        self.assertEqual(len(managers), 3)
        for pid in managers:
            os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: False, 3)
        for pid in managers:  # the coordinator first: it has heard nobody for long
            os.kill(pid, signal.SIGCONT)
            wait_until(lambda: False, 0.2)
        self.check_nobody_is_lost(job, 3)

    def test_lost_host_is_not_let_in_again(self):
        job = self.begin(deaths=3)  # so that the survivors stay
        self.change("cut", "n3")
        self.assertTrue(wait_until(lambda: "is lost" in job.err), job.err)
        lost = [pid_of(job.out, rank) for rank in (4, 5)]
        self.assertTrue(wait_until(lambda: not [pid for pid in lost if pid in job.members()]))
        self.change("mend", "n3")
        wait_until(lambda: False, 1)
        self.assertEqual(len(job.members()), 4)
        os.kill(job.pid, signal.SIGTERM)
        self.finish(job)

    def test_without_survive_the_job_ends(self):
        job = self.start_run("--hosts", "n1,n2", "-n", 4, MEMBER, "idle", environment=SHORT)
        self.wait_ready(job, 4)
        self.change("cut", "n2")
        status, _, err = self.finish(job)
        self.assertEqual(status, 1)
        # The host may have noticed first, and its remote shell, which is not cut here, have ended.
        self.assertRegex(err, r"host n2 \(ranks 2-3\) is lost: (it does not answer \(nothing heard "
                              r"for [\d.]+ s\)|its remote shell ended .*); ending the job")

    @unittest.skipUnless(MPIRUN, "Open MPI's mpirun is not here")
    def test_started_by_mpirun(self):
        job = self.start(MPIRUN, "--mca", "plm_rsh_agent", self.rsh, "--host", "n1:2,n2:2",
                         "--bind-to", "none", "-x", "RHINET_HOST_TIMEOUT", "-n", 4, MEMBER,
                         "watch", 2, environment={**ROOT, **SHORT})
        self.wait_ready(job, 4)
        there = [pid_of(job.out, rank) for rank in (2, 3)]
        self.change("cut", "n2")
        for rank in (0, 1):
            said = f"rank {rank} sees: watch: rank 3 on host n2: the host does not answer"
            self.assertTrue(wait_until(lambda: said in job.out), job.out + job.err)
        self.assertTrue(wait_until(lambda: not [pid for pid in there if pid in job.members()]),
                        "the lost host's ranks are not ended")
        job.end()  # mpirun itself does not notice


if __name__ == "__main__":
    harness.run_inside(HOSTS, __file__)
    harness.main()
