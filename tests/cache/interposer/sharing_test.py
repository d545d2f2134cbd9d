# SPDX-License-Identifier: BSD-3-Clause
"""Files of equal size and time on file systems that count inodes as they meet files, and on such
that keep them: two mounts of one folder stand for two hosts. Nobody is ever given another file's
bytes, and where inodes are kept each block is read once for both."""

import os
import shutil
import subprocess
import unittest

import cache_harness as harness

NUMBERED = harness.PROGRAMS / "numbered-fs"
SFTP = next((k for k in ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server",
                         "/usr/lib/ssh/sftp-server") if os.path.exists(k)), None)
LENGTH = 300_000
LONG_AGO = 1_700_000_000


@unittest.skipUnless(os.access("/dev/fuse", os.W_OK), "no /dev/fuse to write to")
class Sharing(harness.ActorsTest):
    def setUp(self):
        super().setUp()
        self.data.mkdir()
        self.folder = self.scratch / "folder"
        self.folder.mkdir()
        for name in "xy":
            path = self.folder / name
            path.write_bytes(name.encode() * LENGTH)
            os.utime(path, (LONG_AGO, LONG_AGO))
        self.settle()

    def mounted(self, name, *command):
        place = self.data / name
        place.mkdir()
        run = subprocess.run([str(k) for k in command] + [str(place)], capture_output=True,
                             text=True, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=False)
        return place

    def numbered(self, name, is_counted, subtype, options="fsname=server:/volume"):
        return self.mounted(name, NUMBERED, self.folder, is_counted, 0, self.scratch / name, "-o",
                            f"{options},subtype={subtype}")

    def read_crosswise(self, first, second):
        """The first node reads x where it is met first, the second y; then the others."""
        job = self.begin()
        for which, place, names in ((0, first, "xy"), (1, second, "yx")):
            for name in names:
                self.tell(which, "stat", str(place / name))
        for which, place, name in ((0, first, "x"), (1, second, "y"), (0, first, "y"),
                                   (1, second, "x")):
            key, path = f"{which}{name}", str(place / name)
            self.assertEqual(self.tell(which, "open", key, path, "read"), "opened")
            have = self.tell(which, "pread", key, LENGTH, 0)
            self.assertEqual((len(have), set(have)), (LENGTH, {name}), f"node {which}, {path}")
        self.end(job)

    def reads_of(self, name):
        return (self.scratch / name).read_text(encoding="ascii").split()

    @unittest.skipUnless(NUMBERED.exists(), "built without libfuse 3")
    def test_inodes_of_a_mount(self):
        for subtype in ("sshfs", "s3fs", "other"):
            places = [self.numbered(f"{subtype}{k}", 1, subtype) for k in range(2)]
            self.read_crosswise(*places)

    @unittest.skipUnless(NUMBERED.exists(), "built without libfuse 3")
    def test_inodes_of_the_server(self):
        places = [self.numbered(f"place{k}", 0, "glusterfs") for k in range(2)]
        self.read_crosswise(*places)
        self.assertEqual([set(self.reads_of(f"place{k}")) for k in range(2)], [{"/x"}, {"/y"}])

    @unittest.skipUnless(NUMBERED.exists(), "built without libfuse 3")
    def test_number_of_a_file_with_the_same_times(self):
        """Only its inode tells that a descriptor's number has become another file's."""
        place = self.numbered("place", 2, "glusterfs")
        for name in "ab":
            (self.folder / name).write_text(name * LENGTH)
            os.utime(self.folder / name, (LONG_AGO, LONG_AGO))
        program = (harness.PROGRAMS / "odd-numbers", place / "a", place / "b")
        plain, cached = (self.finish(start(*program), 60)
                         for start in (self.start_plain, self.start_cached))
        self.assertEqual(plain[0], 0)
        self.assertEqual(cached, plain)

    @unittest.skipUnless(NUMBERED.exists(), "built without libfuse 3")
    def test_same_name_on_every_host(self):
        """Each host's own server: what has the same inode is not the same file."""
        places = [self.numbered(f"place{k}", 0, "glusterfs", "fsname=localhost:/volume")
                  for k in range(2)]
        self.read_crosswise(*places)
        self.assertEqual([set(self.reads_of(f"place{k}")) for k in range(2)], [{"/x", "/y"}] * 2)

    @unittest.skipUnless(NUMBERED.exists(), "built without libfuse 3")
    def test_without_a_path(self):
        """All file systems that nodes can share, and an error where there are none."""
        words = [harness.RHINET, "cache", "run", "--quiet", "-n", 1, "--cache", "64M", "--"]
        place = self.numbered("place", 0, "glusterfs")
        for _ in range(2):
            outcome = self.finish(self.start([*words, "cat", place / "x"], self.environment()), 60)
            self.assertEqual(outcome, (0, "x" * LENGTH, ""))
        subprocess.run(["umount", "-l", place], check=True)
        with open("/proc/self/mounts", encoding="utf-8") as mounts:
            kinds = {line.split()[2] for line in mounts}
        if not kinds & {"nfs", "nfs4", "lustre", "gpfs", "ceph", "beegfs", "fuse.glusterfs"}:
            status, _, err = self.finish(self.start([*words, "true"], self.environment()), 60)
            self.assertNotEqual(status, 0)
            self.assertIn("no file system that nodes can share", err)

    @unittest.skipUnless(shutil.which("sshfs") and SFTP, "no sshfs")
    def test_real_sshfs(self):
        script = self.scratch / "server"
        script.write_text(f"#!/bin/sh\nexec {SFTP}\n")
        script.chmod(0o755)
        places = [self.mounted(f"sshfs{k}", "sshfs", "-o", f"ssh_command={script}",
                               f"host:{self.folder}") for k in range(2)]
        self.read_crosswise(*places)


if __name__ == "__main__":
    harness.main()
