#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""on_hosts.py HOSTS RHINET NETNS-CLUSTER -- TEST WORD...: run a test of one host on several.

Makes HOSTS network namespaces and runs the words in the first, with the word RHINET replaced by a
program that looks like it but spreads `rhinet run -n N` over all hosts, rank by rank. The test
itself is not changed: what it starts, how it judges and what it prints are its own. Exit 77 with
the reason where there are no namespaces."""
import os
import stat
import subprocess
import sys
import tempfile

# Called as the test would call rhinet; the hosts are in NETNS_HOSTS.
STAND_IN = """#!/bin/sh
set -e
[ "$1" = run ] || exec {rhinet} "$@"
shift
exec {rhinet} run --hosts "$NETNS_HOSTS" --map cyclic --rsh '{netns} rsh' \\
    --remote-rhinet {rhinet} "$@"
"""


def reason_against(netns):
    """Why there can be no hosts here, or None."""
    probe = subprocess.run([netns, "1", "--", "true"], text=True, capture_output=True, check=False)
    return None if probe.returncode == 0 else probe.stderr.strip().splitlines()[-1]


def main():
    hosts, rhinet, netns = sys.argv[1], os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
    words = sys.argv[sys.argv.index("--") + 1:]
    reason = reason_against(netns)
    if reason:
        print(f"skipped: {reason}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        stand_in = os.path.join(folder, "rhinet")
        with open(stand_in, "w", encoding="utf-8") as file:
            file.write(STAND_IN.format(rhinet=rhinet, netns=netns))
        os.chmod(stand_in, stat.S_IRWXU | stat.S_IRGRP | stat.S_IXGRP | stat.S_IROTH | stat.S_IXOTH)
        words = [stand_in if word == "RHINET" else word for word in words]
        return subprocess.run([netns, hosts, "--", *words], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
