# SPDX-License-Identifier: BSD-3-Clause
"""What callers pass, checked before it is passed on: ctypes cuts whole numbers to the width of the
C type without a word, so that rank 2**32 would be rank 0."""

from __future__ import annotations

import math
import operator
import re
from typing import Any, Mapping, Optional

from ._errors import INVALID, InvalidError

ANY_RANK = -1
ANY_TAG = -1
SID_RESERVED = 0xffff0000
LONGEST_NS = 2 ** 63 - 1
DEFAULT_NS = 60 * 10 ** 9
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "": 1e9}


def refuse(text: str) -> InvalidError:
    return InvalidError(INVALID, text)


def number(value: Any, what: str, least: int, most: int) -> int:
    try:
        checked = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be a whole number, not {type(value).__name__}") from None
    if not least <= checked <= most:
        raise refuse(f"{what} {checked} is not in {least} to {most}")
    return checked


def rank(value: Any, size: int, any_is_welcome: bool = False) -> int:
    least = ANY_RANK if any_is_welcome else 0
    return number(value, "rank", least, size - 1)


def sid(value: Any) -> int:
    return number(value, "SID", 0, 2 ** 32 - 1)


def own_sid(value: Any) -> int:
    return number(value, "SID", 0, SID_RESERVED - 1)


def length(value: Any, what: str = "length", least: int = 0) -> int:
    return number(value, what, least, 2 ** 63 - 1)


def offset(value: Any) -> int:
    return number(value, "offset", 0, 2 ** 64 - 1)


def word(value: Any, what: str = "value") -> int:
    """A 64-bit word, of which negative numbers are the two's complement."""
    return number(value, what, -(2 ** 63), 2 ** 64 - 1) % 2 ** 64


def tag(value: Any, any_is_welcome: bool = False) -> int:
    return number(value, "tag", ANY_TAG if any_is_welcome else 0, 2 ** 31 - 1)


def small(value: Any, what: str) -> int:
    """What C has as uint32_t."""
    return number(value, what, 0, 2 ** 32 - 1)


def timeout_ns(seconds: Optional[float], default_ns: int) -> int:
    """Seconds as nanoseconds; None is the job's default, infinity as long as C can say."""
    if seconds is None:
        return default_ns
    as_float = float(seconds)
    if math.isnan(as_float) or as_float < 0:
        raise refuse(f"a timeout of {seconds} s makes no sense; None is the default")
    return min(int(as_float * 1e9), LONGEST_NS) if math.isfinite(as_float) else LONGEST_NS


def default_timeout_ns(environment: Mapping[str, str]) -> int:
    """RHINET_TIMEOUT as the library reads it; what it refuses, rh_join() complains about."""
    match = re.fullmatch(r"(\d+\.?\d*(?:[eE][+-]?\d+)?)(ns|us|ms|s|m|)",
                         environment.get("RHINET_TIMEOUT", ""))
    return int(min(float(match[1]) * UNITS[match[2]], 9e18)) if match else DEFAULT_NS
