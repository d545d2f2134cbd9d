# SPDX-License-Identifier: BSD-3-Clause
"""`rhinet run --hosts` over real ssh: two hosts (network namespaces), each with a sshd of its own,
with keys that exist for the test only."""
import getpass
import os
import shutil
import signal
import subprocess
import tempfile

import cluster_harness as harness
from cluster_harness import MEMBER, NETNS_CLUSTER, RHINET, pid_of, places, wait_until

SSHD = shutil.which("sshd")  # wants to be called by its whole name
PORT = 10022

SERVER = """Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
AcceptEnv {marker}
"""

CLIENT = """Host n1
  HostName 10.77.0.1
Host n2
  HostName 10.77.0.2
Host *
  Port {port}
  User {user}
  IdentityFile {folder}/user
  UserKnownHostsFile {folder}/known
  StrictHostKeyChecking accept-new
  BatchMode yes
  SendEnv {marker}
"""


class Ssh(harness.ClusterTest):
    @classmethod
    def setUpClass(cls):
        os.makedirs("/run/sshd", exist_ok=True)  # where sshd keeps its unprivileged part
        cls.home = tempfile.mkdtemp(prefix="ssh-test-")
        cls.addClassCleanup(shutil.rmtree, cls.home, True)
        words = {"folder": cls.home, "port": PORT, "user": getpass.getuser(),
                 "marker": harness.MARKER}
        for name, text in (("server", SERVER), ("client", CLIENT)):
            with open(f"{cls.home}/{name}", "w", encoding="utf-8") as file:
                file.write(text.format(**words))
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                            f"{cls.home}/{key}"], check=True)
        cls.ssh = f"ssh -F {cls.home}/client"
        for host in ("n1", "n2"):
            cls.start_server(host)

    @classmethod
    def start_server(cls, host):
        with open(f"{cls.home}/{host}.log", "w", encoding="utf-8") as log:
            server = subprocess.Popen(
                [NETNS_CLUSTER, "rsh", host, f"exec {SSHD} -D -e -f {cls.home}/server"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        cls.addClassCleanup(server.wait, harness.HANG_S)
        cls.addClassCleanup(server.kill)
        answers = [*cls.ssh.split(), host, "true"]
        if not wait_until(lambda: subprocess.run(answers, capture_output=True,
                                                 check=False).returncode == 0):
            with open(f"{cls.home}/{host}.log", encoding="utf-8") as log:
                raise RuntimeError(f"sshd on {host} does not answer:\n{log.read()}")

    def begin(self, *words):
        return self.start_run("--hosts", "n1:2,n2:2", "--remote-rhinet", RHINET, *words,
                              rsh=self.ssh)

    def test_hello(self):
        status, out, err = self.finish(self.begin(MEMBER, "hello"))
        self.assertEqual(status, 0, err)
        self.assertEqual({rank: host for rank, (_, host) in places(out).items()},
                         {0: "n1", 1: "n1", 2: "n2", 3: "n2"}, out)

    def test_killed_rank_ends_the_job(self):
        job = self.begin(MEMBER, "idle")
        self.wait_ready(job, 4)
        os.kill(pid_of(job.out, 3), signal.SIGKILL)
        status, _, err = self.finish(job)
        self.assertNotEqual(status, 0)
        self.assertIn("rank 3", err)

    def test_killed_launcher_leaves_nothing_on_the_other_host(self):
        job = self.begin(MEMBER, "idle")
        self.wait_ready(job, 4)
        os.kill(job.pid, signal.SIGKILL)
        self.finish(job)

    def test_host_that_refuses(self):
        status, _, err = self.finish(self.start_run(
            "--hosts", "n1:1,nobody:1", "--remote-rhinet", RHINET, MEMBER, "hello", rsh=self.ssh))
        self.assertNotEqual(status, 0)
        self.assertIn("nobody", err)


if __name__ == "__main__":
    harness.run_inside(2, os.path.abspath(__file__), ("sshd", "ssh", "ssh-keygen"))
    harness.main()
