# SPDX-License-Identifier: BSD-3-Clause
"""Remote memory for clusters: read and write other processes' memory, messages, shared memory.

    import rhinet

    with rhinet.join() as job:
        segment = job.segment(7, 4, "f8")
        job.barrier()
        job.push(rhinet.at((job.rank + 1) % job.size, 7), segment.array + job.rank)

Under `rhinet run -n 4 python3 program.py`, or mpirun, srun and mpiexec. NumPy arrays are what is
pushed, sent and shared where NumPy is installed; bytes and other buffers always are."""

from ._buffers import numpy as _numpy
from ._cache import cache_statistics
from ._checks import ANY_RANK, ANY_TAG
from ._dsm import (AUTO, DIFF, EXCLUSIVE, PULL, PUSH, SHARED, Dsm, Shared, Variable)
from ._errors import (AgainError, BoundsError, CanceledError, ClosedError, CorruptError, DeadError,
                      Error, ExistsError, InvalidError, NoSegmentError, NoSpaceError, RefusedError,
                      RightsError, StaleError, TooBigError, UnsupportedError, WaitTimeout)
from ._group import AND, MAX, MIN, OR, PRODUCT, SUM, XOR, Group
from ._job import DIED, INLINE_MAX, JOINED, LEFT, STARTING, Job, join
from ._library import lib as _lib
from ._mailbox import Lock, Mailbox, Message, Request, Status
from ._queue import Arrival, Queue
from ._segment import (ALL, AT_LEAST, ATOMIC, EQUAL, NOT_EQUAL, READ, WRITE, Page, Remote, Segment,
                       at)
from ._transfer import Transfer

__version__: str = _lib.rh_version().decode()
has_numpy: bool = _numpy is not None

__all__ = [
    "ALL", "AND", "ANY_RANK", "ANY_TAG", "ATOMIC", "AT_LEAST", "AUTO", "AgainError", "Arrival",
    "BoundsError", "CanceledError", "ClosedError", "CorruptError", "DIED", "DIFF", "DeadError",
    "Dsm", "EQUAL", "EXCLUSIVE", "Error", "ExistsError", "Group", "INLINE_MAX", "InvalidError",
    "JOINED", "Job", "LEFT", "Lock", "MAX", "MIN", "Mailbox", "Message", "NOT_EQUAL",
    "NoSegmentError", "NoSpaceError", "OR", "PRODUCT", "PULL", "PUSH", "Page", "Queue", "READ",
    "RefusedError", "Remote", "Request", "RightsError", "SHARED", "STARTING", "SUM", "Segment",
    "Shared", "StaleError", "Status", "TooBigError", "Transfer", "UnsupportedError", "Variable",
    "WRITE", "WaitTimeout", "XOR", "at", "cache_statistics", "has_numpy", "join",
]
