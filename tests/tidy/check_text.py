# SPDX-License-Identifier: BSD-3-Clause
"""What every file must look like: licence line, line length, no tabs in C."""

LENGTH_MAX = 100
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"


def check_licence(tree, path):
    lines = tree.lines(path)
    # A script's interpreter and a page's preprocessors must stand first.
    first = 1 if lines[0].startswith(("#!", "'\\\" ")) and len(lines) > 1 else 0
    if LICENCE not in lines[first]:
        yield f"{path}:{first + 1}: must begin with {LICENCE}"


def check_length(tree, path):
    for number, line in enumerate(tree.lines(path), 1):
        if len(line) > LENGTH_MAX:
            yield f"{path}:{number}: {len(line)} characters, at most {LENGTH_MAX}"


def check_spaces(tree, path):
    for number, line in enumerate(tree.lines(path), 1):
        if path.endswith((".c", ".h")) and "\t" in line:
            yield f"{path}:{number}: tab; indent by four spaces"
        if line.endswith((" ", "\t", "\r")):
            yield f"{path}:{number}: space at the end of the line"


def check(tree):
    written = tree.c_files() + tree.scripts()
    for path in written + tree.manual_pages():
        yield from check_licence(tree, path)
    for path in written:
        yield from check_length(tree, path)
        yield from check_spaces(tree, path)
