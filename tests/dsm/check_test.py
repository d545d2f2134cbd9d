# SPDX-License-Identifier: BSD-3-Clause
"""check_test.py RHINET PROGRAM: the checker of shared memory finds each mistake that PROGRAM makes,
says which rank made it and of what variable, and is silent about a program without mistakes. A
mistake is called a data race if nothing orders the two accesses, and only then."""

import os
import subprocess
import sys
import tempfile

RHINET, PROGRAM = map(os.path.abspath, sys.argv[1:3])
FOUND = {
    "nothing": (0, None),
    "write": (1, "rank 1 writes shared memory at offset"),
    "read": (1, "without holding variable 0 ("),
    "reader": (1, "without holding variable 0 for writing"),
    "unbound": (1, "which is bound to no variable"),
    "after": (1, "rank 1 writes shared memory at offset"),
    "twice": (0, "is bound to variable 0, too"),
    "apart": (0, "write different parts of it (false sharing)"),
    "together": (0, "variable 0 went to and fro"),
}
RACE = "data race"
# What rank 0 does first, what rank 1 does then, and what is between them; how the race is called.
RACES = {
    "held,writes,race": "rank 1 writes it without holding it, rank 0 held it for writing",
    "held,reads,race": "rank 1 reads it without holding it, rank 0 held it for writing",
    "read,writes,race": "rank 1 writes it without holding it, rank 0 held it for reading",
    "read,reads,race": None,
    "held,writes,barrier": None,
    "held,writes,variable": None,
    "held,writes,signal": None,
    "held,writes,readers": "rank 1 writes it without holding it, rank 0 held it for writing",
    "held,twin,race": "rank 1 holds 1 for writing, rank 0 held 0 for writing",
    "read,twin,race": "rank 1 holds 1 for writing, rank 0 held 0 for reading",
    "held,twin,barrier": None,
    "held,twin,variable": None,
    "late,write": "rank 0 holds it for writing, rank 1 read it without holding it",
    "late,read": None,
}
FAR = ["held,writes,race", "held,writes,barrier", "held,twin,variable"]


def run(mistake, is_checked, nic=None):
    environment = dict(os.environ, RHINET_DSM_CHECK="on" if is_checked else "off",
                       ASAN_OPTIONS="handle_segv=0", TSAN_OPTIONS="handle_segv=0",
                       UBSAN_OPTIONS="handle_segv=0")
    command = [RHINET, "run", "-n", "2", "--timeout", "60"]
    command += ["--nic", nic] if nic else []
    command += ["--survive"] if mistake.startswith("late,") else []
    with tempfile.TemporaryDirectory() as folder:  # ofi may leave a trace of the crash
        done = subprocess.run(command + [PROGRAM, mistake], env=environment, cwd=folder,
                              capture_output=True, text=True, timeout=90, check=False)
    return done.returncode != 0, done.stderr


def finds(mistake, fails, words):
    has_failed, said = run(mistake, True)
    is_found = words in said if words else "RHINET_DSM_CHECK" not in said
    return has_failed == bool(fails) and is_found and RACE not in said, said


def finds_race(mistake, words, nic=None):
    has_failed, said = run(mistake, True, nic)
    is_trespass = ",twin," not in mistake
    is_well = (words in said and RACE in said) if words else RACE not in said
    if is_trespass:
        is_well = is_well and "rank 1 " in said and "without holding variable 0" in said
        is_well = is_well and "rank 0 reads" not in said and "rank 0 writes" not in said
    return is_well and has_failed == is_trespass, said


def off_is_silent():
    has_failed, said = run("write", False)
    return not has_failed and "RHINET_DSM_CHECK" not in said, said


def main():
    tests = [(name, finds, (name, *found)) for name, found in FOUND.items()]
    tests += [(name, finds_race, (name, words)) for name, words in RACES.items()]
    tests += [(f"{name}, ofi", finds_race, (name, RACES[name], "ofi")) for name in FAR]
    tests.append(("off", off_is_silent, ()))
    print(f"1..{len(tests)}")
    failed = 0
    for number, (name, test, arguments) in enumerate(tests, 1):
        is_well, said = test(*arguments)
        failed += not is_well
        print(f"{'ok' if is_well else 'not ok'} {number} - {name}")
        if not is_well:
            print("# " + said.replace("\n", "\n# "))
    return 1 if failed else 0


sys.exit(main())
