# SPDX-License-Identifier: BSD-3-Clause
"""Errors of the file system and of the machine are what they are without the cache, and a dead
agent is noticed by nobody."""

import os
import signal
import subprocess
import time
import unittest

import cache_harness as harness

FAULTY = harness.PROGRAMS / "faulty-fs"

READS = """
import os, sys, zlib
for name in ("good", "bad", "denied", "liar", "none"):
    try:
        fd = os.open(sys.argv[1] + "/" + name, os.O_RDONLY)
    except OSError as error:
        print(name, error.errno)
        continue
    for length, offset in ((4096, 0), (100, 520000), (65536, 500000), (65536, 524288 - 65536),
                           (4096, 524288), (4096, 1 << 20), (4096, -1), (1 << 21, 0)):
        try:
            data = os.pread(fd, length, offset)
            print(name, length, offset, len(data), zlib.crc32(data))
        except OSError as error:
            print(name, length, offset, "errno", error.errno)
    for _ in range(12):
        try:
            print(name, len(os.read(fd, 131072)), os.lseek(fd, 0, os.SEEK_CUR))
        except OSError as error:
            print(name, "errno", error.errno, os.lseek(fd, 0, os.SEEK_CUR))
"""

DESCENDANTS = "/proc/{}/task/{}/children"


def children_of(pid):
    try:
        with open(DESCENDANTS.format(pid, pid), encoding="ascii") as file:
            below = [int(k) for k in file.read().split()]
    except OSError:
        return []
    return below + [k for child in below for k in children_of(child)]


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def without_ours(outcome):
    """What a program said and how it ended, without what the launcher says about that."""
    status, out, err = outcome
    lines = err.splitlines(keepends=True)
    return status, out, "".join(k for k in lines if not k.startswith("rhinet "))


@unittest.skipUnless(FAULTY.exists(), "built without libfuse 3")
@unittest.skipUnless(os.access("/dev/fuse", os.W_OK), "no /dev/fuse to write to")
class FileSystem(harness.CacheTest):
    def setUp(self):
        super().setUp()
        self.data.mkdir()
        # Said to be of a kind that is cached.
        run = subprocess.run([FAULTY, "-o", "auto_unmount,subtype=glusterfs", self.data],
                             capture_output=True, text=True, check=False)
        if run.returncode != 0:
            self.skipTest(f"cannot mount: {run.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.data], check=False)

    def test_same_errors(self):
        line = f"cd {self.data}; cat bad | md5sum; cat denied; sha256sum good bad; " \
               "dd if=bad conv=noerror bs=64k status=none | md5sum; wc -c liar"
        for script in ((harness.PYTHON, "-c", READS, self.data), ("sh", "-c", line)):
            plain = self.finish(self.start_plain(*script))
            for start in (self.start_fake, self.start_cached):
                self.assertEqual(without_ours(self.finish(start(*script))), plain)


class Machine(harness.CacheTest):
    def setUp(self):
        super().setUp()
        self.data.mkdir()
        for k in range(4):
            (self.data / f"f{k}").write_bytes(bytes([65 + k]) * 3_000_000)
        (self.data / "locked").write_text("x")
        self.settle()

    def same(self, line):
        plain = self.finish(self.start_plain("bash", "-c", line))
        cached = self.finish(self.start_cached("bash", "-c", line))
        self.assertEqual(without_ours(cached), plain, line)

    def test_little_memory(self):
        self.same(f"ulimit -v 60000; cat {self.data}/f* | md5sum; sort {self.data}/f0 | md5sum")

    def test_few_descriptors(self):
        self.same(f"ulimit -n 4; md5sum {self.data}/f0; cmp {self.data}/f1 {self.data}/f2; "
                  f"head -c 100 < {self.data}/f1; ulimit -n 5; cmp {self.data}/f1 {self.data}/f2")

    def test_closed_standard_descriptors(self):
        self.same(f"cat {self.data}/f0 <&- | md5sum; cat {self.data}/f0 2>&- | md5sum; "
                  f"cat {self.data}/f0 >&-; true")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_permissions(self):
        os.chmod(self.scratch, 0o755)
        os.chmod(self.data / "f1", 0)
        self.same(f"cat {self.data}/f1 | md5sum; "
                  f"setpriv --reuid=65534 --clear-groups cat {self.data}/f1 {self.data}/f0 2>&1 "
                  "| md5sum")


class Agent(harness.CacheTest):
    """kill -9 of a node's agent while programs read."""

    def setUp(self):
        super().setUp()
        self.data.mkdir()
        for k in range(3):
            (self.data / f"f{k}").write_bytes(os.urandom(2_000_000 * k + 300))
        self.settle()

    def agent_of(self, job):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            agents = [k for k in children_of(job.pid) if name_of(k) == "rhinet-cache"]
            if agents:
                return agents[0]
            time.sleep(0.002)
        return self.fail("no agent was started")

    def survive(self, line, delay, **settings):
        """The same outcome when the agent is killed so many seconds after it was there."""
        plain = self.finish(self.start_plain("bash", "-c", line))
        job = self.start_cached("bash", "-c", line, **settings)
        agent = self.agent_of(job)
        time.sleep(delay)
        if name_of(agent) == "rhinet-cache":
            os.kill(agent, signal.SIGKILL)
        status, out, _ = self.finish(job)
        self.assertEqual((status, out), plain[:2], f"killed after {delay} s")

    def test_while_starting(self):
        for delay in (0, 0.003, 0.01, 0.03):
            self.survive(f"sha256sum {self.data}/*", delay)

    def test_while_loading(self):
        for delay in (0.05, 0.2, 0.4):
            self.survive(f"cat {self.data}/* | sha256sum; sha256sum < {self.data}/f2", delay,
                         RHINET_CACHE_PRETEND="4M")

    def test_while_hitting(self):
        loop = f"for i in 1 2 3 4 5 6; do sha256sum {self.data}/*; done"
        for delay in (0.15, 0.3):
            self.survive(loop, delay)

    def test_while_mapped_and_written(self):
        line = f"python3 -c 'import mmap, time, zlib\n" \
               f"f = open(\"{self.data}/f2\", \"rb\"); m = mmap.mmap(f.fileno(), 0, prot=1)\n" \
               f"w = open(\"{self.data}/f1\", \"r+b\"); r = open(\"{self.data}/f1\", \"rb\", 0)\n" \
               "for k in range(20):\n" \
               "    w.seek(0); w.write(bytes([k])); w.flush(); r.seek(0)\n" \
               "    print(zlib.crc32(m), r.read(3)); time.sleep(0.02)'"
        self.survive(line, 0.25)


if __name__ == "__main__":
    harness.main()
