# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 of a random rank at random moments while the others push, append and wait: nobody hangs,
the survivors learn who died, nothing is left. SYSTEM_TEST_KILLS says how often (200), and
SYSTEM_TEST_SEED replays a run."""
import os
import random
import signal
import time

import harness
from harness import program, ranks_of, wait_until

KILLS = int(os.environ.get("SYSTEM_TEST_KILLS", "200"))
SEED = int(os.environ.get("SYSTEM_TEST_SEED", random.randrange(1 << 32)))
DELAY_MAX_S = 0.06
START_MAX_S = 0.02  # joining takes less


class Kill(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.dice = random.Random(SEED)
        print(f"SYSTEM_TEST_SEED={SEED}", flush=True)

    def read_ready(self, job, size):
        """Wait until every rank has said so; {pid: rank}."""
        found = {}
        while len(found) < size:
            line = job.process.stdout.readline()
            self.assertTrue(line.startswith("ready "), f"{line!r} {job.process.poll()}")
            _, rank, pid = line.split()
            found[int(pid)] = int(rank)
        return found

    def kill_one(self, size, *words):
        """Start a job, kill one rank somewhere on its way; returns job and victim's pid."""
        job = self.start("-n", size, *words, program("churn"),
                         environment={"RHINET_TIMEOUT": "20s"})
        if self.dice.random() < 0.75:
            pids = sorted(self.read_ready(job, size))
            time.sleep(self.dice.uniform(0, DELAY_MAX_S))
        else:
            wait_until(lambda: len(ranks_of(job.pid)) == size)
            pids = ranks_of(job.pid)
            time.sleep(self.dice.uniform(0, START_MAX_S))
        victim = self.dice.choice(pids)
        os.kill(victim, signal.SIGKILL)
        return job, victim

    def check_survivors(self, out, err, victim, size):
        message = f"(pid {victim}) was killed by signal 9 (Killed); the others go on"
        self.assertEqual(err.count(message), 1, err)
        rank = int(err.split(message)[0].split()[-1])
        found = sorted(line for line in out.splitlines() if line.startswith("dead "))
        wanted = sorted(f"dead {rank} by {other}" for other in range(size) if other != rank)
        self.assertEqual(found, wanted, err)

    def test_survive(self):
        for count in range(KILLS):
            size = self.dice.choice((2, 3, 4, 6))
            with self.subTest(kill=count, size=size):
                job, victim = self.kill_one(size, "--survive")
                status, out, err = job.finish()
                self.assertEqual(status, 128 + signal.SIGKILL, err)
                self.check_survivors(out, err, victim, size)
                self.check_job_gone(job)

    def test_end_of_the_job(self):
        for count in range(KILLS // 4):
            size = self.dice.choice((2, 4, 8))
            with self.subTest(kill=count, size=size):
                job, victim = self.kill_one(size)
                status, _, err = job.finish()
                self.assertEqual(status, 128 + signal.SIGKILL, err)
                self.assertIn(f"(pid {victim}) was killed by signal 9 (Killed); ending the job",
                              err)
                self.check_job_gone(job)

    def test_every_kind_of_wait(self):
        for _ in range(max(1, KILLS // 20)):
            size = 7
            job = self.start("-n", size, "--survive", program("blocked"),
                             environment={"RHINET_TIMEOUT": "100s"})
            ready = self.read_ready(job, size)
            time.sleep(self.dice.uniform(0, 0.1))
            victim = next(pid for pid, rank in ready.items() if rank == 0)
            os.kill(victim, signal.SIGKILL)
            status, out, err = job.finish()
            self.assertEqual(status, 128 + signal.SIGKILL, err)
            self.check_survivors(out, err, victim, size)

    def test_crash(self):
        options = os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0"  # it would exit instead
        status, _, err = self.run_job("-n", 4, program("member"), "crash",
                                      environment={"ASAN_OPTIONS": options})
        self.assertEqual(status, 128 + signal.SIGSEGV)
        self.assertRegex(err, r"rank 0 \(pid \d+\) was killed by signal 11 \(Segmentation fault\)")


if __name__ == "__main__":
    harness.main()
