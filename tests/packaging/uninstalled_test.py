#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""uninstalled_test.py BUILD: what a build folder and a clone are good for without installing: a
program is built by pkg-config and runs, and manual pages lead to each other."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import tap

BUILD = Path(sys.argv.pop(1)).resolve()
PM = """#include <rhinet/pm.h>
#include <stdio.h>

int main(void)
{
    return printf("%s\\n", pmErrorText() ? "there" : "none") < 0;
}
"""


class PkgConfig(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="uninstalled-"))
        self.addCleanup(shutil.rmtree, self.folder)
        # As docs/first-job.md says it.
        self.environment = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}",
                            "PKG_CONFIG_PATH": str(BUILD / "meson-uninstalled"),
                            "LD_LIBRARY_PATH": f"{BUILD / 'src'}:{BUILD / 'src/pm'}"}

    def call(self, *words):
        done = subprocess.run(words, cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, timeout=100, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, 0, f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout

    def flags(self, name):
        return self.call("pkg-config", "--cflags", "--libs", name).split()

    def test_rhinet(self):
        self.call("cc", ROOT / "examples/hello.c", "-o", "hello", *self.flags("rhinet"))
        said = self.call("rhinet", "run", "-n", "2", "./hello")
        self.assertEqual(sorted(said.splitlines()), ["rank 0 of 2: greetings from rank 1",
                                                     "rank 1 of 2: greetings from rank 0"])

    def test_pm(self):
        (self.folder / "pm.c").write_text(PM)
        self.call("cc", "pm.c", "-o", "pm", *self.flags("rhinet-pm"))
        self.assertEqual(self.call("./pm"), "there\n")

    def test_version(self):
        version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
        for name in ("rhinet", "rhinet-pm"):
            self.assertEqual(self.call("pkg-config", "--modversion", name).strip(), version)


class Manual(unittest.TestCase):
    """man -M man NAME, from a clone."""

    def pages(self):
        return [path for path in (ROOT / "man").iterdir()
                if path.is_file() and re.fullmatch(r".+\.[1-8]", path.name)]

    def test_each_is_found_by_its_section(self):
        for page in self.pages():
            self.assertTrue((ROOT / f"man/man{page.suffix[1:]}" / page.name).is_file(), page)

    def test_links(self):
        count = 0
        for page in self.pages():
            link = re.search(r"^\.so (\S+)$", page.read_text(encoding="utf-8"), re.M)
            if link:
                count += 1
                self.assertTrue((ROOT / "man" / link[1]).is_file(), f"{page}: {link[1]}")
        self.assertGreater(count, 50)

    def test_all_are_installed(self):
        listed = set(re.findall(r"'([\w.-]+\.[1-8])'", (ROOT / "man/meson.build").read_text()))
        self.assertEqual({page.name for page in self.pages()} ^ listed, set())

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man(self):
        done = subprocess.run(["man", "-M", ROOT / "man", "rh_pull"], capture_output=True,
                              text=True, timeout=60, check=False,
                              env={**os.environ, "MANPAGER": "cat"})
        self.assertIn("rh_pull", done.stdout, done.stderr)


if __name__ == "__main__":
    tap.main()
