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
    environment = dict(os.environ, RHINET_TIMEOUT="20s")
    command = [rhinet, "run", "-n", str(RANKS), "--survive", program, operation, str(step)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "hangs"
    content = sum(line.startswith("ok ") for line in done.stdout.splitlines())
    killed = done.stderr.count("was killed by signal 9")
    return None if (content, killed) == (RANKS - 1, 1) else done.stdout + done.stderr


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
