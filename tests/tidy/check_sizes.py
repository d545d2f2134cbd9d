# SPDX-License-Identifier: BSD-3-Clause
"""What a reader can take in: how long a file is, how many sources a folder has."""

import re
from collections import defaultdict

LINES_MAX = 400
SOURCES_MAX = 25
REASON = "Longer than most files:"


def first_comment(text):
    match = re.match(r"/\*.*?\*/", text, re.DOTALL)
    return " ".join(re.sub(r"\n *\*", " ", match[0]).split()) if match else ""


def check_file(tree, path):
    count = tree.text(path).count("\n")
    if count > LINES_MAX and REASON not in first_comment(tree.text(path)):
        yield (f"{path}: {count} lines, at most {LINES_MAX}; split it, or say why not in its first "
               f'comment ("{REASON} ...")')


def check(tree):
    sources = defaultdict(int)
    for path in tree.c_files():
        yield from check_file(tree, path)
        if path.endswith(".c"):
            sources[path.rsplit("/", 1)[0]] += 1
    for folder, count in sorted(sources.items()):
        if count > SOURCES_MAX:
            yield f"{folder}: {count} sources, at most {SOURCES_MAX}; give them rooms"
