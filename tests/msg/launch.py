#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a test program of tests/msg under `rhinet run` on several numbers of ranks and with several
seeds. Every rank that is not killed on purpose must say "ok"."""
import argparse
import os
import random
import subprocess
import sys

LAUNCH_SECONDS = 240  # a hang, on any machine


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rhinet", required=True)
    parser.add_argument("--nic", default="shm")
    parser.add_argument("--ranks", default="1,2,3,4,5,7,8,16")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("MSG_TEST_SEED", "0")))
    parser.add_argument("--deaths", action="store_true",
                        help="some rank dies: --survive, and one or two need not say ok")
    parser.add_argument("program", nargs="+")
    return parser.parse_args()


def launch(arguments, ranks, seed):
    """One launch; prints what went wrong, and returns whether all was well."""
    command = [arguments.rhinet, "run", "-n", str(ranks), "--nic", arguments.nic]
    command += ["--survive"] if arguments.deaths else []
    command += arguments.program + [str(seed)]
    try:
        done = subprocess.run(command, text=True, capture_output=True, timeout=LAUNCH_SECONDS,
                              check=False)
    except subprocess.TimeoutExpired as late:
        print(f"HANG: {' '.join(command)}\n{late.stdout}\n{late.stderr}", flush=True)
        sys.exit(1)  # the next would most likely do the same, and take as long
    content = len([line for line in done.stdout.splitlines() if line.startswith("ok ")])
    killed = done.stderr.count("was killed by signal 14")
    is_well = content + killed == ranks and (killed in (1, 2) if arguments.deaths
                                             else done.returncode == 0)
    if not is_well:
        print(f"FAILED: {content} ok, {killed} killed of {ranks}, status {done.returncode}: "
              f"{' '.join(command)}\n{done.stdout}\n{done.stderr}", flush=True)
    return is_well


def main():
    arguments = parse_arguments()
    os.environ.setdefault("RHINET_TIMEOUT", "20s")
    first = arguments.seed or random.randrange(1 << 30)
    print(f"MSG_TEST_SEED={first}", flush=True)
    failed = 0
    for ranks in map(int, arguments.ranks.split(",")):
        failed += sum(not launch(arguments, ranks, first + i) for i in range(arguments.repeat))
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
