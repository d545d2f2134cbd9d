# SPDX-License-Identifier: BSD-3-Clause
"""Includes go one way, as the architecture says: lower never includes higher, and nobody includes
what another module keeps to itself."""

import re
from posixpath import normpath

from source import without_comments

# What each module may include besides itself. There is no cycle in it: check() looks.
BELOW = {
    "base": [],
    "route/fabric": ["base"],
    "route/formats": ["base", "route/fabric"],
    "route/generate": ["base", "route/fabric"],
    "route/check": ["base", "route/fabric", "route/formats"],  # and no part of the router
    "route/traffic": ["base", "route/fabric", "route/formats"],
    "route/turns": ["base", "route/fabric", "route/traffic"],
    "route/tables": ["base", "route/fabric", "route/formats", "route/traffic", "route/turns"],
    "route/trees": ["base", "route/fabric", "route/traffic", "route/turns", "route/tables"],
    "route/routing": ["base", "route/fabric", "route/traffic", "route/turns", "route/tables",
                      "route/trees"],
    "route/repair": ["base", "route/fabric", "route/formats", "route/traffic", "route/turns",
                     "route/tables", "route/trees"],
    "route": ["route/check", "route/fabric", "route/formats", "route/generate", "route/repair",
              "route/routing"],
    "sim": ["base"],
    "plan": ["base", "route/fabric", "route/formats", "route/traffic", "route/tables",
             "route/routing", "sim"],
    "watch": ["base"],
    "virtual": [],
    "nic": ["base", "watch", "virtual"],
    "job/starter": ["base"],
    "job": ["base", "watch", "nic", "job/starter"],
    "job/member": ["base", "watch", "nic", "job", "job/starter"],
    "job/mesh": ["base", "watch", "nic", "job"],
    "job/manager": ["base", "watch", "nic", "job", "job/mesh"],
    "job/launch": ["base", "watch", "nic", "job", "job/mesh", "job/manager"],
    "simulated": ["base", "watch", "nic", "job", "job/launch", "sim", "plan"],
    "rma": ["base", "watch", "nic", "job"],
    "msg": ["base", "watch", "rma"],
    "dsm": ["base", "watch", "rma", "msg"],
    "cache": ["base"],
    "cache/client": ["base", "cache"],
    "cache/interposer": ["base", "cache/client"],
    "cache/mount": ["cache/client"],
    "cache/store": ["base", "cache"],
    "cache/directory": ["base", "rma", "cache"],
    "cache/files": ["base", "cache"],
    "cache/node": ["base", "rma", "cache", "cache/store", "cache/directory", "cache/files"],
    "cache/agent": ["base", "job", "cache", "cache/node"],
    "provider": ["base", "watch", "nic", "job", "rma", "msg", "virtual"],
    # Each experiment is on what it measures, and on what all commands share; none on another.
    "experiment": ["cli", "base"],
    "experiment/cache": ["experiment", "cli", "base", "cache", "cache/client", "cache/agent",
                         "cache/node", "cache/files", "sim", "simulated"],
    "experiment/machine": ["experiment", "cli", "base", "watch", "nic", "job", "job/launch", "dsm",
                           "simulated"],
    "experiment/routing": ["experiment", "cli", "base", "route"],
    "experiment/simulator": ["experiment", "cli", "base", "route", "sim", "plan"],
    "experiment/thesis": ["experiment", "cli", "base", "sim", "simulated"],
}

# Rooms of msg that stand side by side on it; long messages are the only one that it calls itself.
for room in ("msg/lock", "msg/rendezvous", "msg/set"):
    BELOW[room] = [*BELOW["msg"], "msg"]
BELOW["msg"] = [*BELOW["msg"], "msg/rendezvous"]
CALLS_ITS_ROOM = ("msg", "msg/rendezvous")  # which is kept from what calls it: see below

# What a room is called by, and must not call back.
NO_WAY_BACK = {
    "msg/rendezvous": ["msg/call.h", "msg/match.h"],
}

# What a module shows to the others; one that is not listed shows all its headers.
SHOWN = {
    "virtual": ["virtual/virtual.h"],
    "nic/martini": ["nic/martini/call.h", "nic/martini/martini.h"],
    "nic": ["nic/nic.h", "nic/nic_layer.h", "nic/nic_types.h"],
    "job": ["job/job.h", "job/job_layer.h"],
    "rma": ["rma/inside.h", "rma/rma_layer.h"],
    "job/manager": ["job/manager/manager.h", "job/manager/manager_process_run.h"],
    "route/fabric": ["route/fabric/fabric.h", "route/fabric/guids.h", "route/fabric/net.h"],
    "route/formats": ["route/formats/dump.h", "route/formats/formats.h",
                      "route/formats/source.h"],
    "route/turns": ["route/turns/algorithm.h", "route/turns/demand.h", "route/turns/reach.h",
                    "route/turns/turn_addition.h", "route/turns/turns.h"],
    "route/tables": ["route/tables/lanes.h", "route/tables/lft.h", "route/tables/load.h",
                     "route/tables/memo.h"],
    "route/trees": ["route/trees/grow.h", "route/trees/price.h", "route/trees/trees.h",
                    "route/trees/tune.h"],
    "route/routing": ["route/routing/paths.h", "route/routing/routing.h"],
    "route/repair": ["route/repair/repair.h", "route/repair/stages.h"],
    "route/check": ["route/check/check.h", "route/check/transition.h"],
    "cache": ["cache/address.h", "cache/cache.h", "cache/cache_layer.h", "cache/key.h",
              "cache/layout.h", "cache/listing.h"],
    "cache/client": ["cache/client/client.h", "cache/client/named.h"],
    "cache/agent": ["cache/agent/agent.h", "cache/agent/keeper.h", "cache/agent/place.h",
                    "cache/agent/service.h", "cache/agent/setup.h"],
    "cache/files": ["cache/files/loader.h", "cache/files/mounts.h"],
    "cache/store": ["cache/store/policy.h", "cache/store/store.h"],
    "cli/sim": ["cli/sim/sim.h", "cli/sim/sweep.h"],
    "sim/usage": ["sim/usage/histogram.h", "sim/usage/usage.h"],
    "experiment/machine/peers": ["experiment/machine/peers/follow.h"],
}

# What is private, and measured by itself.
LOOKED_INTO = {
    "experiment/machine": ["dsm/page/faults.h", "dsm/page/pages.h", "nic/ofi/library.h"],
}

# Sources of programs that are compiled without us.
ALONE = ("src/experiment/machine/peers/",)

# What a layer has by name, see base/layer.h.
LAYER_FILE = re.compile(r"(\w+)/\1_layer\.[ch]")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def module_of(path):
    """Module of a path below src/; a sub-folder with rules of its own is one."""
    parts = path.split("/")
    return "/".join(parts[:2]) if "/".join(parts[:2]) in BELOW else parts[0]


def is_hidden(path, target):
    """Whether target (below src/) is kept from path: in a sub-folder that path is not in, unless it
    is the header that the sub-folder is named for; or in another module that does not show it."""
    folder = target.rsplit("/", 1)[0]
    if target in LOOKED_INTO.get(module_of(path), []):
        return False
    if "/" in folder:
        face = f"{folder}/{folder.rsplit('/', 1)[1]}.h"
        return not path.startswith(folder + "/") and target not in SHOWN.get(folder, [face])
    shown = SHOWN.get(folder)
    return shown is not None and path.split("/")[0] != folder and target not in shown


def judge_layer_file(inside, target):
    """A NAME_layer.c or .h: data in terms of types from below, since it becomes part of base."""
    own = inside.rsplit("/", 1)[0]
    if module_of(target) in ("base", "watch") or target == f"{own}/{own}_layer.h":
        return None
    return f"{inside} is data that base has in it: it must not include {target}"


def judge(tree, path, target):
    """What is wrong with source file path including "target", or None."""
    inside = path[len("src/"):]
    if LAYER_FILE.fullmatch(inside):
        return judge_layer_file(inside, target)
    own, other = module_of(inside), module_of(target)
    if own.startswith("experiment/") and other == "examples" and target in tree.paths:
        return None  # what users write is measured, too
    if "src/" + target not in tree.paths:
        return f'"{target}" is not a path below src/'
    if own == "cli" and other.startswith("experiment/"):
        return f"cli must not include {target}: it knows the commands in experiment/experiment.h"
    if own != "cli" and other != own and other not in BELOW.get(own, []):
        return f"{own} must not include {target}: {other} is not below it"
    if target in NO_WAY_BACK.get(own, []):
        return f"{own} must not call back what calls it: {target}"
    if is_hidden(inside, target):
        return f"{target} is private to {target.rsplit('/', 1)[0]}"
    return None


def ring():
    """Modules of which each may include the next, and the last the first; None if there are none.
    Those that stand on nothing but what is settled are settled, until no more are."""
    left = {name: [other for other in below if (name, other) != CALLS_ITS_ROOM]
            for name, below in BELOW.items()}
    while left:
        settled = [name for name, below in left.items() if not left.keys() & set(below)]
        if not settled:
            return sorted(left)
        for name in settled:
            del left[name]
    return None


def rooms_without_rules(tree):
    """Folders of a module that has rules for its rooms, and none for these."""
    divided = {name.split("/")[0] for name in BELOW if "/" in name}
    for path in tree.c_files():
        parts = path.split("/")
        if len(parts) > 3 and parts[0] == "src" and parts[1] in divided:
            room = "/".join(parts[1:3])
            if room not in BELOW:
                yield f"{path}:1: {room} has no rules; say in check_layers.py what is below it"


def check(tree):
    if ring():
        yield f"tests/tidy/check_layers.py:1: these stand on each other: {', '.join(ring())}"
    yield from rooms_without_rules(tree)
    for path in tree.c_files():
        top = path.split("/")[0]
        text = without_comments(tree.text(path))
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            quoted, target = match[1] == '"', match[2]
            fault = None
            is_beside = normpath(f"{path.rsplit('/', 1)[0]}/{target}") in tree.paths
            is_beside = is_beside and (top == "examples" or path.startswith(ALONE))
            if top in ("include", "examples") and quoted and not is_beside:
                fault = f'{top}/ shows what users write: <rhinet/...> only, not "{target}"'
            elif top == "src" and quoted and not is_beside:
                fault = judge(tree, path, target)
            if fault:
                yield f"{path}:{line}: {fault}"
