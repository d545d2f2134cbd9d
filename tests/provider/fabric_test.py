# SPDX-License-Identifier: BSD-3-Clause
"""The provider under a libfabric program of our own, fabric_program.c, which talks to itself or to
another process of its job; and what Debian's fi_info says of it."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import tap

PROGRAM, RHINET = os.environ["TEST_PROGRAM"], os.environ["TEST_RHINET"]
LIMIT_S = 120
CASES = ["tagged", "peeks", "cancels_and_cuts", "several_in_one_buffer", "rma", "many_at_once",
         "atomics", "atomics_without_result", "waits", "counts", "delivered"]


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

    def test_every_way_of_long_messages(self):
        for way in ("ring", "pull", "both"):
            with self.subTest(way=way):
                self.run_program(2, RHINET_MSG_WAY=way)

    def test_network_nic(self):
        self.run_program(2, RHINET_NIC="ofi")

    @unittest.skipUnless(shutil.which("fi_info"), "fi_info is not here")
    def test_fi_info_reads_well(self):
        said = subprocess.run(["fi_info", "-p", "rhinet"], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
        self.assertIn("provider: rhinet\n    fabric: rhinet\n    domain: rhinet\n", said)
        self.assertEqual(said.count("type: FI_EP_RDM"), 1)
        self.assertEqual(said.count("type: "), 1)


if __name__ == "__main__":
    tap.main()
