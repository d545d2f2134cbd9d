# SPDX-License-Identifier: BSD-3-Clause
"""epochs.py DATA MEET LOG RANKS: read all that is below DATA as a loader does, twice, together with
the other ranks; then print, as JSON, how many requests of each kind the file system had meanwhile
and the sum of what was read."""

import collections
import json
import mmap
import os
import sys
import time
import zlib

data, meet, log, size = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
rank = int(os.environ["RHINET_RANK"])


def meet_others(name):
    with open(f"{meet}/{name}.{rank}", "w", encoding="ascii"):
        pass
    while not all(os.path.exists(f"{meet}/{name}.{k}") for k in range(size)):
        time.sleep(0.01)


def requests():
    """By kind. Agents look at mount points themselves from time to time."""
    with open(log, encoding="ascii") as file:
        return collections.Counter(line.split()[0] for line in file if not line.endswith(" /\n"))


def epoch():
    total = 0
    for folder in sorted(os.listdir(data)):
        with os.scandir(f"{data}/{folder}") as entries:
            names = sorted(entry.name for entry in entries if entry.is_file())
        shift = rank * len(names) // size
        for name in names[shift:] + names[:shift]:
            path = f"{data}/{folder}/{name}"
            with open(path, "rb") as file:
                content = file.read()
            assert os.stat(path).st_size == len(content)
            total = (total + zlib.crc32(content, len(content))) % 2**32
        if "RHINET_CACHE_IMMUTABLE" in os.environ:  # this file system cannot map
            with open(path, "rb") as file, \
                    mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                assert mapped[:] == content
        assert not os.path.exists(f"{data}/{folder}/nobody")
    return total


first = epoch()
meet_others("first")
before = requests()
meet_others("looked")
second = epoch()
meet_others("second")
after = requests()
print(json.dumps({"first": dict(before), "second": dict(after - before),
                  "sums": [first, second]}))
