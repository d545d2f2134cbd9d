# SPDX-License-Identifier: BSD-3-Clause
"""The tree under check: which files there are, and C text without what is not code."""

import re
from pathlib import Path

C_FOLDERS = ("src", "include", "tests", "examples")
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def blank(text):
    """The same number of lines and columns, nothing on them."""
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return TOKEN.sub(lambda m: blank(m[0]) if m[0].startswith("/") else m[0], text)


def code_only(text):
    """Neither comments nor the insides of strings."""
    return TOKEN.sub(lambda m: blank(m[0]), text)


class Tree:
    """A source tree; paths are relative to its root, with forward slashes."""

    def __init__(self, root):
        self.root = Path(root)
        self.paths = sorted(self._walk(self.root))

    def _walk(self, folder):
        for entry in folder.iterdir():
            if entry.is_symlink():
                continue
            if entry.is_dir():
                is_output = folder == self.root and entry.name.startswith("build")
                if not is_output and entry.name not in (".git", "__pycache__"):
                    yield from self._walk(entry)
            else:
                yield entry.relative_to(self.root).as_posix()

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def lines(self, path):
        return self.text(path).split("\n")

    def c_files(self):
        return [p for p in self.paths
                if p.endswith((".c", ".h")) and p.split("/")[0] in C_FOLDERS]

    def public_headers(self):
        return [p for p in self.paths if re.fullmatch(r"include/rhinet/[^/]+\.h", p)]

    def manual_pages(self):
        return [p for p in self.paths if re.fullmatch(r"man/.*\.[1-8]", p)]

    def scripts(self):
        """Everything else that is written by hand and runs: python, shell, build files."""
        named = ("Makefile", "meson.build", "meson_options.txt", ".clang-format")
        return [p for p in self.paths
                if p.endswith((".py", ".sh", ".map")) or p.split("/")[-1] in named
                or (p.split("/")[0] in ("tools", ".ci") and self.text(p).startswith("#!"))]


def public_functions(tree):
    """Names that the public headers declare and the library must therefore export."""
    names = set()
    for path in tree.public_headers():
        text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", code_only(tree.text(path)), flags=re.M)
        text = re.sub(r"\bstatic\s+inline\b[^{;]*\{.*?^\}", "", text, flags=re.M | re.DOTALL)
        names.update(re.findall(r"\b(rh_\w+)\s*\([^;{]*\)[^;{]*;", text))
    return names
