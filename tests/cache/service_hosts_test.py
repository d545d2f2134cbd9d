#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The file cache as a service of two hosts, that is, network namespaces: by `rhinet cache start`,
by mpirun; torchrun, if PyTorch is here, else a stand-in that starts processes with the same
variables. The recipes of share/recipes are run as they stand. The hosts share all folders, so the
sockets' has the host's name in it."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import processes  # noqa: E402
import tap  # noqa: E402

RHINET = os.environ["TEST_RHINET"]
NETNS = os.environ["TEST_NETNS_CLUSTER"]
RECIPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../share/recipes")
MPIRUN = shutil.which("mpirun.openmpi")
HANG_S = 90
MIB = 1 << 20
MARKER = "SERVICE_TEST_MARKER"
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Hosts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="rhinet-svc-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.data = os.path.join(self.folder, "data")
        os.mkdir(self.data)
        self.files = [self.write(f"file-{i}", 2 * MIB + 777 * i) for i in range(2)]
        self.size = sum(map(os.path.getsize, self.files))
        self.marker = uuid.uuid4().hex
        self.environment = {
            **{name: value for name, value in os.environ.items()
               if not name.startswith("RHINET_") and name != "LD_PRELOAD"},
            "PATH": os.path.dirname(RHINET) + ":" + os.environ["PATH"],
            "RHINET_CACHE_SERVICE": f"{self.folder}/s-%h/default", "RHINET_CACHE_SETTLE": "0s",
            "RHINET_CACHE_SIZE": "16M", "RHINET_HOST_TIMEOUT": "2s", MARKER: self.marker}

    def tearDown(self):
        left = processes.marked(MARKER, self.marker)
        processes.kill_all(left)
        self.assertEqual([], [processes.command_of(pid) for pid in left], "left running")

    def write(self, name, size):
        path = os.path.join(self.data, name)
        with open(path, "wb") as file:
            file.write(random.Random(size).randbytes(size))
        return path

    def agents(self):
        return [pid for pid in processes.marked(MARKER, self.marker)
                if processes.name_of(pid) == "rhinet-cache"]

    def on(self, host, *words, good=True):
        """A command on a host, with our variables, as a user who has logged in there."""
        script = self.folder + f"/{uuid.uuid4().hex}"
        with open(script, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + "".join(
                f"export {name}='{value}'\n" for name, value in self.environment.items()
                if name.startswith("RHINET_") or name in (MARKER, "PATH")) + 'exec "$@"\n')
        os.chmod(script, 0o755)
        done = subprocess.run([NETNS, "rsh", host, script, *map(str, words)], capture_output=True,
                              text=True, timeout=HANG_S, check=False, env=self.environment)
        if good:
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done

    def run_here(self, *words, **variables):
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False,
                              timeout=HANG_S, env={**self.environment, **variables})
        self.assertEqual(done.returncode, 0, done)
        return done

    def start(self, *words):
        self.run_here(RHINET, "cache", "start", "--hosts", "n1,n2", "--rsh", f"{NETNS} rsh",
                      "--remote-rhinet", RHINET, "--export", MARKER, "--path", self.data, *words)

    def read(self, host):
        done = self.on(host, RHINET, "cache", "exec", "md5sum", *self.files)
        plain = subprocess.run(["md5sum", *self.files], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, plain.stdout)

    def status(self, host):
        return json.loads(self.on(host, RHINET, "cache", "status", "--json").stdout)

    def assert_nothing_left(self):
        self.assertTrue(processes.wait_until(
            lambda: not processes.marked(MARKER, self.marker), HANG_S),
            [processes.command_of(pid) for pid in processes.marked(MARKER, self.marker)])
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("s-")], [])

    def test_one_cache_for_both(self):
        self.start()
        for host in ("n1", "n2", "n1", "n2"):
            self.read(host)
        found = [self.status(host) for host in ("n1", "n2")]
        self.assertEqual([status["node"] for status in found], [0, 1])
        self.assertEqual([status["nodes_alive"] for status in found], [2, 2])
        self.assertEqual(sum(status["load_bytes"] for status in found), self.size)
        self.assertEqual(found[1]["remote_bytes"], self.size)
        self.on("n2", RHINET, "cache", "stop")  # from any host
        self.assert_nothing_left()

    def test_nodes_of_different_sizes(self):
        """As a part of each host's memory is: what one knows of a block the other finds."""
        serves = [subprocess.Popen(
            [RHINET, "run", "--hosts", "n1,n2", "--rsh", f"{NETNS} rsh", "--remote-rhinet", RHINET,
             "--export", MARKER, "sh", "-c",
             'if [ "$RHINET_RANK" = 0 ]; then size=12M; else size=40M; fi; '
             f'exec "{RHINET}" cache serve --cache $size --path "{self.data}"'],
            env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)]
        self.assertEqual(sorted(serves[0].stdout.readline() for _ in range(2)),
                         [f"cache default: node {node} of 2 is ready\n" for node in range(2)])
        for host in ("n2", "n1"):
            self.read(host)
        found = [self.status(host) for host in ("n1", "n2")]
        self.assertNotEqual(found[0]["cache_bytes"], found[1]["cache_bytes"])
        self.assertEqual(sum(status["load_bytes"] for status in found), self.size)
        self.assertEqual(found[0]["remote_bytes"], self.size)
        self.on("n1", RHINET, "cache", "stop")
        serves[0].communicate(timeout=HANG_S)
        self.assert_nothing_left()

    def test_idle_together(self):
        self.start("--idle", "3s")
        self.read("n2")
        self.assert_nothing_left()

    def test_an_agent_dies(self):
        self.start()
        self.read("n1")
        self.read("n2")
        os.kill(self.status("n2")["agent_pid"], signal.SIGKILL)
        self.assertTrue(processes.wait_until(
            lambda: self.on("n2", RHINET, "cache", "status", good=False).returncode == 3, HANG_S))
        self.assertTrue(processes.wait_until(lambda: self.status("n1")["nodes_alive"] == 1, HANG_S))
        self.read("n1")
        # Programs that have the variables go on there, without.
        out = self.on("n2", "sh", "-c", f'eval "$({RHINET} cache env)"; md5sum {self.files[0]}')
        self.assertIn(self.files[0], out.stdout)
        self.on("n1", RHINET, "cache", "stop")
        self.assert_nothing_left()

    def test_the_launcher_is_killed(self):
        self.start()
        victims = [pid for pid in processes.marked(MARKER, self.marker)
                   if " start " in processes.command_of(pid) and
                   processes.name_of(pid) == "rhinet"]
        self.assertEqual(len(victims), 1)
        os.kill(victims[0], signal.SIGKILL)
        self.assert_nothing_left()

    def test_a_host_that_cannot_be_reached(self):
        done = subprocess.run([RHINET, "cache", "start", "--hosts", "n1,n2", "--rsh", "/bin/false",
                               "--path", self.data], capture_output=True, text=True, check=False,
                              timeout=HANG_S, env=self.environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("host n2: the remote shell", done.stderr)
        self.assert_nothing_left()

    @unittest.skipUnless(MPIRUN, "Open MPI's mpirun is not here")
    def test_mpirun(self):
        """The recipe: mpirun starts the cache, and then programs under it."""
        os.symlink(MPIRUN, self.folder + "/mpirun")
        exported = " ".join(f"-x {name}" for name in self.environment
                            if name.startswith("RHINET_") or name in (MARKER, "PATH"))
        options = f"--mca plm_rsh_agent {self.folder}/rsh {exported}"
        with open(self.folder + "/rsh", "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {NETNS} rsh "$@"\n')
        os.chmod(self.folder + "/rsh", 0o755)
        show = f"md5sum {' '.join(self.files)}; env -u LD_PRELOAD rhinet cache status --json"
        done = self.run_here("sh", f"{RECIPES}/mpirun.sh", "n1,n2", "sh", "-c", show, **ROOT,
                             PATH=f"{self.folder}:{self.environment['PATH']}", DATA=self.data,
                             MEMORY="16M", MPIRUN_OPTIONS=options)
        lines = done.stdout.splitlines()
        self.assertEqual(sorted(line for line in lines if line.startswith("cache")),
                         [f"cache default: node {node} of 2 is ready" for node in range(2)])
        self.assertEqual(len([line for line in lines if self.data in line]), 2 * len(self.files))
        found = [json.loads(line) for line in lines if line.startswith("{")]
        self.assertEqual(sorted(status["node"] for status in found), [0, 1], done)
        for status in found:
            self.assertGreaterEqual(status["local_bytes"], self.size)
        self.assert_nothing_left()

    def test_torchrun(self):
        """The recipe: a cache, then torchrun on each host under it."""
        torchrun = shutil.which("torchrun")
        if not torchrun:  # what it is to a program: processes with these variables
            torchrun = self.folder + "/torchrun"
            with open(torchrun, "w", encoding="utf-8") as file:
                file.write(TORCHRUN)
            os.chmod(torchrun, 0o755)
        program = self.folder + "/train.py"
        with open(program, "w", encoding="utf-8") as file:
            file.write(TRAIN)
        self.start()
        self.environment["PATH"] = os.path.dirname(torchrun) + ":" + self.environment["PATH"]
        both = [subprocess.Popen(
            [NETNS, "rsh", host, "env", *(f"{name}={value}" for name, value in
                                          self.environment.items() if name in (MARKER, "PATH") or
                                          name.startswith("RHINET_")),
             f"NODE_RANK={node}", "NNODES=2", "NPROC_PER_NODE=2", "MASTER_ADDR=n1",
             "MASTER_PORT=29511", "sh", f"{RECIPES}/torchrun.sh", program, *self.files],
            env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for node, host in enumerate(("n1", "n2"))]
        said = [job.communicate(timeout=HANG_S) for job in both]
        self.assertEqual([job.returncode for job in both], [0, 0], said)
        lines = sorted(line for out, _ in said for line in out.splitlines() if "rank" in line)
        self.assertEqual(lines, [f"rank {rank} of 4 has read {self.size}" for rank in range(4)])
        found = [self.status(host) for host in ("n1", "n2")]
        self.assertEqual(sum(status["load_bytes"] for status in found), self.size)
        self.on("n1", RHINET, "cache", "stop")
        self.assert_nothing_left()


TORCHRUN = """#!/usr/bin/python3
import os, subprocess, sys
options = dict(word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("--"))
words = [word for word in sys.argv[1:] if not word.startswith("--")]
each, node = int(options["nproc-per-node"]), int(options["node-rank"])
jobs = [subprocess.Popen([sys.executable, *words],
                         env={**os.environ, "RANK": str(node * each + local),
                              "WORLD_SIZE": str(each * int(options["nnodes"])),
                              "LOCAL_RANK": str(local)}) for local in range(each)]
sys.exit(max(job.wait() for job in jobs))
"""

TRAIN = """
import os, sys
total = sum(len(open(path, "rb").read()) for path in sys.argv[1:])
text = f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']} has read {total}\\n"
os.write(1, text.encode())
"""


if __name__ == "__main__":
    if "NETNS_HOSTS" not in os.environ:
        probe = subprocess.run([NETNS, "1", "--", "true"], text=True, capture_output=True,
                               check=False)
        if probe.returncode != 0:
            print(f"1..0 # SKIP {probe.stderr.strip().splitlines()[-1]}")
            sys.exit(0)
        os.execv(NETNS, [NETNS, "2", "--", sys.executable, *sys.argv])
    tap.main()
