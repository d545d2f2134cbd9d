# SPDX-License-Identifier: BSD-3-Clause
"""Every rank writes a greeting into the memory of the next, which waits for it.

    rhinet run -n 3 python3 hello.py
"""

import rhinet

GREETING, ARRIVED = 1, 2  # segments
LENGTH = 64

with rhinet.join() as job:
    text = job.segment(GREETING, LENGTH)
    word = job.segment(ARRIVED, 1, "q")
    right = (job.rank + 1) % job.size
    job.barrier()  # all segments are open

    greeting = f"greetings from rank {job.rank}".encode().ljust(LENGTH, b"\0")
    job.push_notify(rhinet.at(right, GREETING), greeting, rhinet.at(right, ARRIVED), 1)

    word.wait(1)
    said = bytes(text.view).rstrip(b"\0").decode()
    print(f"rank {job.rank} of {job.size}: {said}", flush=True)
    job.barrier()  # nobody leaves while others still write
