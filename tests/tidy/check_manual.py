# SPDX-License-Identifier: BSD-3-Clause
"""The manual is complete: a page for every public function and every subcommand, every setting in
rhinet(7), and every page is sound. The options are compared by tests/cli/options_test.py, which can
ask the program."""

import re
import subprocess

from source import public_functions, without_comments

SETTINGS = re.compile(r"src/\w+/(\w+_)?layer\.c")  # each layer has its own
COMMANDS = "src/cli/main.c"
OVERVIEW = "rhinet.7"


def plain(text):
    """Page text without the escapes that would hide a word from us."""
    return re.sub(r"\\f[A-Z]|\\f\(..|\\&", "", text).replace("\\-", "-").replace("\\(hy", "-")


def names_of(text):
    """What the NAME section says that the page is about."""
    section = re.search(r'^\.SH "?NAME"?\n(.*?)(?=^\.SH|\Z)', plain(text), re.M | re.DOTALL)
    if not section:
        return set()
    words = section[1].replace("\n", " ").split(" - ")[0]
    return set(re.findall(r"[\w-]+", words))


def alias_of(text):
    found = re.search(r"^\.so (?:man\d/)?(\S+)", text, re.M)
    return found[1] if found else None


def check_functions(tree, pages):
    documented, declared = set(), public_functions(tree)
    for name, path in pages.items():
        target = alias_of(tree.text(path))
        if target and target not in pages:
            yield f"{path}:1: leads to {target}, which is not there"
        if target and target in pages and name[:-2] not in names_of(tree.text(pages[target])):
            yield f"{path}:1: leads to {target}, whose NAME does not have {name[:-2]}"
        if not target and name.endswith(".3"):
            documented |= names_of(tree.text(path))
    for name in sorted(declared - documented):
        yield f"man: no page has {name} in its NAME"
    for name in sorted(k for k in documented - declared if k.startswith("rh_")):
        yield f"man: {name} has a page but is not in the headers"


def check_commands(tree, pages):
    table = without_comments(tree.text(COMMANDS))
    for name in re.findall(r"&cli_(\w+)", table):
        if name != "root" and f"rhinet-{name}.1" not in pages:
            yield f"{COMMANDS}:1: subcommand {name} has no page man/rhinet-{name}.1"


def check_settings(tree, pages):
    tables = "".join(tree.text(path) for path in tree.c_files() if SETTINGS.fullmatch(path))
    known = set(re.findall(r'_SETTING\(\s*[\w()]+, "(RHINET_[A-Z_]+)"', tables))
    if OVERVIEW not in pages:
        yield f"man: no {OVERVIEW}"
        return
    told = set(re.findall(r"\bRHINET_[A-Z_]+", plain(tree.text(pages[OVERVIEW]))))
    for name in sorted(known - told):
        yield f"{pages[OVERVIEW]}:1: does not explain {name}"
    for name in sorted(told - known):
        yield f"{pages[OVERVIEW]}:1: {name} is not a setting"


def check_pages(tree, pages):
    for path in pages.values():
        if alias_of(tree.text(path)):
            continue
        run = subprocess.run(["groff", "-t", "-man", "-Tutf8", "-ww", "-z", str(tree.root / path)],
                             capture_output=True, text=True, check=False)
        for line in run.stderr.strip().split("\n") if run.stderr.strip() else []:
            yield f"{path}: {line.split(':', 1)[-1].strip()}"


def check(tree):
    pages = {path.split("/")[-1]: path for path in tree.manual_pages()}
    yield from check_functions(tree, pages)
    yield from check_commands(tree, pages)
    yield from check_settings(tree, pages)
    yield from check_pages(tree, pages)
