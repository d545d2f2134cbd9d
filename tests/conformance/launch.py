#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the conformance suite under `rhinet run`: all ordinary cases in one launch, then each case
in which a rank dies or leaves in a launch of its own, with --survive. Exit 1 if a case failed."""
import argparse
import os
import re
import subprocess
import sys

SUMMARY = re.compile(r"conformance: .* (\d+) cases: (\d+) ok, (\d+) failed, "
                     r"(\d+) unsupported, (\d+) skipped")
LAUNCH_SECONDS = 200


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rhinet", required=True)
    parser.add_argument("--conformance", required=True)
    parser.add_argument("--nic", default="shm")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--all-supported", action="store_true")
    parser.add_argument("--only", help="one case, or all that start with PREFIX*")
    parser.add_argument("--expect-failure", action="store_true",
                        help="succeed only if every launch finds a failure: tests the suite itself")
    return parser.parse_args()


def cases(arguments):
    """Names of all cases, and the set of those that need a launch of their own."""
    listing = subprocess.run([arguments.conformance, "--list"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    alone = {line.split()[0] for line in listing.splitlines() if line.endswith("(own launch)")}
    return [line.split()[0] for line in listing.splitlines()], alone


def launch(arguments, case=None):
    """One launch. Returns the numbers of its summary line, or None if it printed none. The exit
    status is not looked at: where a rank is killed on purpose it cannot be 0."""
    command = [arguments.rhinet, "run", "-n", str(arguments.ranks), "--nic", arguments.nic]
    command += ["--survive"] if case else []
    command += [arguments.conformance]
    command += ["--case", case] if case else []
    command += ["--quick"] if arguments.quick else []
    command += ["--all-supported"] if arguments.all_supported else []
    try:
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=LAUNCH_SECONDS, check=False)
    except subprocess.TimeoutExpired as late:
        print((late.stdout or b"").decode(), "TIMEOUT:", " ".join(command))
        sys.exit(1)  # the next would most likely do the same, and take as long
    shown = [line for line in done.stdout.splitlines() if not SUMMARY.search(line)]
    print("\n".join(shown))
    found = SUMMARY.search(done.stdout)
    failed = not found or int(found.group(3)) > 0 or (not case and done.returncode != 0)
    if failed:
        print("FAILED (status %d): %s\n%s" % (done.returncode, " ".join(command), done.stderr))
    sys.stdout.flush()
    if not case and done.returncode != 0:
        return None
    return [int(number) for number in found.groups()] if found else None


def main():
    arguments = parse_arguments()
    os.environ.setdefault("RHINET_TIMEOUT", "20s")
    names, alone = cases(arguments)
    if arguments.only:
        names = [name for name in names if name == arguments.only or (
            arguments.only.endswith("*") and name.startswith(arguments.only[:-1]))]
    runs = []
    if not arguments.only:
        runs.append(launch(arguments))
    else:
        runs += [launch(arguments, name) for name in names if name not in alone]
    runs += [launch(arguments, name) for name in names if name in alone]
    totals = [sum(run[i] for run in runs if run) for i in range(5)]
    missing = sum(1 for run in runs if not run)
    print("%s, %d ranks: %d cases: %d ok, %d failed, %d unsupported, %d skipped; %d of %d launches "
          "broke" % (arguments.nic, arguments.ranks, *totals, missing, len(runs)))
    if arguments.expect_failure:
        return 0 if runs and all(run and run[2] > 0 for run in runs) else 1
    return 1 if totals[2] > 0 or missing > 0 or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
