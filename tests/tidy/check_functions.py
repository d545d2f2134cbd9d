# SPDX-License-Identifier: BSD-3-Clause
"""A function fits a screen, and calls nothing that is banned."""

import re

from source import code_only

LINES_MAX = 70

BANNED = {
    "strcpy": "snprintf or memcpy with the room",
    "sprintf": "snprintf",
    "gets": "fgets",
    "atoi": "text_to_u64",
    "alloca": "a fixed array",
    "system": "posix_spawn",
    "tmpnam": "memfd_create",
    "shm_open": "memfd_create: no names in the file system",
    "realloc": "array_grow or array_resize of base/array.h",
    "reallocarray": "array_grow or array_resize of base/array.h",
    "assert": "ASSERT of base/assert.h: what users build does not end by it",
    "abort": "an error for what others do wrong, ASSERT of base/assert.h for what we do",
    "__builtin_expect": "likely and unlikely of base/likely.h",
}
MAY_CALL = {  # the place behind which a call is hidden, and who cannot or must not hide it
    "realloc": ("src/base/array.c", "tests/", "examples/"),
    "assert": ("tests/",),
    "abort": ("src/base/assert.c", "tests/"),
    "__builtin_expect": ("src/base/likely.h", "src/pm/context.h"),
}
CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")


def functions(text):
    """(first line, last line) of each function of formatted C: the body's braces stand in the first
    column, and what stands above the opening one, up to a blank line or an end, is its head."""
    lines = code_only(text).split("\n")
    for number, line in enumerate(lines):
        if line.rstrip() != "{":
            continue
        first = number
        while first > 0 and lines[first - 1].strip() and not re.match(r"[#}]", lines[first - 1]) \
                and not lines[first - 1].rstrip().endswith(";"):
            first -= 1
        last = next((k for k in range(number, len(lines)) if lines[k].startswith("}")), None)
        if first < number and last is not None:
            yield first + 1, last + 1


def check(tree):
    for path in tree.c_files():
        text = tree.text(path)
        for first, last in functions(text):
            if last - first + 1 > LINES_MAX:
                yield f"{path}:{first}: function of {last - first + 1} lines, at most {LINES_MAX}"
        for number, line in enumerate(code_only(text).split("\n"), 1):
            for match in CALL.finditer(line):
                if path.startswith(MAY_CALL.get(match[1], ())):
                    continue
                yield f"{path}:{number}: {match[1]}() is banned; use {BANNED[match[1]]}"
