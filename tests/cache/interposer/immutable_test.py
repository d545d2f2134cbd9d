# SPDX-License-Identifier: BSD-3-Clause
"""--immutable: names, status and contents of declared folders come from the cache; what programs
see is the same, and the file system is not asked again."""

import json
import os
import shutil
import signal
import socket
import subprocess
import unittest
import zlib

import cache_harness as harness
from writers_test import agents_of

CALLS = harness.PROGRAMS / "declared-calls"
ODD = harness.PROGRAMS / "declared-odd"
COUNTING = harness.PROGRAMS / "counting-fs"
EPOCHS = harness.HERE / "epochs.py"
SHOWS = [harness.RHINET, "cache", "stat", "--json"]


class Declared(harness.CacheTest):
    def setUp(self):
        super().setUp()
        self.data.mkdir()

    def run_declared(self, *command, **more):
        process = self.start_cached(*command, options=("--immutable", self.data), **more)
        status, out, err = self.finish(process)
        self.assertEqual(status, 0, err)
        return out


class Calls(Declared):
    """Each call, with the cache and without."""

    def fill(self):
        (self.data / "sub").mkdir()
        for name, length in (("a", 10000), ("sub/b", 70000), ("closed", 10), ("empty", 0)):
            (self.data / name).write_bytes(os.urandom(length))
        (self.scratch / "x").write_bytes(b"outside")
        for name, target in (("link", "a"), ("far", self.data / "sub" / "b"), ("sub/up", ".."),
                             ("loop", "loop"), ("dangling", "nobody"), ("out", "../x")):
            (self.data / name).symlink_to(target)
        (self.data / "closed").chmod(0)

    def test_same(self):
        self.fill()
        status, plain, err = self.finish(self.start_plain(CALLS, self.data))
        self.assertEqual(status, 0, err)
        cached = self.run_declared("sh", "-c", '"$0" "$1" && shift && "$@"', CALLS, self.data,
                                   *SHOWS)
        lines = [line for line in cached.splitlines() if not line.startswith("{")]
        self.assertEqual(lines, plain.splitlines())
        # There may be other tests' caches on this host.
        counted, = [json.loads(line) for line in cached.splitlines()
                    if line.startswith("{") and f"{self.scratch}/" in line]
        self.assertGreater(counted["names"], 100)
        self.assertEqual(counted["listings"], 2)

    def test_odd(self):
        """See declared_odd.c."""
        cases = ("blank", "kept", "root", "thread", "replaced", "cancelled", "numbers", "rights",
                 "rings", "programs", "beyond")
        jail = self.scratch / "jail"
        for folder in (self.data / "sub", self.data / "hidden", jail / str(self.data)[1:]):
            folder.mkdir(parents=True)
        for name in cases:
            (self.data / name).write_text(name)
        for path, text in ((self.data / "sub" / "thread", "below"), (self.data / "another", "new"),
                           (jail / str(self.data)[1:] / "root", "jail"),
                           (self.data / "hidden" / "file", "")):
            path.write_text(text)
        (self.data / "hidden").chmod(0o700)
        (self.data / "rights").chmod(0o600)
        self.settle()
        script = ('for k; do timeout 60 "$ODD" "$k" "$DATA" "$JAIL" >&2 || '
                  '{ echo "$k: status $?" >&2; status=1; }; done; exit $status')
        self.run_declared("sh", "-c", script, "sh", *cases, ODD=ODD, DATA=self.data, JAIL=jail)

    def test_undeclared(self):
        """Without --immutable a program that only looks at names asks no agent."""
        (self.data / "undeclared").write_text("undeclared")
        self.settle()
        for script in ('"$@"', 'unset RHINET_CACHE_PATH; "$@"'):
            process = self.start_cached("sh", "-c", script, "sh", ODD, "undeclared", self.data, "/")
            status, out, err = self.finish(process)
            self.assertEqual(status, 0, out + err)

    @unittest.skipUnless(shutil.which("fio"), "no fio here")
    def test_rings(self):
        """Libraries whose system calls nobody sees read declared files as others do."""
        job = ["--name=x", f"--filename={self.data / 'x'}", "--size=1M", "--bs=64k", "--thread",
               "--verify=crc32c", "--verify_fatal=1", "--group_reporting"]
        status, _, err = self.finish(self.start_plain("fio", *job, "--rw=write", "--do_verify=0"))
        self.assertEqual(status, 0, err)
        for engine in ("psync", "posixaio", "libaio", "io_uring"):
            words = ["fio", *job, "--rw=read", f"--ioengine={engine}", "--output-format=json"]
            if self.finish(self.start_plain(*words))[0] != 0:
                continue  # the machine does not have it
            out = self.run_declared(*words)
            self.assertIn('"total_ios" : 16', out.split('"write" :')[0])

    def test_too_many(self):
        """A list of folders that does not fit is no shorter list."""
        folders = [self.data / (f"{number}" * 200) for number in range(9)] * 6
        for folder in folders[:9]:
            folder.mkdir()
        options = [word for folder in folders for word in ("--immutable", folder)]
        status, _, err = self.finish(self.start_cached("true", options=options))
        self.assertEqual(status, 2)
        self.assertIn("characters together", err)

    def test_many_names(self):
        """A listing of several parts; and every name of it is found."""
        for number in range(1500):
            (self.data / f"a rather long name of a file {number}").write_bytes(b"%d" % number)
        program = ("import os, sys; os.chdir(sys.argv[1]); names = os.listdir('.'); "
                   "print(len(names), sum(int(open(k).read()) == int(k.split()[-1]) and "
                   "os.stat(k).st_size == len(k.split()[-1]) for k in names))")
        out = self.run_declared(harness.PYTHON, "-c", program, self.data)
        self.assertEqual(out.split(), ["1500", "1500"])

    def test_not_there(self):
        process = self.start_cached("true", options=("--immutable", self.data / "nobody"))
        status, _, err = self.finish(process)
        self.assertEqual(status, 2)
        self.assertIn("--immutable", err)
        self.assertIn("there is no such folder", err)


@unittest.skipUnless(COUNTING.exists(), "built without libfuse 3")
@unittest.skipUnless(os.access("/dev/fuse", os.W_OK), "no /dev/fuse to write to")
class Epochs(Declared):
    """What the file system is asked for, counted by the file system."""

    FOLDERS, FILES = 4, 250

    def setUp(self):
        super().setUp()
        self.sum = 0
        folder = self.scratch / "folder"
        for k in range(self.FOLDERS):
            (folder / f"f{k}").mkdir(parents=True)
            for number in range(self.FILES):
                content = os.urandom(1000 + number)
                (folder / f"f{k}" / f"{number}.data").write_bytes(content)
                self.sum = (self.sum + zlib.crc32(content, len(content))) % 2**32
        self.log = self.scratch / "log"
        run = subprocess.run([COUNTING, folder, self.log, self.data, "-o",
                              "fsname=server:/volume,subtype=glusterfs"],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.addCleanup(subprocess.run, ["umount", "-l", self.data], check=False)
        self.settle()

    def epochs(self, nodes, options):
        meet = self.scratch / "meet"
        meet.mkdir()
        process = self.start_cached(harness.PYTHON, EPOCHS, self.data, meet, self.log, nodes,
                                    nodes=nodes, options=options)
        status, out, err = self.finish(process)
        self.assertEqual(status, 0, err)
        found = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([node["sums"] for node in found], [[self.sum] * 2] * nodes)
        return found

    def test_declared(self):
        for node in self.epochs(2, ("--immutable", self.data)):
            self.assertEqual(node["second"], {})
            # Once each; but who takes too long on a busy machine is not waited for.
            self.assertGreaterEqual(node["first"]["open"], self.FOLDERS * self.FILES)
            self.assertLess(node["first"]["open"], self.FOLDERS * self.FILES * 3 // 2)

    def test_not_declared(self):
        """Or nothing of the above would mean anything."""
        for node in self.epochs(1, ()):
            self.assertGreater(node["second"]["open"], self.FOLDERS * self.FILES - 1)


class Changes(harness.ActorsTest):
    """What was declared, and is not so."""

    def setUp(self):
        super().setUp()
        self.data.mkdir()
        self.file = self.data / "x"
        self.file.write_bytes(b"o" * 8192)
        self.settle()

    def begin_declared(self):
        job = self.begin(options=("--immutable", self.data))
        self.assertEqual(self.tell(1, "open", "r", str(self.file), "read"), "opened")
        self.assertEqual(self.tell(1, "pread", "r", 4, 0), "oooo")
        return job

    def test_written_under_the_cache(self):
        job = self.begin_declared()
        self.assertEqual(self.tell(0, "open", "w", str(self.file), "write"), "opened")
        self.tell(0, "pwrite", "w", "new!", 0)
        self.assertEqual(self.tell(1, "pread", "r", 4, 0), "new!")
        self.end(job)

    def test_agent_killed(self):
        job = self.begin_declared()
        for pid in agents_of(job):
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.tell(1, "pread", "r", 4, 100), "oooo")
        self.assertEqual(self.tell(1, "open", "s", str(self.file), "read"), "opened")
        self.assertEqual(self.tell(1, "pread", "s", 4, 8190), "oo")
        for connection in self.connections:
            connection.shutdown(socket.SHUT_RDWR)
        self.finish(job)


if __name__ == "__main__":
    harness.main()
