#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""cut_test.py RHINET NETNS-CLUSTER CHURN SOAK: a host is cut off, one way or both, while its ranks
and the others push, append and add (churn), or send, lock and meet at barriers (soak), over
libfabric. The survivors learn of it by name, go on with each other and end well. The seed is
printed; CUT_TEST_SEED replays it. Exit 77 with the reason where there are no namespaces."""
import os
import random
import re
import subprocess
import sys
import time

RHINET, NETNS, CHURN, SOAK = map(os.path.abspath, sys.argv[1:5])
SEED = int(os.environ.get("CUT_TEST_SEED", random.randrange(1 << 30)))
HANG_S = 90
HOST_TIMEOUT = "2s"


def start(program, *words):
    """A job of five: ranks 0 to 2 here, 3 and 4 on the host that will be lost."""
    command = [RHINET, "run", "--survive", "--hosts", "n1:3,n2:2", "--rsh", f"{NETNS} rsh",
               "--remote-rhinet", RHINET, "--timeout", str(HANG_S), program, *map(str, words)]
    environment = {**os.environ, "RHINET_HOST_TIMEOUT": HOST_TIMEOUT, "RHINET_TIMEOUT": "30s"}
    return subprocess.Popen(command, env=environment, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def cut_and_finish(job, one_way):
    hosts = ["n2", "n1", "one-way"] if one_way else ["n2"]
    subprocess.run([NETNS, "cut", *hosts], check=True)
    out, err = job.communicate(timeout=HANG_S)
    subprocess.run([NETNS, "mend", *hosts[:2]], check=True)
    return out, err


def churn(dice, one_way):
    job = start(CHURN)
    lines = [job.stdout.readline() for _ in range(5)]
    time.sleep(dice.uniform(0, 0.3))
    out, err = cut_and_finish(job, one_way)
    dead = re.findall(r"^dead ([34]) by ([012])$", out, re.M)
    is_well = all(line.startswith("ready") for line in lines) and len(dead) == 3 and \
        {by for _, by in dead} == {"0", "1", "2"}
    return is_well, out + err


def soak(dice, one_way):
    job = start(SOAK, 6, dice.randrange(1 << 20), time.monotonic_ns())
    time.sleep(dice.uniform(1.5, 4))
    out, err = cut_and_finish(job, one_way)
    done = re.findall(r"^done rank ([012]):", out, re.M)
    return sorted(done) == ["0", "1", "2"], out + err


def inside():
    dice = random.Random(SEED)
    failed = 0
    for kind in (churn, soak):
        for one_way in (False, True):
            name = f"{kind.__name__}, cut {'one way' if one_way else 'off'}"
            is_well, said = kind(dice, one_way)
            failed += not is_well
            print(f"{'ok' if is_well else 'FAIL'} {name}" + ("" if is_well else f": {said}"),
                  flush=True)
    return 1 if failed else 0


def main():
    print(f"CUT_TEST_SEED={SEED}", flush=True)
    if "NETNS_HOSTS" in os.environ:
        return inside()
    probe = subprocess.run([NETNS, "1", "--", "true"], text=True, capture_output=True, check=False)
    if probe.returncode != 0:
        print(f"skipped: {probe.stderr.strip().splitlines()[-1]}")
        return 77
    environment = {**os.environ, "CUT_TEST_SEED": str(SEED)}
    return subprocess.run([NETNS, "2", "--", sys.executable, *sys.argv], env=environment,
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
