#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""setup_test.py: tools/setup on other systems, and with a person at the terminal; beside commands
that only pretend. What it does for root and in scripts is in tests/tools."""

import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import tap

LIMIT_S = 60
USED = ("bash", "sh", "sort", "cat", "tail", "mktemp", "rm", "sed")


class Setup(unittest.TestCase):
    """A folder with all the commands there are."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="setup-"))
        self.addCleanup(shutil.rmtree, self.folder)
        for name in USED:
            (self.folder / name).symlink_to(shutil.which(name))
        self.environment = {"PATH": str(self.folder), "HOME": str(self.folder)}

    def pretend(self, **commands):
        for name, body in commands.items():
            path = self.folder / name.replace("_", "-")
            path.write_text(f"#!/bin/sh\n{body}\n", encoding="ascii")
            path.chmod(0o755)

    def log(self):
        path = self.folder / "log"
        return path.read_text() if path.exists() else ""

    def run_setup(self, *arguments):
        return subprocess.run([self.folder / "bash", ROOT / "tools/setup", *arguments], text=True,
                              capture_output=True, env=self.environment, timeout=LIMIT_S,
                              stdin=subprocess.DEVNULL, check=False)

    def at_terminal(self, answer, *arguments):
        """(status, all that was shown) with a person who answers when asked."""
        child, terminal = pty.fork()
        if child == 0:
            os.execve(self.folder / "bash", ["bash", str(ROOT / "tools/setup"), *arguments],
                      self.environment)
        shown, end, is_answered = b"", time.monotonic() + LIMIT_S, False
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                data = os.read(terminal, 4096)
            except OSError:
                break
            if not data:
                break
            shown += data
            if b"[y/N] " in shown and not is_answered:
                os.write(terminal, answer)
                is_answered = True
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode()

    def debian(self, installed="gcc"):
        self.pretend(
            dpkg_query=f'case " {installed} " in *" $4 "*) echo installed ;; *) exit 1 ;; esac',
            id="echo 0", apt_get=f'echo "$*" >> "{self.folder}/log"')

    # ---- A person

    def test_no(self):
        for answer in (b"n\n", b"\n", b"what\n", b"\x04"):
            with self.subTest(answer):
                self.debian()
                status, shown = self.at_terminal(answer, "build")
                self.assertEqual((status, self.log()), (1, ""), shown)
                self.assertIn("would install: libc6-dev meson", shown)
                self.assertIn("nothing was installed; this would do it:", shown)

    def test_yes(self):
        self.debian()
        status, shown = self.at_terminal(b"y\n", "build")
        self.assertEqual(status, 0, shown)
        self.assertIn("install -y --no-install-recommends libc6-dev meson", self.log())

    def test_said_before(self):
        self.debian()
        status, shown = self.at_terminal(b"", "--yes", "build")
        self.assertEqual(status, 0, shown)
        self.assertNotIn("[y/N]", shown)
        self.assertIn("install -y", self.log())

    def test_nobody_is_asked_in_a_script(self):
        self.debian()
        done = self.run_setup("build")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("install -y", self.log())

    def test_archive_without(self):
        self.debian()
        self.pretend(apt_get="exit 100", apt_cache='[ "$2" != meson ]')
        done = self.run_setup("build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("this system's archive has no: meson\n", done.stderr)

    # ---- Other systems

    def test_names_what_is_missing(self):
        self.pretend(cc="exit 0", meson="", ninja="", pkg_config='[ "$2" != libfabric ]',
                     dnf=f'touch "{self.folder}/log"')
        done = self.run_setup("build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("missing to build, by Debian's names: libfabric-dev\n", done.stderr)
        self.assertEqual(done.stdout, "sudo dnf install libfabric-devel\n")
        self.assertEqual(self.log(), "")

    def test_names_of_others(self):
        self.pretend(pkg_config="exit 1", cc="exit 0", pacman="")
        done = self.run_setup("build")
        self.assertEqual(done.stdout, "sudo pacman -S fuse3 jansson libfabric libmicrohttpd "
                                      "libsodium meson ninja openpmix xxhash\n")

    def test_all_there(self):
        self.pretend(cc="exit 0", meson="", ninja="", pkg_config="")
        done = self.run_setup("build")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_what_cannot_be_looked_for(self):
        self.pretend(cc="exit 0", meson="", ninja="", pkg_config="", git="")
        done = self.run_setup("package")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("debhelper", done.stderr)


if __name__ == "__main__":
    tap.main()
