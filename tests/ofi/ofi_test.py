#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What only the libfabric NICs have: the choice of a provider, refusals in words, strangers."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

RHINET = os.environ["TEST_RHINET"]
STRANGER = os.environ["TEST_STRANGER"]
MEMBER = os.environ["TEST_MEMBER"]
HANG_S = 60


def rhinet(*arguments, **settings):
    """Most of these programs end in the middle; what they leave in libfabric is no leak of ours."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RHINET_")}
    clean["ASAN_OPTIONS"] = clean.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    return subprocess.run([RHINET, *arguments], capture_output=True, text=True, timeout=HANG_S,
                          env={**clean, "RHINET_TIMEOUT": "20s", **settings}, check=False)


class Providers(unittest.TestCase):
    def test_info_says_which_and_why(self):
        run = rhinet("info")
        self.assertRegex(run.stdout, r"ofi +.*; provider \S+ \(.+\)")
        nics = {nic["name"]: nic for nic in json.loads(rhinet("info", "--json").stdout)["nics"]}
        self.assertTrue(nics["ofi"]["provider"])
        self.assertEqual(nics["ofi"]["provider"], nics["mixed"]["provider"])
        self.assertNotIn("provider", nics["shm"])

    def test_the_named_one_is_used(self):
        run = rhinet("info", "--json", RHINET_OFI_PROVIDER="tcp;ofi_rxm")
        ofi = [nic for nic in json.loads(run.stdout)["nics"] if nic["name"] == "ofi"][0]
        self.assertEqual(ofi["provider"], "tcp;ofi_rxm")
        self.assertIn("RHINET_OFI_PROVIDER", ofi["provider_reason"])

    def test_a_missing_one_is_named_with_the_next_step(self):
        run = rhinet("run", "-n", "2", "--nic", "ofi", MEMBER, RHINET_OFI_PROVIDER="carrier-pigeon")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("RHINET_OFI_PROVIDER=carrier-pigeon does not work here", run.stderr)
        self.assertIn("fi_info", run.stderr)
        run = rhinet("info", RHINET_OFI_PROVIDER="carrier-pigeon")
        self.assertIn("not here: RHINET_OFI_PROVIDER=carrier-pigeon", " ".join(run.stdout.split()))

    def test_another_one_elsewhere_is_refused_with_both_names(self):
        with tempfile.TemporaryDirectory() as folder:
            script = (f'if mkdir "{folder}/first" 2>/dev/null; then '
                      f'export RHINET_OFI_PROVIDER="tcp;ofi_rxm"; '
                      f'else export RHINET_OFI_PROVIDER="net;ofi_rxm"; fi; exec "{MEMBER}"')
            run = rhinet("run", "-n", "2", "--nic", "ofi", "sh", "-c", script)
        self.assertNotEqual(run.returncode, 0)
        self.assertRegex(run.stderr, r"uses libfabric's (tcp|net);ofi_rxm \d+\.\d+")
        self.assertRegex(run.stderr, r"rank \d has (tcp|net);ofi_rxm \d+\.\d+")

    def test_a_job_of_one_needs_no_network(self):
        for nic in ("ofi", "mixed"):
            run = rhinet("run", "-n", "1", "--nic", nic, MEMBER,
                         RHINET_OFI_PROVIDER="carrier-pigeon")
            self.assertEqual(run.returncode, 0, run.stderr)

    def test_mixed_on_one_host_needs_no_network(self):
        run = rhinet("run", "-n", "3", "--nic", "mixed", MEMBER,
                     RHINET_OFI_PROVIDER="carrier-pigeon")
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_other_providers_work(self):
        for provider in ("net", "net;ofi_rxm"):
            run = rhinet("run", "-n", "3", "--nic", "ofi", MEMBER, RHINET_OFI_PROVIDER=provider)
            self.assertEqual(run.returncode, 0, f"{provider}: {run.stderr}")


class Strangers(unittest.TestCase):
    def test_are_refused_and_counted(self):
        run = rhinet("run", "-n", "2", "--nic", "ofi", STRANGER)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("ok 5 strangers", run.stdout)


if __name__ == "__main__":
    sys.exit(unittest.main())
