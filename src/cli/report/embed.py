#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""embed.py NAME FRAME OUTPUT FILE...: put style sheets, scripts and licences into a page, and the
page into a C file of two texts, NAME_before and NAME_after its data (report.h)."""

import sys
from pathlib import Path

MARKS = {".css": "/* STYLE */", ".js": "/* SCRIPT */", "": "LICENCE"}
DATA = "/* DATA */"


def assemble(frame, files):
    page = frame.read_text(encoding="utf-8")
    for suffix, mark in MARKS.items():
        texts = [file.read_text(encoding="utf-8") for file in files if file.suffix == suffix]
        assert page.count(mark) == 1, mark
        assert not any("</script" in text or "-->" in text for text in texts)
        page = page.replace(mark, "\n".join(texts))
    return page.split(DATA)


def c_text(name, text):
    """Numbers, because a string literal may have no more than 64 KiB everywhere."""
    data = text.encode()
    lines = [",".join(map(str, data[at:at + 32])) for at in range(0, len(data), 32)]
    body = ",\n".join(lines)
    return (f"const unsigned char {name}[] = {{\n{body}}};\n"
            f"const size_t {name}_length = sizeof({name});\n")


def main(name, frame, output, *files):
    before, after = assemble(Path(frame), [Path(file) for file in files])
    Path(output).write_text('/* Made by embed.py. */\n#include "cli/report/report.h"\n' +
                            c_text(f"{name}_before", before) + c_text(f"{name}_after", after),
                            encoding="ascii")


if __name__ == "__main__":
    main(*sys.argv[1:])
