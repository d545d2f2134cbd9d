# SPDX-License-Identifier: BSD-3-Clause
"""The provider under a libfabric program of our own, fabric_program.c, which talks to itself or to
another process of its job; and what Debian's fi_info says of it."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import tap

PROGRAM, RHINET = os.environ["TEST_PROGRAM"], os.environ["TEST_RHINET"]
NAMED, MATCHING = os.environ["TEST_NAMED"], os.environ["TEST_MATCHING"]
# A library with a sanitizer inside cannot be loaded by programs without.
DEBIANS = {"fi_info", "fi_pingpong"} if os.environ["TEST_SANITIZER"] == "none" else set()
HERE = {name for name in DEBIANS if shutil.which(name)}
LIMIT_S = 120
CASES = ["tagged", "peeks", "cancels_and_cuts", "flags_of_receives", "several_in_one_buffer",
         "cancels_several", "rma", "many_at_once", "atomics", "atomics_without_result", "waits",
         "waits_for_one_of_two", "counts", "delivered", "closed_ports", "held_back",
         "calls_that_are_not_there"]
os.environ["FI_RHINET_UNEXPECTED_SIZE"] = str(1 << 20)  # for "held_back"


class Provider(unittest.TestCase):
    def run_program(self, count, **settings):
        with tempfile.TemporaryDirectory() as folder:
            launcher = [RHINET, "run", "-n", str(count)] if count > 1 else []
            if count == 1:
                pathlib.Path(folder, "alone").touch()
            done = subprocess.run([*launcher, PROGRAM, folder], text=True, timeout=LIMIT_S,
                                  check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env={**os.environ, **settings})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(re.findall(r"^ok (\w+)$", done.stdout, re.M), CASES, done.stderr)

    def test_with_itself(self):
        self.run_program(1)

    def test_two_processes(self):
        self.run_program(2)

    def test_without_a_launcher(self):
        """Two programs that know of each other what they read in a file."""
        with tempfile.TemporaryDirectory() as folder:
            both = [subprocess.Popen([PROGRAM, folder], text=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT) for _ in range(2)]
            said = [one.communicate(timeout=LIMIT_S)[0] for one in both]
        self.assertEqual([one.returncode for one in both], [0, 0], said)
        self.assertEqual(re.findall(r"^ok (\w+)$", "".join(said), re.M), CASES, said)

    def test_peer_that_is_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            both = [subprocess.Popen([PROGRAM, folder, "gone"], text=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT) for _ in range(2)]
            said = [one.communicate(timeout=LIMIT_S)[0] for one in both]
        self.assertEqual(sorted(one.returncode for one in both), [-signal.SIGKILL, 0], said)
        self.assertIn("ok gone\n", "".join(said))

    def test_by_node_and_service(self):
        """Whoever comes first: the one who looks, or the one who is looked for."""
        for order in (["peer"], []), ([], ["peer"]):
            with self.subTest(order=order):
                name = f"rhinet-test-{os.getpid()}"
                both = []
                for words in order:
                    both.append(subprocess.Popen([NAMED, name, *words], text=True,
                                                 stdout=subprocess.PIPE,
                                                 stderr=subprocess.STDOUT))
                    time.sleep(0.1)  # any order is right; this makes both likely
                said = [one.communicate(timeout=LIMIT_S)[0] for one in both]
                self.assertEqual([one.returncode for one in both], [0, 0], said)
                self.assertEqual(sorted("".join(said).splitlines()), ["ok found", "ok served"])

    def test_alone(self):
        done = subprocess.run([NAMED], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=LIMIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "ok events\nok shared_sends\n"))

    def test_random_messages_and_receives(self):
        done = subprocess.run([MATCHING], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "ok matching\n"))

    @unittest.skipUnless("fi_pingpong" in HERE, "fi_pingpong is not here")
    def test_fi_pingpong(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        words = ["fi_pingpong", "-p", "rhinet", "-e", "rdm", "-I", "3", "-c"]
        with subprocess.Popen([*words, "-B", port], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as server:
            deadline = time.monotonic() + LIMIT_S
            status = 1
            while status != 0 and server.poll() is None and time.monotonic() < deadline:
                client = subprocess.run([*words, "-P", port, "127.0.0.1"], text=True, check=False,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        timeout=LIMIT_S)
                status = client.returncode
            if status != 0:
                server.kill()
            said = server.communicate(timeout=LIMIT_S)[0]
        self.assertEqual((status, server.returncode), (0, 0), client.stdout + said)
        self.assertRegex(client.stdout, r"(?m)^1m +3 +=3 ")

    def test_every_way_of_long_messages(self):
        for way in ("ring", "pull", "both"):
            with self.subTest(way=way):
                self.run_program(2, RHINET_MSG_WAY=way)

    def test_network_nic(self):
        self.run_program(2, RHINET_NIC="ofi")

    @unittest.skipUnless("fi_info" in HERE, "fi_info is not here")
    def test_fi_info_reads_well(self):
        said = subprocess.run(["fi_info", "-p", "rhinet"], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
        self.assertIn("provider: rhinet\n    fabric: rhinet\n    domain: rhinet\n", said)
        self.assertEqual(said.count("type: FI_EP_RDM"), 1)
        self.assertEqual(said.count("type: "), 1)


if __name__ == "__main__":
    tap.main()
