# SPDX-License-Identifier: BSD-3-Clause
"""`rhinet cache mount`: a folder shown again, for programs that the library cannot reach; and the
GlusterFS of tools/gluster-testbed, which nothing is left of."""

import os
import re
import shutil
import signal
import struct
import subprocess
import time
import unittest
from pathlib import Path

import cache_harness as harness

HELPER = Path(harness.RHINET).parent / "src/cache/mount/rhinet-cache-mount"
TOOLS = harness.HERE.parents[2] / "tools"


def is_mounted(place):
    with open("/proc/self/mounts", encoding="utf-8") as file:
        return any(line.split()[1] == str(place) for line in file)


def wait_until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


# Reads files until each has come from the cache; prints those that never did.
READS = """
import json, subprocess, time
missing, end = {names}, time.monotonic() + 30
while missing and time.monotonic() < end:
    for name in missing:
        open("{data}/" + name, "rb").read()
    said = subprocess.run(["{rhinet}", "cache", "stat", "--json", "--files", "100"],
                          capture_output=True, text=True).stdout
    hits = {{file["path"]: file["hits"] for line in said.splitlines()
            for file in json.loads(line)["files"]}}
    missing = [name for name in missing if not hits.get("{data}/" + name)]
for name in missing:
    print(name)
"""


@unittest.skipUnless(HELPER.exists(), "built without libfuse 3")
@unittest.skipUnless(os.access("/dev/fuse", os.W_OK), "no /dev/fuse to write to")
class Mount(harness.CacheTest):
    def setUp(self):
        super().setUp()
        self.data.mkdir()
        (self.data / "f").write_bytes(os.urandom(3_000_000))
        (self.data / "folder").mkdir()
        (self.data / "folder" / "g").write_text("small\n")
        os.symlink("folder/g", self.data / "link")
        self.place = self.scratch / "place"
        self.place.mkdir()
        self.settle()
        self.addCleanup(subprocess.run, ["umount", "-l", self.place], capture_output=True,
                        check=False)

    def start_mounted(self, *words, options=()):
        return self.start_cached(harness.RHINET, "cache", "mount", *options, self.data, self.place,
                                 *words)

    def test_reads(self):
        tool = "busybox" if shutil.which("busybox") else "env"
        status, out, err = self.finish(self.start_mounted(
            "--", "sh", "-c", f"cd {self.place}; {tool} md5sum f; cat link; ls -R; "
                              f"{harness.RHINET} cache stat --json"))
        self.assertEqual((status, err), (0, ""))
        want = subprocess.run(["md5sum", "f"], cwd=self.data, capture_output=True, text=True,
                              check=True).stdout
        self.assertTrue(out.startswith(want + "small\n"), out)
        self.assertRegex(out, r'"load_bytes": ?3000000')
        self.assertFalse(is_mounted(self.place))

    def test_writes(self):
        line = "cd $0; echo more >> folder/g; mv folder/g folder/h; truncate -s 5 f; mkdir new; " \
               "cp f new/; ln -s x new/y; chmod 600 f; rm link; cat folder/h; exit 3"
        status, out, err = self.finish(self.start_mounted("--", "sh", "-c", line, self.place))
        self.assertEqual((status, out), (3, "small\nmore\n"), err)
        self.assertEqual((self.data / "folder" / "h").read_text(), "small\nmore\n")
        self.assertEqual((self.data / "new" / "f").stat().st_size, 5)
        self.assertEqual(sorted(os.listdir(self.data)), ["f", "folder", "new"])

    def test_all_that_can_be_done(self):
        """With the same outcome as in the folder itself, with the cache and without one."""
        outcomes = []
        for k in range(3):
            shutil.rmtree(self.data)
            self.data.mkdir()
            script = [harness.PYTHON, harness.HERE / "folder_ops.py"]
            if k == 0:
                job = self.start_plain(*script, self.data)
            elif k == 1:
                job = self.start_mounted("--", *script, self.place)
            else:
                job = self.start([HELPER, "0", self.data, self.place, *script, self.place],
                                 self.environment())
            status, out, err = self.finish(job, 60)
            self.assertEqual(status, 0, err)
            outcomes.append(out.splitlines())
        self.assertGreater(len(outcomes[0]), 40)
        for outcome in outcomes[1:]:
            for have, want in zip(outcome, outcomes[0]):
                self.assertEqual(have, want)
            self.assertEqual(len(outcome), len(outcomes[0]))

    def check_open_at_the_end(self, mount, more, end):
        """Writers that end with their program have ended: what they wrote is cached again."""
        names = [f"w{k}" for k in range(9)]
        for name in names:
            (self.data / name).write_bytes(bytes(100000))
        self.settle()
        ends = self.scratch / "ends.py"
        ends.write_text(f"import os, time\n"
                        f"all = [open('{self.place}/' + name, 'r+b') for name in {names}]\n"
                        f"os.listdir(os.open('{self.place}', os.O_RDONLY))\n"
                        f"open('{self.scratch}/opened', 'w')\n{more}\nos._exit(0)\n")
        reads = self.scratch / "reads.py"
        reads.write_text(READS.format(names=names, data=self.data, rhinet=harness.RHINET))
        line = f"for k in 1 2 3 4 5 6; do rm -f {self.scratch}/opened; {mount} {ends} {end}; " \
               f"done; exec {harness.PYTHON} {reads}"
        status, out, err = self.finish(self.start_cached("sh", "-c", line), 100)
        self.assertEqual((status, out), (0, ""), err)

    def test_open_at_the_end(self):
        mount = f"{harness.RHINET} cache mount {self.data} {self.place} -- {harness.PYTHON}"
        self.check_open_at_the_end(mount, "", "|| exit 1")
        self.check_open_at_the_end(
            mount, "time.sleep(60)",
            f"& until [ -e {self.scratch}/opened ]; do sleep 0.05; done; kill $!; wait $!")

    def check_gone(self, name, act, make, remove):
        """The kernel has looked the name up, and asks for what is no longer there."""
        make(self.data / name)
        os.lstat(self.place / name)
        remove(self.data / name)
        with self.assertRaises(FileNotFoundError):
            act(self.place / name)

    def test_gone_behind_the_mount(self):
        files = (os.unlink, lambda path: os.open(path, os.O_RDONLY), lambda path: os.chmod(path, 0),
                 lambda path: os.chown(path, 0, 0), lambda path: os.utime(path, (1, 1)),
                 lambda path: os.truncate(path, 1), lambda path: os.link(path, self.place / "y"),
                 lambda path: os.rename(path, self.place / "y"))
        folders = (os.rmdir, lambda path: os.mkdir(path / "y"),
                   lambda path: os.symlink("y", path / "y"),
                   lambda path: os.open(path / "y", os.O_CREAT | os.O_WRONLY))
        for start in (self.start_plain, self.start_cached):
            job = start(HELPER, "0", self.data, self.place)
            self.assertTrue(wait_until(lambda: is_mounted(self.place)))
            for i, act in enumerate(files):
                self.check_gone(f"file{i}", act, lambda path: path.write_text("x"), os.unlink)
            for i, act in enumerate(folders):
                self.check_gone(f"folder{i}", act, os.mkdir, os.rmdir)
            self.check_gone("symlink", os.readlink, lambda path: os.symlink("f", path), os.unlink)
            self.assertEqual((self.place / "folder" / "g").read_text(), "small\n")
            subprocess.run(["umount", self.place], check=True)
            self.assertEqual(self.finish(job, timeout=60)[0], 0)

    def test_a_writer_is_seen_by_others(self):
        """Through the mount it is told of, from open to close."""
        text = b"old old " * 1000
        path = self.data / "f"
        path.write_bytes(text)
        self.settle()
        script = "import os, sys\n" \
                 "reader = os.open(sys.argv[1] + '/f', os.O_RDONLY)\n" \
                 "print(os.pread(reader, 4, 0).decode())\n" \
                 "for way in (os.O_WRONLY, os.O_RDWR | os.O_TRUNC):\n" \
                 "    writer = os.open(sys.argv[2] + '/f', way)\n" \
                 "    os.pwrite(writer, b'new%d' % (way & 3), 0)\n" \
                 "    print(os.pread(reader, 4, 0).decode())\n" \
                 "    os.close(writer)\n" \
                 "    print(os.pread(reader, 4, 0).decode())\n"
        job = self.start_mounted("--", harness.PYTHON, "-c", script, self.data, self.place)
        status, out, err = self.finish(job, 60)
        self.assertEqual((status, out.split()), (0, ["old"] + ["new1"] * 2 + ["new2"] * 2), err)

    def test_read_only(self):
        status, _, err = self.finish(self.start_mounted(
            "--", "sh", "-c", f"touch {self.place}/x", options=["--read-only"]))
        self.assertNotEqual(status, 0)
        self.assertIn("Read-only file system", err)

    def test_unmounts_when_told_and_when_killed(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            job = self.start_mounted()
            self.assertTrue(wait_until(lambda: is_mounted(self.place)))
            servers = subprocess.run(["pgrep", "-f", f"rhinet-cache-mount 0 {self.data}"],
                                     capture_output=True, text=True, check=True).stdout.split()
            os.kill(int(servers[0]), number)
            self.finish(job)
            self.assertTrue(wait_until(lambda: not is_mounted(self.place)), number)

    def test_killed_at_any_moment(self):
        """Whatever the kernel has closed of it by then, nothing stays mounted."""
        for k in range(40):
            server = self.start([HELPER, "0", self.data, self.place], self.environment())
            self.assertTrue(wait_until(lambda: is_mounted(self.place)))
            time.sleep(k % 8 * 0.001)
            server.kill()
            self.finish(server)
            self.assertTrue(wait_until(lambda: not is_mounted(self.place)), k)

    def unmount_after(self, *told):
        """As after a server that has told these numbers, and is dead."""
        server = subprocess.Popen(["true"])
        process = os.pidfd_open(server.pid)
        server.wait()
        listener, teller = os.pipe2(os.O_NONBLOCK)
        for number in told:
            os.write(teller, struct.pack("i", number))
        subprocess.run(["rhinet-cache-unmount", str(process), str(listener), self.place],
                       executable=HELPER, pass_fds=(process, listener), timeout=30, check=True)
        for fd in (process, listener, teller):
            os.close(fd)

    def test_what_others_have_mounted_stays(self):
        """Who unmounts after the dead looks whose it is, not only what it is called."""
        subprocess.run(["mount", "-t", "tmpfs", "rhinet-cache", self.place], check=True)
        self.unmount_after()
        self.assertTrue(is_mounted(self.place))
        subprocess.run(["umount", self.place], check=True)

    def test_the_next_servers_mount_stays(self):
        """At the place where another server's was: only the number tells them apart."""
        server = self.start([HELPER, "0", self.data, self.place], self.environment())
        self.assertTrue(wait_until(lambda: is_mounted(self.place)))
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            number = next(int(line.split()[0]) for line in file
                          if line.split()[4] == str(self.place))
        for told in ((number + 1,), (number, -2), (-2,)):  # -2: it has unmounted itself
            self.unmount_after(*told)
            self.assertTrue(is_mounted(self.place), told)
        self.unmount_after(number)
        self.assertFalse(is_mounted(self.place))
        self.assertEqual(self.finish(server)[0], 0)

    def test_one_after_the_other(self):
        for k in range(30):
            status, out, err = self.finish(self.start([HELPER, "0", self.data, self.place, "cat",
                                                       self.place / "link"], self.environment()))
            self.assertEqual((status, out), (0, "small\n"), f"{k}: {err}")

    def end_with(self, number, delay, **more):
        """Start, mounted; then a signal: how it ended."""
        server = self.start([HELPER, "0", self.data, self.place], self.environment(**more))
        self.assertTrue(wait_until(lambda: is_mounted(self.place)))
        time.sleep(delay)
        server.send_signal(number)
        status, _, err = self.finish(server, timeout=20)
        self.assertEqual(status, 0, err)
        self.assertTrue(wait_until(lambda: not is_mounted(self.place)))

    def test_signal_before_the_wait(self):
        self.end_with(signal.SIGTERM, 0.1, LD_PRELOAD=harness.PROGRAMS / "slow_wait.so")

    def test_signals_at_any_moment(self):
        for k in range(24):
            self.end_with((signal.SIGTERM, signal.SIGINT, signal.SIGHUP)[k % 3], k % 8 * 0.001)

    def test_unmounted_from_outside(self):
        server = self.start([HELPER, "0", self.data, self.place], self.environment())
        self.assertTrue(wait_until(lambda: is_mounted(self.place)))
        subprocess.run(["umount", self.place], check=True)
        self.assertEqual(self.finish(server, timeout=20)[0], 0)

    def test_program_that_does_not_exist(self):
        status, _, err = self.finish(self.start_mounted("--", "/does/not/exist"), timeout=60)
        self.assertEqual(status, 127, err)
        self.assertIn("cannot start", err)
        self.assertFalse(is_mounted(self.place))

    def test_program_ends_with_the_server(self):
        """Told to end, it ends its program; one that does not listen is killed."""
        ready = self.scratch / "ready"
        for before in ("", "trap '' TERM; "):
            line = f"{before}touch {ready}; exec sleep 60"
            server = self.start([HELPER, "0", self.data, self.place, "sh", "-c", line],
                                self.environment())
            self.assertTrue(wait_until(ready.exists))
            ready.unlink()
            server.send_signal(signal.SIGTERM)
            status, _, err = self.finish(server, timeout=40)
            self.assertIn(status, (128 + signal.SIGTERM, 128 + signal.SIGKILL), err)
            self.assertTrue(wait_until(lambda: not is_mounted(self.place)))

    def test_says_what_is_wrong(self):
        for words, text in ((("0", self.data), "usage"),
                            (("0", "/none", self.place), "cannot show"),
                            (("0", self.data, "/none"), "cannot mount at")):
            status, _, err = self.finish(self.start([HELPER, *words], self.environment()), 30)
            self.assertIn(status, (1, 2))
            self.assertIn(text, err)
        status, _, err = self.finish(self.start_plain(harness.RHINET, "cache", "mount",
                                                      self.data / "none", self.place))
        self.assertEqual(status, 1)
        self.assertIn("none", err)
        status, _, err = self.finish(self.start_plain(harness.RHINET, "cache", "mount", self.data))
        self.assertEqual(status, 2)
        self.assertIn("PLACE", err)


class Gluster(harness.CacheTest):
    """A real shared file system, two nodes, one pass."""

    def test_once_over_the_link(self):
        job = self.start_plain(TOOLS / "gluster-testbed", 2, "--", "env",
                               f"RHINET={harness.RHINET}", TOOLS / "gluster-bench", "--size",
                               8 << 20, "--files", 20, "--passes", 1, "--cache", "32M")
        status, out, err = self.finish(job)
        if status == 77:
            self.skipTest(err.strip())
        self.assertEqual(status, 0, err)
        print("".join(f"# {line}\n" for line in out.splitlines()), end="")
        loaded = [float(k) for k in re.findall(r"by the caches' own count ([\d.]+) x", out)]
        self.assertEqual(len(loaded), 3, out)
        # Once; a block more only if a node was so slow that others thought it dead.
        self.assertLess(max(loaded), 1.3, out)
        self.assertFalse(is_mounted("/mnt"))


if __name__ == "__main__":
    harness.main()
