#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The edges of rhinet: for every function of the public headers, one of the same name that
marks where the program's computing ends and goes on. Usage: calls.py HEADER... > calls.c"""
import re
import sys

DECLARATION = re.compile(r"^([a-z][\w ]*?[ *]+)((?:rh_|pm)\w+)\(([^;{}]*)\)\s*;", re.M)


def declarations(text):
    """(type, name, parameters) of the functions that a header declares and does not define."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.M)
    text = re.sub(r"__attribute__\(\(.*?\)\)\)?", "", text)
    for found in DECLARATION.finditer(text):
        kind, name, parameters = (" ".join(part.split()) for part in found.groups())
        if not kind.startswith(("typedef", "static", "return")):
            yield kind, name, parameters


def split(parameters):
    """At commas that are not inside of a parameter's own list."""
    depth, start = 0, 0
    for i, letter in enumerate(parameters):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            yield parameters[start:i].strip()
            start = i + 1
    yield parameters[start:].strip()


def name_of(parameter):
    pointer = re.search(r"\(\*\s*(\w+)\)", parameter)  # to a function
    return (pointer or re.search(r"(\w+)\s*(?:\[[^\]]*\])*$", parameter))[1]


def edge(kind, name, parameters):
    if "..." in parameters:
        sys.exit(f"calls.py: {name} takes any number of arguments, which cannot be passed on")
    arguments = "" if parameters == "void" else ", ".join(map(name_of, split(parameters)))
    call = f"NEXT({name})({arguments});"
    if kind != "void":
        call = f"__typeof__({name}({arguments})) result = {call}"
    lines = [f"SHOWN {kind} {name}({parameters})", "{", "    virtual_enter();", f"    {call}",
             "    virtual_leave();", "    return result;", "}", ""]
    if kind == "void":
        lines.remove("    return result;")
    return "\n".join(lines)


def main():
    print('#include "virtual/inside.h"\n')
    texts = []
    for path in sys.argv[1:]:
        print(f"#include <rhinet/{path.rsplit('/', 1)[1]}>")
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    for text in texts:
        for one in declarations(text):
            print("\n" + edge(*one), end="")


if __name__ == "__main__":
    main()
