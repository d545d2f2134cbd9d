#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""death_test.py RHINET PROGRAM NIC: the home of shared pages is killed. Calls of the others return
its rank; a fault that cannot be satisfied ends its process by a signal, with one clear line."""
import re
import subprocess
import sys

SECONDS = 60


def main():
    rhinet, program, nic = sys.argv[1:4]
    command = [rhinet, "run", "-n", "3", "--survive", "--nic", nic, program, "death", "1"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=SECONDS, check=False)
    content = sorted(line for line in done.stdout.splitlines() if line.startswith("ok "))
    said = re.search(r"rhinet: rank 2 ends: shared page 0 \(address 0x[0-9a-f]+\) cannot be had "
                     r"from rank 0: ", done.stderr)
    killed = re.search(r"rank 2 .*was killed by signal (7|11)\b", done.stderr)
    if content == ["ok 1", "ok 2"] and said and killed:
        return 0
    print(f"{done.stdout}\n{done.stderr}\nstatus {done.returncode}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
