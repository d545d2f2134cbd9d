# SPDX-License-Identifier: BSD-3-Clause
"""version_test.py SOURCE RHINET LIBRARY VERSION: every place that names the version names this one,
the macros and the library agree, and every symbol of 0.2.0 is exported under its version still."""

import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../support"))
import tap

SOURCE, RHINET, LIBRARY, VERSION = sys.argv[1:5]
SHORT = VERSION.rsplit(".", 1)[0]


def text(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


class Version(unittest.TestCase):
    def test_macros(self):
        parts = [re.search(rf"^#define RH_VERSION_{part} (\d+)$", text("include/rhinet/version.h"),
                           re.M)[1] for part in ("MAJOR", "MINOR", "PATCH")]
        self.assertEqual(".".join(parts), VERSION)

    def test_program(self):
        said = subprocess.run([RHINET, "--version"], capture_output=True, text=True, check=True,
                              timeout=20).stdout
        self.assertEqual(said, f"rhinet {VERSION}\n")

    def test_library_is_named_after_it(self):
        self.assertTrue(os.path.realpath(LIBRARY).endswith(f".so.{VERSION}"))

    def test_documents(self):
        self.assertEqual(re.search(r"^rhinet \((\S+)\)", text("debian/changelog"))[1], VERSION)
        self.assertEqual(re.search(r"^## (\S+)", text("CHANGELOG.md"), re.M)[1], VERSION)
        for page in os.listdir(os.path.join(SOURCE, "man")):
            title = re.search(r'^\.TH .*"rhinet ([\d.]+)"', text(f"man/{page}"), re.M) \
                if page[-1].isdigit() else None
            if title:
                self.assertEqual(title[1], SHORT, page)

    def test_symbols_of_0_2(self):
        listed = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", LIBRARY],
                                capture_output=True, text=True, check=True, timeout=20).stdout
        exported = {line.split()[-1] for line in listed.splitlines()}
        kept = text("tests/library/symbols-0.2.txt").split()
        self.assertGreater(len(kept), 100)
        self.assertEqual([name for name in kept if name not in exported], [])


if __name__ == "__main__":
    del sys.argv[1:]
    tap.main()
