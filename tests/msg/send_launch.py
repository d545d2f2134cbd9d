#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""send_launch.py RHINET PROGRAM [options]: runs the suite of send and receive under `rhinet run`:
the ordinary cases in one launch, then each case in which a rank dies, leaves or loses patience in a
launch of its own. Prints a line per case; exit 1 if one failed."""
import argparse
import os
import re
import subprocess
import sys

LAUNCH_S = 120
SHORT_TIMEOUT = "1500ms"  # long enough for those who are to be in time, on a busy machine too


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rhinet")
    parser.add_argument("program")
    parser.add_argument("--nic", default="shm")
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--alone", action="store_true", help="only the cases that run alone")
    parser.add_argument("--together", action="store_true", help="only the others")
    parser.add_argument("--case", help="only this one")
    return parser.parse_args()


def listed(arguments):
    """(name, least number of ranks, flags) of every case."""
    listing = subprocess.run([arguments.program, "--list"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    for line in listing.splitlines():
        name, least, *flags = line.split()
        if int(least) <= arguments.ranks:
            yield name, set(flags)


def launch(arguments, name=None, flags=frozenset()):
    """True if all went well."""
    command = [arguments.rhinet, "run", "-n", str(arguments.ranks), "--nic", arguments.nic]
    command += ["--survive"] if "alone" in flags else []
    command += [arguments.program]
    command += ["--case", name] if name else []
    command += ["--quick"] if arguments.quick else []
    environment = dict(os.environ)
    if "short-timeout" in flags:
        environment["RHINET_TIMEOUT"] = SHORT_TIMEOUT
    else:
        environment.setdefault("RHINET_TIMEOUT", "20s")
    try:
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=LAUNCH_S, check=False, env=environment)
    except subprocess.TimeoutExpired as late:
        print((late.stdout or b"").decode())
        print(f"FAIL {name or 'launch'}: does not end within {LAUNCH_S} s: {' '.join(command)}")
        return False
    print(done.stdout, end="", flush=True)
    passed = bool(re.search(rf"^(ok|skip|outside) {name or ''}", done.stdout, re.M))
    passed = passed and "FAIL" not in done.stdout
    if "alone" not in flags:
        passed = passed and done.returncode == 0
    if not passed:
        if "FAIL" not in done.stdout:
            print(f"FAIL {name or 'launch'}: status {done.returncode}")
        print(f"# {' '.join(command)}")
        print("\n".join(f"# {line}" for line in done.stderr.splitlines()), flush=True)
    return passed


def main():
    arguments = parse_arguments()
    cases = list(listed(arguments))
    passed = True
    if arguments.case:
        flags = dict(cases)[arguments.case]
        return 0 if launch(arguments, arguments.case, flags) else 1
    if not arguments.alone:
        passed = launch(arguments)
    if not arguments.together:
        for name, flags in cases:
            if flags:
                passed = launch(arguments, name, flags) and passed
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
