#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The file cache as a whole: `rhinet cache run` with a reader that compares every byte.

Whatever happens (too little memory, deaths, faults), each program must end well and have read what
the kernel has. Where nothing goes wrong, each block is read from the file system exactly once."""

import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import processes  # noqa: E402
import tap  # noqa: E402

RHINET = os.environ["TEST_RHINET"]
READER = os.environ["TEST_READER"]
CALLS = os.environ["TEST_CALLS"]
CHANGE = os.environ["TEST_CHANGE"]
SCRIBBLE = os.environ["TEST_SCRIBBLE"]
HANG_S = 120
BLOCK = 1 << 20
MIB = 1 << 20


class Data:
    """Files to be read, old enough to be cached."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="rhinet-cache-test-")
        self.random = random.Random(7)

    def add(self, name, size):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(self.random.randbytes(size))
        return path

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


DATA = None
LARGE, FILES, SMALL = None, None, None
SMALL_SIZES = [1, 4095, 4096, 4097, 100 << 10, (128 << 10) - 1, 128 << 10, (128 << 10) + 1,
               300 << 10, MIB - 1, MIB, MIB + 1, 2 * MIB + 77]


def setUpModule():
    global DATA, LARGE, FILES, SMALL
    DATA = Data()
    LARGE = DATA.add("large", 24 * MIB + 12345)
    FILES = [DATA.add(f"file-{i}", 3 * MIB + 777 * i) for i in range(4)]
    SMALL = [DATA.add(f"small-{i}", size) for i, size in enumerate(SMALL_SIZES)]
    time.sleep(1.1)  # RHINET_CACHE_SETTLE


def tearDownModule():
    DATA.remove()


def block_count(paths):
    return sum(-(-os.path.getsize(path) // BLOCK) for path in paths)


class Run:
    """A job, from start to end."""

    all = []

    def __init__(self, nodes, reader, *options, program=None, **settings):
        self.gate, gate_end = os.pipe()
        environment = dict(os.environ, **settings)
        arguments = [RHINET, "cache", "run", "--quiet", "-n", str(nodes), "--path", DATA.folder,
                     *options]
        if program is None:
            program = [READER, "--gate", str(self.gate), *map(str, reader)]
        # These programs use the client themselves; the library would tell of their writing twice.
        program = ["env", "-u", "LD_PRELOAD",
                   *(str(self.gate) if word == "GATE" else word for word in program)]
        # The readers hold the pipe's other end open as well: they begin at the first byte each.
        self.process = subprocess.Popen(arguments + program, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=environment,
                                        pass_fds=[self.gate])
        os.close(self.gate)
        self.gate_end = gate_end
        Run.all.append(self)

    def open_gate(self):
        if self.gate_end is not None:
            os.close(self.gate_end)
        self.gate_end = None

    def finish(self):
        self.open_gate()
        try:
            self.out, self.err = self.process.communicate(timeout=HANG_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.out, self.err = self.process.communicate()
            raise AssertionError(f"hangs; stderr: {self.err}")
        self.status = self.process.returncode
        self.nodes = [json.loads(line) for line in self.out.split("\n") if line.startswith("{")]
        return self

    def sum(self, name):
        return sum(node[name] for node in self.nodes)


def run(nodes, reader, *options, **settings):
    return Run(nodes, reader, *options, **settings).finish()


def processes_of(job):
    """Keepers, agents and programs of a job: {pid: (parent, name)} of all descendants."""
    table = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                text = file.read()
        except OSError:
            continue
        name = text[text.index("(") + 1:text.rindex(")")]
        table[int(entry)] = (int(text[text.rindex(")") + 2:].split()[1]), name)
    found, grown = {job}, True
    while grown:
        more = {pid for pid, (parent, _) in table.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return {pid: table[pid] for pid in found if pid in table}


def wait_for(condition, what):
    result = processes.wait_until(condition, HANG_S)
    if not result:
        raise AssertionError(f"waited in vain for {what}")
    return result


AT_GATE = "reader at gate"  # attached to its agent, and waiting; see reader.c


def readers_of(job, names=("cache-reader", AT_GATE)):
    return [pid for pid, (_, name) in processes_of(job).items() if name in names]


def await_readers(job, count):
    """Until all have attached: to an agent that is stopped or dead nobody can. The readers."""
    def at_gate():
        found = readers_of(job.process.pid, (AT_GATE,))
        return len(found) == count and found
    return wait_for(at_gate, "the readers at their gate")


def agents_of(job):
    return [pid for pid, (_, name) in processes_of(job).items() if name == "rhinet-cache"]


class Case(unittest.TestCase):
    def tearDown(self):
        """What a test that failed has left."""
        for job in Run.all:
            job.open_gate()
            if job.process.poll() is None:
                job.process.kill()  # its guard ends the rest
                job.process.communicate()
        Run.all.clear()

    def check_good(self, job, nodes):
        self.assertEqual(job.status, 0, job.err)
        self.assertEqual(len(job.nodes), nodes, job.out)

    def check_once(self, job, nodes, paths):
        """Every block crossed the file system once, and nobody had to do without."""
        self.check_good(job, nodes)
        self.assertEqual(job.sum("loads"), block_count(paths))
        self.assertEqual(job.sum("load_bytes"), sum(map(os.path.getsize, paths)))
        self.assertEqual(job.sum("fallbacks"), 0, job.out)


class Once(Case):
    """However many nodes begin at the same moment."""

    def once(self, nodes, paths, *options, order=(), **settings):
        job = run(nodes, [*order, *paths], "--cache", "64M", *options, **settings)
        self.check_once(job, nodes, paths)
        return job

    def test_one_node(self):
        self.once(1, [LARGE])

    def test_four_nodes(self):
        job = self.once(4, [LARGE])
        self.assertEqual(job.sum("remote_hits"), 3 * block_count([LARGE]))

    def test_eight_nodes_in_groups(self):
        for groups in (2, 4):
            self.once(8, FILES, "--groups", str(groups))

    def test_without_read_ahead(self):
        self.once(4, FILES, RHINET_CACHE_AHEAD="0")

    def test_small_files(self):
        self.once(4, SMALL)

    def test_small_blocks(self):
        job = run(3, FILES, "--cache", "32M", "--block", "64K")
        self.check_good(job, 3)
        self.assertEqual(job.sum("loads"),
                         sum(-(-os.path.getsize(path) // 65536) for path in FILES))

    def test_strides(self):
        job = run(4, ["--order", "stride", "--length", "50000", LARGE], "--cache", "64M")
        self.check_good(job, 4)
        self.assertLessEqual(job.sum("loads"), block_count([LARGE]))

    def test_random_reads_by_threads_and_children(self):
        job = run(3, ["--order", "random", "--reads", "300", "--length", "300000", "--threads", "3",
                      "--forks", "2", *FILES], "--cache", "64M")
        self.check_once(job, 3, FILES)

    def test_checksums(self):
        self.once(3, [LARGE], "--checksum")

    def test_without_direct_reads(self):
        self.once(2, FILES, RHINET_CACHE_DIRECT="off")

    def test_ofi(self):
        self.once(3, [LARGE], "--nic", "ofi")

    def test_mixed(self):
        self.once(4, [LARGE], "--nic", "mixed", RHINET_MIXED_RANKS="2")

    def test_delays_and_other_orders(self):
        self.once(4, [LARGE], "--nic", "fault(shm)",
                  RHINET_FAULT="seed=7,delay=0.05:500us,reorder=0.3")


class Room(Case):
    """Less memory than data."""

    STRESS = ["--order", "random", "--reads", "400", "--length", "200000", "--threads", "4",
              "--forks", "1"]

    def test_eviction(self):
        job = run(4, [*self.STRESS, LARGE, *FILES, *SMALL], "--cache", "8M")
        self.check_good(job, 4)
        self.assertGreater(job.sum("evictions"), 0)

    def test_fixed_ratios(self):
        for ratio in ("0", "0.5", "0.9"):
            job = run(3, [*self.STRESS, *FILES], "--cache", "6M", "--singlets", ratio)
            self.check_good(job, 3)
            kept = job.sum("singlets_kept")
            self.assertEqual(kept == 0, ratio == "0", job.out)

    def test_memory_used_is_what_was_read(self):
        """Small files, those of just over an eighth of a block, and rests: on the node that loads
        them, and on one that pulls them."""
        chance = random.Random(5)
        mix = [DATA.add(f"mix-{i}", size) for i, size in
               enumerate([chance.randrange(1, 9000) for _ in range(300)] +
                         [(128 << 10) + 1] * 20 + [chance.randrange(1, 2 * MIB) for _ in range(8)])]
        self.addCleanup(lambda: [os.unlink(path) for path in mix])
        time.sleep(1.1)  # RHINET_CACHE_SETTLE
        # each rank at its own node: the other may not have begun
        look = f'"$@" && {RHINET} cache stat --json --files 1 | grep "\\"node\\":$RHINET_RANK,"'
        job = Run(2, None, "--cache", "64M",
                  program=["sh", "-c", look, "sh", READER, "--gate", "GATE", *mix]).finish()
        self.assertEqual(job.status, 0, job.err)
        nodes = [node for node in job.nodes if node.get("files") and
                 node["files"][0]["path"].startswith(DATA.folder)]
        self.assertEqual({node["node"] for node in nodes}, {0, 1}, job.out)
        for node in nodes:
            self.assertGreater(node["content_bytes"], 0)
            self.assertLessEqual(node["used_bytes"], 1.25 * node["content_bytes"])
        self.assertGreater(max(node["remote_hits"] for node in nodes), 0)

    def test_hardly_any(self):
        job = run(2, [*self.STRESS, LARGE], "--cache", "4M", RHINET_CACHE_THREADS="16")
        self.check_good(job, 2)

    def test_eviction_with_groups_and_delays(self):
        job = run(6, ["--order", "random", "--reads", "150", "--length", "200000", *FILES, *SMALL],
                  "--cache", "4M", "--groups", "3", "--nic", "fault(shm)",
                  RHINET_FAULT="seed=5,delay=0.02:300us,reorder=0.3")
        self.check_good(job, 6)

    def test_eviction_ofi(self):
        job = run(3, [*self.STRESS, *FILES], "--cache", "5M", "--nic", "ofi")
        self.check_good(job, 3)

    def test_no_sense(self):
        job = run(1, FILES, "--cache", "1K")
        self.assertNotEqual(job.status, 0)
        self.assertIn("makes no sense", job.err)


class Faults(Case):
    """A network that loses and changes things."""

    def test_lost_operations(self):
        job = run(3, [LARGE], "--cache", "64M", "--nic", "fault(shm)",
                  RHINET_FAULT="seed=3,drop=push%0.02,drop=pull%0.02,drop=atomic%0.02")
        self.check_good(job, 3)

    def test_lost_ends(self):
        """That a node needs no more is told again until everybody knows."""
        job = run(3, SMALL[:1], "--cache", "5M", "--nic", "fault(shm)",
                  RHINET_FAULT="seed=3,drop=push%0.3")
        self.check_good(job, 3)

    def test_checksums_notice(self):
        """Flipped bits in blocks, headers and directory: never in what is read."""
        job = run(3, [LARGE, *FILES], "--cache", "64M", "--checksum", "--nic", "fault(shm)",
                  RHINET_FAULT="seed=3,corrupt=pull%0.1")
        self.check_good(job, 3)
        self.assertGreater(job.sum("checksum_errors"), 0)

    def test_small_blocks_prove_themselves(self):
        """They always have a checksum: a copy of them is believed for that alone."""
        job = run(5, SMALL[:9], "--cache", "64M", "--nic", "fault(shm)",
                  RHINET_FAULT="seed=3,corrupt=pull%0.3")
        self.check_good(job, 5)
        self.assertGreater(job.sum("checksum_errors"), 0)


class Death(Case):
    def check_left(self, keepers):
        """Sockets are named for the keeper that made them."""
        with open("/proc/net/unix") as table:
            text = table.read()
        for pid in keepers:
            self.assertNotIn(f"rhinet-cache-{pid}-", text)

    def test_agent_killed_at_every_step(self):
        """Rank 1's agent dies at its n-th operation: as loader, as holder, while evicting."""
        for step in (1, 2, 3, 5, 8, 11, 14, 18, 22, 27, 33, 50, 80, 130):
            job = run(3, FILES, "--cache", "5M", "--nic", "fault(shm)",
                      RHINET_FAULT=f"rank=1,kill@{step}", RHINET_CACHE_AHEAD="2")
            self.check_good(job, 3)

    def test_agent_killed_while_reading(self):
        job = Run(3, ["--order", "random", "--reads", "9000", "--length", "100000", LARGE],
                  "--cache", "16M")
        await_readers(job, 3)
        victim = random.choice(agents_of(job.process.pid))
        job.open_gate()
        time.sleep(0.2)
        os.kill(victim, signal.SIGKILL)
        self.check_good(job.finish(), 3)
        self.assertIn("was killed by signal 9", job.err)

    def test_agent_stopped(self):
        """Silent, not dead: it is not asked any more, and as a loader it is overruled."""
        job = Run(3, [*FILES, *FILES], "--cache", "64M", RHINET_CACHE_LEASE="300ms",
                  RHINET_CACHE_AHEAD="0")
        await_readers(job, 3)
        victim = agents_of(job.process.pid)[0]
        os.kill(victim, signal.SIGSTOP)
        job.open_gate()
        try:
            wait_for(lambda: not readers_of(job.process.pid), "the readers' end")
        finally:
            os.kill(victim, signal.SIGCONT)
            job.finish()
        self.check_good(job, 3)
        self.assertGreater(job.sum("fallbacks"), 0)

    def test_node_killed(self):
        job = Run(4, ["--order", "random", "--reads", "9000", "--length", "100000", LARGE],
                  "--cache", "16M", "--survive")
        readers = await_readers(job, 4)
        keeper = processes_of(job.process.pid)[readers[0]][0]
        job.open_gate()
        time.sleep(0.2)
        os.kill(keeper, signal.SIGKILL)
        job.finish()
        self.assertEqual(job.status, 128 + signal.SIGKILL, job.err)
        self.assertEqual(len(job.nodes), 3, job.out)
        self.check_left([keeper])

    def test_launcher_killed(self):
        job = Run(2, FILES, "--cache", "16M")
        await_readers(job, 2)
        members = set(processes_of(job.process.pid)) - {job.process.pid}
        job.process.kill()
        wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in members),
                 "the end of all processes")
        job.finish()
        self.check_left(members)

    def test_program_fails(self):
        job = Run(2, [], "--cache", "8M", program=["sh", "-c", "exit 3"]).finish()
        self.assertEqual(job.status, 3, job.err)
        job = Run(2, [], "--cache", "8M", program=["/does/not/exist"]).finish()
        self.assertEqual(job.status, 127, job.err)

    def test_nothing_is_left(self):
        job = Run(2, FILES, "--cache", "8M")
        await_readers(job, 2)
        members = set(processes_of(job.process.pid))
        self.check_good(job.finish(), 2)
        wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in members),
                 "the end of all processes")
        self.check_left(members)


class Paths(Case):
    def test_other_files_are_not_cached(self):
        with tempfile.NamedTemporaryFile(prefix="rhinet-cache-other-") as other:
            other.write(b"x" * 100000)
            other.flush()
            job = run(1, [other.name], "--cache", "8M", RHINET_CACHE_SETTLE="0s")
        self.check_good(job, 1)
        self.assertEqual(job.sum("local_hits") + job.sum("loads"), 0)

    def test_young_files_are_not_cached(self):
        path = DATA.add("young", 100000)
        job = run(1, [path], "--cache", "8M", RHINET_CACHE_SETTLE="3600s")
        self.check_good(job, 1)
        self.assertEqual(job.sum("loads"), 0)

    def test_links_are_followed(self):
        link = os.path.join(DATA.folder, "..", os.path.basename(DATA.folder) + "-link")
        os.symlink(FILES[0], link)
        try:
            self.check_once(run(2, [link], "--cache", "8M"), 2, [FILES[0]])
        finally:
            os.unlink(link)

    def test_no_such_folder(self):
        job = Run(1, [], "--path", "/does/not/exist", program=["true"]).finish()
        self.assertEqual(job.status, 2)
        self.assertIn("no such folder", job.err)


class Calls(Case):
    """What client.h says of its calls to the kernel."""

    def test_as_few_as_promised(self):
        job = Run(1, None, program=[CALLS, LARGE]).finish()
        self.assertEqual(job.status, 0, job.err)
        found = {line["what"]: line for line in job.nodes}
        self.assertLessEqual(found["open"]["readlink"], 1)
        self.assertEqual((found["open"]["statx"], found["open"]["others"]), (1, 0))
        self.assertEqual([found["hit"][name] for name in ("statx", "readlink", "others")],
                         [1, 0, 0])
        # The second asks the server, which may have heard of the writer before this host.
        self.assertEqual(found["open after a writer"]["statx"], 2)


class Change(Case):
    def test_rewritten_in_place(self):
        """Nobody reads what is older than what was there when the read began."""
        for nic, nodes in (("shm", 4), ("ofi", 2)):
            path = DATA.add(f"changing-{nic}", 2 * MIB)
            with open(path, "r+b") as file:
                for offset in range(0, 2 * MIB, 65536):
                    file.seek(offset)
                    file.write(bytes(8))
            job = Run(nodes, [], "--cache", "8M", "--nic", nic, program=[CHANGE, path, "40"],
                      RHINET_CACHE_SETTLE="20ms").finish()
            self.assertEqual(job.status, 0, job.err)
            self.assertGreater(job.sum("local_hits"), 0)


STRANGER = 65534


def as_user(user, act):
    """Whether act() returned True in a process of that user."""
    pid = os.fork()
    if pid == 0:
        status = 2
        try:
            os.setuid(user)
            status = 0 if act() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def processor_seconds(pid):
    """What a process has used so far; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Hostile(Case):
    """A client that writes over all memory it gets: the agent stays, or is done without."""

    def start(self, passes, seed):
        line = f"{SCRIBBLE} {seed} {passes} && exec {READER} --gate $0 {FILES[0]} {SMALL[0]}"
        job = Run(2, [], "--cache", "16M", program=["sh", "-c", line, "GATE"],
                  RHINET_CACHE_PATIENCE="500ms")
        wait_for(lambda: len(readers_of(job.process.pid, (AT_GATE,))) == 2 or
                 job.process.poll() is not None, "the readers at their gate, or the end")
        return job

    def check_calm(self, job):
        """Nobody is at work while the readers wait."""
        time.sleep(0.2)  # what was asked for before is done
        members = list(processes_of(job.process.pid))
        before = {pid: processor_seconds(pid) for pid in members}
        time.sleep(1)
        for pid in members:
            self.assertLess(processor_seconds(pid) - before[pid], 0.5, processes_of(pid))

    def test_every_word(self):
        for seed in range(3):
            job = self.start(20, seed)
            self.check_calm(job)
            self.assertEqual(len(agents_of(job.process.pid)), 2)
            self.check_good(job.finish(), 2)
            self.assertEqual(job.out.count("scribbled"), 2)
            self.assertNotIn("writable", job.out)
            self.assertNotIn("accepted", job.out)
            self.assertNotIn("was killed", job.err)

    def test_agent_dies_afterwards(self):
        """The keeper wakes those that wait, by its own count of them."""
        job = self.start(1, 5)
        for agent in agents_of(job.process.pid):
            os.kill(agent, signal.SIGKILL)
        self.check_calm(job)
        self.check_good(job.finish(), 2)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_another_user(self):
        """Finds the socket, and hears nothing there; nor is believed when he has one."""
        job = self.start(0, 7)
        with open("/proc/net/unix") as table:
            names = [line.rsplit("@", 1)[1] for line in table.read().split("\n")
                     if "@rhinet-cache-" in line]
        pids = set(processes_of(job.process.pid))
        names = [name for name in names if name.split("-")[2] in map(str, pids)]
        self.assertEqual(len(set(names)), 2)
        attach = struct.pack("<QIIQ1072x", 0x6F636E6174656E31, 6, 1, 0)  # struct cache_call
        for user, is_heard in ((0, True), (STRANGER, False)):
            self.assertEqual(as_user(user, lambda: self.calls(names[0], attach)), is_heard)
        self.check_good(job.finish(), 2)

    @staticmethod
    def calls(name, message):
        """Whether somebody answers."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            line.settimeout(20)
            line.connect("\0" + name)
            try:
                line.send(message)
                return len(line.recv(4096)) > 0
            except ConnectionError:
                return False

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_agent_of_another_user(self):
        name = f"rhinet-cache-test-{os.getpid()}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind("\0" + name)
            for user, answer in ((0, "Connection timed out"), (STRANGER, "not permitted")):
                # Who calls listen() is who the kernel says answers.
                self.assertTrue(as_user(user, lambda: listener.listen() is None))
                said = subprocess.run([READER, SMALL[0]], env={**os.environ,
                                      "RHINET_CACHE_SOCKET": name}, capture_output=True,
                                      text=True, timeout=HANG_S, check=False)
                self.assertIn(answer, said.stderr)
                self.assertEqual(said.returncode, 0)

    def test_people_are_not_misled_into_a_crash(self):
        job = self.start(1, 6)
        for words in (["stat"], ["stat", "--json"], ["warm", FILES[0]]):
            said = subprocess.run([RHINET, "cache", *words], capture_output=True, text=True,
                                  timeout=HANG_S, check=False)
            self.assertIn(said.returncode, (0, 1), said)
        self.check_good(job.finish(), 2)


class Commands(Case):
    def command(self, *words):
        done = subprocess.run([RHINET, "cache", *words], capture_output=True, text=True,
                              timeout=HANG_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_stat_and_warm(self):
        job = Run(2, [*FILES, *FILES], "--cache", "32M")
        await_readers(job, 2)
        agents = agents_of(job.process.pid)
        known = [json.loads(line) for line in self.command("stat", "--json").split("\n") if line]
        number, = {node["job"] for node in known if node["agent_pid"] in agents}
        self.assertIn("4 files", self.command("warm", "--job", number, *FILES))
        nodes = [json.loads(line) for line in
                 self.command("stat", "--json", "--job", number).split("\n") if line]
        self.assertIn("FALLBACKS", self.command("stat", "--job", number))
        job.finish()
        self.check_once(job, 2, FILES)
        self.assertEqual([node["node"] for node in nodes], [0, 1])
        self.assertEqual(sum(node["loads"] for node in nodes), block_count(FILES))
        self.assertLessEqual({file["path"] for node in nodes for file in node["files"]}, set(FILES))

    def test_warm_inside(self):
        job = Run(2, [], "--cache", "32M", program=[RHINET, "cache", "warm", *FILES]).finish()
        self.assertEqual(job.status, 0, job.err)
        self.assertEqual(job.out.count(" 0 blocks or files could not be brought"), 2, job.out)

    def started(self, nodes):
        """A job whose readers wait, and its number."""
        job = Run(nodes, [FILES[0]], "--cache", "32M")
        await_readers(job, nodes)
        known = [json.loads(line) for line in self.command("stat", "--json").split("\n") if line]
        number, = {node["job"] for node in known if node["agent_pid"] in agents_of(job.process.pid)}
        return job, number

    def refused(self, said, *words, **options):
        done = subprocess.run([RHINET, "cache", *words], capture_output=True, text=True,
                              timeout=HANG_S, check=False, **options)
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stdout + done.stderr, said)

    def test_warm_in_parts(self):
        """More blocks than a thread takes at a time, folders, and what there is nothing of."""
        job, number = self.started(2)
        folder = os.path.join(DATA.folder, "some")
        os.mkdir(folder)
        os.symlink(LARGE, os.path.join(folder, "link"))
        DATA.add("some/empty", 0)
        DATA.add("some/new", 100)
        time.sleep(1.1)  # RHINET_CACHE_SETTLE
        said = self.command("warm", "--all", "--job", number, LARGE, folder)
        self.assertRegex(said, r"^2 files, .* 0 blocks or files could not be brought")
        self.assertRegex(self.command("warm", "--job", number, LARGE), "24.* were here already")
        said = self.command("stat", "--job", number, "--files", "1")
        self.assertIn(LARGE, said)
        self.assertNotIn("some/new", said)
        self.assertNotIn(LARGE, self.command("stat", "--job", number, "--files", "0"))
        self.refused("1 blocks or files could not", "warm", "--job", number, "/proc/self/status",
                     "/etc/passwd")
        environment = {**os.environ, "RHINET_CACHE_SOCKET": "nobody"}
        self.refused("no job 0 has a cache", "warm", "--job", "0", LARGE, env=environment)
        self.check_good(job.finish(), 2)

    def test_warm_on_a_terminal(self):
        job, number = self.started(1)
        ours, theirs = os.openpty()
        warm = subprocess.Popen([RHINET, "cache", "warm", "--job", number, LARGE], stderr=theirs,
                                stdout=subprocess.PIPE, text=True)
        os.close(theirs)
        said = ""
        try:
            while part := os.read(ours, 1 << 16):  # a terminal hands it over in parts
                said += part.decode()
        except OSError:
            pass  # EIO: all of it, and nobody is left to write
        os.close(ours)
        out, _ = warm.communicate(timeout=HANG_S)
        self.assertEqual(warm.returncode, 0, said)
        self.assertTrue(said.endswith("\r\033[K"), said)  # nothing of it is left to be seen
        self.assertIn("1 files", out)
        self.check_good(job.finish(), 1)

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody else")
    def test_no_cache_of_mine(self):
        job, number = self.started(1)
        self.refused("no cache of yours runs here", "stat", user=STRANGER)
        self.refused("no cache of yours runs here", "warm", "--job", number, LARGE, user=STRANGER)
        self.check_good(job.finish(), 1)

    def test_warm_what_is_not_there(self):
        job = Run(1, [], "--cache", "8M", program=[RHINET, "cache", "warm", "/does/not/exist"])
        job.finish()
        self.assertEqual(job.status, 1)
        self.assertIn("/does/not/exist", job.err)

    def test_bench(self):
        """Every experiment gives a table; nothing is said about how fast."""
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.json")
            run = subprocess.run([RHINET, "cache", "bench", "--quick", "--pretend", "2G", "stride",
                                  "--json", out, "--plot", folder], capture_output=True, text=True,
                                 timeout=HANG_S, check=False)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("piece in KiB", run.stdout)
            self.assertIn("stride.svg", os.listdir(folder))
            with open(out) as file:
                trials = [json.loads(line) for line in file]
        self.assertEqual(len(trials), 12)
        for trial in trials:
            self.assertGreater(trial["mib_per_s"], 0)
            self.assertTrue(trial["plain"] or trial["load_bytes"] == trial["data_bytes"], trial)

    def simulate(self, *words):
        """Tables, and trials, of a simulated experiment."""
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.json")
            tables = self.command("bench", "--simulate", "--quick", "--json", out, "--plot", folder,
                                  *words)
            pictures = os.listdir(folder)
            with open(out) as file:
                return tables, [json.loads(line) for line in file], pictures

    def test_bench_simulated(self):
        """Time is virtual here, so that figures can be compared, and seeds give them again."""
        tables, trials, pictures = self.simulate("sequential", "--nodes", "4,12")
        self.assertIn("8 groups", tables)
        self.assertIn("simulated-sequential.svg", pictures)
        self.assertEqual([trial["nodes"] for trial in trials], [4] * 5 + [12] * 5)
        self.assertEqual(trials, self.simulate("sequential", "--nodes", "4,12")[1])
        for trial in trials:
            self.assertEqual(trial["bytes"], trial["nodes"] * trial["data_bytes"])
            self.assertTrue(trial["plain"] or trial["load_bytes"] == trial["data_bytes"], trial)
        speed = {(trial["nodes"], trial["plain"], trial["groups"]): trial["mib_per_s"]
                 for trial in trials}
        self.assertAlmostEqual(speed[12, True, 1] / speed[4, True, 1], 1, delta=0.05)
        self.assertGreater(speed[12, False, 1], 1.5 * speed[4, False, 1])
        self.assertGreater(speed[12, False, 4], speed[12, False, 1])

    def test_bench_simulated_room(self):
        """Blocks are given up, and those that are left are found."""
        _, trials, _ = self.simulate("random", "--nodes", "6", "--seed", "7")
        cached = [trial for trial in trials if not trial["plain"]]
        self.assertNotEqual(cached, self.simulate("random", "--nodes", "6", "--seed", "8")[1][1::2])
        self.assertEqual(cached[0]["loads"], 0) # all of a small file is in some node's memory
        self.assertGreater(cached[-1]["evictions"], cached[0]["evictions"])
        self.assertGreater(cached[0]["mib_per_s"], cached[-1]["mib_per_s"])
        self.assertGreater(cached[-1]["remote_hits"], 0)

    def test_usage(self):
        for words in ([], ["nothing"], ["bench", "nothing"], ["bench", "--simulate", "speed"],
                      ["bench", "--nodes", "1,2"], ["bench", "--simulate", "--nodes", "129"],
                      ["bench", "--simulate", "--seed", "x"], ["warm"], ["stat", "--nothing"],
                      ["run", "true"], ["run", "-n", "1", "--cache", "much", "true"],
                      ["run", "-n", "1", "--groups", "x", "true"],
                      ["mount", "nothing"], ["mount"]):
            run = subprocess.run([RHINET, "cache", *words], capture_output=True, text=True,
                                 timeout=HANG_S, check=False)
            self.assertEqual(run.returncode, 2, words)
            self.assertIn("rhinet help", run.stderr)


class Found(Case):
    """Memory that calls itself a cache's: what makes no sense in itself is not there, and what a
    program wrote into the rest does no harm to people's terminals."""

    MAGIC, VERSION, RANK, JOB, SHAPE, PROGRAM, SOCKET, STATE = 0, 8, 12, 24, 40, 120, 184, 292

    def memory_of(self, job):
        """A copy of a node's."""
        pid, = agents_of(job.process.pid)
        for name in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{name}"
            if os.readlink(path) == "/memfd:rhinet-cache (deleted)":
                with open(path, "rb") as file:
                    return file.read()
        self.fail("the agent has no memory")

    def show(self, number, memory, *changes):
        """Hold a memory like that one with other contents, as job `number`."""
        copy = bytearray(memory)
        for offset, kind, value in [(self.JOB, "<Q", number), *changes]:
            struct.pack_into(kind, copy, offset, value)
        fd = os.memfd_create("rhinet-cache")
        self.addCleanup(os.close, fd)
        with open(fd, "wb", closefd=False) as file:
            file.write(copy)
        return fd

    def call(self, *words):
        return subprocess.run([RHINET, "cache", *words], capture_output=True, text=True,
                              timeout=HANG_S, check=False)

    def test_only_what_makes_sense(self):
        job = Run(1, [FILES[0]], "--cache", "8M")
        await_readers(job, 1)
        memory, first = self.memory_of(job), os.getpid() << 16
        self.show(first, memory)
        self.show(first + 1, memory, (self.PROGRAM, "3s", b"a\033b"), (self.STATE, "<I", 7),
                  (self.SOCKET, "8s", b"nobody\0"))
        for i, change in enumerate([(self.MAGIC, "<Q", 1), (self.VERSION, "<I", 3),
                                    (self.RANK, "<i", -1), (self.RANK, "<i", 1),
                                    (self.SHAPE, "<I", 3), (self.STATE, "<I", 0)]):
            self.show(first + 2 + i, memory, change)
        os.ftruncate(self.show(first + 8, memory), len(memory) - 1)
        os.ftruncate(self.show(first + 9, memory), 100)
        known = [json.loads(line) for line in self.call("stat", "--json").stdout.split("\n")
                 if line]
        found = {int(node["job"], 16): node for node in known if
                 first <= int(node["job"], 16) < first + 10}
        self.assertEqual(found.keys(), {first, first + 1})
        self.assertEqual((found[first + 1]["program"][:3], found[first + 1]["agent"]),
                         ("a?b", "gone"))
        said = self.call("stat", "--job", f"{first + 1:X}")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn(" gone ", said.stdout)
        said = self.call("warm", "--job", f"{first + 1:x}", LARGE)
        self.assertEqual((said.returncode, said.stdout), (1, ""))
        self.assertIn("the agents of this job do not answer", said.stderr)
        for words in (["warm", LARGE], ["warm", "--job", "x", LARGE], ["stat", "--job", "x"]):
            said = self.call(*words)
            self.assertEqual((said.returncode, said.stdout), (1, ""))
            self.assertRegex(said.stderr, "several caches run here|no job x has a cache here")
        self.check_good(job.finish(), 1)


if __name__ == "__main__":
    tap.main()
