# SPDX-License-Identifier: BSD-3-Clause
"""The door of an open job: who comes first, who keeps others out, who goes last."""
import os
import resource
import select
import socket
import subprocess
import time

from harness import (EDEAD, EREFUSED, ETIMEOUT, HANG_S, MANAGER, NOBODY, OPEN, OpenTest,
                     eventually)
from processes import read_proc
import tap


def seqpacket():
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


class Nobody:
    """A child of ours that is another user and does something. It says when it has begun, and ends
    with what the function returns."""

    def __init__(self, function, *arguments):
        ours, theirs = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            status = 99
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                status = function(lambda: os.write(theirs, b"."), *arguments)
            finally:
                os._exit(status)
        os.close(theirs)
        os.read(ours, 1)
        os.close(ours)

    def end(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self):
        os.kill(self.pid, 9)
        self.end()


def hold(begun, name):
    with seqpacket() as keeper:
        keeper.bind(name)
        keeper.listen(9)
        begun()
        time.sleep(HANG_S)
    return 0


def ask(begun, name):
    """How many bytes somebody gets who is not of the user."""
    begun()
    with seqpacket() as caller:
        caller.settimeout(HANG_S)
        caller.connect(name)
        try:
            caller.send(bytes(568))
        except OSError:
            pass
        try:
            return min(len(caller.recv(4096)), 90)
        except ConnectionResetError:
            return 0


def knock(begun, name):
    begun()
    while True:
        with seqpacket() as caller:
            caller.setblocking(False)
            try:
                caller.connect(name)
            except OSError:
                pass


class First(OpenTest):
    def test_race(self):
        for turn in range(10):
            members = [self.member() for _ in range(4)]
            for member in members:
                member.begin("join", OPEN)
            for member in members:
                member.joined()
            self.assertEqual(len({member.job for member in members}), 1)
            self.assertEqual(sorted(member.rank for member in members), [0, 1, 2, 3])
            for member in members:
                member.begin("leave")  # all at once; the next ones meet a manager that ends
            for member in members:
                member.end()
                member.process.stdin.close()

    def test_while_the_last_one_leaves(self):
        a, b = self.member(), self.member()
        a.begin("churn", 100)
        b.begin("churn", 100)
        self.assertLessEqual(int(a.end()), 1)
        self.assertLessEqual(int(b.end()), 1)

    def test_nothing_is_leaked(self):
        stays = self.member().join()
        other = self.member()
        other.tell("churn", 1)
        before = other.tell("descriptors")
        manager, = self.managers()
        had = len(os.listdir(f"/proc/{manager}/fd"))
        self.assertEqual(int(other.tell("churn", 1000)), 1)  # always the same rank
        self.assertEqual(other.tell("descriptors"), before)
        eventually(lambda: len(os.listdir(f"/proc/{manager}/fd")) <= had, "descriptors are closed")
        self.assertEqual(stays.tell("state", 1), "2")

    def test_the_first_is_killed(self):
        first, second = self.member().join(), self.member().join()
        first.kill()
        third = self.member().join()
        self.assertEqual(third.job, second.job)
        third.tell("alloc", 1)
        second.tell("push", second.peer(third), 1, "hello")
        self.assertEqual(third.tell("show"), "hello")

    def test_all_are_killed(self):
        members = [self.member().join() for _ in range(3)]
        for member in members:
            member.process.kill()
        eventually(lambda: not self.managers() and not self.place(), "the manager ends")
        again = self.member().join()
        self.assertNotEqual(again.job, members[0].job)

    def test_the_manager_is_killed(self):
        a, b = self.member(RHINET_TIMEOUT="5s").join(), self.member().join()
        b.tell("alloc", 1)
        a.tell("push", a.peer(b), 1, "one")
        address = a.address()
        os.kill(self.managers()[0], 9)
        a.tell("push", b.rank, 1, "two")  # what they have they keep
        self.assertEqual(b.tell("show"), "two")
        self.refused(EREFUSED, "peer", b.address(), call=a.tell, text="task manager")
        eventually(lambda: not self.managers() and not self.place(), "it is gone")
        c = self.member().join()
        self.assertNotEqual(c.job, a.job)
        self.refused(EDEAD, "peer", address, call=c.tell, text=a.job)
        a.tell("leave")


class Keeping(OpenTest):
    """Others who take the name, or stand in the door."""

    def name_of_door(self):
        a = self.member().join()
        name = self.place().replace("@", "\0", 1)
        a.tell("leave")
        a.close()
        eventually(lambda: not self.place(), "the name is free")
        return name

    def test_bound_without_listening(self):
        name = self.name_of_door()
        with seqpacket() as keeper:
            keeper.bind(name)
            self.refused(ETIMEOUT, "join", OPEN, call=self.member(RHINET_TIMEOUT="300ms").tell,
                         text=name[1:])
        self.assertEqual(self.member().join().rank, 0)

    def test_full_queue(self):
        name = self.name_of_door()
        with seqpacket() as keeper, seqpacket() as caller:
            keeper.bind(name)
            keeper.listen(0)
            caller.connect(name)
            self.refused(ETIMEOUT, "join", OPEN, call=self.member(RHINET_TIMEOUT="300ms").tell,
                         text=name[1:])

    def test_who_does_not_answer(self):
        name = self.name_of_door()
        with seqpacket() as keeper:
            keeper.bind(name)
            keeper.listen(8)
            self.refused(ETIMEOUT, "join", OPEN, call=self.member(RHINET_TIMEOUT="300ms").tell,
                         text=name[1:])

    def test_who_hangs_up_is_called_again(self):
        name = self.name_of_door()
        with seqpacket() as keeper:
            keeper.bind(name)
            keeper.listen(8)
            member = self.member()
            member.begin("join", OPEN)
            for _ in range(3):
                ready, _, _ = select.select([keeper, member.process.stdout], [], [], HANG_S)
                self.assertEqual(ready, [keeper])
                keeper.accept()[0].close()
        self.assertEqual(member.joined().rank, 0)

    def test_name_held_by_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("another user takes root")
        name = self.name_of_door()
        keeper = Nobody(hold, name)
        try:
            self.refused(EREFUSED, "join", OPEN, call=self.member(RHINET_TIMEOUT="2s").tell,
                         text=f"user {NOBODY}")
        finally:
            keeper.kill()

    def test_another_user_gets_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("another user takes root")
        a = self.member().join()
        name = "\0" + self.place()[1:]
        self.assertEqual(Nobody(ask, name).end(), 0)
        self.assertEqual(a.tell("state", 1), "0")  # it has no rank

    def flood(self, name, count):
        callers = []
        for _ in range(count):
            caller = seqpacket()
            caller.setblocking(False)
            try:
                caller.connect("\0" + name)
            except BlockingIOError:
                pass
            callers.append(caller)
        return callers

    def test_flood_of_strangers(self):
        if os.geteuid() != 0:
            self.skipTest("another user takes root")
        a = self.member().join()
        flood = Nobody(knock, "\0" + self.place()[1:])
        try:
            for _ in range(10):
                b = self.member().join()
                b.tell("alloc", 1)
                a.tell("push", a.peer(b), 1, "hello")
                self.assertEqual(b.tell("show"), "hello")
                b.close()
        finally:
            flood.kill()

    def test_silent_callers_take_no_rank(self):
        a = self.member().join()
        name = self.place()[1:]
        callers = self.flood(name, 20)
        b = self.member().join()
        self.assertEqual(b.rank, 1)
        self.assertEqual(a.peer(b), 1)
        for caller in callers:
            caller.close()

    def test_nonsense(self):
        a = self.member().join()
        name = self.place()[1:]
        for length in (1, 567, 568, 569, 5000):
            with seqpacket() as caller:
                caller.settimeout(HANG_S)
                caller.connect("\0" + name)
                caller.send(b"\xff" * length)
                self.assertGreater(len(caller.recv(4096)), 0)  # a refusal
        b = self.member().join()
        self.assertEqual(a.peer(b), b.rank)

    def test_no_descriptors_left(self):
        """The manager neither spins nor dies; who is in is served, and who waits comes in later."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        starter = self.member(RHINET_TIMEOUT="30s")
        resource.prlimit(starter.pid, resource.RLIMIT_NOFILE, (32, 32))
        starter.join()
        manager, = self.managers()
        b = self.member().join()
        callers = self.flood(self.place()[1:], 40)
        late = self.member()
        late.begin("join", OPEN)
        before = self.cpu_ticks(manager)
        began = time.monotonic()
        eventually(lambda: time.monotonic() - began > 1, "a second")
        spent = (self.cpu_ticks(manager) - before) / os.sysconf("SC_CLK_TCK")
        self.assertLess(spent, 0.1)
        self.assertEqual(starter.peer(b), b.rank)
        for caller in callers:
            caller.close()
        late.joined()
        self.assertEqual(starter.peer(late), late.rank)

    def cpu_ticks(self, pid):
        fields = read_proc(pid, "stat").decode().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])


class Program(OpenTest):
    def test_by_hand(self):
        done = subprocess.run([MANAGER], capture_output=True, text=True, timeout=HANG_S)
        self.assertEqual(done.returncode, 2)
        self.assertIn("librhinet", done.stderr)

    def test_keeps_nothing_of_who_started_it(self):
        a = self.member()
        a.join()
        manager, = self.managers()
        links = {os.readlink(f"/proc/{manager}/fd/{fd}") for fd in ("0", "1", "2")}
        self.assertEqual(links, {"/dev/null"})
        self.assertEqual(os.readlink(f"/proc/{manager}/cwd"), "/")
        self.assertEqual(os.getsid(manager), os.getpgid(manager))
        self.assertNotEqual(os.getsid(manager), os.getsid(a.pid))
        pipes = [fd for fd in os.listdir(f"/proc/{manager}/fd")
                 if os.readlink(f"/proc/{manager}/fd/{fd}").startswith("pipe:")]
        self.assertEqual(pipes, [])
        self.assertEqual([line for line in read_proc(a.pid, "task/%d/children" % a.pid).split()],
                         [])


if __name__ == "__main__":
    tap.main()
