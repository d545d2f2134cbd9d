# SPDX-License-Identifier: BSD-3-Clause
"""Memory that is open to the job: segments of this process, and prepared pages of a peer's."""

from __future__ import annotations

import ctypes
import math
import operator
import struct
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence, Union

from . import _checks, _errors
from ._buffers import Loan, Span, kept_for_ever, numpy, unmap
from ._library import Handle, RemoteStruct, SegmentStruct, Wait, call_into, check, lib

if TYPE_CHECKING:
    from ._job import Job

READ, WRITE, ATOMIC = 1, 2, 4
ALL = READ | WRITE | ATOMIC
HUGE_PAGES = 1
EQUAL, NOT_EQUAL, AT_LEAST = 0, 1, 2


class Remote(NamedTuple):
    """A place in another process's memory."""

    rank: int
    sid: int
    offset: int = 0


def at(rank: int, sid: int, offset: int = 0) -> Remote:
    """The place `offset` bytes into segment `sid` of a rank."""
    return Remote(rank, sid, offset)


def remote_struct(remote: Remote, size: int) -> RemoteStruct:
    rank, sid, offset = remote
    return RemoteStruct(_checks.rank(rank, size), _checks.sid(sid), _checks.offset(offset))


class Shape:
    """How bytes are seen: as an array of NumPy, or without it as a memoryview."""

    def __init__(self, shape: Union[int, Sequence[int]], dtype: Any) -> None:
        try:
            self.shape = (operator.index(shape),)  # type: ignore[arg-type]
        except TypeError:
            self.shape = tuple(operator.index(k) for k in shape)  # type: ignore[union-attr]
        if any(k < 0 for k in self.shape):
            raise _checks.refuse(f"a shape of {self.shape} makes no sense")
        if numpy is not None:
            self.dtype = numpy.dtype(dtype)
            if self.dtype.hasobject:
                raise TypeError("Python objects cannot lie in memory that others write")
            itemsize = self.dtype.itemsize
        else:
            self.dtype = "B" if dtype in ("u1", "uint8") else dtype
            itemsize = struct.calcsize(self.dtype)
        self.length = _checks.length(math.prod(self.shape) * itemsize, least=1)

    def of(self, span: Span) -> Any:
        if numpy is not None:
            return span.array(self.dtype, self.shape)
        return span.view().cast(self.dtype, self.shape)


class Segment:
    """A segment of this process. Close it, or leave the job, and peers are refused."""

    def __init__(self, job: "Job", sid: int, rights: int, flags: int = 0, *,
                 shape: Optional[Shape] = None, lent: Any = None) -> None:
        self._job = job
        self._shape = shape
        self._loan = Loan(lent, is_written=bool(rights & (WRITE | ATOMIC))) if shape is None \
            else None
        self.sid = _checks.own_sid(sid)
        self.length = shape.length if shape else self._loan.length  # type: ignore[union-attr]
        wish = SegmentStruct(ctypes.sizeof(SegmentStruct), self.sid,
                             self._loan.address if self._loan else None,
                             _checks.length(self.length, least=1),
                             _checks.small(rights, "rights"), flags)
        box: list[int] = []
        try:
            call_into(box, lib.rh_segment_create, job._handle.value, ctypes.byref(wish))
            check(box[0])
            self._span = Span(int(wish.base), self.length)
            self._is_open = True
            job._children_add(self)
        except BaseException:
            self._is_open = False
            if box and box[0] == 0 and lib.rh_segment_detach(job._handle.value, self.sid) < 0:
                kept_for_ever.append(self._loan)
            raise

    @property
    def is_open(self) -> bool:
        return self._is_open

    @property
    def view(self) -> memoryview:
        """The segment's bytes."""
        self._check_open()
        if self._loan is not None:  # holds what was lent, and is as writable
            return memoryview(self._loan.object).cast("B")
        return self._span.view()

    @property
    def array(self) -> Any:
        """The segment as the array that it was made for, or that was attached. There is no
        setter: `segment.array[...] = x` writes into the segment."""
        self._check_open()
        return self._shape.of(self._span) if self._shape else self._loan_of().object

    def wait(self, value: int, offset: int = 0, when: int = EQUAL,
             source: int = _checks.ANY_RANK, timeout: Optional[float] = None) -> None:
        """Wait until the 8 bytes at offset are `value`, as whoever writes them says; `source` is
        the rank that will, whose death ends the wait."""
        self._check_open()
        if _checks.offset(offset) + 8 > self.length:
            raise _errors.BoundsError(_errors.BOUNDS, f"a word at {offset} is not inside segment "
                                      f"{self.sid} of {self.length} bytes")
        wait = Wait(self._span.address + offset, _checks.number(when, "when", 0, 2),
                    _checks.word(value), _checks.rank(source, self._job.size, True), 0)

        def step(slice_ns: int) -> int:
            wait.timeout_ns = slice_ns
            return lib.rh_wait_word(self._job._handle.value, ctypes.byref(wait))
        self._job._wait(timeout, step)

    def close(self) -> None:
        """Detach it. After WaitTimeout a peer may still write into attached memory, which is then
        kept for ever: close again, or leave it."""
        self._close(False)

    def _close(self, _: bool) -> None:
        if not self._is_open or not self._job._is_mine():
            return
        job, box = self._job._handle.value, []  # type: ignore[var-annotated]
        try:
            if self._loan is not None:
                call_into(box, lib.rh_segment_detach, job, self.sid)
            else:
                unmap([self._span],
                      lambda: call_into(box, lib.rh_segment_detach, job, self.sid) or box[0],
                      lambda: call_into(box, lib.held.rh_segment_detach, job, self.sid) or box[0])
            check(box[0])
        finally:
            if box and box[0] == 0:
                self._is_open = False
                self._job._children_drop(self)
                if self._loan is not None:
                    self._loan.release()
            elif self._loan is not None:
                kept_for_ever.append(self._loan)

    def _loan_of(self) -> Loan:
        assert self._loan is not None
        return self._loan

    def _spans(self) -> list[Span]:
        return [self._span] if self._is_open and self._loan is None else []

    def _lose(self) -> None:
        """The job was left while this could not be closed."""
        self._is_open = False
        if self._loan is not None:
            kept_for_ever.append(self._loan)

    def _check_open(self) -> None:
        if not self._is_open:
            raise _errors.ClosedError(f"segment {self.sid}")

    def __enter__(self) -> "Segment":
        return self

    def __exit__(self, *_: object) -> None:
        if self._job._handle.is_open:
            self.close()


class Page:
    """A prepared piece of remote memory, through which a store costs little."""

    def __init__(self, job: "Job", target: Remote, length: int) -> None:
        self._job = job
        self._handle = Handle("the page")
        self._handle.open(lib.rh_page_open, job._handle.value, remote_struct(target, job.size),
                          _checks.length(length, least=1), ..., close=lib.rh_page_close)
        job._children_add(self)

    def store(self, offset: int, value: int, width: int = 8) -> None:
        """Store the low `width` bytes (1, 2, 4 or 8) of a value; Job.flush() waits for it."""
        check(lib.rh_store(self._handle.value, _checks.offset(offset), _checks.word(value),
                           _checks.number(width, "width", 1, 8)))

    def close(self) -> None:
        self._close(False)

    def _close(self, _: bool) -> None:
        pointer = self._handle.take() if self._job._is_mine() else None
        if pointer:
            lib.rh_page_close(pointer)
            self._job._children_drop(self)

    def __enter__(self) -> "Page":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
