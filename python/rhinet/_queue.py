# SPDX-License-Identifier: BSD-3-Clause
"""Queues: many senders, one receiver."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, NamedTuple, Optional

from . import _checks
from ._buffers import copy_of
from ._library import ArrivalStruct, Handle, QueueShape, lib

if TYPE_CHECKING:
    from ._job import Job


class Arrival(NamedTuple):
    source: int
    data: bytes


class Queue:
    """A queue of this process. One thread at a time receives."""

    def __init__(self, job: "Job", sid: int, slots: int, slot_length: int) -> None:
        self._job = job
        self.sid = _checks.own_sid(sid)
        self._handle = Handle(f"queue {self.sid}")
        shape = QueueShape(_checks.small(slots, "slots"), _checks.small(slot_length, "length"))
        self._handle.open(lib.rh_queue_create, job._handle.value, self.sid, shape, ...,
                          close=lib.rh_queue_destroy)
        job._children_add(self)

    def receive(self, timeout: Optional[float] = None) -> Arrival:
        """The oldest message, and who sent it. Timeout 0: AgainError if there is none."""
        arrival = ArrivalStruct()
        self._job._wait(timeout, lambda ns: lib.rh_queue_next(
            self._handle.value, ctypes.byref(arrival), ns))
        taken = Arrival(arrival.source, copy_of(arrival.data, arrival.length))
        lib.rh_queue_release(self._handle.value)
        return taken

    def close(self) -> None:
        """Destroy it, with what was not received."""
        self._close(False)

    def _close(self, _: bool) -> None:
        pointer = self._handle.take() if self._job._is_mine() else None
        if pointer:
            self._job._children_drop(self)
            lib.rh_queue_destroy(pointer)

    def __enter__(self) -> "Queue":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
