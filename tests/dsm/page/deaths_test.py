#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""deaths_test.py RHINET PROGRAM NIC RANKS SEED COUNT: random programs with several threads per rank,
in which one rank is killed. All others end within seconds: content, or by a fault that says so."""
import re
import subprocess
import sys

SECONDS = 60


def launch(command, ranks):
    """One launch; returns what was wrong, or None."""
    try:
        done = subprocess.run(command, text=True, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as late:
        return f"HANG\n{late.stdout}\n{late.stderr}"
    content = {int(rank) for rank in re.findall(r"^ok (\d+)$", done.stdout, re.M)}
    killed = {int(rank) for rank in re.findall(r"rank (\d+) .*was killed by signal 14", done.stderr)}
    said = {int(rank) for rank in re.findall(r"^rhinet: rank (\d+) ends: shared page", done.stderr,
                                             re.M)}
    ended = {int(rank) for rank in re.findall(r"rank (\d+) .*was killed by signal (?:7|11)\b",
                                              done.stderr)}
    if len(killed) == 1 and ended <= said and content | killed | ended == set(range(ranks)):
        return None
    return f"content {content}, killed {killed}, ended {ended}\n{done.stdout}\n{done.stderr}"


def main():
    rhinet, program, nic, ranks, seed, count = sys.argv[1:7]
    failed = 0
    for number in range(int(seed), int(seed) + int(count)):
        command = [rhinet, "run", "-n", ranks, "--survive", "--nic", nic, program, str(number), "1",
                   "deaths"]
        wrong = launch(command, int(ranks))
        if wrong:
            failed += 1
            print(f"FAILED: {' '.join(command)}\n{wrong}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
