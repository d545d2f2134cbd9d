# SPDX-License-Identifier: BSD-3-Clause
"""Messages and locks."""

from __future__ import annotations

from ctypes import byref, c_int, c_void_p
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence

from . import _checks, _errors
from ._buffers import Loan, kept_for_ever
from ._group import Group
from ._library import Handle, Recipients, StatusStruct, call_into, check, lib

if TYPE_CHECKING:
    from ._job import Job

UNDER_WAY = (_errors.AGAIN, _errors.TIMEOUT)  # what leaves a request with its caller


class Status(NamedTuple):
    """Of a message: who sent it, under which tag, how many bytes."""

    source: int
    tag: int
    length: int


class Message(NamedTuple):
    source: int
    tag: int
    length: int
    data: Any  # bytes, or what it was received into


class Request:
    """A send or receive that was started. Its memory is lent until it is over; the mailbox keeps
    what nobody waits for."""

    def __init__(self, mailbox: "Mailbox", name: str, rank: int, tag: int, loan: Loan) -> None:
        self._mailbox = mailbox
        self._handle = Handle("the request")
        self._loan = loan
        self._status = StatusStruct()
        self._code = _errors.AGAIN
        mailbox._requests_add(self)
        try:
            check(getattr(lib, name)(mailbox._handle.value, rank, tag, loan.address, loan.length,
                                     byref(self._handle.pointer)))
        except BaseException:
            if self._handle.is_open:
                self.cancel()
            else:
                self._end()
            raise

    @property
    def is_over(self) -> bool:
        return not self._handle.is_open

    def test(self) -> Optional[Status]:
        """The status if it is complete, None while it is under way. Raises its error."""
        if self._handle.is_open:
            code = self._try(lib.rh_test_request, byref(self._status))
            if code in UNDER_WAY:
                return None
            check(code)
        return self._result()

    def wait(self, timeout: Optional[float] = None) -> Status:
        """Wait for it; after WaitTimeout or AgainError it is under way still."""
        if self._handle.is_open:
            self._mailbox._job._wait(timeout, lambda ns: self._try(
                lib.rh_wait_request, byref(self._status), ns))
        return self._result()

    def cancel(self) -> bool:
        """Take it back: True, and it has had no effect. False: it is too late; wait for it."""
        if not self._handle.is_open:
            return False
        box: list[int] = []
        try:
            call_into(box, lib.rh_cancel, self._handle.value)
        finally:
            if box and box[0] == 0:
                self._code = _errors.CANCELED
                self._end()
        return box[0] == 0

    def _try(self, function: Any, *arguments: Any) -> int:
        """Whatever else the result is, the request is gone then."""
        box: list[int] = []
        try:
            call_into(box, function, self._handle.value, *arguments)
        finally:
            if box and box[0] not in UNDER_WAY:
                self._code = box[0]
                self._end()
        return box[0]

    def _end(self) -> None:
        self._handle.take()
        self._loan.release()
        self._mailbox._requests_drop(self)

    def _result(self) -> Status:
        if self._code < 0:
            raise _errors.make(self._code, lambda: "", lambda: -1,
                               lambda code: lib.rh_error_name(code).decode())
        return Status(self._status.source, self._status.tag, self._status.length)

    def __enter__(self) -> "Request":
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.wait()
        else:
            self.cancel()


class Lock:
    """A lock of the whole job, known by its number; held by a process, not a thread."""

    def __init__(self, mailbox: "Mailbox", number: int) -> None:
        self._mailbox = mailbox
        self.number = _checks.small(number, "lock")

    def acquire(self, timeout: Optional[float] = None) -> bool:
        """True if the last holder died holding it: check what it protected. A signal's exception,
        such as KeyboardInterrupt, leaves the lock free."""
        box: list[int] = []

        def step(slice_ns: int) -> int:
            call_into(box, lib.rh_lock, self._mailbox._handle.value, self.number, slice_ns)
            return box[0]
        try:
            return self._mailbox._job._wait(timeout, step) > 0
        except BaseException:
            if box and box[0] >= 0:
                lib.rh_unlock(self._mailbox._handle.value, self.number)
            raise

    def try_acquire(self) -> bool:
        """Whether it was free, and is ours now."""
        try:
            self.acquire(0)
        except _errors.WaitTimeout:
            return False
        return True

    def release(self) -> None:
        check(lib.rh_unlock(self._mailbox._handle.value, self.number))

    def __enter__(self) -> "Lock":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Mailbox:
    """This process's mailbox. All Mailbox objects of a job are the same mailbox, which the library
    has from the first on until the job is left."""

    def __init__(self, job: "Job") -> None:
        self._job = job
        self._handle = Handle("the mailbox")
        self._requests: list[Request] = []
        self._handle.pointer = c_void_p(job._msg_open())
        job._children_add(self)

    def send(self, rank: int, data: Any, tag: int = 0, timeout: Optional[float] = None) -> None:
        """Send; returns when the data may be overwritten."""
        request = self.isend(rank, data, tag)
        try:
            request.wait(timeout)
        except BaseException:
            request.cancel()
            raise

    def isend(self, rank: int, data: Any, tag: int = 0) -> Request:
        rank, tag = _checks.rank(rank, self._job.size), _checks.tag(tag)
        return Request(self, "rh_isend", rank, tag, Loan(data))

    def multicast(self, ranks: Sequence[int], data: Any, tag: int = 0) -> None:
        """Send the same message to several ranks."""
        places = (c_int * len(ranks))(*(_checks.rank(k, self._job.size) for k in ranks))
        with Loan(data) as loan:
            check(lib.rh_multicast(self._handle.value, byref(Recipients(places, len(places))),
                                   _checks.tag(tag), loan.address, loan.length))

    def recv(self, rank: int = _checks.ANY_RANK, tag: int = _checks.ANY_TAG, into: Any = None,
             timeout: Optional[float] = None) -> Message:
        """Receive the oldest message that fits: into an array or bytearray, TooBigError if it is
        longer; or as bytes, however long it is."""
        if into is None:
            target, request = self._receive_any(rank, tag, timeout)
        else:
            target, request = into, self.irecv(rank, into, tag)
        try:
            status = request.wait(timeout)
        except BaseException:
            request.cancel()
            raise
        return Message(*status, bytes(target) if into is None else into)

    def irecv(self, rank: int, into: Any, tag: int = _checks.ANY_TAG) -> Request:
        rank, tag = _checks.rank(rank, self._job.size, True), _checks.tag(tag, True)
        with self._job._matching:
            return Request(self, "rh_irecv", rank, tag, Loan(into, is_written=True))

    def probe(self, rank: int = _checks.ANY_RANK, tag: int = _checks.ANY_TAG,
              timeout: Optional[float] = None) -> Status:
        """Wait until a message is there, without receiving it. Timeout 0: AgainError."""
        rank, tag = _checks.rank(rank, self._job.size, True), _checks.tag(tag, True)
        status = StatusStruct()
        self._job._wait(timeout, lambda ns: lib.rh_probe(self._handle.value, rank, tag,
                                                         byref(status), ns))
        return Status(status.source, status.tag, status.length)

    def _receive_any(self, rank: int, tag: int,
                     timeout: Optional[float]) -> tuple[bytearray, Request]:
        """A message that is there is what the receive gets: no other thread comes between."""
        while True:
            self.probe(rank, tag, timeout)
            with self._job._matching:
                try:
                    found = self.probe(rank, tag, 0)
                except _errors.AgainError:
                    continue  # another thread has it
                target = bytearray(found.length)
                return target, self.irecv(found.source, target, found.tag)

    def lock(self, number: int) -> Lock:
        """A lock; `with` holds it."""
        return Lock(self, number)

    def group(self, ranks: Optional[Sequence[int]] = None, id: int = 0) -> Group:
        """A set of ranks, of all of them if not said, that act together: every member makes it.
        `id` is the same on all members, and another for each set."""
        return Group(self, ranks, id)

    def close(self) -> None:
        """Close it, with all groups, which wait for each other. Sends and receives that are under
        way are cancelled, or waited for. What was not received stays until the job is left: peers
        could not tell a mailbox that is opened again from one that is gone."""
        self._close(False)

    def _close(self, is_abandoned: bool) -> None:
        if not self._handle.is_open or not self._job._is_mine():
            return
        with self._job._lock:
            groups = [k for k in self._job._children[::-1] if getattr(k, "_mailbox", 0) is self]
            requests = list(self._requests)
        failure: Optional[BaseException] = None
        for group in groups:
            try:
                group._close(is_abandoned)
            except BaseException as caught:  # pylint: disable=broad-exception-caught
                failure = failure or caught
        for request in requests:
            self._finish(request, is_abandoned)
        self._end(bool(groups) and is_abandoned)
        if failure is not None:
            raise failure

    def _end(self, is_in_use: bool) -> None:
        """What could not be finished stays with the library, and its memory in place."""
        with self._job._lock:
            unfinished, self._requests = self._requests, []
            self._job._msg_is_in_use |= is_in_use or bool(unfinished)
        for request in unfinished:
            kept_for_ever.append(request._loan)
            request._handle.take()
        self._job._children_drop(self)
        self._handle.take()

    def _lose(self) -> None:
        """The job was left while this could not be closed."""
        self._end(True)

    @staticmethod
    def _finish(request: Request, is_abandoned: bool) -> None:
        try:
            if not request.cancel() and not request.is_over and not is_abandoned:
                request.wait()
        except _errors.Error:
            pass  # it is over, or its memory is kept

    def _requests_add(self, request: Request) -> None:
        with self._job._lock:
            self._requests.append(request)

    def _requests_drop(self, request: Request) -> None:
        with self._job._lock:
            if request in self._requests:
                self._requests.remove(request)

    def __enter__(self) -> "Mailbox":
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._job._handle.is_open:
            self._close(kind is not None)
