# SPDX-License-Identifier: BSD-3-Clause
"""What the interposer's tests share: a scratch folder, and running a command plain, with the
stand-in for the cache (fake_client.c), or with a real one (`rhinet cache run`)."""

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import tap  # noqa: E402  pylint: disable=wrong-import-position

main = tap.main
RHINET = os.environ["TEST_RHINET"]
FAKE = os.environ["TEST_FAKE"]
PROGRAMS = Path(os.environ["TEST_PROGRAMS"])
HERE = Path(__file__).resolve().parent
PYTHON = sys.executable
TIMEOUT = 300
ACTORS = 2  # nodes, in tests that command them

# A file that has just changed is not cached; the real setting is a second.
SETTLE_NS = 20_000_000


class CacheTest(unittest.TestCase):
    def setUp(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="cache-test-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.data = self.scratch / "data"

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items()
                if not k.startswith("RHINET_") and k != "LD_PRELOAD"}
        # A rhinet with the address sanitizer in it wants to be loaded before everybody else.
        kept["ASAN_OPTIONS"] = kept.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return {**kept, **{k: str(v) for k, v in more.items()}}

    def finish(self, process, timeout=TIMEOUT):
        """Its output, and everything it started is gone."""
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            self.fail(f"still running after {timeout} s: {process.args}\n{err[-2000:]}")
        return process.returncode, out, err

    def start(self, command, environment):
        return subprocess.Popen([str(k) for k in command], env=environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True,
                                errors="surrogateescape")

    def start_plain(self, *command):
        return self.start(command, self.environment())

    def start_fake(self, *command):
        count = self.scratch / "count"
        if not count.exists():
            count.write_bytes(bytes(8))
        return self.start(command, self.environment(
            LD_PRELOAD=FAKE, FAKE_COUNT=count, FAKE_PATH=self.data, RHINET_CACHE_PATH=self.data,
            RHINET_CACHE_SOCKET="none"))

    def start_cached(self, *command, nodes=1, options=(), **more):
        words = [RHINET, "cache", "run", "--quiet", "-n", nodes, "--cache", "64M", "--path",
                 self.data, *options, "--", *command]
        return self.start(words, self.environment(
            **{"RHINET_CACHE_SETTLE": f"{SETTLE_NS // 1000}us", **more}))

    def served(self):
        """Bytes that the stand-in has served so far."""
        return int.from_bytes((self.scratch / "count").read_bytes(), "little")

    def settle(self):
        time.sleep(SETTLE_NS * 3e-9)


class ActorsTest(CacheTest):
    """Nodes that do to files what the test tells them; see actor.py."""

    def begin(self, **more):
        """A job with an actor on each node; more: as for start_cached."""
        self.connections, self.streams = [], []
        path = self.scratch / "socket"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            listener.settimeout(60)
            job = self.start_cached(PYTHON, HERE / "actor.py", path, nodes=ACTORS, **more)
            self.addCleanup(job.kill)
            for _ in range(ACTORS):
                connection, _ = listener.accept()
                connection.settimeout(60)
                self.addCleanup(connection.close)
                self.connections.append(connection)
                self.streams.append(connection.makefile("rw"))
        return job

    def end(self, job):
        for connection in self.connections:
            connection.shutdown(socket.SHUT_RDWR)
        self.assertEqual(self.finish(job)[0], 0)

    def tell(self, which, *call):
        self.send(which, *call)
        return self.receive(which)

    def send(self, which, *call):
        self.streams[which].write(json.dumps(call) + "\n")
        self.streams[which].flush()

    def has_answer(self, which):
        return bool(select.select([self.connections[which]], [], [], 0)[0])

    def receive(self, which):
        return json.loads(self.streams[which].readline())
