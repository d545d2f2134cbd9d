# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of open jobs share: members that are told what to do line by line, and proof that
nothing of a job is left. Each test has an open job of its own, by name; that name in a process's
environment says that it belongs to the test."""
import errno
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from processes import all_pids, name_of, read_proc

MEMBER = os.environ["TEST_MEMBER"]
PAIR = os.environ["TEST_PAIR"]
MANAGER = os.environ["TEST_MANAGER"]
ALONE, OPEN, REFUSE = 0, 1, 2
ANY = -1
HANG_S = 60  # to notice a hang, and for nothing else
NOBODY = 65534

EDEAD, ETIMEOUT, EINVALID, EUNSUP = errno.ESRCH, errno.ETIMEDOUT, errno.EINVAL, errno.EOPNOTSUPP
EREFUSED, ENOSPACE, ENOSEG = errno.EPERM, errno.ENOSPC, errno.ENOENT


class Refused(Exception):
    """A member's "error" answer."""

    def __init__(self, code, rank, text):
        super().__init__(f"{errno.errorcode.get(code, code)} (rank {rank}): {text}")
        self.code, self.rank, self.text = code, rank, text


def copy_for_all(folder):
    """Member, library and manager where every user can get at them; the member's new path."""
    os.chmod(folder, 0o755)
    library = os.path.join(os.path.dirname(MANAGER), "librhinet.so.0")
    for path in (MEMBER, MANAGER, library):
        shutil.copy(path, folder)
    return os.path.join(folder, os.path.basename(MEMBER))


class Member:
    def __init__(self, environment, user=None, program=MEMBER):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=environment, user=user, cwd="/", bufsize=0)
        self.pid = self.process.pid
        self.rank = self.size = self.job = None

    def begin(self, *words):
        """Says it, and does not wait for the answer."""
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())

    def end(self):
        line = b""
        deadline = time.monotonic() + HANG_S
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [],
                                        max(0, deadline - time.monotonic()))
            if not ready:
                raise AssertionError(f"member {self.pid} does not answer")
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                raise AssertionError(f"member {self.pid} has ended: {self.process.wait(HANG_S)}")
            line += data
        words = line.decode(errors="replace").rstrip("\n").split(" ", 1)
        rest = words[1] if len(words) > 1 else ""
        if words[0] == "ok":
            return rest
        code, rank, text = rest.split(" ", 2)
        raise Refused(int(code), int(rank), text)

    def outcome(self):
        try:
            self.end()
        except Refused as error:
            return error.code
        return 0

    def tell(self, *words):
        self.begin(*words)
        return self.end()

    def joined(self):
        rank, size, self.job = self.end().split()
        self.rank, self.size = int(rank), int(size)
        return self

    def join(self, unstarted=OPEN, nic=""):
        self.begin("join", unstarted, nic)
        return self.joined()

    def address(self):
        return self.tell("address")

    def peer(self, other):
        return int(self.tell("peer", other if isinstance(other, str) else other.address()))

    def kill(self):
        self.process.kill()
        self.process.wait(HANG_S)

    def close(self):
        self.process.stdin.close()
        status = self.process.wait(HANG_S)
        self.process.stdout.close()
        return status


def eventually(condition, what):
    deadline = time.monotonic() + HANG_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {HANG_S} s: {what}")
        time.sleep(0.005)


class OpenTest(unittest.TestCase):
    def setUp(self):
        self.name = "test-" + uuid.uuid4().hex[:16]
        self.members = []

    def environment(self, **more):
        kept = {key: value for key, value in os.environ.items()
                if not key.startswith(("RHINET_", "PMI", "SLURM_"))}
        return {**kept, "RHINET_OPEN_JOB": self.name, **more}

    def member_of(self, user):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        environment = self.environment(LD_LIBRARY_PATH=folder)
        made = Member(environment, user, copy_for_all(folder))
        self.members.append(made)
        return made

    def member(self, **more):
        made = Member(self.environment(**more))
        self.members.append(made)
        return made

    def place(self, user=None):
        """The abstract name at which this test's processes meet."""
        with open("/proc/net/unix") as file:
            names = [line.split()[-1] for line in file if self.name in line]
        wanted = f"-{os.geteuid() if user is None else user}-"
        return next((name for name in names if wanted in name), None)

    def managers(self):
        return [pid for pid in all_pids() if self.is_ours(pid) and name_of(pid) == "rhinet-manager"]

    def is_ours(self, pid):
        return f"RHINET_OPEN_JOB={self.name}".encode() in (read_proc(pid, "environ") or b"")

    def left(self):
        return [(pid, name_of(pid)) for pid in all_pids() if self.is_ours(pid)]

    def refused(self, code, *words, call=None, text=""):
        with self.assertRaises(Refused) as caught:
            call(*words) if call else None
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(text, caught.exception.text)
        return caught.exception

    def tearDown(self):
        for member in self.members:
            self.assertIn(member.close(), (0, -signal.SIGKILL))  # sanitizers have their say here
        eventually(lambda: not self.left() and not self.place(), f"all has ended: {self.left()}")
