# SPDX-License-Identifier: BSD-3-Clause
"""A push or pull that was started, and has not been waited for."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import _errors
from ._buffers import Loan, kept_for_ever
from ._library import Done, RemoteStruct, call_into, check, lib

if TYPE_CHECKING:
    from ._job import Job


class Transfer:
    """Wait for it, test it, or withdraw it. The memory belongs to it until it is over; the job
    keeps what nobody waits for, and takes it back when it is left."""

    def __init__(self, job: "Job", function: Callable[..., int], remote: RemoteStruct,
                 loan: Loan) -> None:
        self._job = job
        self._done = Done()
        self._loan: Optional[Loan] = loan
        job._transfers_add(self)
        box: list[int] = []
        try:
            call_into(box, function, job._handle.value, remote, loan.address, loan.length,
                      ctypes.byref(self._done))
            check(box[0])
        except BaseException:
            # An error that is known at once leaves the flag alone: nothing will ever set it.
            if box and box[0] == 0:
                self.withdraw()
            else:
                self._end()
            raise

    @property
    def is_over(self) -> bool:
        """Whether the memory is the program's again, whatever the result."""
        return self._loan is None

    def _end(self) -> None:
        loan, self._loan = self._loan, None
        if loan is not None:
            loan.release()
            self._job._transfers_drop(self)

    def _lose(self) -> None:
        """The job is left while this could not be withdrawn."""
        if self._loan is not None:
            kept_for_ever.extend((self._loan, self._done))

    def _settle(self, code: int) -> int:
        """Only the flag says that it is over: a death that is noticed first does not."""
        if self._done.state != 0:
            self._end()
        return code

    def test(self) -> bool:
        """Whether it is complete. Raises its error; after DeadError it may be under way still:
        withdraw it."""
        if self._loan is None:
            return self._result()
        code = self._settle(lib.rh_test_done(self._job._handle.value, ctypes.byref(self._done)))
        if code == _errors.AGAIN:
            return False
        check(code)
        return True

    def wait(self, timeout: Optional[float] = None) -> None:
        """Wait for it, and raise its error. After WaitTimeout and DeadError it is under way
        still."""
        if self._loan is None:
            self._result()
            return
        self._job._wait(timeout, lambda slice_ns: self._settle(lib.rh_wait_done(
            self._job._handle.value, ctypes.byref(self._done), slice_ns)))

    def withdraw(self) -> bool:
        """Give it up: the memory is the program's again. Whether it had been completed."""
        if self._loan is None or not self._job._is_mine():
            return self._done.state > 0
        code = lib.rh_withdraw(self._job._handle.value, ctypes.byref(self._done))
        if self._done.state == 0:  # refused: the memory is not ours to give back
            check(code)
        self._end()
        return self._done.state > 0

    def _result(self) -> bool:
        if self._done.state < 0:
            code = int(self._done.state)
            raise _errors.make(code, lambda: "", lambda: int(self._done.rank),
                               lambda code: lib.rh_error_name(code).decode())
        return True

    def __enter__(self) -> "Transfer":
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._loan is not None and kind is None:
            self.wait()
        elif self._loan is not None:
            self.withdraw()
