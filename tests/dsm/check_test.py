# SPDX-License-Identifier: BSD-3-Clause
"""check_test.py RHINET PROGRAM: the checker of shared memory finds each mistake that PROGRAM makes,
says which rank made it and of what variable, and is silent about a program without mistakes."""

import os
import subprocess
import sys

RHINET, PROGRAM = sys.argv[1:3]
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


def run(mistake, is_checked):
    environment = dict(os.environ, RHINET_DSM_CHECK="on" if is_checked else "off",
                       ASAN_OPTIONS="handle_segv=0", TSAN_OPTIONS="handle_segv=0",
                       UBSAN_OPTIONS="handle_segv=0")
    done = subprocess.run([RHINET, "run", "-n", "2", "--timeout", "60", PROGRAM, mistake],
                          env=environment, capture_output=True, text=True, timeout=90, check=False)
    return done.returncode != 0, done.stderr


def main():
    print(f"1..{len(FOUND) + 1}")
    failed = 0
    for number, (mistake, (fails, words)) in enumerate(FOUND.items(), 1):
        has_failed, said = run(mistake, True)
        is_found = words in said if words else "RHINET_DSM_CHECK" not in said
        is_well = has_failed == bool(fails) and is_found
        failed += not is_well
        print(f"{'ok' if is_well else 'not ok'} {number} - {mistake}")
        if not is_well:
            print("# " + said.replace("\n", "\n# "))
    has_failed, said = run("write", False)
    is_well = not has_failed and "RHINET_DSM_CHECK" not in said
    print(f"{'ok' if is_well else 'not ok'} {len(FOUND) + 1} - off")
    return 1 if failed or not is_well else 0


sys.exit(main())
