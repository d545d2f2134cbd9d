# SPDX-License-Identifier: BSD-3-Clause
"""What went wrong: an exception for each error that a program may want to tell apart, with the
library's sentence, its code and the rank that it is about."""

from __future__ import annotations

import errno
from typing import Callable, Optional

DEAD = -errno.ESRCH
NO_SEGMENT = -errno.ENOENT
STALE = -errno.ESTALE
BOUNDS = -errno.ERANGE
RIGHTS = -errno.EACCES
EXISTS = -errno.EEXIST
INVALID = -errno.EINVAL
TIMEOUT = -errno.ETIMEDOUT
AGAIN = -errno.EAGAIN
NO_SPACE = -errno.ENOSPC
TOO_BIG = -errno.EMSGSIZE
UNSUPPORTED = -errno.EOPNOTSUPP
REFUSED = -errno.EPERM
CORRUPT = -errno.EBADMSG
CANCELED = -errno.ECANCELED


class Error(Exception):
    """A call of the library failed. ``code`` is negative, as in rhinet/error.h; ``rank`` is the
    rank that it is about, None if about none; ``text`` says what happened and what to do."""

    def __init__(self, code: int, text: str, rank: Optional[int] = None) -> None:
        super().__init__(code, text, rank)
        self.code = code
        self.text = text
        self.rank = rank

    def __str__(self) -> str:
        return self.text


class DeadError(Error):
    """The peer died or left; ``rank`` names it."""


class NoSegmentError(Error):
    """The peer has no segment with this SID."""


class StaleError(Error):
    """The segment was there and has been detached."""


class BoundsError(Error, IndexError):
    """Offset and length do not lie inside the segment."""


class RightsError(Error):
    """The segment does not grant this kind of access."""


class ExistsError(Error):
    """This process already has one."""


class InvalidError(Error, ValueError):
    """An argument makes no sense; the text says which."""


class WaitTimeout(Error):
    """The deadline passed; nothing else is wrong."""


class AgainError(Error):
    """Full, or nothing there; try again."""


class NoSpaceError(Error):
    """Memory or a table is full."""


class TooBigError(Error):
    """Longer than this path carries."""


class UnsupportedError(Error):
    """This NIC cannot do it."""


class RefusedError(Error):
    """The kernel or the task manager refused."""


class CorruptError(Error):
    """Data from a peer makes no sense."""


class CanceledError(Error):
    """Taken back before it happened."""


class ClosedError(Error):
    """The job was left, or the object closed, before this call."""

    def __init__(self, what: str) -> None:
        super().__init__(INVALID, f"{what} is closed")
        self._what = what

    def __reduce__(self) -> tuple[type[Error], tuple[str]]:
        return type(self), (self._what,)


CLASSES: dict[int, type[Error]] = {
    DEAD: DeadError, NO_SEGMENT: NoSegmentError, STALE: StaleError, BOUNDS: BoundsError,
    RIGHTS: RightsError, EXISTS: ExistsError, INVALID: InvalidError, TIMEOUT: WaitTimeout,
    AGAIN: AgainError, NO_SPACE: NoSpaceError, TOO_BIG: TooBigError,
    UNSUPPORTED: UnsupportedError, REFUSED: RefusedError, CORRUPT: CorruptError,
    CANCELED: CanceledError,
}


def make(code: int, text: Callable[[], str], rank: Callable[[], int],
         name: Callable[[int], str]) -> Error:
    """The exception for a code. Nothing is said for "try again": what the library said last is
    about something else then."""
    if code == AGAIN:
        return AgainError(code, name(code))
    about = rank()
    return CLASSES.get(code, Error)(code, text() or name(code), about if about >= 0 else None)
