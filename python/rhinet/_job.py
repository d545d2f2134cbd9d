# SPDX-License-Identifier: BSD-3-Clause
"""The job: joining and leaving it, remote memory, and what else hangs off it."""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import byref, c_uint64
from typing import Any, Callable, Optional, Sequence, Union

from . import _checks, _errors
from ._buffers import Loan, unmap
from ._dsm import Dsm
from ._library import Handle, JoinOptions, Notice, RemoteStruct, call_into, check, fail, lib
from ._mailbox import Mailbox
from ._queue import Queue
from ._segment import ALL, HUGE_PAGES, Page, Remote, Segment, Shape, remote_struct
from ._transfer import Transfer

SLICE_NS = 200_000_000  # after which a waiting main thread looks for signals
INLINE_MAX = 474
PRUNE_MIN = 64

STARTING, JOINED, LEFT, DIED = range(4)


def join(nic: Optional[str] = None) -> "Job":
    """Join the job that this process was started in; `with` leaves it at its end."""
    return Job(nic)


class Job:
    """All ranks that were started together. Any thread may use it, one leaves it."""

    def __init__(self, nic: Optional[str] = None) -> None:
        self._handle = Handle("the job")
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._matching = threading.RLock()  # of messages that are there and receives
        self._children: list[Any] = []
        self._transfers: dict[int, Transfer] = {}
        self._prune_at = PRUNE_MIN
        self._is_closing = False
        self._msg = Handle("the mailbox")
        self._msg_is_in_use = False  # by what could not be finished
        self._default_ns = _checks.default_timeout_ns(os.environ)
        options = JoinOptions(ctypes.sizeof(JoinOptions), nic.encode() if nic else None, 0)
        self._handle.open(lib.rh_join, ..., byref(options), close=lib.rh_leave)
        self.rank: int = lib.rh_rank(self._handle.value)
        self.size: int = lib.rh_size(self._handle.value)

    # ---- Who takes part ---------------------------------------------------------------------

    @property
    def id(self) -> int:
        return int(lib.rh_job_id(self._handle.value))

    @property
    def nic(self) -> str:
        return str(lib.rh_nic_name(self._handle.value).decode())

    def node(self, rank: int) -> int:
        """The host on which a rank runs, counted from 0."""
        return check(lib.rh_node(self._handle.value, _checks.rank(rank, self.size)))

    def peer_state(self, rank: int) -> int:
        """STARTING, JOINED, LEFT or DIED."""
        return check(lib.rh_peer_state(self._handle.value, _checks.rank(rank, self.size)))

    def acknowledge_deaths(self) -> int:
        """From now on only later deaths end waits for any rank. How many have died so far."""
        return check(lib.rh_deaths_acknowledge(self._handle.value))

    def clock(self) -> float:
        """Seconds, by the clock that ends this job's waits."""
        return int(lib.rh_clock_ns(self._handle.value)) / 1e9

    def counter(self, name: str) -> int:
        """One of this process's counters, as `rhinet info --counters` lists them."""
        value = c_uint64()
        check(lib.rh_counter(self._handle.value, name.encode(), byref(value)))
        return value.value

    # ---- Segments ---------------------------------------------------------------------------

    def segment(self, sid: int, shape: Union[int, Sequence[int]], dtype: Any = "u1",
                rights: int = ALL, huge_pages: bool = False) -> Segment:
        """Allocate a segment, zeroed: so many bytes, or the shape of an array of dtype."""
        return Segment(self, sid, rights, HUGE_PAGES if huge_pages else 0,
                       shape=Shape(shape, dtype))

    def attach(self, sid: int, memory: Any, rights: int = ALL) -> Segment:
        """Open memory of the program's own to the job: an array, a bytearray."""
        return Segment(self, sid, rights, lent=memory)

    def wait_segment(self, rank: int, sid: int, timeout: Optional[float] = None) -> None:
        """Wait until a peer has opened a segment or queue."""
        rank, sid = _checks.rank(rank, self.size), _checks.sid(sid)
        self._wait(timeout, lambda ns: lib.rh_segment_wait(self._handle.value, rank, sid, ns))

    def segment_length(self, rank: int, sid: int) -> int:
        value = c_uint64()
        check(lib.rh_segment_length(self._handle.value, _checks.rank(rank, self.size),
                                    _checks.sid(sid), byref(value)))
        return value.value

    # ---- Push and pull ----------------------------------------------------------------------

    def push(self, target: Remote, data: Any) -> None:
        """Copy data into another process's memory; it is there when this returns."""
        self._put(lib.rh_push, target, data)

    def push_inline(self, target: Remote, data: Any) -> None:
        """Up to INLINE_MAX bytes, without waiting for the target: flush() does."""
        self._put(lib.rh_push_inline, target, data)

    def push_ordered(self, target: Remote, data: Any) -> None:
        """The last 8 bytes are written whole, and after all before them."""
        self._put(lib.rh_push_ordered, target, data)

    def push_notify(self, target: Remote, data: Any, word: Remote, value: int) -> None:
        """Push, then write a word: whoever sees the word's new value sees the data."""
        notice = Notice(remote_struct(word, self.size), _checks.word(value))
        self._put(lib.rh_push_notify, target, data, byref(notice))

    def notify(self, word: Remote, value: int) -> None:
        """Write a word at the target, whole; Segment.wait() waits for it there."""
        self._put(lib.rh_push_ordered, word,
                  c_uint64(_checks.word(value)))

    def pull(self, source: Remote, into: Any = None, length: Optional[int] = None) -> Any:
        """Copy another process's memory here: into an array or a bytearray, which is returned, or
        `length` bytes into a new one."""
        if (into is None) == (length is None):
            raise TypeError("say either into= or length=")
        target = bytearray(_checks.length(length)) if into is None else into
        with Loan(target, is_written=True) as loan:
            check(lib.rh_pull(self._handle.value, self._remote(source), loan.address,
                              loan.length))
        return target

    def push_start(self, target: Remote, data: Any) -> Transfer:
        """Push without waiting; data must stay as it is until the transfer is over."""
        return Transfer(self, lib.rh_push_start, self._remote(target), Loan(data))

    def pull_start(self, source: Remote, into: Any) -> Transfer:
        """Pull without waiting."""
        return Transfer(self, lib.rh_pull_start, self._remote(source),
                        Loan(into, is_written=True))

    def page(self, target: Remote, length: int) -> Page:
        """Prepare a piece of remote memory for stores."""
        return Page(self, target, length)

    def store(self, target: Remote, value: int, width: int = 8) -> None:
        """Store one value; Job.page() is quicker for many."""
        with self.page(target, _checks.number(width, "width", 1, 8)) as page:
            page.store(0, value, width)

    def flush(self, rank: int = _checks.ANY_RANK) -> None:
        """Return when all earlier operations on a rank, or on all, are complete."""
        check(lib.rh_flush(self._handle.value, _checks.rank(rank, self.size, True)))

    def _put(self, function: Callable[..., int], target: Remote, data: Any, *more: Any) -> None:
        with Loan(data) as loan:
            check(function(self._handle.value, self._remote(target), loan.address, loan.length,
                           *more))

    def _remote(self, remote: Remote) -> RemoteStruct:
        return remote_struct(remote, self.size)

    # ---- Atomic operations on aligned 64-bit words ------------------------------------------

    def fetch_add(self, target: Remote, operand: int) -> int:
        """Add, modulo 2**64; the value before it. The others alike."""
        return self._atomic(lib.rh_fetch_add, target, operand)

    def fetch_or(self, target: Remote, operand: int) -> int:
        return self._atomic(lib.rh_fetch_or, target, operand)

    def fetch_and(self, target: Remote, operand: int) -> int:
        return self._atomic(lib.rh_fetch_and, target, operand)

    def swap(self, target: Remote, operand: int) -> int:
        return self._atomic(lib.rh_swap, target, operand)

    def compare_swap(self, target: Remote, expected: int, desired: int) -> int:
        """Write desired if the word is expected; the value before tells whether."""
        return self._atomic(lib.rh_compare_swap, target, expected, desired)

    def _atomic(self, function: Callable[..., int], target: Remote, *operands: int) -> int:
        old = c_uint64()
        check(function(self._handle.value, self._remote(target),
                       *(_checks.word(k, "operand") for k in operands), byref(old)))
        return old.value

    # ---- What else there is -----------------------------------------------------------------

    def queue(self, sid: int, slots: int, slot_length: int) -> Queue:
        """A queue of this process, to which all ranks may append."""
        return Queue(self, sid, slots, slot_length)

    def append(self, rank: int, sid: int, data: Any, wait: bool = True) -> None:
        """Append a message to a queue of a rank. A full queue is waited for, or AgainError."""
        with Loan(data) as loan:
            check((lib.rh_append if wait else lib.rh_append_try)(
                self._handle.value, _checks.rank(rank, self.size), _checks.sid(sid), loan.address,
                loan.length))

    def mailbox(self) -> Mailbox:
        """Open this process's mailbox: messages, locks, collectives."""
        return Mailbox(self)

    def dsm(self, heap: int = 0, variables: int = 0) -> Dsm:
        """Open the shared memory, together with all ranks. 0: what the settings say."""
        return Dsm(self, heap, variables)

    def barrier(self) -> None:
        """Wait for all ranks; needs no mailbox."""
        check(lib.rh_barrier_all(self._handle.value))

    def _msg_open(self) -> Optional[int]:
        """The library's mailbox, for all that needs one."""
        with self._lock:
            self._handle.value
            if not self._msg.is_open:
                self._msg.open(lib.rh_msg_open, ..., self._handle.value, close=lib.rh_msg_close)
            return self._msg.pointer.value

    # ---- Waiting ----------------------------------------------------------------------------

    def _wait(self, timeout: Optional[float], step: Callable[[int], int]) -> int:
        """step(ns) waits for so long. The main thread does so in slices, between which Python
        hears signals; others need not, since signals are the main thread's."""
        total = _checks.timeout_ns(timeout, self._default_ns)
        is_main = threading.current_thread() is threading.main_thread()
        if total <= SLICE_NS or not is_main:
            return check(step(total))
        deadline = lib.rh_clock_ns(self._handle.value) + total
        while True:
            left = deadline - lib.rh_clock_ns(self._handle.value)
            code = step(max(1, min(left, SLICE_NS)))
            if code != _errors.TIMEOUT:
                return check(code)
            if left <= SLICE_NS:
                self._fail_late(total)

    def _fail_late(self, total_ns: int) -> None:
        """What the library says is about the last slice."""
        try:
            fail(_errors.TIMEOUT)
        except _errors.Error as error:
            raise type(error)(error.code, f"{error.text} (after {total_ns / 1e9:g} s in all)",
                              error.rank) from None

    # ---- Leaving ----------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return self._handle.is_open

    def close(self) -> None:
        """Leave. All that was opened is closed first, the last first; if that fails, the job is
        left all the same, and then the first failure is raised."""
        self._leave(False)

    def _is_mine(self) -> bool:
        """After a fork the child has the objects, but the job is the parent's."""
        return self._pid == os.getpid()

    def _leave(self, is_abandoned: bool) -> None:
        with self._lock:
            if self._is_closing or not self._handle.is_open or not self._is_mine():
                return
            self._is_closing = True
            children, transfers = self._children[::-1], list(self._transfers.values())
        failure: Optional[BaseException] = None
        for close in [*(k.withdraw for k in transfers),
                      *((lambda k=k: k._close(is_abandoned)) for k in children)]:
            try:
                close()
            except BaseException as caught:  # pylint: disable=broad-exception-caught
                failure = failure or caught
        self._leave_now(is_abandoned)
        if failure is not None:
            raise failure

    def _leave_now(self, is_abandoned: bool) -> None:
        with self._lock:
            left = list(self._children)
            for transfer in self._transfers.values():
                transfer._lose()
        if is_abandoned and any(isinstance(k, Dsm) for k in left):
            return  # peers hold copies of what is here: only the process's end takes it away
        for child in left:
            if isinstance(child, Mailbox):
                child._lose()
        msg = self._msg.take()
        if msg and not self._msg_is_in_use:
            lib.rh_msg_close(msg)
        spans = [span for child in left for span in getattr(child, "_spans", list)()]
        box: list[int] = []
        try:
            unmap(spans, lambda: self._leave_into(box, lib.rh_leave),
                  lambda: self._leave_into(box, lib.held.rh_leave))
        finally:
            self._is_closing = bool(box)
            if box:
                self._handle.take()
                for child in left:
                    getattr(child, "_lose", lambda: None)()

    def _leave_into(self, box: list[int], function: Callable[..., int]) -> int:
        call_into(box, function, self._handle.value)
        return 0

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        """After an exception nobody is waited for: peers learn that this rank has left."""
        if kind is None:
            self.close()
            return
        try:
            self._leave(True)
        except _errors.Error:
            pass  # what is on its way says more

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None and self._handle.is_open:
            try:
                self._leave(True)
            except Exception:  # pylint: disable=broad-exception-caught
                pass

    # ---- Books, which threads share ---------------------------------------------------------

    def _children_add(self, child: Any) -> None:
        with self._lock:
            self._children.append(child)

    def _children_drop(self, child: Any) -> None:
        with self._lock:
            if child in self._children:
                self._children.remove(child)

    def _transfers_add(self, transfer: Transfer) -> None:
        with self._lock:
            self._transfers[id(transfer)] = transfer
            if len(self._transfers) < self._prune_at:
                return
            for each in list(self._transfers.values()):
                each._settle(0)  # what nobody waits for, and is over
            self._prune_at = 2 * max(len(self._transfers), PRUNE_MIN)

    def _transfers_drop(self, transfer: Transfer) -> None:
        with self._lock:
            self._transfers.pop(id(transfer), None)
