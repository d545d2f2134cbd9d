# SPDX-License-Identifier: BSD-3-Clause
"""Distributed shared memory: objects at the same offset on all ranks, and the variables that keep
them consistent. docs/dsm.md tells how."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_uint32, c_uint64
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

from . import _checks, _errors
from ._buffers import Span, unmap
from ._library import DsmOptions, DsmStat, Handle, Region, call_into, check, lib
from ._segment import Shape

if TYPE_CHECKING:
    from ._job import Job

AUTO, PULL, PUSH, DIFF = 0, 1, 2, 4
SHARED, EXCLUSIVE = 1, 2  # enum rh_dsm_access
OWNER_DIED = 1
PRUNE_MIN = 64
EVERY = 2 ** 32 - 1  # no variable: all of them


class Shared:
    """An object in the shared memory. Touch it while a variable that it is bound to is held."""

    def __init__(self, dsm: "Dsm", offset: int, shape: Shape) -> None:
        self._dsm = dsm
        self._shape = shape
        self.offset = offset
        self.length = shape.length
        self._span = Span(int(lib.rh_dsm_ptr(dsm._handle.value, offset)), shape.length)

    @property
    def array(self) -> Any:
        self._dsm._spans_add(self._span)
        return self._shape.of(self._span)

    @property
    def view(self) -> memoryview:
        self._dsm._spans_add(self._span)
        return self._span.view()

    def free(self) -> None:
        """Give it back, for all ranks."""
        check(lib.rh_dsm_free(self._dsm._handle.value, self.offset))


class Hold:
    """What `with variable.read()` and `with variable.write()` do."""

    def __init__(self, variable: "Variable", access: int, timeout: Optional[float]) -> None:
        self._variable, self._access, self._timeout = variable, access, timeout

    def __enter__(self) -> "Variable":
        self._variable.acquire(self._access, self._timeout)
        return self._variable

    def __exit__(self, kind: Any, *_: object) -> None:
        try:
            self._variable.release()
        except _errors.InvalidError:  # a wait that failed has released it
            if kind is None:
                raise


class Variable:
    """A synchronisation variable. Any number of ranks read at a time; a writer is alone."""

    def __init__(self, dsm: "Dsm", number: int) -> None:
        self._dsm = dsm
        self.number = _checks.small(number, "variable")

    def read(self, timeout: Optional[float] = None) -> Hold:
        return Hold(self, SHARED, timeout)

    def write(self, timeout: Optional[float] = None) -> Hold:
        return Hold(self, EXCLUSIVE, timeout)

    def acquire(self, access: int, timeout: Optional[float] = None) -> None:
        """SHARED or EXCLUSIVE; `with read()` and `with write()` are safer. A signal's exception
        leaves it free."""
        access = _checks.number(access, "access", SHARED, EXCLUSIVE)
        box: list[int] = []

        def step(slice_ns: int) -> int:
            call_into(box, lib.rh_dsm_acquire, self._dsm._handle.value, self.number, access,
                      slice_ns)
            return box[0]
        try:
            self._dsm._job._wait(timeout, step)
        except BaseException:
            if box and box[0] >= 0:
                lib.rh_dsm_release(self._dsm._handle.value, self.number)
            raise

    def release(self) -> None:
        check(lib.rh_dsm_release(self._dsm._handle.value, self.number))

    def bind(self, *objects: Shared) -> None:
        """Bind objects to it, instead of what was bound before. Hold it for writing."""
        regions = (Region * len(objects))(*(Region(k.offset, k.length, 1, k.length)
                                            for k in objects))
        check(lib.rh_dsm_bind(self._dsm._handle.value, self.number, regions, len(objects)))

    def mode(self, mode: int) -> None:
        """How new data travels: AUTO, PULL, PUSH, with or without DIFF. Hold it for writing."""
        check(lib.rh_dsm_mode(self._dsm._handle.value, self.number, _checks.small(mode, "mode")))

    def owner(self) -> int:
        return check(lib.rh_dsm_owner(self._dsm._handle.value, self.number))

    def adopt(self, stale_is_welcome: bool = False) -> bool:
        """Become the owner of what a dead rank owned; it is held then. True: the data is not the
        newest."""
        box: list[int] = []
        try:
            call_into(box, lib.rh_dsm_adopt, self._dsm._handle.value, self.number,
                      stale_is_welcome)
            return check(box[0]) == OWNER_DIED
        except BaseException:
            if box and box[0] >= 0:
                lib.rh_dsm_release(self._dsm._handle.value, self.number)
            raise

    def wait(self, timeout: Optional[float] = None) -> None:
        """Release it, wait for a signal, hold it again, as it was. May return without one: check
        in a loop. After WaitTimeout it is held, too."""
        job = self._dsm._job
        check(lib.rh_dsm_wait(self._dsm._handle.value, self.number,
                              _checks.timeout_ns(timeout, job._default_ns)))

    def signal(self) -> None:
        """Wake the waiters of one rank."""
        check(lib.rh_dsm_signal(self._dsm._handle.value, self.number))

    def broadcast(self) -> None:
        """Wake the waiters of all ranks."""
        check(lib.rh_dsm_broadcast(self._dsm._handle.value, self.number))

    def stat(self) -> dict[str, int]:
        return self._dsm._stat(self.number)


class Dsm:
    """The shared memory; all ranks open and close it together."""

    def __init__(self, job: "Job", heap: int, variables: int) -> None:
        self._job = job
        self._prune_at = PRUNE_MIN
        self._handle = Handle("the shared memory")
        self._spans_made: dict[int, Span] = {}
        options = DsmOptions(ctypes.sizeof(DsmOptions), _checks.length(heap, "heap"),
                             _checks.small(variables, "variables"),
                             job._msg_open())
        self._handle.open(lib.rh_dsm_open, ..., job._handle.value, byref(options),
                          close=lib.rh_dsm_close)
        job._children_add(self)

    def alloc(self, shape: Union[int, Sequence[int]], dtype: Any = "u1",
              name: Optional[int] = None) -> Shared:
        """Allocate an object, not zeroed. With a name, a number, the first to ask allocates, and
        the others get the same."""
        wanted, offset = Shape(shape, dtype), c_uint64()
        if name is None:
            check(lib.rh_dsm_alloc(self._handle.value, wanted.length, byref(offset)))
        else:
            check(lib.rh_dsm_alloc_named(self._handle.value, _checks.small(name, "name"),
                                         wanted.length, byref(offset)))
        return Shared(self, offset.value, wanted)

    def variable(self, number: int) -> Variable:
        return Variable(self, number)

    def prefetch(self, *variables: Variable) -> int:
        """Bring copies up to date without holding them; how many are valid now."""
        return check(lib.rh_dsm_prefetch(self._handle.value, *self._numbers(variables)))

    def barrier(self, *variables: Variable, timeout: Optional[float] = None) -> None:
        """Wait for all ranks; the variables named are up to date at all that ever read them. One
        call, however long: entering it twice would be two barriers for the checker."""
        check(lib.rh_dsm_barrier(self._handle.value, *self._numbers(variables),
                                 _checks.timeout_ns(timeout, self._job._default_ns)))

    def stat(self) -> dict[str, int]:
        """What happened to all variables, in this process."""
        return self._stat(EVERY)

    def close(self) -> None:
        """Close it; waits until all living ranks have come here."""
        self._close(False)

    def _close(self, is_abandoned: bool) -> None:
        if is_abandoned or not self._handle.is_open or not self._job._is_mine():
            return
        box: list[int] = []

        def step(function: Any) -> int:
            call_into(box, function, self._handle.value)
            return box[0]
        try:
            unmap(self._spans_made.values(), lambda: step(lib.rh_dsm_close),
                  lambda: step(lib.held.rh_dsm_close),
                  is_copied=False)  # what no variable is held for may not be read
            check(box[0])
        finally:
            if box:
                self._handle.take()
                self._job._children_drop(self)

    @staticmethod
    def _numbers(variables: Sequence[Variable]) -> tuple[Any, int]:
        return (c_uint32 * len(variables))(*(k.number for k in variables)), len(variables)

    def _stat(self, number: int) -> dict[str, int]:
        stat = DsmStat(ctypes.sizeof(DsmStat))
        check(lib.rh_dsm_stat(self._handle.value, number, byref(stat)))
        return {name: getattr(stat, name) for name, *_ in DsmStat._fields_[1:]}

    def _spans_add(self, span: Span) -> None:
        """Before a view of it is made."""
        self._handle.value
        with self._job._lock:
            if len(self._spans_made) >= self._prune_at:  # views that are gone
                self._spans_made = {name: k for name, k in self._spans_made.items()
                                    if k.viewed() is not None}
                self._prune_at = 2 * max(len(self._spans_made), PRUNE_MIN)
            self._spans_made[id(span)] = span

    def __enter__(self) -> "Dsm":
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._job._handle.is_open:
            self._close(kind is not None)
