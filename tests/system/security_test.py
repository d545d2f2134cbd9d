# SPDX-License-Identifier: BSD-3-Clause
"""Who is not a member stays out: another user of this machine, and a member that lies."""
import ctypes
import errno
import os
import signal
import unittest

import harness
from harness import children, program

STRANGER = 65534
PTRACE_ATTACH, PTRACE_DETACH = 16, 17
WAIT_ALL = 0x40000000
SYS_PIDFD_OPEN, SYS_PIDFD_GETFD = 434, 438
DENIED = (errno.EPERM, errno.EACCES)

libc = ctypes.CDLL(None, use_errno=True)


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def denied(call, *arguments):
    """True if a system call is refused for want of permission."""
    ctypes.set_errno(0)
    return call(*arguments) < 0 and ctypes.get_errno() in DENIED


def denied_open(path, flags):
    try:
        os.close(os.open(path, flags))
    except PermissionError:
        return True
    return False


def denied_list(path):
    try:
        os.listdir(path)
    except PermissionError:
        return True
    return False


def denied_trace(pid):
    if denied(libc.ptrace, PTRACE_ATTACH, pid, None, None):
        return True
    os.waitpid(pid, WAIT_ALL)  # let it go on
    libc.ptrace(PTRACE_DETACH, pid, None, None)
    return False


def attack(pid, fds, address):
    """What a stranger tries on one process of the job; returns what he got away with."""
    word = ctypes.create_string_buffer(8)
    here = Vector(ctypes.cast(word, ctypes.c_void_p), 8)
    there = Vector(address, 8)
    pidfd = libc.syscall(SYS_PIDFD_OPEN, pid, 0)
    tries = {
        "list descriptors": denied_list(f"/proc/{pid}/fd"),
        "list mappings": denied_list(f"/proc/{pid}/map_files"),
        "read memory": denied_open(f"/proc/{pid}/mem", os.O_RDONLY),
        "write memory": denied_open(f"/proc/{pid}/mem", os.O_RDWR),
        "read environment": denied_open(f"/proc/{pid}/environ", os.O_RDONLY),
        "trace": denied_trace(pid),
        "cross-memory read": denied(libc.process_vm_readv, pid, ctypes.byref(here), 1,
                                    ctypes.byref(there), 1, 0),
        "cross-memory write": denied(libc.process_vm_writev, pid, ctypes.byref(here), 1,
                                     ctypes.byref(there), 1, 0),
    }
    for fd in fds:
        tries[f"open descriptor {fd}"] = denied_open(f"/proc/{pid}/fd/{fd}", os.O_RDWR)
        tries[f"take descriptor {fd}"] = denied(libc.syscall, SYS_PIDFD_GETFD, pidfd, fd, 0)
    tries["signal"] = denied(libc.kill, pid, int(signal.SIGTERM))  # last: the owner's ends it
    return [what for what, was_denied in tries.items() if not was_denied]


def as_stranger(work):
    """Run work() in a process of another user; returns the text that it returns."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            os.setgroups([])
            os.setresgid(STRANGER, STRANGER, STRANGER)
            os.setresuid(STRANGER, STRANGER, STRANGER)
            os.write(writer, work().encode())
        except BaseException as error:  # noqa: the parent fails on any text
            os.write(writer, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return text


def socket_inodes(pid):
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


class SecondUser(harness.SystemTest):
    def start_idle(self):
        job = self.start("-n", 3, program("member"), "idle")
        for _ in range(3):
            self.assertTrue(job.process.stdout.readline().startswith("ready "))
        return job, [job.pid, *children(job.pid)]

    def end(self, job):
        os.kill(job.pid, signal.SIGINT)
        self.assertEqual(job.finish()[0], 130)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_has_no_way_in(self):
        job, pids = self.start_idle()
        for pid in pids:
            fds = [int(fd) for fd in os.listdir(f"/proc/{pid}/fd")]
            with open(f"/proc/{pid}/maps") as maps:
                address = next(int(line.split("-")[0], 16) for line in maps if " rw" in line)
            won = as_stranger(lambda: "; ".join(attack(pid, fds, address)))
            self.assertEqual(won, "", f"on {harness.name_of(pid)}")
        self.end(job)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_the_attack_itself_works(self):
        # The same calls by the owner succeed: else the test above would prove nothing.
        job, _ = self.start_idle()
        pid = harness.ranks_of(job.pid)[0]
        fds = [int(fd) for fd in os.listdir(f"/proc/{pid}/fd") if int(fd) > 2
               and "memfd:" in os.readlink(f"/proc/{pid}/fd/{fd}")]
        won = attack(pid, fds, 0x1000)
        for what in ("list descriptors", "read memory", "signal"):
            self.assertIn(what, won)
        for fd in fds:
            self.assertIn(f"take descriptor {fd}", won)
        job.process.wait(harness.HANG_S)  # the signal has ended it

    def test_there_is_nothing_to_connect_to(self):
        job, pids = self.start_idle()
        inodes = set().union(*(socket_inodes(pid) for pid in pids))
        self.assertTrue(inodes)
        with open("/proc/net/unix") as table:
            rows = [line.split() for line in table.readlines()[1:]]
        named = [row[7] for row in rows if row[6] in inodes and len(row) > 7]
        listening = [row for row in rows if row[6] in inodes and int(row[3], 16) & 0x10000]
        self.assertEqual((named, listening), ([], []))
        for kind in ("tcp", "tcp6", "udp", "udp6"):
            path = f"/proc/net/{kind}"
            if os.path.exists(path):
                with open(path) as table:
                    found = {line.split()[9] for line in table.readlines()[1:]}
                self.assertEqual(found & inodes, set())
        self.end(job)

    def test_memory_has_no_name(self):
        job, pids = self.start_idle()
        for pid in pids:
            with open(f"/proc/{pid}/maps") as maps:
                shared = [line.split(None, 5) for line in maps if "s " in line.split()[1] + " "]
            for row in shared:
                self.assertIn("memfd:", row[5])
                self.assertIn("(deleted)", row[5])
        self.end(job)


class Liar(harness.SystemTest):
    def test_lies_are_refused(self):
        for size in (1, 4):
            status, _, err = self.run_job("-n", size, program("forge"), "lies")
            self.assertEqual((status, err), (0, ""))

    def test_flood_cuts_off_the_flooder_only(self):
        status, _, err = self.run_job("-n", 4, program("forge"), "flood")
        self.assertEqual(status, 0, err)

    def test_empty_message_cuts_off_the_sender_only(self):
        status, _, err = self.run_job("-n", 4, program("forge"), "empty")
        self.assertEqual(status, 0, err)

    def test_wrong_descriptor_is_refused(self):
        for number in (0, 1, 999):
            status, _, err = self.run_job("-n", 1, "sh", "-c",
                                          f"RHINET_MANAGER_FD={number} exec '{program('member')}'")
            # 0 means alone, as without a launcher.
            self.assertEqual(status, 1 if number else 0, err)


if __name__ == "__main__":
    harness.main()
