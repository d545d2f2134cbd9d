# SPDX-License-Identifier: BSD-3-Clause
"""Every error text of the sources has an entry in docs/errors-*.md: what it means, what to do.

A text is what the calls below are given as their format, with "…" for each value. An entry is a
heading, or a line of a list below one, that begins with the text in backticks; the words that
follow it, up to the next heading, are the explanation. What an entry says and nobody does is found,
too: it would be an answer to a question that cannot be asked."""

import re

from source import without_comments

# Call -> (which argument has the format, what the call itself puts in front).
CALLS = {
    "error_fail": (1, ""),
    "error_set": (2, ""),
    "error_no_memory": (0, "no memory for "),  # what it was for is a value like any other
    "pm_fail": (1, ""),
    "source_error": (1, "…: "),
    "refuse": (2, ""),
    "manager_refuse": (2, ""),
    "cli_usage_error": (0, ""),
    "launch_say": (1, ""),
}
CALL = re.compile(rf"\b({'|'.join(CALLS)})\(")
PIECE = re.compile(r'\s*(?:"((?:\\.|[^"\\\n])*)"|(PRI\w+)|([A-Z][A-Z0-9_]*)\b(?!\())')
DIRECTIVE = re.compile(r"%(?:%|[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?(?:hh|h|ll|l|z|j|t)?[a-zA-Z])")
ESCAPE = {"\\n": " ", "\\t": " ", '\\"': '"', "\\\\": "\\", "\\'": "'"}
ENTRY = re.compile(r"^(?:#{2,4}|-)\s+`(.*?)`(?:\s|$)", re.M)
PAGE = re.compile(r"docs/errors-[\w-]+\.md")
EXPLAINED_MIN = 20  # characters behind a group of texts


def arguments(text, start):
    """(position, text) of each argument of the call whose parenthesis opens before start."""
    depth, begin, at = 0, start, start
    while at < len(text):
        char = text[at]
        if char in "\"'":
            at = re.compile(rf"{char}(?:\\.|[^{char}\\\n])*{char}").match(text, at).end()
            continue
        if char in "([{":
            depth += 1
        elif char in ")]}" and depth:
            depth -= 1
        elif char in ",)" and not depth:
            yield begin, text[begin:at]
            begin = at + 1
            if char == ")":
                return
        at += 1


def literals(argument):
    """The texts of a format: one, both sides of a condition, or none where it is a variable."""
    choice = re.fullmatch(r"[^\"]*?\?\s*(\"(?:\\.|[^\"\\\n])*\")\s*:\s*(\"(?:\\.|[^\"\\\n])*\")\s*",
                          argument, re.DOTALL)
    for part in choice.groups() if choice else (argument,):
        at, words = 0, ""
        while match := PIECE.match(part, at):
            words += "%d" if match[2] or match[3] else match[1]
            words = re.sub(r"%(?:[-+ #0]*\d*)?%d$", "%d", words) if match[2] else words
            at = match.end()
        if words and not part[at:].strip():
            yield words


def normal(words, front=""):
    """The text as people see it, with … for each value."""
    words = re.sub(r"\\.", lambda match: ESCAPE.get(match[0], " "), words)
    words = DIRECTIVE.sub(lambda match: "%" if match[0] == "%%" else "…", words)
    words = re.sub(r"\s+", " ", re.sub(r"…(?:\s*…)+", "…", front + words)).strip()
    return re.sub(r"^no memory (?:for|to) .*", "no memory for …", words).replace("`", "'")


def is_telling(text):
    """Something that one can look for: more than values and signs."""
    return len(re.sub(r"[^A-Za-z]", "", text.replace("…", ""))) >= 3


def texts(tree):
    """text -> the first place, of all error texts in the sources."""
    found = {}
    for path in tree.c_files():
        if not path.startswith("src/"):
            continue
        text = without_comments(tree.text(path))
        for match in CALL.finditer(text):
            place, front = CALLS[match[1]]
            given = list(arguments(text, match.end()))
            if len(given) <= place:
                continue
            for words in literals(given[place][1]):
                line = text.count("\n", 0, match.start()) + 1
                if is_telling(normal(words, front)):
                    found.setdefault(normal(words, front), f"{path}:{line}")
    return found


def entries(tree):
    """text -> place of all entries; and what is wrong with some: twice, or not explained."""
    found, bare = {}, []
    for path in tree.paths:
        if not PAGE.fullmatch(path):
            continue
        for section in re.split(r"^(?=#{2,4} )", tree.text(path), flags=re.M):
            names = ENTRY.findall(section)
            for name in names:
                if name in found:
                    bare.append(f"{path}: `{name}` has an entry in {found[name]} already")
                found.setdefault(name, path)
            words = "\n".join(line for line in section.split("\n")[1:]
                              if not line.startswith(("- `", "#")))
            if names and len(words.strip()) < EXPLAINED_MIN:
                bare.append(f"{path}: `{names[0]}` has no explanation")
    return found, bare


def page_for(path):
    """Where the entry of a source's text belongs, by the room that gives it."""
    room = path.split("/")[1]
    return {"route": "docs/errors-routing.md", "plan": "docs/errors-simulator.md",
            "sim": "docs/errors-simulator.md", "simulated": "docs/errors-simulator.md",
            "cache": "docs/errors-cache.md", "cli": "docs/errors-commands.md",
            "experiment": "docs/errors-commands.md", "job": "docs/errors-jobs.md",
            "watch": "docs/errors-jobs.md", "base": "docs/errors-jobs.md"
            }.get(room, "docs/errors-library.md")


def check(tree):
    known, bare = entries(tree)
    given = texts(tree)
    for text, place in sorted(given.items(), key=lambda each: each[1]):
        if text not in known:
            yield (f"{place}: the error text `{text}` has no entry; add it to "
                   f"{page_for(place)}: what it means, what to do")
    for text, path in sorted(known.items()):
        if text not in given:
            yield f"{path}: nobody says `{text}` any more; take the entry out"
    yield from bare
