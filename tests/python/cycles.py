# SPDX-License-Identifier: BSD-3-Clause
"""cycles.py COUNT: import, join, use, leave, forget; over and over. Nothing may be left of it:
descriptors, mappings, threads, memory. Then the library is unloaded, and is gone."""

import _ctypes
import gc
import os
import sys
import threading

WARM = 30  # allocators and caches fill in the first rounds
SLACK_KIB = 16  # of a round, in which some hundred are used; Python itself keeps a few
SLACK_MAPS = 4


def once(number):
    import rhinet
    job = rhinet.join()
    segment = job.segment(7, 100_000, "u1")
    memory = bytearray(1000)
    view = segment.view
    attached = job.attach(8, memory)
    transfer = job.push_start(rhinet.at(0, 7), bytes(1000))
    queue = job.queue(9, 8, 64)
    job.append(0, 9, b"one")
    assert queue.receive().data == b"one"
    box = job.mailbox()
    request = box.irecv(0, bytearray(10), 5)  # is never waited for
    group = box.group()
    assert group.allreduce(1) == 1
    if number % 3:
        group.close()  # which needs the others, whom nobody waits for after an exception
    if number % 10 == 0:
        with job.dsm(1 << 16, 4) as dsm, dsm.variable(0).write():
            dsm.alloc(8, name=1).view[0] = 1
    if number % 3 == 0:
        job.close()
        assert request.is_over and transfer.is_over and not attached.is_open
    elif number % 3 == 1:
        view.release()
        job.__exit__(KeyError, None, None)
    del job, segment, view, attached, transfer, queue, box, request, group, memory
    library = rhinet._lib
    del rhinet
    for name in [k for k in sys.modules if k.split(".")[0] == "rhinet"]:
        del sys.modules[name]
    if number % 10 == 0:
        gc.collect()
    return library


def resident_kib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def maps():
    with open("/proc/self/maps", encoding="ascii") as file:
        return file.read().split("\n")


def state():
    return (len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), len(maps()),
            resident_kib())


def main():
    count = int(sys.argv[1])
    for number in range(WARM):
        once(number)
    gc.collect()
    before = state()
    for number in range(count):
        library = once(number)
    gc.collect()
    after = state()
    assert after[:2] == before[:2], ("descriptors, threads", before, after)
    assert after[2] <= before[2] + SLACK_MAPS, ("mappings", before, after)
    assert after[3] <= before[3] + SLACK_KIB * count, ("memory", before, after)
    assert threading.active_count() == 1
    path = os.path.realpath(library.path)
    while any(path in line for line in maps()):  # each import has loaded it twice
        _ctypes.dlclose(library._library._handle)
    print(f"{count} cycles and unloaded: {before} {after}")


if __name__ == "__main__":
    main()
