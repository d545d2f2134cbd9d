#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs as they are on a simulated cluster: `rhinet run --nic martini`. They behave as on any
NIC, virtual time is the same each time, deaths are noticed."""
import os
import re
import subprocess
import sys

RHINET, CONFORMANCE, RANDOM, EXAMPLES = sys.argv[1:5]
SECONDS = 120
TIME = re.compile(r"simulated: (\d+) nodes, ([0-9.]+) ms of virtual time, (\d+) events, "
                  r"hash ([0-9a-f]{16})")
failures = []


def run(*words, martini="report=-", **more):
    """rhinet run --nic martini with these words. The finished process."""
    environment = dict(os.environ, RHINET_MARTINI=martini, RHINET_TIMEOUT="30s", **more)
    return subprocess.run([RHINET, "run", "--nic", "martini", *words], text=True,
                          capture_output=True, timeout=SECONDS, env=environment, check=False)


def check(what, holds, done):
    print(("ok " if holds else "FAIL ") + what, flush=True)
    if not holds:
        failures.append(what)
        print(done.args, done.returncode, done.stdout[-2000:], done.stderr[-2000:], flush=True)


def simulated(done):
    """What the simulation reports: (nodes, ms, events, hash), or None."""
    found = TIME.search(done.stderr)
    return (int(found[1]), float(found[2]), int(found[3]), found[4]) if found else None


def examples():
    for name in ("hello", "halo", "queue", "counter", "sort"):
        done = run("-n", "4", os.path.join(EXAMPLES, name))
        check(f"example {name}", done.returncode == 0 and simulated(done) is not None, done)


def same_each_time():
    words = ("-n", "3", RANDOM, "--seed", "5", "--count", "2")
    first, second = run(*words), run(*words)
    check("a job is the same each time", first.returncode == 0 and second.returncode == 0 and
          simulated(first) == simulated(second), second)
    slow = run("-n", "4", os.path.join(EXAMPLES, "hello"), martini="report=-,cluster_mbps=600")
    fast = run("-n", "4", os.path.join(EXAMPLES, "hello"), martini="report=-")
    check("slower links take longer", simulated(slow)[1] > simulated(fast)[1], slow)


def conformance():
    for case in ("order-flush", "atomic-*", "append-one-sender", "wait-several-threads"):
        done = run("-n", "3", CONFORMANCE, "--quick", "--case", case)
        check(f"conformance {case}", done.returncode == 0, done)
    for case in ("dead-wait-any", "dead-every-access", "left-page"):
        done = run("-n", "3", "--survive", CONFORMANCE, "--quick", "--case", case)
        check(f"conformance {case}", " 1 ok, 0 failed" in done.stdout, done)


def refusals():
    done = run("-n", "2", os.path.join(EXAMPLES, "hello"), martini="colour=blue")
    check("an unknown setting is refused", done.returncode != 0 and "colour" in done.stderr, done)
    alone = subprocess.run([os.path.join(EXAMPLES, "hello")], text=True, capture_output=True,
                           timeout=SECONDS, env=dict(os.environ, RHINET_NIC="martini"), check=False)
    check("without the launcher there is no simulation",
          alone.returncode != 0 and "rhinet run --nic martini" in alone.stderr, alone)


def main():
    examples()
    same_each_time()
    conformance()
    refusals()
    print(f"{len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
