# SPDX-License-Identifier: BSD-3-Clause
"""Who wrote how, and when a reader sees it: one test for each line of the table in
docs/cache-programs.md.

Host: one kernel, whatever the writer tells. Hosts: two mounts of one folder, whose kernels believe
what they know of a file for an hour (numbered_fs.c); what the reader is to see it must be told."""

import json
import os
import signal
import subprocess
import time
import unittest

import cache_harness as harness

WRITER = harness.PROGRAMS / "odd-writer"
STATIC = harness.PROGRAMS / "odd-writer-static"
NUMBERED = harness.PROGRAMS / "numbered-fs"
LENGTH = 8192
READER, WRITES = 1, 0  # which node


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            below = [int(k) for k in file.read().split()]
    except OSError:
        return []
    return below + [k for child in below for k in children_of(child)]


def agents_of(job):
    """By rank: agents are started in that order, and each is its keeper's first child."""
    found = []
    for pid in children_of(job.pid):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as file:
                if file.read().strip() == "rhinet-cache":
                    found.append(pid)
        except OSError:
            pass
    return sorted(found)


class Writers(harness.ActorsTest):
    def setUp(self):
        super().setUp()
        self.data.mkdir()
        self.file = self.make(self.data)

    def make(self, folder):
        path = folder / "x"
        path.write_bytes(b"o" * LENGTH)
        self.settle()
        return path

    def settle_well(self):
        """Longer than an end takes to be told, and for the reader to believe it."""
        time.sleep(0.6)

    def reads(self, key="r"):
        return self.tell(READER, "pread", key, 4, 0)

    def reader_opens(self, path, key="r"):
        self.assertEqual(self.tell(READER, "open", key, str(path), "read"), "opened")
        self.assertEqual(self.reads(key), "oooo")

    def spawn(self, way, path, program=WRITER, which=WRITES):
        self.assertEqual(self.tell(which, "spawn", "w", str(program), way, str(path)), "done")

    def step(self, which=WRITES):
        return self.tell(which, "step", "w")

    def hits(self):
        """Of the reader's file: how often it came from the cache."""
        run = subprocess.run([harness.RHINET, "cache", "stat", "--json"], env=self.environment(),
                             capture_output=True, text=True, check=True)
        below = f"{self.scratch}/"
        nodes = [json.loads(line) for line in run.stdout.splitlines() if below in line]
        return sum(file["hits"] for node in nodes for file in node["files"]
                   if file["path"].startswith(below))

    def check_cached(self, is_cached, text, *keys):
        """All of them have it from the cache now, or none has."""
        for key in keys:
            before = self.hits()
            self.assertEqual(self.reads(key), text, key)
            self.assertEqual(self.hits() > before, is_cached, f"{key}: cached")

    def check_cached_again(self, path):
        """A writer that has ended is forgotten: whoever opens the file has it from the cache."""
        before, end = self.hits(), time.monotonic() + 20
        while self.hits() == before and time.monotonic() < end:
            self.tell(READER, "open", "later", str(path), "read")
            self.assertEqual(self.reads("later"), "new!")
            self.tell(READER, "close", "later")
        self.assertGreater(self.hits(), before, "not cached any more")

    def check_way(self, way, read_path, write_path, program=WRITER):
        """Before, in the midst of it, when it looks as if it were over, and when it is. While there
        is a writer of whom the job knows, nothing may come from the cache: what is there was right
        until now, and nobody tells this host when that ends."""
        is_known = way != "raw" and program != STATIC
        job = self.begin()
        self.reader_opens(read_path)
        self.check_cached(True, "oooo", "r")
        self.spawn(way, write_path, program)
        self.reads()
        self.settle_well()
        self.reader_opens(read_path, "again")
        self.check_cached(not is_known, "oooo", "r", "again")
        self.assertEqual(self.step(), "done")
        if way != "stdio":  # the others have written now
            self.assertEqual((self.reads("again"), self.reads()), ("new!", "new!"), way)
        if way == "stream":
            self.check_cached_again(read_path)
        self.tell(WRITES, "end", "w")
        self.assertEqual((self.reads("again"), self.reads()), ("new!", "new!"), way)
        self.settle_well()
        self.assertEqual((self.reads("again"), self.reads()), ("new!", "new!"), way)
        self.check_cached_again(read_path)
        self.end(job)


class Host(Writers):
    def test_plain(self):
        self.check_way("plain", self.file, self.file)

    def test_forked_child(self):
        self.check_way("fork", self.file, self.file)

    def test_inherited_over_exec(self):
        self.check_way("exec", self.file, self.file)

    def test_mapping(self):
        self.check_way("map", self.file, self.file)

    def test_raw_calls(self):
        self.check_way("raw", self.file, self.file)

    def test_stream_at_exit(self):
        self.check_way("stdio", self.file, self.file)

    def test_closed_stream(self):
        self.check_way("stream", self.file, self.file)

    def test_failed_exec(self):
        self.check_way("failed", self.file, self.file)

    def test_two_numbers(self):
        self.check_way("twice", self.file, self.file)

    @unittest.skipUnless(STATIC.exists(), "no static C library")
    def test_static_program(self):
        for way in ("plain", "fork"):
            self.make(self.data)
            self.check_way(way, self.file, self.file, STATIC)

    def test_outside_the_job(self):
        job = self.begin()
        self.reader_opens(self.file)
        with open(self.file, "r+b") as file:
            file.write(b"new!")
        self.assertEqual(self.reads(), "new!")
        self.end(job)

    def test_time_set_back(self):
        """Same size, same time of change as it says: the kernel knows better."""
        job = self.begin()
        self.reader_opens(self.file)
        before = os.stat(self.file)
        with open(self.file, "r+b") as file:
            file.write(b"new!")
        os.utime(self.file, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assertEqual(os.stat(self.file).st_mtime_ns, before.st_mtime_ns)
        self.assertEqual(self.reads(), "new!")
        self.end(job)


class Agents(Writers):
    def check_agent(self, number):
        """The agent of one node and of the other, with writers on both."""
        for victim in range(harness.ACTORS):
            job = self.begin(RHINET_CACHE_PATIENCE="1s")
            agents = agents_of(job)
            self.assertEqual(len(agents), harness.ACTORS)
            self.make(self.data)
            self.reader_opens(self.file)
            os.kill(agents[victim], number)
            for which in range(harness.ACTORS):
                self.make(self.data)
                self.reader_opens(self.file)
                self.spawn("plain", self.file, which=which)
                self.assertEqual(self.step(which), "done")
                self.assertEqual(self.reads(), "new!", f"writer {which}, agent {victim}")
                self.tell(which, "end", "w")
            if number == signal.SIGSTOP:
                os.kill(agents[victim], signal.SIGCONT)
            self.end(job)

    def test_agent_killed(self):
        self.check_agent(signal.SIGKILL)

    def test_agent_stopped(self):
        self.check_agent(signal.SIGSTOP)


@unittest.skipUnless(NUMBERED.exists(), "built without libfuse 3")
@unittest.skipUnless(os.access("/dev/fuse", os.W_OK), "no /dev/fuse to write to")
class Hosts(Writers):
    def setUp(self):
        super().setUp()
        self.folder = self.scratch / "folder"
        self.folder.mkdir()
        self.make(self.folder)

    def mounted(self, name, delay):
        place = self.data / name
        place.mkdir()
        run = subprocess.run([NUMBERED, self.folder, "0", str(delay), self.scratch / name, place,
                              "-o", "fsname=server:/volume,subtype=glusterfs,attr_timeout=3600"],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=False)
        return place / "x"

    def both(self, delay=-1):
        return self.mounted("reader", delay), self.mounted("writer", delay)

    def test_plain(self):
        self.check_way("plain", *self.both())

    def test_forked_child(self):
        self.check_way("fork", *self.both())

    def test_inherited_over_exec(self):
        self.check_way("exec", *self.both())

    def test_stream_at_exit(self):
        self.check_way("stdio", *self.both())

    def test_closed_stream(self):
        self.check_way("stream", *self.both())

    def test_failed_exec(self):
        self.check_way("failed", *self.both())

    def test_two_numbers(self):
        self.check_way("twice", *self.both())

    @unittest.skipUnless(STATIC.exists(), "no static C library")
    def test_static_program_after_exec(self):
        self.check_way("static", *self.both())

    def test_written_behind(self):
        """What was written comes to be while the kernel closes the file, long after the call."""
        reader, writer = self.both(300)
        job = self.begin()
        self.reader_opens(reader)
        self.tell(WRITES, "open", "w", str(writer), "write")
        self.tell(WRITES, "pwrite", "w", "new!", 0)
        self.send(WRITES, "close", "w")
        while self.reads() == "oooo" and not self.has_answer(WRITES):
            pass
        self.receive(WRITES)
        self.assertEqual(self.reads(), "new!")
        self.settle_well()
        self.assertEqual(self.reads(), "new!")
        self.tell(READER, "open", "again", str(reader), "read")
        self.assertEqual(self.reads("again"), "new!")
        self.end(job)

    def test_opened_afterwards(self):
        """By whom the file was read before: its kernel still believes what it knew then."""
        reader, writer = self.both()
        job = self.begin()
        self.reader_opens(reader)
        self.tell(READER, "close", "r")
        self.tell(WRITES, "open", "w", str(writer), "write")
        self.tell(WRITES, "pwrite", "w", "new!", 0)
        self.tell(WRITES, "close", "w")
        self.settle_well()
        self.tell(READER, "open", "again", str(reader), "read")
        self.assertEqual(self.reads("again"), "new!")
        self.end(job)

    def test_lock_looks_again(self):
        """A writer on the server, of whom this host has not heard: whoever gets a lock asks."""
        for call in ("flock", "lockf"):
            reader = self.mounted(call, -1)
            self.make(self.folder)
            job = self.begin()
            self.reader_opens(reader)
            before = (self.scratch / call).read_text(encoding="ascii")
            self.assertEqual(self.reads(), "oooo")  # from the cache
            self.assertEqual((self.scratch / call).read_text(encoding="ascii"), before)
            with open(self.folder / "x", "r+b") as file:
                file.write(b"new!")
            self.tell(READER, call, "r")
            self.assertEqual(self.reads(), "new!", call)
            self.end(job)


if __name__ == "__main__":
    harness.main()
