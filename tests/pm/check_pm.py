#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What librhinet-pm exports, what its map lists, what pm.h declares and what the manual has is the
same; and it needs nothing of librhinet but what that exports."""
import re
import subprocess
import sys
from pathlib import Path

ROOT, LIBRARY = Path(sys.argv[1]), sys.argv[2]


def symbols(*options):
    run = subprocess.run(["nm", "-D", *options, LIBRARY], capture_output=True, text=True,
                         check=True)
    return {line.split()[-1].split("@")[0] for line in run.stdout.splitlines()}


def without_comments(path):
    return re.sub(r"/\*.*?\*/", "", (ROOT / path).read_text(), flags=re.DOTALL)


def main():
    declared = set(re.findall(r"\b(pm[A-Z]\w+)\(", without_comments("include/rhinet/pm.h")))
    listed = set(re.findall(r"\bpm\w+(?=;)", without_comments("src/pm/librhinet-pm.map")))
    exported = {name for name in symbols("--defined-only") if not name.startswith("RHINET_PM")}
    pages = {path.name[:-2] for path in (ROOT / "man").glob("pm[A-Z]*.3")}
    allowed = set(re.findall(r"\brh_\w+(?=;)", without_comments("src/librhinet.map")))
    borrowed = {name for name in symbols("--undefined-only") if name.startswith("rh_")}
    findings = [f"{name} is not the same everywhere" for name in
                sorted(declared ^ listed | declared ^ exported | declared ^ pages)]
    findings += [f"{name} is not librhinet's to use" for name in sorted(borrowed - allowed)]
    print("\n".join(findings))
    print(f"{len(declared)} functions, {len(findings)} findings")
    return 1 if findings or not declared else 0


if __name__ == "__main__":
    sys.exit(main())
