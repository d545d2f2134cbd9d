# SPDX-License-Identifier: BSD-3-Clause
"""The blocks of a Markdown document: what readers are shown to type, compile and see.

A comment just above a fence says what cannot be seen from the block itself:

    <!-- not run: needs root -->      left out, with the reason; counted and listed
    <!-- needs: opensm, ibsim -->     left out where these programs are not installed
    <!-- file: number.c -->           kept under this name for the blocks that follow
    <!-- before: struct rh_job *j; -->  what a fragment of C stands behind, inside a function
    <!-- any order -->                the lines of each output may come in any order
    <!-- status: 1 -->                the block's last command ends with this

Several are separated by lines. A console block has commands after `$ ` (continued by a backslash at
the end of the line, or by lines that begin with `> `), each followed by what it prints. `...`
stands for anything: alone on a line for any lines. No output: it is not compared."""

import re
from dataclasses import dataclass, field

FENCE = re.compile(r"^(\s*)(```+|~~~+)\s*([\w+-]*)\s*$")
COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
MARK = re.compile(r"^\s*(not run|needs|file|before|status|any order)\s*(?::\s*(.*?))?\s*$")
LIST = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
SUFFIX = {"c": "c", "cpp": "cpp", "c++": "cpp", "python": "py", "fortran": "f90"}
# What stands in a text block must not be meant to be typed.
TYPED = re.compile(r"^\s*(?:\$ |rhinet (?:run|route|sim|cache|bench|dsm|info|top|doctor|report)\b)")


class Mistake(Exception):
    """The document itself is wrong."""


@dataclass
class Command:
    line: int
    text: str
    output: list = field(default_factory=list)


@dataclass
class Block:
    line: int
    language: str
    lines: list
    marks: dict

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"

    def commands(self):
        """Of a console block."""
        found = []
        is_open = False
        for number, line in enumerate(self.lines, self.line + 1):
            if line.startswith("$ "):
                found.append(Command(number, line[2:]))
            elif found and (is_open or line.startswith("> ")):
                found[-1].text += "\n" + line.removeprefix("> ")
            elif found:
                found[-1].output.append(line.rstrip())
            elif line.strip():
                raise Mistake(f"line {number}: a console block begins with a line that has $")
            is_open = line.endswith("\\") and (is_open or line.startswith(("$ ", "> ")))
        for command in found:
            while command.output and not command.output[-1]:
                command.output.pop()
        return found


def read_marks(comment, line):
    marks = {}
    for part in comment.strip().split("\n"):
        match = MARK.match(part)
        if not match:
            return {}  # a comment for people
        if match[1] != "any order" and not match[2]:
            raise Mistake(f"line {line}: '{match[1]}:' says nothing")
        marks[match[1]] = match[2] or True
    return marks


def find_indented(lines):
    """Lines of code that are set off by indentation: nobody can say of them what they are."""
    text_at, is_after_blank = 0, True  # text_at: where the text of the list item around us begins
    for number, line in enumerate(lines, 1):
        if not line.strip():
            is_after_blank = True
            continue
        indent = len(line) - len(line.lstrip())
        if indent < text_at and is_after_blank:
            text_at = 0  # the list is over
        if is_after_blank and (indent >= text_at + 4 or line.startswith("\t")):
            yield number
        item = LIST.match(line)
        if item and indent < text_at + 4:
            text_at = item.end()
        is_after_blank = False


def parse(text, is_strict=True):
    """All blocks of a document, in order; raises Mistake. is_strict: none may be indented."""
    blocks, marks, outside = [], {}, []
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        fence = FENCE.match(line)
        if line.lstrip().startswith("<!--"):
            start = number
            while "-->" not in lines[number]:
                number += 1
                if number == len(lines):
                    raise Mistake(f"line {start + 1}: a comment does not end")
            comment = COMMENT.search("\n".join(lines[start:number + 1]))
            marks = read_marks(comment[1], start + 1) if comment else {}
        elif fence:
            end = number + 1
            while end < len(lines) and lines[end].strip() != fence[2]:
                end += 1
            if end == len(lines):
                raise Mistake(f"line {number + 1}: a block does not end")
            inside = [each.removeprefix(fence[1]) for each in lines[number + 1:end]]
            blocks.append(Block(number + 1, fence[3], inside, marks))
            marks, number = {}, end
        elif line.strip():
            marks = {}
        outside.append("" if fence else line)
        outside += [""] * (number + 1 - len(outside))
        number += 1
    for number in find_indented(outside) if is_strict else ():
        raise Mistake(f"line {number}: an indented block; write ```console, ```c or ```text")
    name_files(blocks)
    return blocks


def name_files(blocks):
    """A program is kept under the name by which the next console block calls it."""
    for index, block in enumerate(blocks):
        suffix = SUFFIX.get(block.language)
        if not suffix or "file" in block.marks:
            continue
        following = next((b for b in blocks[index + 1:] if b.language == "console"), None)
        named = following and re.search(rf"(?<![\w/.-])[\w-]+\.{suffix}\b", following.text)
        if named and (suffix != "c" or "main(" in block.text):
            block.marks["file"] = named[0]


def check_text(block):
    """A text block is for pictures, formulas and files; commands in it would never be tried."""
    for number, line in enumerate(block.lines, block.line + 1):
        if TYPED.match(line):
            raise Mistake(f"line {number}: a command in a block that is not run: {line.strip()}")


def matches(expected, actual):
    """Whether what came is what is written, `...` standing for anything."""
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += r".*".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in actual)) is not None


def matches_any_order(expected, actual):
    """The same for lines in any order; each line that is written takes one that came."""
    left = [line.rstrip() for line in actual]
    for line in sorted(expected, key=lambda each: "..." in each):
        if line.strip() == "...":
            continue
        found = next((each for each in left if matches([line], [each])), None)
        if found is None:
            return False
        left.remove(found)
    return not left or any(line.strip() == "..." for line in expected)
