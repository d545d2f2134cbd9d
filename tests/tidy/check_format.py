# SPDX-License-Identifier: BSD-3-Clause
"""Formatting is what clang-format makes of the committed .clang-format. Version 14 it must be:
versions differ in what they write."""

import re
import shutil
import subprocess

VERSION = "14"


class Missing(Exception):
    """The tool is not there; the test is skipped and says so."""


def find_tool():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        tool = shutil.which(name)
        if tool:
            said = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True)
            if re.search(rf"version {VERSION}\.", said.stdout):
                return tool
    raise Missing(f"no clang-format {VERSION}; `tools/setup test` installs it")


def check(tree):
    tool = find_tool()
    files = [str(tree.root / path) for path in tree.c_files()]
    if not files:
        return
    run = subprocess.run([tool, "--dry-run", "-Werror", "--style=file", *files],
                         capture_output=True, text=True, check=False)
    places = re.findall(r"^(.*?):(\d+):\d+: error:", run.stderr, re.M)
    for name, line in dict.fromkeys(places):
        path = name.removeprefix(str(tree.root) + "/")
        yield f"{path}:{line}: not as clang-format writes it; run `make format`"
    if run.returncode != 0 and "error:" not in run.stderr:
        yield f"{tool} failed: {run.stderr.strip()}"
