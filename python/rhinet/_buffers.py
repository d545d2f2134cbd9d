# SPDX-License-Identifier: BSD-3-Clause
"""Memory between Python and C, both ways.

A Loan is an object's memory as the library sees it: its address, and the promise that it stays.
A Span is the library's memory as Python sees it. Arrays on it may outlive it, as variables do: when
it is unmapped while somebody still has such an array, memory of this process takes its place. So an
array that is kept too long is out of date, never a crash."""

from __future__ import annotations

import ctypes
import mmap
import re
import warnings
import weakref
from ctypes import c_char_p, c_int, c_long, c_size_t, c_ssize_t, c_void_p, py_object
from typing import Any, Callable, Iterable, Optional

try:
    import numpy
except ImportError:  # everything but arrays works without
    numpy = None  # type: ignore[assignment]

# What may still be written by a peer after all that could be waited for: never given back.
kept_for_ever: list[Any] = []

_FIXED_NOREPLACE = 0x100000
_FORMAT_NAMES = re.compile(r":[^:]*:")


class _PyBuffer(ctypes.Structure):
    _fields_ = [("buf", c_void_p), ("obj", py_object), ("len", c_ssize_t),
                ("itemsize", c_ssize_t), ("readonly", c_int), ("ndim", c_int),
                ("format", c_char_p), ("shape", c_void_p), ("strides", c_void_p),
                ("suboffsets", c_void_p), ("internal", c_void_p)]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = (py_object, c_void_p, c_int)
_get_buffer.restype = c_int
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = (c_void_p,)
_release_buffer.restype = None


class Loan:
    """Holds an object's memory in place until released. ``format`` and ``itemsize`` are those of
    its elements; ``length`` counts bytes."""

    def __init__(self, data: Any, is_written: bool = False) -> None:
        self._buffer: Optional[_PyBuffer] = None
        try:
            view = memoryview(data)
        except TypeError:
            raise TypeError(f"bytes, an array or another buffer is needed, not "
                            f"{type(data).__name__}; pickle or encode objects first") from None
        except ValueError as reason:  # NumPy, for what has no format
            raise TypeError(f"{reason}; use a view of whole numbers of it") from None
        if any(k in "OP&" for k in _FORMAT_NAMES.sub("", view.format)):
            raise TypeError("the elements are Python objects, whose addresses mean nothing to "
                            "another process; pickle or encode them first")
        if not view.c_contiguous:
            raise ValueError("the elements are not next to each other; use a contiguous copy")
        if is_written and view.readonly:
            raise ValueError("the memory is read-only, but would be written")
        self.object = data
        self.format = view.format
        self.itemsize = view.itemsize
        self.length = view.nbytes
        self.shape = view.shape
        buffer = _PyBuffer()
        if self.length > 0:
            _get_buffer(view, ctypes.byref(buffer), 1 if is_written else 0)
            self._buffer = buffer
        self.address: Optional[int] = buffer.buf

    def release(self) -> None:
        buffer, self._buffer = self._buffer, None
        if buffer is not None:
            _release_buffer(ctypes.byref(buffer))

    def keep_for_ever(self) -> None:
        kept_for_ever.append(self)

    def __enter__(self) -> "Loan":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __del__(self) -> None:
        self.release()


def like(loan: Loan, count: Optional[int] = None) -> Any:
    """New memory for as much as was lent, or `count` times as much: a NumPy array if that was one,
    of the same shape, with `count` in front of it; else bytes, seen as the same elements if they
    are simple."""
    if numpy is not None and isinstance(loan.object, (numpy.ndarray, numpy.generic)):
        shape = loan.shape if count is None else (count, *loan.shape)
        return numpy.empty(shape, loan.object.dtype)
    made = bytearray(loan.length * (1 if count is None else count))
    if loan.format == "B" or len(loan.format) != 1 or not made:
        return made
    return memoryview(made).cast(loan.format)


def copy_of(address: int, length: int) -> bytes:
    """What ctypes.string_at() does, which counts in 32 bits."""
    return bytes((ctypes.c_ubyte * length).from_address(address)) if length else b""


# ---- The library's memory ----------------------------------------------------------------------

_libc = ctypes.PyDLL(None, use_errno=True)  # never gives up Python's lock: see unmap()
_mmap = _libc.mmap
_mmap.argtypes = (c_void_p, c_size_t, c_int, c_int, c_int, c_long)
_mmap.restype = c_void_p
_munmap = _libc.munmap
_munmap.argtypes = (c_void_p, c_size_t)


class _Place:
    """Memory that stands in for what was unmapped, until the last array on it is gone."""

    def __init__(self, start: int, end: int) -> None:
        self.start, self.length = start, end - start
        self.is_there = _mmap(start, self.length, mmap.PROT_READ | mmap.PROT_WRITE,
                              mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _FIXED_NOREPLACE,
                              -1, 0) == start

    def __del__(self) -> None:
        if self.is_there:
            _munmap(self.start, self.length)


class Span:
    """Memory of the library, from which views are made. Knows whether any of them is in use."""

    def __init__(self, address: int, length: int) -> None:
        self.address, self.length = address, length
        self._bytes: Optional[weakref.ref[Any]] = None

    def bytes(self) -> Any:
        """The one object that all views are made from."""
        made = self._bytes() if self._bytes else None
        if made is None:
            made = (ctypes.c_ubyte * self.length).from_address(self.address)
            self._bytes = weakref.ref(made)
        return made

    def viewed(self) -> Any:
        return self._bytes() if self._bytes else None

    def view(self) -> memoryview:
        return memoryview(self.bytes()).cast("B")

    def array(self, dtype: Any, shape: Any) -> Any:
        if numpy is None:
            raise ImportError("arrays need NumPy, which is not installed; use .view")
        array = numpy.frombuffer(self.bytes(), dtype=dtype)
        return array if shape is None else array.reshape(shape)


def _pages(spans: Iterable[Span]) -> list[list[int]]:
    """[start, end, ...] of whole pages, those that touch joined."""
    joined: list[list[int]] = []
    for span in sorted(spans, key=lambda k: k.address):
        start = span.address & -mmap.PAGESIZE
        end = (span.address + span.length + mmap.PAGESIZE - 1) & -mmap.PAGESIZE
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    return joined


def unmap(spans: Iterable[Span], free: Callable[[], int], held: Callable[[], int],
          is_copied: bool = True) -> int:
    """Call what unmaps these: `free`, or, if somebody has views on them, `held`, the same call
    with Python's lock, so that no other thread puts its own memory there before ours. That has the
    last contents, if these may be copied; else zeros."""
    used = [(span, span.viewed()) for span in spans]
    used = [(span, array) for span, array in used if array is not None]
    if not used:
        return free()
    contents = [_last_contents(span) if is_copied else b"" for span, _ in used]
    result = held()
    if result < 0:
        return result
    places = [_Place(*pages) for pages in _pages(span for span, _ in used)]
    for (span, array), content in zip(used, contents):
        place = next(k for k in places if k.start <= span.address < k.start + k.length)
        if not place.is_there:
            warnings.warn("arrays of a closed segment are in use, and other memory has taken "
                          "their place; do not touch them", RuntimeWarning, stacklevel=3)
            continue
        ctypes.memmove(span.address, content, len(content))
        weakref.finalize(array, _keep, place).atexit = False
    return result


def _last_contents(span: Span) -> bytes:
    try:
        return copy_of(span.address, span.length)
    except MemoryError:  # zeros, then: leaving matters more
        return b""


def _keep(_: _Place) -> None:
    """The array is gone, and with this call a reason for its place to stay."""
