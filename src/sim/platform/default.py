#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""default.py CONSTANTS_H: the table of sim/constants.h as the platform rhinet2-le."""

import re
import sys
from pathlib import Path

HEAD = """\
# SPDX-License-Identifier: BSD-3-Clause
# RHiNET-2 on hosts with ServerSet III LE: chapter 6 of the thesis; the default
#
# Made by src/sim/platform/default.py of the table in src/sim/constants.h. A line is
# NAME = VALUE UNIT; CLASS; SOURCE; behind '#' is what it means. Classes: known, calibrated on ROW
# (of `rhinet sim thesis`), assumed, what-if (a switch that is off in real machines).
"""
ITEM = re.compile(r'/\* (.*?) \*/|X\((\w+), (\d+), "([^"]*)", "([^"]*)", "([^"]*)",\s*"([^"]*)"\)')
CLASSES = {"K": "known", "C": "calibrated on ", "assumed": "assumed", "switch": "what-if"}


def platform(header):
    """The text of the file."""
    table = header[header.index("#define SIM_CONSTANTS(X)"):header.index("struct sim_constants {")]
    lines = [HEAD]
    for title, name, value, unit, section, origin, meaning in ITEM.findall(
            re.sub(r"\\\n\s*", " ", table)):
        if title:
            lines.append(f"\n# {title.strip()}\n")
            continue
        kind, _, row = origin.partition(" ")
        where = section if section.startswith("DIMM") else f"thesis {section}"
        source = [] if section == "-" else [where]
        if kind == "K":
            source.append(row)
        kind = CLASSES[kind] + (row if kind == "C" else "")
        said = f"{name} = {value} {unit or '-'}; {kind}; {', '.join(source)}".rstrip()
        lines.append(f"{said}  # {meaning}\n")
    return "".join(lines)


if __name__ == "__main__":
    print(end=platform(Path(sys.argv[1]).read_text(encoding="utf-8")))
