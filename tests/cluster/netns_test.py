# SPDX-License-Identifier: BSD-3-Clause
"""tools/netns-cluster itself: hosts, their names and links, and that nothing of them is left."""
import os
import signal
import subprocess
import sys

import cluster_harness as harness
from cluster_harness import NETNS_CLUSTER, wait_until

TALK = f"""
import socket, subprocess, sys
tool, ways = {NETNS_CLUSTER!r}, []
def change(*words): subprocess.run([tool, *words], check=True)
def can_reach(host):
    try:
        socket.create_connection((host, 9), 0.4)
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
print(can_reach("n2"), can_reach("n3"))
change("cut", "n2")
print(can_reach("n2"), can_reach("n3"))
change("mend", "n2")
change("cut", "n3", "n1", "one-way")
print(can_reach("n2"), can_reach("n3"))
change("mend", "n3", "n1")
print(can_reach("n2"), can_reach("n3"))
"""


class Netns(harness.ClusterTest):
    def run_tool(self, *words):
        return self.finish(self.start(NETNS_CLUSTER, *words))

    def test_usage(self):
        for words in ((), ("0",), ("2",), ("2", "--"), ("2", "true"), ("rsh",), ("frob",)):
            status, out, err = self.run_tool(*words)
            self.assertEqual((status, out), (2, ""), words)
            self.assertIn("netns-cluster N", err)
        self.assertRegex(self.run_tool("rsh", "n1", "true")[2], "not inside a cluster")

    def test_hosts(self):
        script = f"hostname; {NETNS_CLUSTER} rsh n3 hostname; " \
                 f"{NETNS_CLUSTER} -x n2 'echo $((40 + 2))'; echo $NETNS_HOSTS; " \
                 "getent hosts n3; exit 7"
        status, out, err = self.run_tool("3", "--", "sh", "-c", script)
        self.assertEqual((status, err), (7, ""))
        self.assertEqual(out.split(), ["n1", "n3", "42", "n1,n2,n3", "10.77.0.3", "n3"])

    def test_shell_brings_no_variables(self):
        status, out, _ = self.run_tool("2", "--", "sh", "-c",
                                       f"export A=b; {NETNS_CLUSTER} rsh n2 'echo x$A'")
        self.assertEqual((status, out), (0, "x\n"))

    def test_cut_and_mend(self):
        status, out, err = self.run_tool("3", "--", sys.executable, "-c", TALK)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out, "True True\nFalse True\nTrue False\nTrue True\n")

    def test_rate(self):
        status, out, err = self.run_tool("2", "--rate", "100mbit", "--", "tc", "qdisc", "show",
                                         "dev", "eth0")
        self.assertEqual(status, 0, err)
        self.assertIn("rate 100Mbit", out)
        status, _, err = self.run_tool("2", "--rate", "fast", "--", "true")
        self.assertNotEqual(status, 0)
        self.assertIn("cannot limit the rate to fast", err)

    def test_nothing_is_left(self):
        script = f"{NETNS_CLUSTER} rsh n2 'setsid sleep 1000' & setsid sleep 1000 & "
        status, _, _ = self.run_tool("2", "--", "sh", "-c", script + "exit 0")
        self.assertEqual(status, 0)
        job = self.start(NETNS_CLUSTER, "2", "--", "sh", "-c", script + "echo up; sleep 1000")
        self.assertTrue(wait_until(lambda: "up" in job.out))
        os.kill(job.pid, signal.SIGKILL)
        self.finish(job)


if __name__ == "__main__":
    probe = subprocess.run([NETNS_CLUSTER, "2", "--", "true"], capture_output=True, text=True,
                           check=False)
    if probe.returncode != 0:
        print(f"SKIP: {probe.stderr.strip()}")
        raise SystemExit(77)
    harness.main()
