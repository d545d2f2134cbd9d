# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of several hosts share: starting jobs on pretended hosts, and proving that nothing
of them is left.

Every process of a test has a marker in its environment; the remote shells of the tests pass it on,
since what they start gets a fresh environment, as with a real one.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import processes
from processes import command_of, name_of, read_proc

RHINET = os.environ["TEST_RHINET"]
MEMBER = os.environ["TEST_MEMBER"]
NETNS_CLUSTER = os.environ["TEST_NETNS_CLUSTER"]
HANG_S = 40
MARKER = "CLUSTER_TEST_MARKER"
os.environ["LSAN_OPTIONS"] = "print_suppressions=0:suppressions=" + \
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "lsan.supp")

# A remote shell that stays on this machine: the host's name, then words for a shell.
LOCAL_SHELL = f"""#!/bin/sh
host=$1
shift
cd /
exec env -i PATH="$PATH" HOME=/ {MARKER}="${MARKER}" PRETENDED_HOST="$host" sh -c "$*"
"""


def marked(marker):
    return processes.marked(MARKER, marker)


def wait_until(condition, limit_s=HANG_S):
    return processes.wait_until(condition, limit_s)


class Job:
    """A launcher under way; its output is collected in files, so that it can be looked at."""

    def __init__(self, words, folder, environment=None, **options):
        self.marker = uuid.uuid4().hex
        own = {name: value for name, value in os.environ.items() if not name.startswith("RHINET_")}
        own.update(environment or {})
        own[MARKER] = self.marker
        self.paths = [os.path.join(folder, f"{self.marker}.{kind}") for kind in ("out", "err")]
        with open(self.paths[0], "w") as out, open(self.paths[1], "w") as err:
            self.process = subprocess.Popen(list(map(str, words)), env=own, stdout=out, stderr=err,
                                            **{"stdin": subprocess.DEVNULL, **options})
        self.pid = self.process.pid

    def text(self, which):
        with open(self.paths[which], errors="replace") as file:
            return file.read()

    @property
    def out(self):
        return self.text(0)

    @property
    def err(self):
        return self.text(1)

    def processes(self, pattern):
        """Those of the job whose command line matches, launchers' guards excepted."""
        return [pid for pid in marked(self.marker)
                if re.search(pattern, command_of(pid)) and name_of(pid) != "rhinet-guard"]

    def members(self):
        return self.processes(r"^\S*host_member ")

    def nodes(self):
        """The launchers of other hosts, not the shells around them."""
        return [pid for pid in self.processes(r"rhinet\S* node$")
                if name_of(pid).startswith("rhinet")]

    def end(self):
        processes.kill_all(marked(self.marker))
        self.process.wait()


class ClusterTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cluster-test-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.rsh = self.script("local-shell", LOCAL_SHELL)
        self.jobs = []
        signal.signal(signal.SIGALRM, self.hang)
        signal.alarm(120)
        self.addCleanup(signal.alarm, 0)

    def hang(self, *_):
        raise TimeoutError("the test does not end; so far: " +
                           "".join(f"\n{job.out}\n{job.err}" for job in self.jobs))

    def tearDown(self):
        for job in self.jobs:
            left = marked(job.marker)
            is_gone = wait_until(lambda: not marked(job.marker), 10)
            job.end()
            self.assertTrue(is_gone, f"still running: {[command_of(pid) for pid in left]}")

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def start(self, *words, **options):
        job = Job(words, self.folder, **options)
        self.jobs.append(job)
        return job

    def start_run(self, *words, rsh=None, **options):
        return self.start(RHINET, "run", "--rsh", rsh or self.rsh, *words, **options)

    def finish(self, job, limit_s=HANG_S):
        """Exit status, stdout, stderr; and nothing may be left."""
        try:
            status = job.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            running = "\n".join(f"{pid} {name_of(pid)} {read_proc(pid, 'wchan').decode()}: "
                                f"{command_of(pid)}" for pid in marked(job.marker))
            self.fail(f"does not end; so far:\n{job.out}\n{job.err}\n{running}")
        self.assertTrue(wait_until(lambda: not marked(job.marker), 10),
                        f"left running: {[command_of(pid) for pid in marked(job.marker)]}")
        return status, job.out, job.err

    def run_hosts(self, *words, **options):
        return self.finish(self.start_run(*words, **options))

    def wait_ready(self, job, count):
        self.assertTrue(wait_until(lambda: job.out.count("ready rank") == count or
                                   job.process.poll() is not None), f"{job.out}\n{job.err}")
        self.assertEqual(job.out.count("ready rank"), count, job.out + job.err)


def places(text):
    """Rank: (node, host) of what the members said."""
    found = re.findall(r"rank (\d+) of \d+ node (\d+) of \d+ host (\S+) ", text)
    return {int(rank): (int(node), host) for rank, node, host in found}


def pid_of(text, rank):
    return int(re.search(rf"rank {rank} of .* pid (\d+)", text)[1])


def main():
    unittest.main(verbosity=2, argv=[sys.argv[0], *sys.argv[1:]])


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(77)


def run_inside(count, path, needs=()):
    """Run this test again as a command on the first of so many hosts, unless that is where we are;
    skipped, with the reason, where there can be none, or programs are missing, most of which want
    to be root."""
    if os.environ.get("NETNS_CLUSTER"):
        return
    missing = [name for name in needs if not shutil.which(name)]
    if missing:
        skip(f"{', '.join(missing)} not here; see `services` in tools/setup")
    if needs and os.geteuid() != 0:
        skip(f"{needs[0]} wants to be root")
    probe = subprocess.run([NETNS_CLUSTER, "2", "--", "true"], capture_output=True, text=True,
                           check=False)
    if probe.returncode != 0:
        skip(probe.stderr.strip())
    os.execv(NETNS_CLUSTER, [NETNS_CLUSTER, str(count), "--", sys.executable, path, *sys.argv[1:]])
