# SPDX-License-Identifier: BSD-3-Clause
"""What the system tests share: starting `rhinet run`, and proving that nothing of it is left.

Every job gets a marker in its environment, so that its processes are found in /proc wherever they
went. The tests see a /tmp, a /dev/shm and a network of their own, so that "nothing new" means
exactly that, whatever else this machine is doing, and a second copy of these tests beside them.

Times are bounds for detecting a hang and nothing else; they are generous on purpose.
"""
import ctypes
import os
import pty
import shutil
import signal
import subprocess
import sys
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import processes
from processes import all_pids, name_of, read_proc

RHINET = os.environ["TEST_RHINET"]
PROGRAMS = os.environ["TEST_PROGRAMS"]  # folder of the helper programs
HANG_S = 30
TEST_S = 240  # for one test, whatever it waits for
MARKER = "SYSTEM_TEST_MARKER"
WATCHED_FOLDERS = ("/tmp", "/dev/shm")
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 1 << 18
libc = ctypes.CDLL(None, use_errno=True)


def program(name):
    return os.path.join(PROGRAMS, name)


def map_ourselves(user, group):
    """In a new user namespace: be who we were."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"),
                       ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def cover(folder):
    """An empty folder over this one, but with what the tests themselves are made of."""
    paths = [path for path in (RHINET, PROGRAMS, __file__) if path.startswith(folder + "/")]
    kept = {os.path.join(folder, path[len(folder) + 1:].split("/")[0]) for path in paths}
    held = {path: os.open(path, os.O_PATH) for path in kept}
    is_covered = libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, b"mode=1777") == 0
    for path, fd in held.items():
        if is_covered:
            os.mkdir(path)
            is_covered = libc.mount(f"/proc/self/fd/{fd}".encode(), path.encode(), None,
                                    MS_BIND | MS_REC, None) == 0
        os.close(fd)
    return is_covered


def isolate():
    """Give this process and its children a /tmp, /dev/shm and network of their own; False where
    that cannot be."""
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWNS | CLONE_NEWNET | (CLONE_NEWUSER if user != 0 else 0)) != 0:
        return False
    if user != 0:
        map_ourselves(user, group)
    if libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        return False
    subprocess.run(["ip", "link", "set", "lo", "up"], check=False)
    return all([cover(folder) for folder in WATCHED_FOLDERS])


def folder_entries(is_isolated):
    """What stands in the watched folders. Where they are everybody's, others may come and go."""
    if not is_isolated:
        return set()
    return {os.path.join(folder, name) for folder in WATCHED_FOLDERS
            for name in os.listdir(folder)}


def named_sockets(is_isolated):
    """The same of the sockets with a name. An abstract one lives no longer than its process, which
    is looked for by itself."""
    if not is_isolated:
        return set()
    with open("/proc/net/unix") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return {row[7] for row in rows if len(row) > 7}


def stat_fields(pid):
    """State, parent, group, session of a process, or None."""
    text = read_proc(pid, "stat").decode(errors="replace")
    fields = text[text.rfind(")") + 2:].split()
    return (fields[0], int(fields[1]), int(fields[2]), int(fields[3])) if len(fields) > 3 else None


def children(pid):
    return [one for one in all_pids() if (stat_fields(one) or (0, 0))[1] == pid]


def ranks_of(launcher):
    """Processes of the ranks: the launcher's children that lead a group, but not a session as the
    guard does (which has no name of its own yet when it is just born), and are no zombies."""
    found = []
    for pid in children(launcher):
        state, _, group, session = stat_fields(pid) or ("Z", 0, 0, 0)
        if state != "Z" and group == pid and session != pid:
            found.append(pid)
    return found


def guard_of(launcher):
    return [pid for pid in children(launcher) if name_of(pid) == "rhinet-guard"]


def marked(marker):
    return processes.marked(MARKER, marker)


def wait_until(condition, limit_s=HANG_S):
    return processes.wait_until(condition, limit_s)


def hang(*_):
    raise TimeoutError(f"the test did not end within {TEST_S} s")


class Job:
    """A `rhinet run` under way. Use as a context: it is killed if the test fails."""

    def __init__(self, *arguments, terminal=False, **options):
        self.marker = uuid.uuid4().hex
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("RHINET_")}
        environment.update(options.pop("environment", {}))
        environment[MARKER] = self.marker
        words = [RHINET, "run", *map(str, arguments)]
        self.terminal = None
        if terminal:
            self.pid, self.terminal = pty.fork()
            if self.pid == 0:
                try:
                    os.execve(RHINET, words, environment)
                finally:
                    os._exit(127)
            return
        usual = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                 "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(words, env=environment, **{**usual, **options})
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        processes.kill_all(marked(self.marker))
        if self.terminal is not None:
            os.close(self.terminal)
            try:
                os.waitpid(self.pid, 0)
            except ChildProcessError:
                pass
        else:
            self.process.communicate()

    def finish(self, limit_s=HANG_S, **options):
        """Status as a shell would say, stdout, stderr."""
        out, err = self.process.communicate(timeout=limit_s, **options)
        return self.process.returncode, out, err


class SystemTest(unittest.TestCase):
    """After every test: no process, no file, no named socket."""

    is_isolated = None

    @classmethod
    def setUpClass(cls):
        if SystemTest.is_isolated is None:
            SystemTest.is_isolated = isolate()

    def setUp(self):
        signal.signal(signal.SIGALRM, hang)
        signal.alarm(TEST_S)
        self.addCleanup(signal.alarm, 0)
        self.jobs = []
        self.entries_before = folder_entries(self.is_isolated)
        self.sockets_before = named_sockets(self.is_isolated)
        self.addCleanup(self.check_nothing_left)

    def start(self, *arguments, **options):
        job = Job(*arguments, **options)
        self.jobs.append(job)
        return self.enterContext(job) if hasattr(self, "enterContext") else job.__enter__()

    def run_job(self, *arguments, text_in=None, limit_s=HANG_S, **options):
        if text_in is not None:
            options["stdin"] = subprocess.PIPE
        job = self.start(*arguments, **options)
        status, out, err = job.finish(limit_s, input=text_in)
        self.check_job_gone(job)
        return status, out, err

    def check_job_gone(self, job, limit_s=HANG_S):
        left = wait_until(lambda: not marked(job.marker), limit_s)
        names = [(pid, name_of(pid)) for pid in marked(job.marker)]
        self.assertTrue(left, f"still running: {names}")

    def check_nothing_left(self):
        for job in self.jobs:
            self.check_job_gone(job)
        self.assertEqual(folder_entries(self.is_isolated) - self.entries_before, set())
        self.assertEqual(named_sockets(self.is_isolated) - self.sockets_before, set())


def temporary_folder(test):
    """A folder for files of the test itself, gone before the check for leftovers."""
    path = os.path.join(PROGRAMS, f"files-{uuid.uuid4().hex}")
    os.mkdir(path)
    test.addCleanup(shutil.rmtree, path, True)
    return path


def main():
    """What our own starter ignores (nohup, a shell's background) the jobs must not."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    unittest.main(verbosity=2, argv=[sys.argv[0], *sys.argv[1:]])
