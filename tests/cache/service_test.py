#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The file cache as a service on one host: `rhinet cache start`, `serve`, `exec`, `env`, `status`,
`stop`. Each test has a folder for sockets of its own, and proves that nothing is left in it."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import processes  # noqa: E402
import tap  # noqa: E402

RHINET = os.environ["TEST_RHINET"]
RECIPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../share/recipes")
HANG_S = 60
MIB = 1 << 20
MARKER = "SERVICE_TEST_MARKER"
STRANGER = 65534


class ServiceTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="rhinet-svc-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.data = os.path.join(self.folder, "data")
        os.mkdir(self.data)
        self.file = self.write("file", 3 * MIB + 777)
        self.sockets = os.path.join(self.folder, "s")
        self.marker = uuid.uuid4().hex
        self.environment = {
            **{name: value for name, value in os.environ.items()
               if not name.startswith("RHINET_") and name != "LD_PRELOAD"},
            "RHINET_CACHE_SERVICE": f"{self.sockets}/default", "RHINET_CACHE_SETTLE": "0s",
            MARKER: self.marker}

    def tearDown(self):
        left = self.processes()
        processes.kill_all(left)
        self.assertEqual([], [processes.command_of(pid) for pid in left], "left running")

    def write(self, name, size):
        path = os.path.join(self.data, name)
        with open(path, "wb") as file:
            file.write(random.Random(size).randbytes(size))
        return path

    def processes(self, name=None):
        return [pid for pid in processes.marked(MARKER, self.marker)
                if name is None or processes.name_of(pid) == name]

    def run_it(self, *words, **options):
        environment = {**self.environment, **options.pop("environment", {})}
        return subprocess.run([RHINET, "cache", *map(str, words)], capture_output=True, text=True,
                              timeout=HANG_S, check=False, env=environment, **options)

    def good(self, *words, **options):
        done = self.run_it(*words, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def start(self, *words, **options):
        return self.good("start", "--cache", "16M", "--path", self.data, *words, **options)

    def status(self, *words):
        done = self.run_it("status", "--json", *words)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def read(self, *words, path=None):
        """What a program reads, and it must be what is there."""
        path = path or self.file
        done = subprocess.run([RHINET, "cache", "exec", *words, "cat", path], capture_output=True,
                              timeout=HANG_S, check=False, env=self.environment)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        with open(path, "rb") as file:
            self.assertEqual(done.stdout, file.read())

    def write_while_read(self, path, *before):
        """Somebody writes through a mapping, which changes the file's times only once; others read
        meanwhile, by the file's own name, and see each change."""
        writer = subprocess.Popen([RHINET, "cache", "exec", *before, "python3", "-c", WRITE, path],
                                  env=self.environment, text=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        self.assertEqual(writer.stdout.readline(), "mapped\n")
        for byte in b"abc":
            writer.stdin.write(f"{byte}\n")
            writer.stdin.flush()
            self.assertEqual(writer.stdout.readline(), "written\n")
            for _ in range(3):
                self.read()
        writer.communicate()
        self.read()

    def assert_nothing_left(self):
        self.assertTrue(processes.wait_until(lambda: not self.processes(), HANG_S),
                        [processes.command_of(pid) for pid in self.processes()])
        self.assertFalse(os.path.exists(self.sockets), "sockets or folders are left")


class Life(ServiceTest):
    def test_contents_stay_between_jobs(self):
        self.assertIn("1 node is ready", self.start())
        for job in range(3):
            self.read()
        status = self.status()
        self.assertEqual(status["load_bytes"], os.path.getsize(self.file))
        self.assertGreaterEqual(status["local_bytes"], 3 * os.path.getsize(self.file))
        self.assertEqual((status["nodes"], status["nodes_alive"]), (1, 1))
        self.assertIn("node 0 of 1", self.good("status"))
        self.good("stop")
        self.assert_nothing_left()

    def test_variables_are_enough(self):
        self.start()
        script = 'eval "$("$1" cache env)"; cat "$2" | md5sum; head -c 5 "$2" | wc -c'
        done = subprocess.run(["sh", "-c", script, "sh", RHINET, self.file], text=True,
                              capture_output=True, check=False, env=self.environment)
        plain = subprocess.run(["md5sum"], stdin=open(self.file), text=True, capture_output=True,
                               check=False)
        self.assertEqual(done.stdout, plain.stdout + "5\n", done)
        self.assertEqual(self.status()["load_bytes"], os.path.getsize(self.file))
        self.good("stop")
        self.assert_nothing_left()

    def test_declared_folders_are_told(self):
        script = 'printf %s "$RHINET_CACHE_IMMUTABLE"'
        self.start()
        self.assertEqual(self.good("exec", "sh", "-c", script), "")
        self.assertNotIn("IMMUTABLE", self.good("env"))
        self.good("stop")
        self.start("--immutable", self.data)
        folder = os.path.realpath(self.data)
        self.assertEqual(self.good("exec", "sh", "-c", script), folder)
        done = subprocess.run(["sh", "-c", f'eval "$("$1" cache env)"; {script}', "sh", RHINET],
                              text=True, capture_output=True, check=False, env=self.environment)
        self.assertEqual(done.stdout, folder)
        self.read()
        self.assertGreater(self.status()["names"], 0)
        self.good("stop")
        self.assert_nothing_left()

    def test_what_is_not_there(self):
        done = self.run_it("exec", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no cache default runs here", done.stderr)
        self.assertEqual(self.run_it("status").returncode, 3)
        self.assertEqual(json.loads(self.run_it("status", "--json").stdout)["nodes"], 0)
        self.assertIn("no cache default runs here", self.good("stop"))
        # The variables may be set before it runs, and stay when it has gone.
        script = 'eval "$("$1" cache env)"; echo well'
        done = subprocess.run(["sh", "-c", script, "sh", RHINET], text=True, capture_output=True,
                              check=False, env=self.environment)
        self.assertEqual((done.stdout, done.stderr), ("well\n", ""))

    def test_two_services(self):
        self.start("--name", "one")
        self.start("--name", "two")
        self.read("--name", "one")
        self.assertEqual(self.status("--name", "two")["load_bytes"], 0)
        done = self.run_it("start", "--name", "one", "--cache", "16M", "--path", self.data)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("a cache with the name one runs here already", done.stderr)
        self.good("stop", "--name", "one")
        self.assertIsNone(self.status("--name", "one"))
        self.read("--name", "two")
        self.good("stop", "--name", "two")
        self.assert_nothing_left()

    def test_idle(self):
        self.start("--idle", "3s")
        user = subprocess.Popen([RHINET, "cache", "exec", "python3", "-c",
                                 "import sys; open(sys.argv[1]).close(); print(1, flush=True); "
                                 "sys.stdin.read()", self.file],
                                env=self.environment, text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE)
        self.assertEqual(user.stdout.readline(), "1\n")
        used_until = time.monotonic() + 5
        while time.monotonic() < used_until:  # it does nothing, but it is there
            self.assertIsNotNone(self.agent())
            self.status()  # which is no use of it
            time.sleep(0.2)
        user.communicate()
        self.assert_nothing_left()

    def agent(self):
        found = self.processes("rhinet-cache")
        return found[0] if found else None

    def test_a_signal_ends_a_node(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            serve = self.serve()
            serve.send_signal(number)
            self.assertEqual(serve.wait(HANG_S), 0)
            serve.stdout.close()
            self.assert_nothing_left()

    def serve(self):
        serve = subprocess.Popen([RHINET, "cache", "serve", "--cache", "16M", "--path", self.data],
                                 env=self.environment, text=True, stdout=subprocess.PIPE)
        self.assertEqual(serve.stdout.readline(), "cache default: node 0 of 1 is ready\n")
        return serve

    def test_many_programs_and_few_descriptors(self):
        """Processes that are gone hold none of the agent's."""
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        for words in ((), ("--idle", "1h")):
            self.start(*words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                     (hard, hard)))
            resource.prlimit(self.agent(), resource.RLIMIT_NOFILE, (100, 100))
            script = f'for i in $(seq 1 150); do head -c 9 {self.file} || exit; done | wc -c'
            self.assertEqual(self.good("exec", "sh", "-c", script), f"{150 * 9}\n")
            before = self.status()["local_hits"]
            self.read()
            self.assertGreater(self.status()["local_hits"], before)
            self.good("stop")
        self.assert_nothing_left()

    def test_bad_wishes(self):
        for words, said in ((("--cache", "0%"), "a part such as 20%"),
                            (("--cache", "many"), "a size such as 8G"),
                            (("--idle", "soon"), "a time such as"),
                            (("--path", "/no/such"), "there is no such folder"),
                            (("--name", "../x"), "is no name for a cache"),
                            (("--name", "x" * 33), "is no name for a cache")):
            done = self.run_it("start", *words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(said, done.stderr)
        for place, said in (("here", "expected an absolute path"),
                            ("/" + "x" * 120 + "/name", "choose a shorter one")):
            done = self.run_it("start", environment={"RHINET_CACHE_SERVICE": place})
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr)
        self.assert_nothing_left()

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not here")
    def test_the_unit_file(self):
        with open(f"{RECIPES}/rhinet-cache.service", encoding="utf-8") as file:
            unit = file.read().replace("=rhinet cache", f"={RHINET} cache")
        self.assertEqual(unit.count(RHINET), 2)
        path = self.folder + "/rhinet-cache.service"
        with open(path, "w", encoding="utf-8") as file:
            file.write(unit)
        done = subprocess.run(["systemd-analyze", "--user", "verify", path], capture_output=True,
                              text=True, timeout=HANG_S, check=False,
                              env={**self.environment, "XDG_RUNTIME_DIR": self.folder})
        self.assertNotIn("rhinet-cache.service", done.stderr)
        self.assertEqual(done.returncode, 0, done)

    def test_a_part_of_the_memory(self):
        self.good("start", "--cache", "0.5%", "--path", self.data)
        self.assertGreater(self.status()["cache_bytes"], MIB)
        self.good("stop")
        self.assert_nothing_left()


class Line(ServiceTest):
    """What `rhinet cache run` says at its end."""

    def said(self, *words, **variables):
        done = self.run_it("run", "--cache", "16M", "--path", self.data, *words,
                           environment=variables)
        self.assertEqual(done.returncode, 0, done)
        return done.stderr

    def test_where_it_came_from(self):
        self.assertRegex(self.said("-n", 2, "md5sum", self.file),
                         r"^rhinet cache: 6\.0 MiB read: .* from this node, .* from others, "
                         r"3\.0 MiB from the file system; 0 bypassed\n$")

    def test_quiet(self):
        self.assertEqual(self.said("--quiet", "-n", 2, "md5sum", self.file), "")

    def test_reasons(self):
        new = {"RHINET_CACHE_SETTLE": "3600s"}
        self.assertIn("file system; an unknown amount bypassed "
                      "(1 open of a file that had just changed)",
                      self.said("-n", 1, "md5sum", self.file, **new))
        script = "import mmap, sys; f = open(sys.argv[1], 'rb'); " \
                 "m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC); m[0]"
        self.assertIn("3.0 MiB bypassed (1 mapping)",
                      self.said("-n", 1, sys.executable, "-c", script, self.file))

    def test_all_of_a_changed_file_is_counted(self):
        """By each way to read, from the change on, which is the second read."""
        script = "import os, sys; path, way = sys.argv[1:]; fd = os.open(path, os.O_RDONLY); " \
                 "a = 1 << 20; room = [bytearray(a // 2), bytearray(a // 2)]; at = 0\n" \
                 "ways = {'read': lambda: os.read(fd, a), 'readv': lambda: os.readv(fd, room), " \
                 "'pread': lambda: os.pread(fd, a, at), " \
                 "'preadv': lambda: os.preadv(fd, room, at)}\n" \
                 "for at in (0, a, 2 * a):\n" \
                 "    got = ways[way]()\n" \
                 "    assert (got if type(got) is int else len(got)) == a\n" \
                 "    os.utime(path) if at == 0 else None"
        for way in ("read", "readv", "pread", "preadv"):
            with self.subTest(way):
                self.assertIn("2.0 MiB bypassed (2.0 MiB that could not be served, "
                              "1 file that changed while it was open)",
                              self.said("-n", 1, sys.executable, "-c", script, self.file, way))


class Owner(ServiceTest):
    def refused(self, said):
        for command in ("start", "serve", "status", "stop", "env"):
            done = self.run_it(command)
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(said, done.stderr)

    def test_folder_is_open(self):
        os.mkdir(self.sockets)
        os.chmod(self.sockets, 0o755)
        self.refused("is open to others")

    def test_folder_is_a_link(self):
        os.mkdir(self.folder + "/mine", 0o700)
        os.symlink(self.folder + "/mine", self.sockets)
        self.refused("cannot be used")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_folder_is_anothers(self):
        os.mkdir(self.sockets, 0o700)
        os.chown(self.sockets, STRANGER, STRANGER)
        self.refused(f"belongs to user {STRANGER}, not to you")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_a_stranger_gets_nothing(self):
        self.start()
        os.chmod(self.folder, 0o755)
        for command in (("status",), ("stop",), ("exec", "cat", self.file)):
            done = self.run_it(*command, user=STRANGER, group=STRANGER)
            self.assertNotEqual(done.returncode, 0, done)
        # Even if the way is open: the agent asks the kernel who it is.
        os.chmod(self.sockets, 0o711)
        os.chmod(self.sockets + "/default", 0o711)
        os.chmod(self.sockets + "/default/agent", 0o777)
        os.chmod(self.data, 0o755)
        library = self.good_env()
        done = subprocess.run(["cat", self.file], capture_output=True, check=False, env=library,
                              user=STRANGER, group=STRANGER)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        os.chmod(self.sockets, 0o700)
        os.chmod(self.sockets + "/default", 0o700)
        status = self.status()
        self.assertEqual((status["local_hits"], status["loads"]), (0, 0))
        self.good("stop")
        self.assert_nothing_left()

    def good_env(self):
        out = subprocess.run(["sh", "-c", 'eval "$("$1" cache env)" && env -0', "sh", RHINET],
                             capture_output=True, text=True, check=True, env=self.environment)
        return dict(entry.split("=", 1) for entry in out.stdout.split("\0") if entry)


class Killed(ServiceTest):
    """Whatever is killed, everything is gone soon, and programs go on."""

    def launcher(self):
        return [pid for pid in self.processes() if processes.command_of(pid).find(" start ") > 0 and
                processes.name_of(pid) == "rhinet"]

    def keeper(self):
        return [pid for pid in self.processes() if processes.command_of(pid).find(" serve ") > 0 and
                processes.name_of(pid) == "rhinet"]

    def kill_one(self, find):
        self.start()
        self.read()
        victims = find()
        self.assertEqual(len(victims), 1, [processes.command_of(pid) for pid in self.processes()])
        reader = subprocess.Popen([RHINET, "cache", "exec", "python3", "-c", READ_ON, self.file],
                                  env=self.environment, text=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        self.assertEqual(reader.stdout.readline(), "begun\n")
        os.kill(victims[0], signal.SIGKILL)
        out, _ = reader.communicate("go on\n", timeout=HANG_S)
        self.assertEqual((reader.returncode, out), (0, "same\n"))

    def test_agent(self):
        self.kill_one(lambda: self.processes("rhinet-cache"))
        self.assert_nothing_left()

    def test_keeper(self):
        self.kill_one(self.keeper)
        self.assert_nothing_left()

    def test_launcher(self):
        self.kill_one(self.launcher)
        self.assert_nothing_left()

    def test_sweeper(self):
        self.kill_one(lambda: self.processes("rhinet-sweeper"))
        self.read()
        self.assertTrue(processes.wait_until(lambda: self.processes("rhinet-sweeper"), HANG_S))
        processes.kill_all(self.keeper())  # the next one does its work
        self.assert_nothing_left()

    def test_all_at_once(self):
        """Then the next one starts over what is left."""
        self.start()
        processes.kill_all(self.processes())
        self.assertTrue(processes.wait_until(lambda: not self.processes(), HANG_S))
        self.start()
        self.read()
        self.good("stop")
        self.assert_nothing_left()


READ_ON = """
import sys
file = open(sys.argv[1], "rb", buffering=0)
first = file.read()
print("begun", flush=True)
sys.stdin.readline()
file.seek(0)
print("same" if file.read() == first and open(sys.argv[1], "rb").read() == first else "other")
"""


class Container(ServiceTest):
    """Programs with process numbers of their own."""

    def setUp(self):
        super().setUp()
        self.unshare = ["unshare", "--pid", "--fork", "--mount-proc"] + \
            ([] if os.geteuid() == 0 else ["--map-root-user"])
        probe = subprocess.run([*self.unshare, "true"], capture_output=True, check=False)
        if probe.returncode != 0:
            self.skipTest(f"no pid namespaces here: {probe.stderr.decode().strip()}")

    def test_reads(self):
        self.start()
        for _ in range(2):
            done = self.run_it("exec", *self.unshare, "md5sum", self.file)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        status = self.status()
        self.assertEqual(status["load_bytes"], os.path.getsize(self.file))
        self.assertEqual(status["fallbacks"], 0)
        self.good("stop")
        self.assert_nothing_left()

    def test_a_live_writer_is_not_taken_for_dead(self):
        """It maps the file and closes it; until it ends, nobody may read it from the cache."""
        self.start()
        self.read()
        self.write_while_read(self.file, *self.unshare)
        self.good("stop")
        self.assert_nothing_left()


class Links(ServiceTest):
    """Files of the cache by other names."""

    def setUp(self):
        super().setUp()
        self.link = self.folder + "/link"
        os.symlink(self.file, self.link)

    def test_reads(self):
        self.start()
        for path in (self.link, f"{self.folder}/../{os.path.basename(self.folder)}/link"):
            self.read(path=path)
        done = self.run_it("exec", "sh", "-c", "wc -c < link; cp link copy; wc -c < data/file",
                           cwd=self.folder)
        self.assertEqual(done.stdout, f"{os.path.getsize(self.file)}\n" * 2)
        status = self.status()
        self.assertEqual(status["load_bytes"], os.path.getsize(self.file))
        self.assertGreaterEqual(status["local_bytes"], 2 * os.path.getsize(self.file))
        self.good("stop")
        self.assert_nothing_left()

    def test_relative_path(self):
        self.good("start", "--cache", "16M", "--path", "./data/../data", cwd=self.folder)
        self.read()
        self.assertEqual(self.status()["load_bytes"], os.path.getsize(self.file))
        self.good("stop")
        self.assert_nothing_left()

    def test_a_writer_that_comes_by_a_link(self):
        self.start()
        self.read()
        self.write_while_read(self.link)
        self.good("stop")
        self.assert_nothing_left()

    def test_a_writer_that_comes_by_a_hard_link(self):
        name = self.folder + "/name"
        os.link(self.file, name)
        self.start()
        self.read()
        script = "import sys; f = open(sys.argv[1], 'r+b'); print('open', flush=True); input()"
        with subprocess.Popen([RHINET, "cache", "exec", "python3", "-c", script, name], text=True,
                              env=self.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as writer:
            self.assertEqual(writer.stdout.readline(), "open\n")
            self.read()
            self.assertGreater(self.status()["bypassed_written"], 0)
            writer.communicate("\n")
        self.good("stop")
        self.assert_nothing_left()

    def test_a_link_to_elsewhere_is_not_ours(self):
        other = self.folder + "/other"
        with open(other, "wb") as file:
            file.write(b"x" * MIB)
        os.symlink(other, self.folder + "/far")
        self.start()
        self.read(path=self.folder + "/far")
        status = self.status()
        self.assertEqual((status["loads"], status["local_hits"]), (0, 0))
        self.good("stop")
        self.assert_nothing_left()


WRITE = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
memory = mmap.mmap(fd, 0)
os.close(fd)
os.closerange(3, 64)  # also the mapping's own
print("mapped", flush=True)
for line in sys.stdin:
    memory[5000] = int(line)
    print("written", flush=True)
"""


if __name__ == "__main__":
    tap.main()
