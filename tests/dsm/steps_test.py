# SPDX-License-Identifier: BSD-3-Clause
"""steps_test.py RHINET PROGRAM FIRST LAST STRIDE: a rank is killed at each of its first steps on a
shared variable, one launch per step. The others must be told, adopt what it had, and finish."""

import os
import subprocess
import sys

RANKS = 3
SECONDS = 60


def launch(rhinet, program, operation, step):
    """What went wrong, or None."""
    # a fault of stores, however rare, makes the NIC hide its pointers: every step goes through it
    faults = f"seed=1,delay=store%0.0001:1us,kill={operation}@{step},rank={RANKS - 1}"
    environment = dict(os.environ, RHINET_FAULT=faults, RHINET_TIMEOUT="20s")
    command = [rhinet, "run", "-n", str(RANKS), "--nic", "fault(shm)", "--survive", program,
               "steps", str(step)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "hangs"
    content = sum(line.startswith("ok ") for line in done.stdout.splitlines())
    return None if content == RANKS - 1 else done.stdout + done.stderr


def main():
    rhinet, program = sys.argv[1:3]
    first, last, stride = map(int, sys.argv[3:6])
    failed = 0
    for operation in ("atomic", "pull"):
        for step in range(first, last + 1, stride):
            fault = launch(rhinet, program, operation, step)
            failed += fault is not None
            if fault:
                print(f"{operation} {step}: {fault}", flush=True)
    print(f"{failed} failed")
    return 1 if failed else 0


sys.exit(main())
