#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""embed.py FIRMWARE OUTPUT: an ELF file as a C array (chip.h)."""

import sys
from pathlib import Path

data = Path(sys.argv[1]).read_bytes()
lines = [",".join(map(str, data[at:at + 32])) for at in range(0, len(data), 32)]
Path(sys.argv[2]).write_text(
    '/* Made by embed.py. */\n#include "sim/chip/chip.h"\n'
    "const unsigned char chip_firmware[] = {\n" + ",\n".join(lines) + "};\n"
    "const size_t chip_firmware_length = sizeof(chip_firmware);\n", encoding="ascii")
