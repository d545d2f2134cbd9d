# SPDX-License-Identifier: BSD-3-Clause
"""Sets of ranks that act together: barrier and collectives.

A barrier's wait hears signals. The other calls do not: they end when all members have come, when
one has died, or at the job's default timeout."""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_double, c_int, c_int64
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

from . import _checks
from ._buffers import Loan, like
from ._library import Handle, Reduction, SetSpec, check, lib

if TYPE_CHECKING:
    from ._mailbox import Mailbox

SUM, PRODUCT, MIN, MAX, AND, OR, XOR = range(7)
SIGNED, UNSIGNED, FLOATS = "bhilqn", "BHILQN", {"f": 8, "d": 9}
WHOLE = {1: 0, 2: 2, 4: 4, 8: 6}  # of enum rh_type, by size; unsigned ones are the next
NATIVE = "@=" + ("<" if sys.byteorder == "little" else ">!")


def type_of(loan: Loan) -> int:
    """Which of enum rh_type the elements are."""
    kind = loan.format.lstrip(NATIVE)
    if kind in FLOATS:
        return FLOATS[kind]
    if len(kind) == 1 and kind in SIGNED + UNSIGNED:
        return WHOLE[loan.itemsize] + (kind in UNSIGNED)
    raise TypeError(f"elements of format {loan.format!r} cannot be reduced; whole numbers of 1 to "
                    "8 bytes, float32 and float64 of this machine's order can")


class Group:
    """Calls on it are made by all members, in the same order and with the same arguments. Roots
    are places in the group."""

    def __init__(self, mailbox: "Mailbox", ranks: Optional[Sequence[int]], id: int) -> None:
        self._mailbox = mailbox
        self._job = mailbox._job
        self._handle = Handle("the group")
        spec = SetSpec(ctypes.sizeof(SetSpec), _checks.number(id, "id", 0, 65535))
        if ranks is not None:
            places = [_checks.rank(k, self._job.size) for k in ranks]
            spec.ranks, spec.rank_count = (c_int * len(places))(*places), len(places)
        self._handle.open(lib.rh_set_create, mailbox._handle.value, byref(spec), ...,
                          close=lib.rh_set_destroy)
        self.rank: int = lib.rh_set_rank(self._handle.value)
        self.size: int = lib.rh_set_size(self._handle.value)
        self._job._children_add(self)

    def barrier(self, timeout: Optional[float] = None) -> None:
        """Nobody leaves before all have entered. After WaitTimeout the next call waits on."""
        self._job._wait(timeout, lambda ns: lib.rh_barrier(self._handle.value, ns))

    def broadcast(self, buffer: Any, root: int = 0) -> Any:
        """The root's buffer becomes everybody's; returns it."""
        root = self._root(root)
        with Loan(buffer, is_written=root != self.rank) as loan:
            check(lib.rh_broadcast(self._handle.value, root, loan.address, loan.length))
        return buffer

    def reduce(self, source: Any, target: Any = None, op: int = SUM, root: int = 0) -> Any:
        """All members' elements under an operator, at the root; the others get None."""
        root = self._root(root)
        return self._reduce(source, target, op, root)

    def allreduce(self, source: Any, target: Any = None, op: int = SUM) -> Any:
        """The same at all members. A plain int or float is welcome, too."""
        return self._reduce(source, target, op, None)

    def gather(self, source: Any, target: Any = None, root: int = 0) -> Any:
        """Everybody's source, one after the other, at the root; the others get None."""
        root, handle = self._root(root), self._handle.value
        is_root = root == self.rank
        with Loan(source) as give:
            if not is_root:
                check(lib.rh_gather(handle, root, give.address, None, give.length))
                return None
            target = like(give, self.size) if target is None else target
            with self._room(target, give.length * self.size) as take:
                check(lib.rh_gather(handle, root, give.address, take.address, give.length))
        return target

    def scatter(self, source: Any, target: Any, root: int = 0) -> Any:
        """To each member its part of the root's source, into a target of its length."""
        root, handle = self._root(root), self._handle.value
        with Loan(target, is_written=True) as take:
            if root != self.rank:
                check(lib.rh_scatter(handle, root, None, take.address, take.length))
                return target
            with Loan(source) as give:
                self._same(give.length, take.length * self.size)
                check(lib.rh_scatter(handle, root, give.address, take.address, take.length))
        return target

    def allgather(self, source: Any, target: Any = None) -> Any:
        """Everybody's source, one after the other, at all members."""
        with Loan(source) as give:
            target = like(give, self.size) if target is None else target
            with self._room(target, give.length * self.size) as take:
                check(lib.rh_allgather(self._handle.value, give.address, take.address,
                                       give.length))
        return target

    def alltoall(self, source: Any, target: Any = None) -> Any:
        """Part i of the source goes to member i, from which part i of the target comes."""
        with Loan(source) as give:
            if give.length % self.size:
                raise _checks.refuse(f"{give.length} bytes are not {self.size} equal parts")
            target = like(give) if target is None else target
            with self._room(target, give.length) as take:
                check(lib.rh_alltoall(self._handle.value, give.address, take.address,
                                      give.length // self.size))
        return target

    def close(self) -> None:
        """Destroy it, together with all members."""
        self._close(False)

    def _close(self, is_abandoned: bool) -> None:
        if not self._job._is_mine():
            return
        self._job._children_drop(self)
        pointer = self._handle.take()
        if pointer and not is_abandoned:  # else the others learn from the job's end
            check(lib.rh_set_destroy(pointer))

    def _root(self, root: int) -> int:
        return _checks.number(root, "root", 0, self.size - 1)

    @staticmethod
    def _same(length: int, expected: int) -> None:
        if length != expected:
            raise _checks.refuse(f"{length} bytes, where {expected} are needed")

    def _room(self, target: Any, length: int) -> Loan:
        loan = Loan(target, is_written=True)
        self._same(loan.length, length)
        return loan

    def _reduce(self, source: Any, target: Any, op: int, root: Optional[int]) -> Any:
        is_scalar = isinstance(source, (int, float))
        data = self._scalar(source) if is_scalar else source
        is_mine = root is None or root == self.rank
        op = _checks.number(op, "op", SUM, XOR)
        with Loan(data) as give:
            if target is None and is_mine:
                target = type(data)() if is_scalar else like(give)
            wish = byref(Reduction(type_of(give), op, give.length // give.itemsize))
            if not is_mine:
                check(lib.rh_reduce(self._handle.value, root, give.address, None, wish))
                return None
            with self._room(target, give.length) as take:
                if root is None:
                    check(lib.rh_allreduce(self._handle.value, give.address, take.address, wish))
                else:
                    check(lib.rh_reduce(self._handle.value, root, give.address, take.address,
                                        wish))
        return target.value if is_scalar and isinstance(target, type(data)) else target

    @staticmethod
    def _scalar(source: Union[int, float]) -> Any:
        if isinstance(source, float):
            return c_double(source)
        return c_int64(_checks.number(source, "value", -(2 ** 63), 2 ** 63 - 1))

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._job._handle.is_open:
            self._close(kind is not None)
