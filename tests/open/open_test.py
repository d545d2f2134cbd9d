# SPDX-License-Identifier: BSD-3-Clause
"""Open jobs: who comes meets the others by address, and everything works as in other jobs."""
import os
import random
import signal
import subprocess
import sys
import time

from harness import (ALONE, ANY, EDEAD, EINVALID, ENOSPACE, ENOSEG, EREFUSED, ETIMEOUT, EUNSUP,
                     HANG_S, NOBODY, OPEN, PAIR, REFUSE, OpenTest, eventually)
import tap

LENGTHS = (0, 8, 100, 4096, 40000, 1 << 20)


class Meeting(OpenTest):
    def pair(self, **more):
        a, b = self.member(**more).join(), self.member(**more).join()
        self.assertEqual((a.peer(b), b.peer(a)), (b.rank, a.rank))
        return a, b

    def test_two(self):
        a, b = self.member().join(), self.member().join()
        self.assertEqual({a.rank, b.rank}, {0, 1})
        self.assertEqual((a.size, a.job), (b.size, b.job))
        self.assertEqual(len(self.managers()), 1)
        self.assertEqual(a.peer(b), b.rank)
        self.assertEqual(b.peer(a), a.rank)
        self.assertEqual(a.peer(a), a.rank)
        self.assertEqual(a.peer(b), b.rank)  # as often as one likes
        self.assertLessEqual(len(a.address()) // 2, 64)
        self.refused(ENOSPACE, "address", 10, call=a.tell)

    def test_two_programs_and_a_socket(self):
        for _ in range(5):
            first = subprocess.Popen([PAIR, "listen"], stdout=subprocess.PIPE, text=True,
                                     env=self.environment())
            port = first.stdout.readline().strip()
            second = subprocess.run([PAIR, port], capture_output=True, text=True,
                                    env=self.environment(), timeout=HANG_S)
            said, _ = first.communicate(timeout=HANG_S)
            self.assertEqual((first.returncode, second.returncode), (0, 0), second.stderr)
            self.assertIn(f"was told {first.pid}", second.stdout)
            self.assertIn("was told", said)

    def test_memory(self):
        a, b = self.pair()
        b.tell("alloc", 1)
        a.tell("push", b.rank, 1, "hello")
        self.assertEqual(b.tell("show"), "hello")
        self.assertEqual(a.tell("add", b.rank, 1, 5), "0")
        self.assertEqual(b.tell("add", b.rank, 1, 5), "5")
        self.assertEqual(a.tell("add", b.rank, 1, 5), "10")
        self.refused(ENOSEG, "add", b.rank, 9, 5, call=a.tell)

    def test_attached_memory(self):
        for settings in ({}, {"RHINET_CMA": "off"}):
            with self.subTest(settings):
                a, b = self.pair(**settings)
                b.tell("attach", 1)
                a.tell("push", b.rank, 1, "hello")
                self.assertEqual(b.tell("show"), "hello")
                self.assertEqual(a.tell("add", b.rank, 1, 7), "0")
                a.close(), b.close()

    def test_child_that_executes_nothing_else(self):
        a = self.member().join()
        a.tell("attach", 1)  # memory that the child has a copy of
        self.assertEqual(a.tell("twin", a.address(), 1), "0")
        self.assertEqual(a.tell("add", a.rank, 1, 0), "1")

    def test_messages(self):
        a, b = self.pair()
        a.tell("mailbox"), b.tell("mailbox")
        for turn in range(3):  # the last by lanes
            for tag, length in enumerate(LENGTHS, 10 * turn):
                for source, target in ((a, b), (b, a)):
                    source.begin("send", target.rank, tag, length)
                    got = target.tell("receive", (source.rank, ANY)[turn % 2], tag, length, 30000)
                    source.end()
                    self.assertEqual(int(got), source.rank)

    def test_message_to_one_who_opens_later(self):
        a, b = self.pair()
        a.tell("mailbox")
        a.begin("send", b.rank, 3, 100)
        b.tell("mailbox")
        self.assertEqual(int(b.tell("receive", ANY, 3, 100, 30000)), a.rank)
        a.end()

    def test_receive_before_anybody_has_come(self):
        a = self.member().join()
        a.tell("mailbox")
        address = a.address()
        a.begin("receive", ANY, 4, 8, 30000)
        b = self.member().join()
        b.tell("mailbox")
        b.tell("send", b.peer(address), 4, 8)
        self.assertEqual(int(a.end()), b.rank)

    def test_who_never_comes(self):
        a = self.member(RHINET_STUCK="200ms").join()
        a.tell("mailbox")
        self.assertEqual(a.tell("state", 1), "0")
        for rank in (1, a.size - 1):
            self.refused(ETIMEOUT, "receive", rank, 4, 8, 500, call=a.tell)
            self.refused(ETIMEOUT, "wait", rank, 100, call=a.tell)
            self.refused(ENOSEG, "add", rank, 1, 1, call=a.tell)
        self.refused(EINVALID, "state", a.size, call=a.tell)

    def test_locks(self):
        a, b = self.pair()
        a.tell("mailbox"), b.tell("mailbox")
        for home in (a, b):
            a.tell("lock", home.rank, 30000)
            self.refused(ETIMEOUT, "lock", home.rank, 50, call=b.tell)
            b.begin("lock", home.rank, 30000)
            a.tell("unlock", home.rank)
            b.end()
            b.tell("unlock", home.rank)
        self.refused(ETIMEOUT, "lock", 7, 100, call=a.tell)  # nobody looks after it

    def test_lock_of_the_dead(self):
        a, b = self.pair()
        c = self.member().join()
        for member in (a, b, c):
            member.tell("mailbox")
        c.peer(a), c.peer(b)
        b.tell("lock", a.rank, 30000)
        c.begin("lock", a.rank, 30000)
        b.kill()
        self.assertIn(c.outcome(), (0, EDEAD))  # ours; it may be said that the holder died

    def test_no_all(self):
        a = self.member().join()
        a.tell("mailbox")
        self.refused(EUNSUP, "barrier", call=a.tell, text="open job")
        self.refused(EUNSUP, "set", call=a.tell, text="open job")

    def test_many(self):
        members = [self.member() for _ in range(64)]
        for member in members:
            member.begin("join", OPEN)
        for member in members:
            member.joined()
        self.assertEqual(sorted(member.rank for member in members), list(range(64)))
        self.assertEqual(len({member.job for member in members}), 1)
        self.assertEqual(len(self.managers()), 1)
        following = members[1:] + members[:1]
        for member, after in zip(members, following):
            member.tell("mailbox")
            member.peer(after)
        for member, after in zip(members, following):
            member.tell("send", after.rank, 1, 64)
        for member, after in zip(members, following):
            self.assertEqual(int(after.tell("receive", ANY, 1, 64, 30000)), member.rank)


class Addresses(OpenTest):
    def test_damaged(self):
        a, b = self.member().join(), self.member().join()
        good = b.address()
        for bad in (good[:-2], good[:8], "00" * 48, "ff" * 64, "52486131" + "00" * 44):
            self.refused(EINVALID, "peer", bad, call=a.tell)
        for byte in range(0, len(good), 2):
            flipped = good[:byte] + f"{int(good[byte:byte + 2], 16) ^ 4:02x}" + good[byte + 2:]
            self.refused(EINVALID, "peer", flipped, call=a.tell)
        self.assertEqual(a.peer(good + "0000"), b.rank)  # who sends more bytes does no harm

    def test_of_who_has_left(self):
        a, b = self.member().join(), self.member().join()
        address = b.address()
        b.tell("leave")
        error = self.refused(EDEAD, "peer", address, call=a.tell, text="left")
        self.assertEqual(error.rank, b.rank)

    def test_of_the_dead(self):
        a, b = self.member().join(), self.member().join()
        address = b.address()
        b.kill()
        eventually(lambda: a.tell("state", b.rank) == "3", "the death is known")
        error = self.refused(EDEAD, "peer", address, call=a.tell, text="without leaving")
        self.assertEqual(error.rank, b.rank)

    def test_of_who_had_the_rank_before(self):
        a, b = self.member().join(), self.member().join()
        address = b.address()
        b.tell("leave")
        c = self.member().join()
        self.assertEqual(c.rank, b.rank)
        self.refused(EDEAD, "peer", address, call=a.tell)
        self.refused(EDEAD, "peer", address, call=c.tell)
        self.assertEqual(a.peer(c), c.rank)

    def test_of_another_job(self):
        a = self.member().join()
        b = self.member(RHINET_OPEN_JOB=self.name + "-other").join()
        self.assertNotEqual(a.job, b.job)
        self.refused(EDEAD, "peer", b.address(), call=a.tell, text=b.job)
        c = self.member().join(ALONE)
        self.refused(EUNSUP, "peer", a.address(), call=c.tell, text=a.job)
        self.assertEqual(c.peer(c), 0)

    def test_of_another_host(self):
        if os.geteuid() != 0:
            self.skipTest("another namespace takes root")
        a = self.member().join()
        pid = os.fork()
        if pid == 0:  # the same machine, and another network: what counts is who can meet
            os.execvp("unshare", ["unshare", "--net", sys.executable, "-B", __file__, "--elsewhere",
                                  self.name + "-far", a.address()])
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)

    def test_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("another user takes root")
        a = self.member().join()
        b = self.member_of(NOBODY).join()
        self.assertNotEqual(a.job, b.job)
        self.refused(EREFUSED, "peer", b.address(), call=a.tell, text=f"user {NOBODY}")
        self.refused(EREFUSED, "peer", a.address(), call=b.tell, text="user 0")


class Death(OpenTest):
    def trio(self):
        members = [self.member().join() for _ in range(3)]
        for member in members:
            member.tell("mailbox")
        return members

    def test_is_named(self):
        a, b, c = self.trio()
        a.peer(b)
        a.begin("wait", b.rank, 30000)
        b.kill()
        error = self.refused(EDEAD, call=a.end, text=f"rank {b.rank}")
        self.assertEqual(error.rank, b.rank)

    def test_concerns_who_has_met(self):
        a, b, c = self.trio()
        b.peer(a)  # from either side
        b.kill()
        error = self.refused(EDEAD, "wait", ANY, 30000, call=a.tell)
        self.assertEqual(error.rank, b.rank)
        self.refused(ETIMEOUT, "wait", ANY, 300, call=c.tell)
        self.assertEqual(a.tell("acknowledge"), "1")
        self.assertEqual(c.tell("acknowledge"), "0")
        self.refused(ETIMEOUT, "wait", ANY, 50, call=a.tell)

    def test_in_a_message(self):
        a, b, c = self.trio()
        rank = b.peer(a)
        for length in (8, 1 << 20):
            b.begin("send", rank, 1, length)
            if length == 8:
                b.end()
                self.assertEqual(int(a.tell("receive", b.rank, 1, 8, 30000)), b.rank)
        b.kill()  # the long one has been begun, and nobody takes it
        a.begin("receive", b.rank, 2, 8, 30000)
        error = self.refused(EDEAD, call=a.end)
        self.assertEqual(error.rank, b.rank)
        c.begin("send", c.peer(a), 3, 1 << 12)
        self.assertEqual(int(a.tell("receive", c.rank, 3, 1 << 12, 30000)), c.rank)
        c.end()

    def test_leaving_ends_waits_too(self):
        a, b, c = self.trio()
        a.peer(b)
        a.begin("wait", b.rank, 30000)
        b.tell("leave")
        self.refused(EDEAD, call=a.end, text="left")

    def test_rank_is_nobodys_while_somebody_knows_it(self):
        a, b, c = self.trio()
        a.peer(b)
        b.kill()
        eventually(lambda: c.tell("state", b.rank) == "3", "the death is known")
        d = self.member().join()
        self.assertNotEqual(d.rank, b.rank)
        d.tell("leave")
        a.tell("leave")
        ranks = {self.member().join().rank for _ in range(3)}
        self.assertEqual(ranks, {a.rank, b.rank, d.rank})

    def test_rank_of_a_stranger_is_used_again(self):
        a, b, c = self.trio()
        a.tell("send", a.peer(c), 1, 8)
        self.assertEqual(int(c.tell("receive", ANY, 1, 8, 30000)), a.rank)
        for turn in range(8):
            if turn % 2:
                b.kill()
            else:
                b.tell("leave")
            eventually(lambda: a.tell("state", b.rank) in ("2", "3"), "it is gone")
            self.refused(ETIMEOUT, "receive", ANY, 9, 8, 20, call=a.tell)  # and has been noticed
            b = self.member().join()
            self.assertEqual(b.rank, 1)
            b.tell("mailbox")
        for length in LENGTHS:
            b.begin("send", b.peer(a), 1, length)
            self.assertEqual(int(a.tell("receive", b.rank, 1, length, 30000)), 1)
            b.end()

    def test_child_that_lives_on_keeps_nothing(self):
        a, b, c = self.trio()
        a.peer(b)
        child = int(b.tell("fork", 600))
        b.kill()
        error = self.refused(EDEAD, "wait", b.rank, 30000, call=a.tell)
        self.assertEqual(error.rank, b.rank)
        os.kill(child, signal.SIGKILL)

    def test_at_any_moment(self):
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        stays = self.member().join()
        stays.tell("mailbox")
        address = stays.address()
        manager, = self.managers()
        with self.subTest(seed=seed):
            for _ in range(60):
                other = self.member()
                for words in (("join", OPEN), ("mailbox",), ("alloc", 1), ("peer", address),
                              ("send", stays.rank, 1, chance.choice(LENGTHS)), ("leave",)):
                    other.begin(*words)
                time.sleep(chance.uniform(0, 0.02))
                other.kill()
                if chance.random() < 0.2:
                    stays.tell("acknowledge")
                    stays.begin("receive", ANY, 9, 8, 5)
                    self.assertIn(stays.outcome(), (ETIMEOUT, EDEAD))  # may be known only now
                    stays.tell("acknowledge")
            last = self.member().join()
            last.tell("mailbox")
            last.begin("send", last.peer(address), 2, 40000)
            self.assertEqual(int(stays.tell("receive", last.rank, 2, 40000, 30000)), last.rank)
            last.end()
        self.assertEqual(self.managers(), [manager])
        # each of who is there has a line and a process; the rest is the manager's own
        eventually(lambda: len(os.listdir(f"/proc/{manager}/fd")) < 40, "descriptors are closed")

    def test_of_each_at_every_step(self):
        steps = ("", "join", "address", "peer", "mailbox", "alloc", "send", "lock")
        stays = self.member().join()
        stays.tell("mailbox")
        address = stays.address()
        for last in range(len(steps)):
            other = self.member()
            for step in steps[1:last + 1]:
                words = {"join": (OPEN,), "peer": (address,), "alloc": (1,),
                         "send": (stays.rank, 1, 8), "lock": (stays.rank, 30000)}.get(step, ())
                other.tell(step, *words)
            other.kill()
            if "send" in steps[:last + 1]:
                stays.tell("receive", ANY, 1, 8, 30000)
        eventually(lambda: all(stays.tell("state", rank) != "1" for rank in range(1, 9)), "dead")
        stays.tell("acknowledge")
        self.assertEqual(stays.tell("alloc", 1), "")


class Options(OpenTest):
    def test_unknown(self):
        for value in (-1, 3, 77):
            self.refused(EINVALID, "join", value, call=self.member().tell, text=str(value))
        self.assertEqual(self.managers(), [])

    def test_refuse(self):
        self.refused(EREFUSED, "join", REFUSE, call=self.member().tell, text="launcher")

    def test_alone(self):
        a = self.member().join(ALONE)
        self.assertEqual((a.rank, a.size, self.managers()), (0, 1, []))

    def test_nic(self):
        for nic in ("ofi", "mixed", "martini", "nonsense"):
            self.refused(EUNSUP, "join", OPEN, nic, call=self.member().tell, text=nic)
        self.assertEqual(self.managers(), [])
        a, b = self.member().join(OPEN, "fault(shm)"), self.member().join()
        b.tell("alloc", 1)
        a.tell("push", a.peer(b), 1, "hello")

    def test_nic_that_does_not_open(self):
        a = self.member().join()
        b = self.member(RHINET_SEGMENTS="1000")
        self.refused(ENOSPACE, "join", OPEN, call=b.tell, text="RHINET_SEGMENTS")
        self.assertEqual(a.tell("state", 1), "2")  # it has said goodbye, and has not died

    def test_name(self):
        for name in ("a/b", "a b", "x" * 49):
            self.refused(EINVALID, "join", OPEN, call=self.member(RHINET_OPEN_JOB=name).tell,
                         text="RHINET_OPEN_JOB")

    def test_program(self):
        missing = self.member(RHINET_MANAGER_PATH="/nonexistent/manager")
        self.refused(EUNSUP, "join", OPEN, call=missing.tell, text="/nonexistent/manager")
        useless = self.member(RHINET_MANAGER_PATH="/bin/true")
        self.refused(EREFUSED, "join", OPEN, call=useless.tell, text="/bin/true")
        self.assertEqual(self.member().join().rank, 0)

    def test_full(self):
        a = self.member(RHINET_OPEN_RANKS="2").join()
        b = self.member().join()
        self.assertEqual((a.size, b.size), (2, 2))
        self.refused(ENOSPACE, "join", OPEN, call=self.member().tell, text="RHINET_OPEN_RANKS")
        b.tell("leave")
        self.assertEqual(self.member().join().rank, b.rank)


def elsewhere(name, address):
    """In another network namespace: the address is good, and of another host."""
    case = OpenTest()
    case.name, case.members = name, []
    member = case.member().join()
    case.refused(EUNSUP, "peer", address, call=member.tell, text="another host")
    case.tearDown()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--elsewhere"]:
        elsewhere(*sys.argv[2:])
    else:
        tap.main()
