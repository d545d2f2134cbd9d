# SPDX-License-Identifier: BSD-3-Clause
"""What documents and the maps in opening comments name is there."""

import re

DOCUMENT = re.compile(r"[A-Z]+\.md|docs/[^/]+\.md")
ROOTS = "src|include|tests|tools|docs|examples|man|completion"
PATH = re.compile(rf"(?<![\w./-])(?:{ROOTS})/[\w./*{{}}<>-]*\w")
SPAN = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"(?:[\w-]+/)*[\w-]+\.(?:[ch]|pml|map|build)")
FUNCTION = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
IN_FILE = re.compile(r"`([a-z][a-z0-9_]*)`\s+\(`([\w./-]+\.[ch])`")
MAP_LINE = re.compile(r" \*   +(?=\w)")
MAP_NAME = re.compile(r"(?:^|  |, )((?:[\w-]+/)*[\w-]+\.[chS])(?=  |,|$)")
WRITTEN = "ARCHITECTURE.md"  # says itself that its names are meant to be looked up


class Names:
    """What there is to be named."""

    def __init__(self, tree):
        self.tree = tree
        self.paths = set(tree.paths)
        self.tails = {}
        for path in tree.paths:
            parts = path.split("/")
            self.paths.update("/".join(parts[:k]) for k in range(1, len(parts)))
            for k in range(len(parts)):
                self.tails.setdefault("/".join(parts[k:]), []).append(path)
        self.words = set()
        for path in tree.c_files() + tree.scripts():
            if path.startswith(("src/", "include/")):
                self.words.update(re.findall(r"\w+", tree.text(path)))

    def stems(self, name):
        """Files without a suffix count, as `job/manager/hosts` for .c and .h."""
        return any(name + suffix in self.tails for suffix in ("", ".c", ".h"))


def place(text, match):
    return text.count("\n", 0, match.start()) + 1


def check_paths(names, path, text):
    for match in PATH.finditer(text):
        if re.search(r"[A-Z*{}<>]", match[0]):
            continue  # tests/mutants/ROOM.toml
        if match[0] not in names.paths and match[0].rstrip("/") not in names.paths:
            yield f"{path}:{place(text, match)}: {match[0]} is not there"


def check_names(names, path, text):
    for match in SPAN.finditer(text):
        name = match[1]
        if FILE.fullmatch(name) and not re.search("[A-Z]", name) and name not in names.tails:
            yield f"{path}:{place(text, match)}: there is no file {name}"
        if FUNCTION.fullmatch(name) and name not in names.words and not names.stems(name):
            yield f"{path}:{place(text, match)}: nothing has the name {name}"
    for match in IN_FILE.finditer(text):
        files = names.tails.get(match[2], [])
        if files and not any(re.search(rf"\b{match[1]}\b", names.tree.text(f)) for f in files):
            yield f"{path}:{place(text, match)}: {match[1]} is not in {match[2]}"


def check_rooms(names, path, text):
    """Each folder with sources is told of: by its path, or by its name in the line of another."""
    rooms = {each.rsplit("/", 1)[0] for each in names.tree.c_files() if each.startswith("src/")}
    for room in sorted(rooms):
        if f"{room}/" not in text and not re.search(rf"[ `/]{room.rsplit('/', 1)[1]}/", text):
            yield f"{path}: says nothing of {room}/"


def map_names(text):
    """(line, name) of each file that stands at the beginning of a column in the first comment."""
    comment = re.match(r"/\*.*?\*/", text, re.DOTALL)
    for number, line in enumerate(comment[0].split("\n") if comment else (), 1):
        start = MAP_LINE.match(line)
        for match in MAP_NAME.finditer(line[start.end():]) if start else ():
            yield number, match[1]


def check_map(names, path):
    """What a map names is in or below its header's folder, or it is a path below src."""
    folder = path.rsplit("/", 1)[0]
    for number, name in map_names(names.tree.text(path)):
        is_below = any(each.startswith(folder + "/") for each in names.tails.get(name, ()))
        if not is_below and f"src/{name}" not in names.paths:
            yield f"{path}:{number}: the map names {name}, which is not there"


def check(tree):
    names = Names(tree)
    for path in tree.paths:
        if DOCUMENT.fullmatch(path):
            yield from check_paths(names, path, tree.text(path))
    if WRITTEN in names.paths:
        yield from check_names(names, WRITTEN, tree.text(WRITTEN))
        yield from check_rooms(names, WRITTEN, tree.text(WRITTEN))
    for path in tree.c_files():
        yield from check_map(names, path)
