# SPDX-License-Identifier: BSD-3-Clause
"""A reader of pcapng files, as docs/packets.md describes ours."""

import struct


def blocks(data):
    """The blocks of a pcapng file: kind, body."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0 and length == struct.unpack_from("<I", data, at + length - 4)[0]
        yield kind, data[at + 8:at + length - 4]
        at += length


def options(data):
    at, found = 0, {}
    while at < len(data):
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            break
        found[code] = data[at + 4:at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return found
