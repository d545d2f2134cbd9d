# SPDX-License-Identifier: BSD-3-Clause
"""rhinet run --hosts: placement, messages, statuses, and every way to end. The hosts are pretended:
a remote shell of the test starts everything on this machine, in an environment of its own."""
import hashlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time

import cluster_harness as harness
from cluster_harness import MEMBER, RHINET, pid_of, places, wait_until

HANG = os.environ["TEST_HANG"]
SHORT = {"RHINET_HOST_TIMEOUT": "2s"}  # a busy machine may keep a host waiting for one


class Placement(harness.ClusterTest):
    def hosts(self, *words):
        status, out, err = self.run_hosts(*words, MEMBER, "hello")
        self.assertEqual((status, err), (0, ""))
        found = places(out)
        return [found[rank][1] for rank in range(len(found))]

    def test_block_and_cyclic(self):
        self.assertEqual(self.hosts("--hosts", "a,b", "-n", 5), ["a", "a", "a", "b", "b"])
        self.assertEqual(self.hosts("--hosts", "a,b", "-n", 5, "--map", "cyclic"),
                         ["a", "b", "a", "b", "a"])
        self.assertEqual(self.hosts("--hosts", "a:1,b:3"), ["a", "b", "b", "b"])
        self.assertEqual(self.hosts("--hosts", "a:1,b:3", "--map", "cyclic"), ["a", "b", "b", "b"])
        self.assertEqual(self.hosts("--hosts", "a:2,b:3,c:1", "-n", 4), ["a", "a", "b", "b"])
        self.assertEqual(self.hosts("--hosts", "a,b,a"), ["a", "a", "b"])

    def test_this_host_needs_no_shell(self):
        own = socket.gethostname()
        found = self.hosts("--hosts", f"localhost,{own}", "--rsh", "/bin/false")
        self.assertEqual(found, [own] * 2)
        self.assertEqual(self.hosts("--hosts", "a,localhost", "-n", 4), ["a", "a", own, own])

    def test_many_hosts(self):
        names = [f"h{number}" for number in range(24)]
        self.assertEqual(self.hosts("--hosts", ",".join(names)), names)

    def test_hostfile(self):
        path = self.script("hosts", "# mine\n\na\nb:2  # two\n  c slots=1\n")
        self.assertEqual(self.hosts("--hostfile", path), ["a", "b", "b", "c"])

    def test_bad_lists(self):
        for words, said in ((("--hosts", "a:0"), "a number is expected"),
                            (("--hosts", "a,,b"), "is no name of a host"),
                            (("--hosts", "a;rm"), "is no name of a host"),
                            (("--hosts=-oProxyCommand=x",), "is no name of a host"),
                            (("--hosts", "a", "--map", "round"), "block or cyclic"),
                            (("--hostfile", "/no/such/file"), "No such file"),
                            (("--hosts", "a:1,b:1", "-n", "3"),
                             "3 processes, but the hosts take 2")):
            status, out, err = self.run_hosts(*words, "true")
            self.assertIn(status, (1, 2))
            self.assertIn(said, err)


class World(harness.ClusterTest):
    """What a rank of another host gets to see of the launcher's world."""

    def test_folder_variables_and_arguments(self):
        script = 'echo "$PWD|$RHINET_SPIN|$GIVEN|$SET|$LOST|$1"'
        environment = {"RHINET_SPIN": "7us", "GIVEN": "yes = 1; \"2\"", "LOST": "no"}
        status, out, err = self.run_hosts("--hosts", "a", "--export", "GIVEN", "--env", "SET=x y",
                                          "sh", "-c", script, "sh", "a b\n$c",
                                          environment=environment, cwd=self.folder)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(out, f"{self.folder}|7us|yes = 1; \"2\"|x y||a b\n$c\n")

    def test_ranks_are_told_who_they_are(self):
        script = ('echo "$PRETENDED_HOST $RHINET_RANK/$RHINET_SIZE/$RHINET_LOCAL_RANK/'
                  '$RHINET_LOCAL_SIZE $RANK/$WORLD_SIZE/$LOCAL_RANK/$LOCAL_WORLD_SIZE '
                  '$MASTER_ADDR:$MASTER_PORT"')
        for hosts, master in (("a,b", "a"), ("u@a,b", "a"), ("localhost,b", None)):
            status, out, err = self.run_hosts("--hosts", hosts, "-n", 3, "--map", "cyclic", "sh",
                                              "-c", script)
            self.assertEqual((status, err), (0, ""))
            found = sorted(line.rsplit(" ", 3)[1:] for line in out.splitlines())
            self.assertEqual([words[:2] for words in found],
                             [[f"{rank}/3/{local}"] * 2 for rank, local in
                              ((0, "0/2"), (1, "0/1"), (2, "1/2"))])
            masters = {words[2] for words in found}
            self.assertEqual(len(masters), 1, "one place for all to meet")
            address, port = masters.pop().rsplit(":", 1)
            self.assertGreater(int(port), 1023)
            if master:
                self.assertEqual(address, master)
            else:  # where the other host calls us, not a name that means another host there
                self.assertRegex(address, r"^[0-9a-f.:]+$")

    def test_the_users_master_is_everybodys(self):
        status, out, err = self.run_hosts("--hosts", "a,b", "sh", "-c",
                                          "echo $MASTER_ADDR:$MASTER_PORT",
                                          environment={"MASTER_ADDR": "m", "MASTER_PORT": "77"})
        self.assertEqual((status, out, err), (0, "m:77\n" * 2, ""))

    def test_secret_is_nowhere_to_be_seen(self):
        job = self.start_run("--hosts", "a,b", MEMBER, "idle")
        self.wait_ready(job, 2)
        seen = b"".join(harness.read_proc(pid, "cmdline") + harness.read_proc(pid, "environ")
                        for pid in harness.marked(job.marker))
        self.assertNotRegex(seen, rb"[0-9a-f]{64}")
        os.kill(job.pid, signal.SIGTERM)
        self.finish(job)

    def test_input_goes_to_rank_0(self):
        text = "".join(f"line {i}\n" for i in range(50000))
        path = self.script("input", text)
        with open(path) as file:
            job = self.start_run("--hosts", "a,b", "sh", "-c", "exec cat", stdin=file)
            status, out, err = self.finish(job)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(hashlib.sha256(out.encode()).digest(),
                         hashlib.sha256(text.encode()).digest())

    def test_labels(self):
        script = "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done; echo end >&2"
        status, out, err = self.run_hosts("--hosts", "a,b", "-n", 4, "--label", "sh", "-c", script)
        self.assertEqual(status, 0)
        self.assertEqual(sorted(err.splitlines()), [f"[{rank}] end" for rank in range(4)])
        for rank in range(4):
            own = [line for line in out.splitlines() if line.startswith(f"[{rank}] ")]
            self.assertEqual(own, [f"[{rank}] line {i}" for i in range(300)])

    def test_cards_and_states(self):
        for mode in ("cards", "leave"):
            status, out, err = self.run_hosts("--hosts", "a,b,localhost", "-n", 9, MEMBER, mode)
            self.assertEqual((status, err), (0, ""), mode)
        self.assertEqual(out, "all have left: 8\n")


class CannotStart(harness.ClusterTest):
    def check(self, words, said, status=1, **options):
        found, out, err = self.run_hosts(*words, **options)
        self.assertEqual((found, out), (status, ""), err)
        self.assertRegex(err, said)

    def test_no_remote_shell(self):
        self.check(("--hosts", "a", "true"), 'rhinet run --rsh: cannot execute "no-such-shell"',
                   127, rsh="no-such-shell")

    def test_shell_fails(self):
        self.check(("--hosts", "a", "true"), "host a: the remote shell `.*` ended with status 255 "
                   "before rhinet had called back from there; can the host be reached",
                   rsh=self.script("broken", "#!/bin/sh\nexit 255\n"))

    def test_wrong_remote_path(self):
        self.check(("--hosts", "a", "--remote-rhinet", "/no/such/rhinet", "true"),
                   r"host a: .* ended with status 127 .*; is rhinet installed there\? --remote-")

    def test_host_does_not_call_back(self):
        self.check(("--hosts", "a,localhost", MEMBER, "hello"),
                   r"not all hosts were there in time \(RHINET_TIMEOUT\); missing: a\. Do they ",
                   rsh=self.script("silent", "#!/bin/sh\nexec sleep 1000\n"),
                   environment={"RHINET_TIMEOUT": "1s"})

    def test_program_missing_there(self):
        folder = os.path.join(self.folder, "here")
        os.mkdir(folder)
        self.check(("--hosts", "a,b", "no-such-program"),
                   r'\(host [ab]\): cannot execute "no-such-program": no such program in PATH', 127)

    def test_folder_missing_there(self):
        hide = self.script("hide", f"#!/bin/sh\nrmdir {self.folder}/gone\nexec {self.rsh} \"$@\"\n")
        os.mkdir(os.path.join(self.folder, "gone"))
        self.check(("--hosts", "a", "true"),
                   r"\(host a\): cannot work in \S+/gone, where `rhinet run`", rsh=hide,
                   cwd=os.path.join(self.folder, "gone"))

    def test_launcher_cannot_be_called(self):
        """The host gets an address where nobody listens."""
        wrong = self.script("wrong", f"""#!{sys.executable}
import re, subprocess, sys
head = sys.stdin.buffer.readline()
body = sys.stdin.buffer.read(int(head.split()[3]))
wrong = re.sub(rb"coordinator=[^\\0]*", b"coordinator=9 127.0.0.1", body)
head = head.replace(str(len(body)).encode(), str(len(wrong)).encode())
sys.exit(subprocess.run(["{self.rsh}", *sys.argv[1:]], input=head + wrong).returncode)
""")
        self.check(("--hosts", "a", "true"),
                   r"cannot reach the task manager of host \S+ at 127.0.0.1 port 9 "
                   r"\(Connection refused\); is the port open in the firewall\? RHINET_PORTS",
                   rsh=wrong)

    def test_bad_interface_and_ports(self):
        for name, value, said in (("RHINET_INTERFACE", "nope0", "no such interface or subnet here"),
                                  ("RHINET_INTERFACE", "203.0.113.0/24", "there is: "),
                                  ("RHINET_PORTS", "x-y", "a range such as 7000-7100")):
            self.check(("--hosts", "a", "true"), said, environment={name: value})


class Versions(harness.ClusterTest):
    def test_another_version_is_refused(self):
        with open(RHINET, "rb") as file:
            program = file.read()
        version = subprocess.run([RHINET, "--version"], capture_output=True, text=True,
                                 check=True).stdout.split()[1]
        other = version[:-1] + ("8" if version[-1] == "9" else "9")
        path = os.path.join(self.folder, "rhinet-other")
        with open(path, "wb") as file:
            file.write(program.replace(version.encode() + b"\0", other.encode() + b"\0"))
        os.chmod(path, 0o755)
        status, out, err = self.run_hosts("--hosts", "a", "--remote-rhinet", path, "true")
        self.assertEqual((status, out), (1, ""))
        # Said by its orders or, if those were understood, by the task manager that it calls.
        self.assertRegex(err, rf"is rhinet {re.escape(version)} \(mesh version \d+\), this one is "
                              rf"{re.escape(other)} \(\d+\); install")

    def test_no_orders(self):
        run = subprocess.run([RHINET, "node"], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("there are no orders on standard input", run.stderr)


# A remote shell that first tries the launcher's door as a stranger, in several ways, and then does
# what it should.
STRANGER = """#!{python}
import os, re, socket, struct, subprocess, sys
orders = sys.stdin.buffer.readline()
orders += sys.stdin.buffer.read(int(orders.split()[3]))
port = int(re.search(rb"coordinator=(\\d+) ", orders)[1])
job = int(re.search(rb"job=(\\d+)\\0", orders)[1])
version, mesh = orders.split()[1], int(orders.split()[2])

def hello(seat=1, number=job, mesh_version=mesh, library=version):
    return struct.pack("<8sI28siIQ32s", b"RHmesh\\r\\n", mesh_version, library, seat, 0, number,
                       os.urandom(32))

def attempt(*pieces):
    with socket.create_connection(("127.0.0.1", port), 10) as door:
        door.settimeout(10)
        answer = b""
        for piece in pieces:
            door.sendall(piece)
            answer += door.recv(88) if piece is not pieces[-1] else b""
        while True:
            try:
                more = door.recv(4096)
            except ConnectionResetError:
                more = b""
            if not more:
                return answer
            answer += more

log = open("{log}", "w")
for name, pieces in (("garbage", [b"GET / HTTP/1.1\\r\\n\\r\\n" * 5]),
                     ("other job", [hello(number=job + 1)]),
                     ("other seat", [hello(seat=0)]),
                     ("no such seat", [hello(seat=77)]),
                     ("other version", [hello(mesh_version=99, library=b"9.8.7")]),
                     ("no secret", [hello(), os.urandom(32)])):
    print(name, attempt(*pieces)[:8] == b"RHmesh\\r\\n", file=log, flush=True)
sys.exit(subprocess.run(["{rsh}", *sys.argv[1:]], input=orders).returncode)
"""


class Strangers(harness.ClusterTest):
    def test_refused_and_counted(self):
        log = os.path.join(self.folder, "log")
        shell = self.script("stranger", STRANGER.format(python=sys.executable, log=log,
                                                        rsh=self.rsh))
        job = self.start_run("--hosts", "localhost,b", "-n", 2, MEMBER, "idle", rsh=shell)
        self.wait_ready(job, 2)
        with open(log) as file:
            self.assertEqual(len(file.read().splitlines()), 6)
        for why in ("it is no task manager", "it belongs to another job",
                    "it does not know the job's secret",
                    r"it is rhinet 9\.8\.7 \(mesh version 99\), this one is \S+ \(\d+\); install"):
            self.assertRegex(job.err, rf"refused a connection from 127\.0\.0\.1: {why}")
        info = json.loads(subprocess.run([RHINET, "info", str(job.pid), "--json"], check=True,
                                         capture_output=True, text=True).stdout)
        self.assertEqual(info["job"]["refused"] if isinstance(info.get("job"), dict)
                         else info["refused"], 6)
        os.kill(job.pid, signal.SIGTERM)
        self.finish(job)


class Ends(harness.ClusterTest):
    def begin(self, *words, mode=("idle",), count=4, **options):
        job = self.start_run("--hosts", "a,b", "-n", count, *words, MEMBER, *mode, **options)
        self.wait_ready(job, count)
        return job

    def test_failure_names_rank_and_host(self):
        script = 'test "$PRETENDED_HOST" = b && exit 9; exec sleep 1000'
        status, _, err = self.run_hosts("--hosts", "a,b", "sh", "-c", script)
        self.assertEqual(status, 9)
        self.assertRegex(err, r"rank 1 \(pid \d+ on host b\) ended with status 9; ending the job")

    def test_killed_remote_rank(self):
        job = self.begin()
        os.kill(pid_of(job.out, 3), signal.SIGKILL)
        status, _, err = self.finish(job)
        self.assertEqual(status, 128 + 9)
        self.assertRegex(err, r"rank 3 \(pid \d+ on host b\) was killed by signal 9 \(Killed\)")

    def test_survivors_see_the_death(self):
        job = self.begin("--survive", mode=("watch", 1))
        os.kill(pid_of(job.out, 3), signal.SIGABRT)
        status, out, err = self.finish(job)
        self.assertEqual(status, 128 + 6)
        for rank in range(3):
            self.assertIn(f"rank {rank} sees: watch: rank 3 on host b has died (signal 6, Aborted)",
                          out)
        self.assertIn("the others go on", err)

    def test_timeout(self):
        status, _, err = self.run_hosts("--hosts", "a,b", "--timeout", "0.5", "sleep", 1000)
        self.assertEqual(status, 124)
        self.assertIn("not over after 0.5 s", err)

    def test_interrupt_and_terminate(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            job = self.begin()
            os.kill(job.pid, number)
            status, _, err = self.finish(job)
            self.assertEqual(status, 128 + number)
            self.assertIn(f"received signal {int(number)}", err)

    def test_ranks_that_ignore_sigterm(self):
        job = self.start_run("--hosts", "a,b", "sh", "-c",
                             "trap '' TERM; echo ready rank; while :; do sleep 0.05; done")
        self.wait_ready(job, 2)
        os.kill(job.pid, signal.SIGTERM)
        self.assertEqual(self.finish(job)[0], 128 + 15)

    def test_killed_launcher(self):
        job = self.begin()
        os.kill(job.pid, signal.SIGKILL)
        self.assertEqual(self.finish(job)[0], -9)

    def test_killed_remote_launcher(self):
        job = self.begin()
        os.kill(job.nodes()[0], signal.SIGKILL)
        status, _, err = self.finish(job)
        self.assertEqual(status, 1)
        self.assertRegex(err, r"host [ab] \(ranks (0-1|2-3)\) is lost: (the connection to its task "
                              r"manager broke: .*|its remote shell .*); ending the job")

    def test_survivors_of_a_lost_host(self):
        job = self.begin("--survive", mode=("watch", 2))
        node = min(job.nodes())
        lost = "a" if b"PRETENDED_HOST=a" in harness.read_proc(node, "environ") else "b"
        os.kill(node, signal.SIGKILL)
        status, out, err = self.finish(job)
        self.assertEqual(status, 1)
        self.assertIn("the others go on", err)
        for rank in (2, 3) if lost == "a" else (0, 1):
            self.assertRegex(out, rf"rank {rank} sees: watch: rank \d on host {lost}: the host "
                                  r"does not answer")

    def test_killed_shell(self):
        shell = self.script("forking", f"#!/bin/sh\n{self.rsh} \"$@\"\n")  # no exec: can be killed
        job = self.begin(rsh=shell)
        shell = min(job.processes(r"/forking a "))
        os.kill(shell, signal.SIGKILL)
        status, _, err = self.finish(job)
        self.assertEqual(status, 1)
        self.assertRegex(err, r"host a \(ranks 0-1\) is lost: its remote shell was killed by "
                              "signal 9")

    def test_stopped_host_comes_back(self):
        apart = self.script("apart", f"#!/bin/sh\nexec setsid --wait {self.rsh} \"$@\"\n")
        job = self.begin("--survive", mode=("watch", 2), environment=SHORT, rsh=apart)
        node = [pid for pid in job.nodes()
                if b"PRETENDED_HOST=b" in harness.read_proc(pid, "environ")][0]
        os.kill(node, signal.SIGSTOP)
        self.assertTrue(wait_until(lambda: "is lost" in job.err))
        self.assertRegex(job.err, r"host b \(ranks 2-3\) is lost: it does not answer \(nothing ")
        self.assertTrue(wait_until(lambda: job.out.count("the host does not answer") >= 4))
        os.kill(node, signal.SIGCONT)  # its ranks have to go
        self.assertEqual(self.finish(job)[0], 1)

    def test_stopped_launcher_loses_its_hosts(self):
        job = self.begin(environment=SHORT)
        os.kill(job.pid, signal.SIGSTOP)
        self.assertTrue(wait_until(lambda: not job.members()))
        os.kill(job.pid, signal.SIGCONT)
        self.assertEqual(self.finish(job)[0], 1)

    def test_pause_and_continue(self):
        job = self.begin(environment=SHORT)
        os.kill(job.pid, signal.SIGTSTP)
        def stopped():
            return all(b"State:\tT" in harness.read_proc(pid, "status") for pid in job.members())
        self.assertTrue(wait_until(stopped))
        wait_until(lambda: False, 4)  # longer than the host timeout
        self.assertEqual(len(job.members()), 4)
        os.kill(job.pid, signal.SIGCONT)
        self.assertTrue(wait_until(lambda: not stopped()))
        wait_until(lambda: False, 3)
        self.assertEqual(len(job.members()), 4, job.err)
        os.kill(job.pid, signal.SIGTERM)
        self.finish(job)


class RandomKills(harness.ClusterTest):
    """Whoever is killed, whenever: the job ends, and nothing is left. With one exception: if a
    launcher's guard is killed just before the test kills the job itself, nobody is hurt."""

    ROUNDS = 30

    def test_one_of_all(self):
        seed = int(os.environ.get("CLUSTER_TEST_SEED", random.randrange(1 << 32)))
        dice = random.Random(seed)
        print(f"CLUSTER_TEST_SEED={seed}", flush=True)
        forking = self.script("forking", f"#!/bin/sh\n{self.rsh} \"$@\"\n")
        for _ in range(self.ROUNDS):
            job = self.start_run("--hosts", "a,b,localhost", "-n", 6, MEMBER, "idle",
                                 rsh=dice.choice((self.rsh, forking)), environment=SHORT)
            time.sleep(dice.choice((0, 0.01, 0.03, 0.05, 0.1)) * dice.random() * 2)
            alive = harness.marked(job.marker)
            victim = dice.choice(alive) if alive else job.pid
            name = harness.command_of(victim)
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
            # A guard is replaced, and some shells are not missed: then we end the job.
            is_missed = name.startswith(MEMBER)
            if not wait_until(lambda: job.process.poll() is not None,
                              harness.HANG_S if is_missed else 1):
                self.assertFalse(is_missed, job.err)
                os.kill(job.pid, signal.SIGTERM)
            with self.subTest(victim=name):
                self.finish(job)


class Tools(harness.ClusterTest):
    def test_info_top_doctor(self):
        job = self.start_run("--hosts", "localhost,b", "-n", 4, MEMBER, "idle")
        self.wait_ready(job, 4)
        def said(*words):
            return subprocess.run([RHINET, *words], capture_output=True, text=True,
                                  check=False).stdout
        text = said("info", str(job.pid))
        self.assertRegex(text, r"node 0 is host \S+ \(\S+\), this one")
        self.assertRegex(text, r"node 1 is host b \(\S+\)\n")
        self.assertNotIn("told nothing", said("top", str(job.pid), "--once"))
        self.assertIn("host b", said("doctor", str(job.pid)))
        os.kill(job.pid, signal.SIGTERM)
        self.finish(job)

    def doctor(self, pid, *words):
        run = subprocess.run([RHINET, "doctor", str(pid), "--after", "1s", *words],
                             capture_output=True, text=True, check=False, timeout=harness.HANG_S)
        return run.returncode, run.stdout

    def test_deadlock_of_two_hosts(self):
        """Seen from either host: neither sees enough by itself."""
        job = self.start_run("--hosts", "localhost,b", HANG, "circle",
                             environment={"RHINET_STUCK": "0"})
        self.assertTrue(wait_until(lambda: len(job.nodes()) == 1))
        for pid in (job.pid, job.nodes()[0]):
            self.assertTrue(wait_until(lambda: self.doctor(pid)[0] == 1), self.doctor(pid))
            self.assertTrue(wait_until(lambda: "Deadlock" in self.doctor(pid)[1]))
            status, out = self.doctor(pid)
            self.assertEqual(status, 1, out)
            self.assertIn("Deadlock: 0 waits for 1, 1 waits for 0. 2 of 2 ranks can never go on.",
                          out)
            self.assertRegex(out, r"waits in receive from rank \d, tag 5 \(on host \S+\)")
        os.kill(job.pid, signal.SIGTERM)
        self.finish(job)

    def test_counters_of_two_hosts(self):
        """Either host shows what both ranks have counted; each has waited by now."""
        job = self.start_run("--hosts", "localhost,b", HANG, "circle",
                             environment={"RHINET_STUCK": "0"})
        self.assertTrue(wait_until(lambda: len(job.nodes()) == 1))
        def waits(*words):
            run = subprocess.run([RHINET, *words], capture_output=True, text=True, check=False,
                                 timeout=harness.HANG_S)
            ranks = json.loads(run.stdout)["ranks"] if run.returncode == 0 else []
            return [(rank["counters"] or {}).get("wait", -1) for rank in ranks]
        for pid in (str(job.pid), str(job.nodes()[0])):
            for words in (["top", pid, "--once", "--json", "--interval", "10ms"],
                          ["info", pid, "--json"]):
                def have_waited():
                    found = waits(*words)
                    return len(found) == 2 and min(found) > 0
                self.assertTrue(wait_until(have_waited), words)
        os.kill(job.pid, signal.SIGTERM)
        self.finish(job)

    def test_counters_of_a_host_that_does_not_answer(self):
        job = self.start_run("--hosts", "localhost,b", "-n", 4, MEMBER, "idle")
        self.wait_ready(job, 4)
        node = job.nodes()[0]
        def said(*words):
            return subprocess.run([RHINET, "top", str(job.pid), "--once", *words],
                                  capture_output=True, text=True, check=False,
                                  timeout=harness.HANG_S).stdout
        os.kill(node, signal.SIGSTOP)
        text, ranks = said(), json.loads(said("--json"))["ranks"]
        os.kill(node, signal.SIGCONT)
        self.assertIn("2 on hosts that have told nothing of them", text)
        for name in ("ops_per_s", "counters"):
            self.assertEqual([rank[name] is None for rank in ranks], [False] * 2 + [True] * 2)
        self.assertTrue(wait_until(lambda: "told nothing" not in said()))
        os.kill(job.pid, signal.SIGTERM)
        self.finish(job)

    def test_doctor_of_a_host_that_does_not_answer(self):
        job = self.start_run("--hosts", "localhost,b", "-n", 4, MEMBER, "idle")
        self.wait_ready(job, 4)
        node = job.nodes()[0]
        os.kill(node, signal.SIGSTOP)
        _, out = self.doctor(job.pid)
        os.kill(node, signal.SIGCONT)
        self.assertIn("Not known: host b has not answered; it has 2 ranks.", out)
        self.assertIn("Nothing is stuck as far as is seen from here", out)
        self.assertTrue(wait_until(lambda: "Not known" not in self.doctor(job.pid)[1]))
        os.kill(job.pid, signal.SIGTERM)
        self.finish(job)


if __name__ == "__main__":
    harness.main()
