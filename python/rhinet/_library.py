# SPDX-License-Identifier: BSD-3-Clause
"""librhinet for ctypes: where it is, the structures of its headers, the types of its calls.

RHINET_LIBRARY names the library's file; nothing else is tried then. Otherwise it is the one beside
this package, installed (PREFIX/lib...) or in a source tree (build/src), or the one that the loader
finds."""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import (POINTER, Structure, c_bool, c_char_p, c_int, c_int64, c_size_t, c_uint,
                    c_uint32, c_uint64, c_void_p)
from itertools import starmap
from pathlib import Path
from typing import Any, Callable, Iterator, NoReturn, Optional

from . import _errors

NAME = "librhinet.so.0"


class JoinOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("nic", c_char_p), ("manager_fd", c_int)]


class RemoteStruct(Structure):
    _fields_ = [("rank", c_int), ("sid", c_uint32), ("offset", c_uint64)]


class SegmentStruct(Structure):
    _fields_ = [("struct_size", c_size_t), ("sid", c_uint32), ("base", c_void_p),
                ("length", c_uint64), ("rights", c_uint), ("flags", c_uint)]


class Done(Structure):
    _fields_ = [("state", c_int64), ("rank", c_int)]


class Notice(Structure):
    _fields_ = [("word", RemoteStruct), ("value", c_uint64)]


class QueueShape(Structure):
    _fields_ = [("slot_count", c_uint32), ("slot_length", c_uint32)]


class ArrivalStruct(Structure):
    _fields_ = [("data", c_void_p), ("length", c_size_t), ("source", c_int)]


class Wait(Structure):
    _fields_ = [("word", c_void_p), ("when", c_int), ("value", c_uint64), ("source", c_int),
                ("timeout_ns", c_int64)]


class StatusStruct(Structure):
    _fields_ = [("source", c_int), ("tag", c_int), ("length", c_size_t)]


class Recipients(Structure):
    _fields_ = [("ranks", POINTER(c_int)), ("rank_count", c_size_t)]


class SetSpec(Structure):
    _fields_ = [("struct_size", c_size_t), ("id", c_uint32), ("ranks", POINTER(c_int)),
                ("rank_count", c_size_t), ("parents", POINTER(c_int))]


class Reduction(Structure):
    _fields_ = [("type", c_int), ("operator", c_int), ("count", c_size_t)]


class DsmOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("heap_length", c_uint64), ("variable_count", c_uint32),
                ("msg", c_void_p)]


class Region(Structure):
    _fields_ = [("offset", c_uint64), ("length", c_uint64), ("block_count", c_uint64),
                ("stride", c_uint64)]


class DsmStat(Structure):
    _fields_ = [("struct_size", c_size_t)] + [
        (name, c_uint64) for name in (
            "read_hits", "read_misses", "write_hits", "write_misses", "waits", "invalidations",
            "updates", "fetched_bytes", "pushed_bytes", "bounces")]


# By their C names, so that a test can compare them with the headers.
STRUCTURES: dict[str, type[Structure]] = {
    "rh_join_options": JoinOptions, "rh_remote": RemoteStruct, "rh_segment": SegmentStruct,
    "rh_done": Done, "rh_notice": Notice, "rh_queue_shape": QueueShape,
    "rh_arrival": ArrivalStruct, "rh_wait": Wait, "rh_status": StatusStruct,
    "rh_recipients": Recipients, "rh_set_spec": SetSpec, "rh_reduction": Reduction,
    "rh_dsm_options": DsmOptions, "rh_dsm_region": Region, "rh_dsm_stat": DsmStat,
}

_HANDLE = c_void_p  # of whatever is opaque
_OUT = POINTER(c_void_p)
_STRUCT = c_void_p  # by reference; POINTER() would keep our types for ever
_PUT = (_HANDLE, RemoteStruct, c_void_p, c_size_t)
_ATOMIC = (_HANDLE, RemoteStruct, c_uint64, POINTER(c_uint64))
_EACH = (_HANDLE, c_void_p, c_void_p, c_size_t)  # a collective of all
_ROOTED = (_HANDLE, c_int, c_void_p, c_void_p, c_size_t)

# Arguments of each call, which returns an int unless RESULTS says otherwise.
CALLS: dict[str, tuple[Any, ...]] = {
    "rh_version": (), "rh_version_number": (), "rh_error_text": (), "rh_error_rank": (),
    "rh_error_name": (c_int,),
    "rh_join": (_OUT, _STRUCT), "rh_leave": (_HANDLE,), "rh_rank": (_HANDLE,),
    "rh_size": (_HANDLE,), "rh_node": (_HANDLE, c_int), "rh_job_id": (_HANDLE,),
    "rh_nic_name": (_HANDLE,), "rh_clock_ns": (_HANDLE,), "rh_peer_state": (_HANDLE, c_int),
    "rh_deaths_acknowledge": (_HANDLE,),
    "rh_counter": (_HANDLE, c_char_p, POINTER(c_uint64)),
    "rh_segment_create": (_HANDLE, _STRUCT),
    "rh_segment_detach": (_HANDLE, c_uint32),
    "rh_segment_wait": (_HANDLE, c_int, c_uint32, c_int64),
    "rh_segment_length": (_HANDLE, c_int, c_uint32, POINTER(c_uint64)),
    "rh_wait_done": (_HANDLE, _STRUCT, c_int64), "rh_test_done": (_HANDLE, _STRUCT),
    "rh_withdraw": (_HANDLE, _STRUCT),
    "rh_push": _PUT, "rh_pull": _PUT, "rh_push_inline": _PUT, "rh_push_ordered": _PUT,
    "rh_push_start": (*_PUT, _STRUCT), "rh_pull_start": (*_PUT, _STRUCT),
    "rh_push_notify": (*_PUT, _STRUCT),
    "rh_page_open": (_HANDLE, RemoteStruct, c_uint64, _OUT), "rh_page_close": (_HANDLE,),
    "rh_store": (_HANDLE, c_uint64, c_uint64, c_uint),
    "rh_queue_create": (_HANDLE, c_uint32, QueueShape, _OUT), "rh_queue_destroy": (_HANDLE,),
    "rh_append": (_HANDLE, c_int, c_uint32, c_void_p, c_size_t),
    "rh_append_try": (_HANDLE, c_int, c_uint32, c_void_p, c_size_t),
    "rh_queue_next": (_HANDLE, _STRUCT, c_int64), "rh_queue_release": (_HANDLE,),
    "rh_fetch_add": _ATOMIC, "rh_fetch_or": _ATOMIC, "rh_fetch_and": _ATOMIC, "rh_swap": _ATOMIC,
    "rh_compare_swap": (_HANDLE, RemoteStruct, c_uint64, c_uint64, POINTER(c_uint64)),
    "rh_flush": (_HANDLE, c_int), "rh_wait_word": (_HANDLE, _STRUCT),
    "rh_msg_open": (_OUT, _HANDLE), "rh_msg_close": (_HANDLE,),
    "rh_isend": (_HANDLE, c_int, c_int, c_void_p, c_size_t, _OUT),
    "rh_irecv": (_HANDLE, c_int, c_int, c_void_p, c_size_t, _OUT),
    "rh_multicast": (_HANDLE, _STRUCT, c_int, c_void_p, c_size_t),
    "rh_test_request": (_HANDLE, _STRUCT),
    "rh_wait_request": (_HANDLE, _STRUCT, c_int64), "rh_cancel": (_HANDLE,),
    "rh_probe": (_HANDLE, c_int, c_int, _STRUCT, c_int64),
    "rh_lock": (_HANDLE, c_uint32, c_int64), "rh_lock_try": (_HANDLE, c_uint32),
    "rh_unlock": (_HANDLE, c_uint32),
    "rh_set_create": (_HANDLE, _STRUCT, _OUT), "rh_set_destroy": (_HANDLE,),
    "rh_set_rank": (_HANDLE,), "rh_set_size": (_HANDLE,), "rh_barrier": (_HANDLE, c_int64),
    "rh_barrier_all": (_HANDLE,),
    "rh_broadcast": (_HANDLE, c_int, c_void_p, c_size_t),
    "rh_reduce": (_HANDLE, c_int, c_void_p, c_void_p, _STRUCT),
    "rh_allreduce": (_HANDLE, c_void_p, c_void_p, _STRUCT),
    "rh_gather": _ROOTED, "rh_scatter": _ROOTED, "rh_allgather": _EACH, "rh_alltoall": _EACH,
    "rh_dsm_open": (_OUT, _HANDLE, _STRUCT), "rh_dsm_close": (_HANDLE,),
    "rh_dsm_alloc": (_HANDLE, c_uint64, POINTER(c_uint64)),
    "rh_dsm_alloc_named": (_HANDLE, c_uint32, c_uint64, POINTER(c_uint64)),
    "rh_dsm_free": (_HANDLE, c_uint64), "rh_dsm_ptr": (_HANDLE, c_uint64),
    "rh_dsm_bind": (_HANDLE, c_uint32, _STRUCT, c_size_t),
    "rh_dsm_mode": (_HANDLE, c_uint32, c_uint),
    "rh_dsm_acquire": (_HANDLE, c_uint32, c_int, c_int64), "rh_dsm_release": (_HANDLE, c_uint32),
    "rh_dsm_prefetch": (_HANDLE, POINTER(c_uint32), c_size_t),
    "rh_dsm_owner": (_HANDLE, c_uint32), "rh_dsm_adopt": (_HANDLE, c_uint32, c_bool),
    "rh_dsm_barrier": (_HANDLE, POINTER(c_uint32), c_size_t, c_int64),
    "rh_dsm_wait": (_HANDLE, c_uint32, c_int64), "rh_dsm_signal": (_HANDLE, c_uint32),
    "rh_dsm_broadcast": (_HANDLE, c_uint32),
    "rh_dsm_stat": (_HANDLE, c_uint32, _STRUCT),
}

RESULTS: dict[str, Any] = {
    "rh_version": c_char_p, "rh_error_text": c_char_p, "rh_error_name": c_char_p,
    "rh_nic_name": c_char_p, "rh_job_id": c_uint64, "rh_clock_ns": c_int64,
    "rh_page_close": None, "rh_queue_release": None, "rh_dsm_ptr": c_void_p,
}


def candidates() -> Iterator[str]:
    """Where the library may be, best first."""
    named = os.environ.get("RHINET_LIBRARY")
    if named:
        yield named
        return
    here = Path(__file__).resolve().parent
    yield str(here.parent.parent / "build" / "src" / NAME)  # python/rhinet in a source tree
    for above in here.parents:
        if above.name.startswith("lib"):  # PREFIX/lib/python3/dist-packages/rhinet
            yield str(above / NAME)
            for below in sorted(above.glob(f"*-linux-gnu*/{NAME}")):
                yield str(below)
    yield NAME


class Calls:
    """The calls of a loaded library, each with its types from the first use on."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        if name not in CALLS:
            raise AttributeError(name)
        function = getattr(self._library, name)
        function.argtypes = CALLS[name]
        function.restype = RESULTS.get(name, c_int)
        setattr(self, name, function)
        return function


class Library(Calls):
    """The calls; ``held`` are the same without giving up Python's lock meanwhile."""

    def __init__(self) -> None:
        self.path = next(k for k in candidates() if k == NAME or os.path.exists(k)
                         or os.environ.get("RHINET_LIBRARY"))
        try:
            super().__init__(ctypes.CDLL(self.path))
            self.held = Calls(ctypes.PyDLL(self.path))
        except OSError as reason:
            raise ImportError(f"rhinet: the library cannot be loaded ({reason}); install it, or "
                              "set RHINET_LIBRARY to its file") from None


lib = Library()


def fail(code: int) -> NoReturn:
    """Raise what the calling thread's last failure was."""
    raise _errors.make(code, lambda: lib.rh_error_text().decode(errors="replace"),
                       lib.rh_error_rank,
                       lambda code: lib.rh_error_name(code).decode(errors="replace"))


def check(code: int) -> int:
    if code < 0:
        fail(code)
    return code


def call_into(box: list[int], function: Callable[..., int], *arguments: Any) -> None:
    """Call, and have the result in the box whatever happens: a signal's exception comes between
    two steps of Python code, and here is none between the call and the box."""
    box.clear()
    box.extend(starmap(function, (arguments,)))


_taking = threading.RLock()  # a collected object may be closed in the middle of a take()


class Handle:
    """Something opaque that the library opens, and what closes it."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.pointer = c_void_p()

    def open(self, function: Callable[..., int], *arguments: Any,
             close: Optional[Callable[[c_void_p], Any]]) -> None:
        """The arguments' ... is where the handle goes. A signal that comes right after the call
        leaves nothing open."""
        out = ctypes.byref(self.pointer)
        try:
            check(function(*(out if k is ... else k for k in arguments)))
        except BaseException:
            if self.pointer.value and close:
                pointer, self.pointer = self.pointer, c_void_p()
                close(pointer)
            raise

    def take(self) -> Optional[c_void_p]:
        """The pointer, for the one who closes it; None if somebody has taken it."""
        with _taking:
            pointer, self.pointer = self.pointer, c_void_p()
        return pointer if pointer.value else None

    @property
    def is_open(self) -> bool:
        return bool(self.pointer.value)

    @property
    def value(self) -> c_void_p:
        if not self.pointer.value:
            raise _errors.ClosedError(self.what)
        return self.pointer

