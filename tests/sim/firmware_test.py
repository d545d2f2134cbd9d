#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The firmware that is checked in is what its sources give, and the register map for people is the
one that the model obeys."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import tap  # noqa: E402

TABLES = ("CHIP_REGISTERS", "CHIP_MODULE_REGISTERS", "CHIP_RING_REGISTERS")


def registers():
    """Rows of the tables in registers.h: name, address, access, meaning."""
    text = (ROOT / "src/sim/chip/registers.h").read_text(encoding="utf-8").replace("\\\n", "")
    rows = []
    for table in TABLES:
        body = text[text.index(f"#define {table}(X)"):]
        body = body[:body.index("\n")]
        for name, address, access, meaning in re.findall(
                r'X\((\w+), (0x[0-9a-f]+), "(\w+)",\s*((?:"[^"]*"\s*)+)\)', body):
            rows.append((name, address, access, "".join(re.findall('"([^"]*)"', meaning))))
    return rows


class Map(unittest.TestCase):
    def test_page(self):
        page = (ROOT / "docs/firmware.md").read_text(encoding="utf-8")
        said = re.findall(r"^\| `(\w+)` \| (0x[0-9a-f]+) \| (\w+) \| (.*) \|$", page, re.MULTILINE)
        self.assertEqual(said, registers())
        self.assertGreater(len(said), 40)

    def test_unique(self):
        rows = registers()
        self.assertEqual(len({name for name, *_ in rows}), len(rows))


class Image(unittest.TestCase):
    def test_rebuild(self):
        if not shutil.which("mipsel-linux-gnu-gcc"):
            self.skipTest("there is no mipsel-linux-gnu-gcc (Debian: gcc-mipsel-linux-gnu)")
        version = subprocess.run(["mipsel-linux-gnu-gcc", "-dumpversion"], text=True, check=True,
                                 stdout=subprocess.PIPE).stdout.strip()
        if version != "12":
            self.skipTest(f"firmware.elf was made by gcc 12; here is {version}")
        with tempfile.TemporaryDirectory(prefix="firmware-") as folder:
            made = Path(folder) / "firmware.elf"
            subprocess.run([ROOT / "firmware/make", made], check=True, timeout=100, cwd="/",
                           env={**os.environ, "LC_ALL": "C"})
            self.assertEqual(made.read_bytes(), (ROOT / "firmware/firmware.elf").read_bytes(),
                             "run firmware/make firmware/firmware.elf")
            parts = ["start.S", "main.c", "modules.c", "refill.c", "vpush.c", "lock.c", "atomic.c",
                     "examples/fetch_add.c"]
            subprocess.run([ROOT / "firmware/make", made, *(ROOT / "firmware" / part
                                                            for part in parts)],
                           check=True, timeout=100, cwd="/", env={**os.environ, "LC_ALL": "C"})
            self.assertEqual(made.read_bytes(),
                             (ROOT / "firmware/examples/fetch_add.elf").read_bytes(),
                             "make it as its first comment says")


if __name__ == "__main__":
    tap.main()
