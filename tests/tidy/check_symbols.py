# SPDX-License-Identifier: BSD-3-Clause
"""What the library exports, what librhinet.map lists and what the headers declare is the same."""

import os
import re
import subprocess

from source import public_functions, without_comments

MAP = "src/librhinet.map"
LIBRARY_VARIABLE = "TIDY_LIBRARY"


def listed(tree):
    text = without_comments(tree.text(MAP))
    exported = re.findall(r"global:(.*?)(?:local:|\})", text, re.DOTALL)
    return set(re.findall(r"\w+", " ".join(exported)))


def exported(library):
    run = subprocess.run(["nm", "-D", "--defined-only", library],
                         capture_output=True, text=True, check=True)
    symbols = [line.split()[-1] for line in run.stdout.split("\n") if line]
    # The version itself is a symbol of type A; the linker adds it.
    versions = {line.split()[-1] for line in run.stdout.split("\n") if " A " in line}
    return {name.split("@")[0] for name in symbols if name not in versions}


def compare(have, want, have_name, want_name):
    for name in sorted(want - have):
        yield f"{MAP}:1: {name} is in {want_name} but not in {have_name}"
    for name in sorted(have - want):
        yield f"{MAP}:1: {name} is in {have_name} but not in {want_name}"


def check(tree):
    declared, names = public_functions(tree), listed(tree)
    yield from compare(names, declared, "the list", "the headers")
    library = os.environ.get(LIBRARY_VARIABLE)
    if library:
        yield from compare(exported(library), names, "the library", "the list")
