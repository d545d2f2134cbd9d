#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""embed.py OUTPUT FILE...: platforms as C texts (platform.h), named by their files."""

import sys
from pathlib import Path

print_to = ['/* Made by embed.py. */\n#include "sim/platform/platform.h"\n',
            "const struct platform_file platform_files[] = {"]
for path in map(Path, sys.argv[2:]):
    data = path.read_bytes()
    print_to.append(f'{{"{path.stem}", (const char[]){{'
                    + ",".join(map(str, data)) + f"}}, {len(data)}}},")
print_to.append("{0, 0, 0}};\n")
Path(sys.argv[1]).write_text("\n".join(print_to), encoding="ascii")
