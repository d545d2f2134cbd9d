# SPDX-License-Identifier: BSD-3-Clause
"""Programs started by Slurm's srun, by PMIx and PMI-2, on two hosts: network namespaces with a real
slurmctld and two slurmd, which the tests start and end."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

import cluster_harness as harness
from cluster_harness import MEMBER, NETNS_CLUSTER, RHINET, pid_of, places, wait_until

STARTERS = ("pmix", "pmi2")
RECIPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../share/recipes")

CONFIGURATION = """ClusterName=test
SlurmctldHost=n1(10.77.0.1)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
TmpFS={folder}/files-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
KillWait=2
PrologFlags=Alloc
Prolog={folder}/prolog
Epilog={folder}/epilog
TaskProlog={folder}/taskprolog
NodeName=n1 NodeAddr=10.77.0.1 CPUs=2
NodeName=n2 NodeAddr=10.77.0.2 CPUs=2
PartitionName=all Nodes=n1,n2 Default=YES OverSubscribe=FORCE:8 State=UP
"""


class Slurm(harness.ClusterTest):
    """Slurm runs."""

    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.mkdtemp(prefix="slurm-test-")
        cls.addClassCleanup(shutil.rmtree, cls.home, True)
        for name in ("state", "files-n1", "files-n2"):
            os.mkdir(f"{cls.home}/{name}")
        for name in ("prolog", "epilog", "taskprolog"):
            cls.write_hook(name, "exit 0")
        path = f"{cls.home}/slurm.conf"
        with open(path, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(folder=cls.home))
        os.environ["SLURM_CONF"] = path
        cls.start_daemon("slurmctld", "-D", "-f", path)
        for host in ("n1", "n2"):
            cls.start_daemon(NETNS_CLUSTER, "rsh", host, f"exec slurmd -D -f {path}")
        if not wait_until(lambda: cls.command("sinfo", "-h", "-t", "idle", "-o", "%D") == "2"):
            said = cls.command("sinfo", "-R") + "".join(open(f"{cls.home}/{name}").read()[-2000:]
                                                        for name in os.listdir(cls.home)
                                                        if name.endswith(".log"))
            raise RuntimeError(f"Slurm's two nodes do not become idle:\n{said}")

    @classmethod
    def write_hook(cls, name, text):
        path = f"{cls.home}/{name}"
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)

    @classmethod
    def start_daemon(cls, *words):
        with open(f"{cls.home}/{len(os.listdir(cls.home))}.log", "w", encoding="utf-8") as log:
            daemon = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        cls.addClassCleanup(daemon.wait, harness.HANG_S)
        cls.addClassCleanup(daemon.kill)
        cls.addClassCleanup(cls.wait_a_little, daemon)
        cls.addClassCleanup(daemon.terminate)

    @staticmethod
    def wait_a_little(daemon):
        wait_until(lambda: daemon.poll() is not None, 10)

    @staticmethod
    def command(*words):
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


class Steps(Slurm):
    def srun(self, starter, count, *words, kills=True):
        return self.start("srun", f"--mpi={starter}", "-N", 2, "-n", count, "-O", "--immediate=20",
                          f"--kill-on-bad-exit={int(kills)}", MEMBER, *words)

    def test_hello_on_two_hosts(self):
        for starter in STARTERS:
            with self.subTest(starter=starter):
                status, out, err = self.finish(self.srun(starter, 4, "hello"))
                self.assertEqual(status, 0, err)
                found = places(out)
                self.assertEqual(sorted(found), [0, 1, 2, 3], out + err)
                self.assertEqual(sorted(host for _, host in found.values()),
                                 ["n1", "n1", "n2", "n2"])

    def test_cards_and_states(self):
        for starter in STARTERS:
            with self.subTest(starter=starter):
                status, out, err = self.finish(self.srun(starter, 4, "cards"))
                self.assertEqual(status, 0, out + err)
                status, out, err = self.finish(self.srun(starter, 4, "leave"))
                self.assertEqual(status, 0, out + err)
                self.assertIn("all have left: 3", out)

    def test_killed_rank_ends_the_step(self):
        for starter in STARTERS:
            with self.subTest(starter=starter):
                job = self.srun(starter, 4, "idle")
                self.wait_ready(job, 4)
                os.kill(pid_of(job.out, 3), signal.SIGKILL)
                self.assertNotEqual(self.finish(job)[0], 0)

    def test_own_launcher_in_an_allocation(self):
        job = self.start("salloc", "-N", 2, "-O", "--immediate=20", RHINET, "run", "--hosts",
                         "n1,n2", "--rsh", "srun -N1 -n1 --overlap -w", "-n", 4, MEMBER, "hello")
        status, out, err = self.finish(job)
        self.assertEqual(status, 0, err)
        self.assertEqual({rank: host for rank, (_, host) in places(out).items()},
                         {0: "n1", 1: "n1", 2: "n2", 3: "n2"}, out)

    def test_cancelled_step_leaves_nothing(self):
        job = self.srun("pmix", 4, "idle")
        self.wait_ready(job, 4)
        steps = re.findall(r"\d+", self.command("squeue", "-h", "-o", "%A"))
        self.assertEqual(len(steps), 1)
        self.command("scancel", steps[0])
        self.assertNotEqual(self.finish(job)[0], 0)


class Cache(Slurm):
    """The recipes for a file cache, as they stand in share/recipes."""

    def setUp(self):
        super().setUp()
        self.data = self.folder + "/data"
        os.mkdir(self.data)
        self.file = self.data + "/file"
        with open(self.file, "wb") as file:
            file.write(os.urandom(2_500_000))
        # The two hosts share /tmp here: the host's name keeps them apart.
        self.settings = {"PATH": f"{os.path.dirname(RHINET)}:{os.environ['PATH']}",
                         "RHINET_CACHE_SERVICE": f"{self.folder}/s-%h/default",
                         "RHINET_CACHE_SETTLE": "0s", "RHINET_HOST_TIMEOUT": "2s"}

    def counts(self, out):
        """Bytes that the file system gave, and that came from this node, of status --json."""
        found = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        return [(node["node"], node["load_bytes"], node["local_bytes"]) for node in found]

    def assert_nothing_left(self):
        self.assertTrue(wait_until(lambda: not [name for name in os.listdir(self.folder)
                                                if name.startswith("s-")]),
                        os.listdir(self.folder))

    def test_in_a_job(self):
        for starter in STARTERS:
            with self.subTest(starter=starter):
                show = f"md5sum {self.file}; env -u LD_PRELOAD {RHINET} cache status --json"
                job = self.start("salloc", "-N", 2, "-O", "--immediate=20", "sh",
                                 f"{RECIPES}/slurm-job.sh", "-n", 2, "--ntasks-per-node=1", "sh",
                                 "-c", show,
                                 environment={**self.settings, "DATA": self.data, "MEMORY": "16M",
                                              "MPI": starter})
                status, out, err = self.finish(job)
                self.assertEqual(status, 0, out + err)
                plain = self.command("md5sum", self.file)
                self.assertEqual(out.splitlines().count(plain), 2, out + err)
                self.assertEqual([node for node, _, _ in sorted(self.counts(out))], [0, 1], out)
                self.assertEqual(out.count("2 alive"), 1, out)
                self.assert_nothing_left()

    def test_the_job_is_cancelled(self):
        job = self.start("salloc", "-N", 2, "-O", "--immediate=20", "sh",
                         f"{RECIPES}/slurm-job.sh", "-n", 2, "--ntasks-per-node=1", "sh", "-c",
                         "echo begun; sleep 300",
                         environment={**self.settings, "DATA": self.data, "MEMORY": "16M"})
        self.assertTrue(wait_until(lambda: job.out.count("begun") == 2), job.out + job.err)
        self.command("scancel", *re.findall(r"\d+", self.command("squeue", "-h", "-o", "%A")))
        self.finish(job)
        self.assert_nothing_left()

    def test_prolog_and_epilog(self):
        """Users do nothing: a cache is there, every task uses it, and it goes with the job."""
        conf = self.script("cache.conf", f"PATHS={self.data}\nMEMORY=16M\n")
        exports = "".join(f"export {name}='{value}'\n" for name, value in self.settings.items())
        exports += f"export CACHE_CONF={conf} RHINET_RSH='{NETNS_CLUSTER} rsh'\n"
        exports += "".join(f"export {name}='{os.environ[name]}'\n"
                           for name in ("NETNS_CLUSTER", "NETNS_HOSTS", "SLURM_CONF"))
        for hook in ("prolog", "epilog", "taskprolog"):
            self.write_hook(hook, exports + f"exec {RECIPES}/slurm-{hook}.sh")
            self.addCleanup(self.write_hook, hook, "exit 0")
        show = f"md5sum {self.file}; {RHINET} cache status --json --name job-$SLURM_JOB_ID"
        job = self.start("srun", "-N", 2, "-n", 2, "-O", "--immediate=40", "sh", "-c", show,
                         environment=self.settings)
        status, out, err = self.finish(job)
        self.assertEqual(status, 0, out + err)
        self.assertEqual(out.splitlines().count(self.command("md5sum", self.file)), 2, out + err)
        found = sorted(self.counts(out))
        self.assertEqual([node for node, _, _ in found], [0, 1], out + err)
        for _, _, local_bytes in found:
            self.assertGreaterEqual(local_bytes, os.path.getsize(self.file), out)
        self.assert_nothing_left()


if __name__ == "__main__":
    harness.run_inside(2, os.path.abspath(__file__), ("slurmd", "slurmctld", "srun", "sinfo"))
    harness.main()
