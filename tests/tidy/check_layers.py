# SPDX-License-Identifier: BSD-3-Clause
"""Includes go one way, as the architecture says: lower never includes higher, and nobody includes
what another module keeps to itself."""

import re

from source import without_comments

# What each module may include besides itself.
BELOW = {
    "base": [],
    "route": ["base"],
    "sim": ["base"],
    "plan": ["base", "route", "sim"],
    "nic": ["base"],
    "job/starter": ["base"],
    "job": ["base", "nic", "job/starter"],
    "job/member": ["base", "nic", "job", "job/starter"],
    "job/mesh": ["base", "nic", "job"],
    "job/manager": ["base", "nic", "job", "job/mesh"],
    "job/launch": ["base", "nic", "job", "job/mesh", "job/manager"],
    "simulated": ["base", "nic", "job", "job/launch", "sim", "plan"],
    "rma": ["base", "nic", "job"],
    "msg": ["base", "nic", "job", "rma"],
    "experiment": ["base", "nic", "job", "sim", "simulated", "cache"],
    "dsm": ["base", "nic", "job", "rma", "msg"],
    "cache": ["base", "nic", "job", "rma", "msg"],
    "provider": ["base", "nic", "job", "rma", "msg"],
}

# Rooms of msg that stand side by side on it; long messages are the only one that it calls itself.
for room in ("msg/lock", "msg/rendezvous", "msg/set"):
    BELOW[room] = [*BELOW["msg"], "msg"]
BELOW["msg"] = [*BELOW["msg"], "msg/rendezvous"]

# What a room is called by, and must not call back.
NO_WAY_BACK = {
    "msg/rendezvous": ["msg/call.h", "msg/match.h", "msg/progress.h"],
}

# What a module shows to the others; one that is not listed shows all its headers.
SHOWN = {
    "nic/martini": ["nic/martini/call.h", "nic/martini/martini.h"],
    "nic": ["nic/board.h", "nic/diagnosis.h", "nic/nic.h", "nic/roster.h"],
    "job": ["job/job.h"],
    "job/manager": ["job/manager/manager.h", "job/manager/steward_run.h"],
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def module_of(path):
    """Module of a path below src/; a sub-folder with rules of its own is one."""
    parts = path.split("/")
    return "/".join(parts[:2]) if "/".join(parts[:2]) in BELOW else parts[0]


def is_hidden(path, target):
    """Whether target (below src/) is kept from path: in a sub-folder that path is not in, unless it
    is the header that the sub-folder is named for; or in another module that does not show it."""
    folder = target.rsplit("/", 1)[0]
    if "/" in folder:
        face = f"{folder}/{folder.rsplit('/', 1)[1]}.h"
        return not path.startswith(folder + "/") and target not in SHOWN.get(folder, [face])
    shown = SHOWN.get(folder)
    return shown is not None and path.split("/")[0] != folder and target not in shown


def judge(tree, path, target):
    """What is wrong with source file path including "target", or None."""
    inside = path[len("src/"):]
    if "src/" + target not in tree.paths:
        return f'"{target}" is not a path below src/'
    own, other = module_of(inside), module_of(target)
    if own != "cli" and other != own and other not in BELOW.get(own, []):
        return f"{own} must not include {target}: {other} is not below it"
    if target in NO_WAY_BACK.get(own, []):
        return f"{own} must not call back what calls it: {target}"
    if is_hidden(inside, target):
        return f"{target} is private to {target.rsplit('/', 1)[0]}"
    return None


def check(tree):
    for path in tree.c_files():
        top = path.split("/")[0]
        text = without_comments(tree.text(path))
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            quoted, target = match[1] == '"', match[2]
            fault = None
            is_beside = top == "examples" and f"examples/{target}" in tree.paths
            if top in ("include", "examples") and quoted and not is_beside:
                fault = f'{top}/ shows what users write: <rhinet/...> only, not "{target}"'
            elif top == "src" and quoted:
                fault = judge(tree, path, target)
            if fault:
                yield f"{path}:{line}: {fault}"
