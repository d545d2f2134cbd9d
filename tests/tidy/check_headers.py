# SPDX-License-Identifier: BSD-3-Clause
"""Headers compile alone, and if they are included twice: the public ones as C99, C17 and C++17 with
all warnings, the others as the project is compiled."""

import os
import subprocess

PUBLIC = (("c", "c99"), ("c", "c17"), ("c++", "c++17"))
WARNINGS = ("-Wall", "-Wextra", "-pedantic", "-Werror")


def compiler(language):
    return os.environ.get("CXX", "g++") if language == "c++" else os.environ.get("CC", "gcc")


def compile_alone(tree, path, language, standard, options):
    command = [*compiler(language).split(), "-fsyntax-only", "-x", language, f"-std={standard}",
               f"-I{tree.root}/include", *options, "-"]
    text = f'#include "{tree.root}/{path}"\n' * 2
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        reason = next((k for k in run.stderr.split("\n") if "error" in k), run.stderr.strip())
        yield f"{path}:1: does not compile alone as {standard}: {reason}"


def check(tree):
    for path in tree.public_headers():
        for language, standard in PUBLIC:
            yield from compile_alone(tree, path, language, standard, WARNINGS)
    for path in tree.c_files():
        if path.startswith("src/") and path.endswith(".h"):
            options = ("-D_GNU_SOURCE", f"-I{tree.root}/src", "-Wall", "-Wextra",
                       "-Wno-unused-parameter", "-Werror")
            yield from compile_alone(tree, path, "c", "gnu17", options)
