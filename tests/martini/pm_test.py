#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The rows of chapter 8 that the simulation meets; and that they are no matter of course: on a
machine that is another one they do not hold."""
import json
import subprocess
import sys

HOLD = {"R2", "R6", "R7", "R9", "R12", "R14", "R17", "R19", "R20"}

# What does not hold any more when a constant is changed, and what still does.
OTHERWISE = [
    ("pm", "library_ps=1", {"R2", "R7", "R17"}, {"R6", "R9", "R14"}),
    ("pm", "library_ps=90000000", {"R2", "R7", "R14", "R17"}, {"R6", "R9"}),
    ("pm-nodes", "library_ps=90000000", {"R20"}, set()),
    ("pm", "core_ps=1500000", {"R2", "R7", "R12", "R14"}, {"R6", "R9"}),
    ("mpi", "memory_ps=3000000", {"R13", "R21-S"}, {"R21-A"}),
]


def rows(group, *words):
    command = [sys.argv[1], "sim", "thesis", group, *words, "--json", "-"]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, timeout=200, check=True)
    return {row["id"]: row for row in map(json.loads, done.stdout.splitlines())}


def main():
    found = {**rows("pm"), **rows("pm-nodes")}
    broken = sorted(name for name in HOLD if not found[name]["holds"])
    for name in broken:
        print("does not hold:", found[name])
    for group, constant, fails, holds in OTHERWISE:
        found = rows(group, "--set", constant)
        wrong = sorted([name for name in fails if found[name]["holds"]] +
                       [name for name in holds if not found[name]["holds"]])
        for name in wrong:
            print(f"with {constant}:", found[name])
        broken += wrong
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
