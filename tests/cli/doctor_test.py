#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""`rhinet doctor` beside jobs that hang in every way, and what a stuck rank says by itself."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../support"))
import tap

RHINET = os.environ["CLI_PROGRAM_PATH"]
HANG = os.environ["CLI_HANG_PATH"]
HANG_S = 60


def environment(**more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RHINET_") and k != "COLUMNS"}
    return {**clean, **more}


class Case(unittest.TestCase):
    def start(self, way, *options, ranks=3, stuck="0"):
        """A job under way; what it prints on stderr is said() later."""
        self.errors = tempfile.TemporaryFile(mode="w+")
        self.addCleanup(self.errors.close)
        job = subprocess.Popen([RHINET, "run", "-n", str(ranks), *options, HANG, way],
                               stderr=self.errors, env=environment(RHINET_STUCK=stuck))
        self.addCleanup(self.end, job)
        return job

    def end(self, job):
        job.send_signal(signal.SIGTERM)
        job.wait(timeout=HANG_S)

    def said(self):
        """What the ranks have said so far about waits."""
        self.errors.seek(0)
        return [line for line in self.errors.read().split("\n") if " has waited " in line]

    def doctor(self, job, *options, after="1s"):
        run = subprocess.run([RHINET, "doctor", str(job.pid), "--after", after, *options],
                             capture_output=True, text=True, timeout=HANG_S, env=environment(),
                             check=False)
        return run.returncode, run.stdout, run.stderr

    def json(self, job, **more):
        status, out, err = self.doctor(job, "--json", **more)
        found = json.loads(out) if out else {"verdict": err, "stuck": None, "ranks": []}
        if out:
            self.assertEqual(status, 1 if found["stuck"] else 0)
        return found

    def until(self, job, is_so):
        """Looks until the findings are as expected; the last findings."""
        deadline = time.monotonic() + HANG_S
        while True:
            self.assertIsNone(job.poll(), "the job ended by itself")
            found = self.json(job)
            if is_so(found):
                return found
            self.assertLess(time.monotonic(), deadline, json.dumps(found, indent=1))
            time.sleep(0.2)

    def until_verdict(self, job, verdict, waiting):
        return self.until(job, lambda found: found["verdict"] == verdict and
                          sum(len(rank["waits"]) for rank in found["ranks"]) == waiting)

    def only_wait(self, found, rank):
        waits = found["ranks"][rank]["waits"]
        self.assertEqual(len(waits), 1)
        return waits[0]


class Deadlock(Case):
    def check(self, way, text, waiting=3, **more):
        job = self.start(way, **more)
        found = self.until_verdict(job, "deadlock", waiting)
        status, out, err = self.doctor(job)
        self.assertEqual((status, err), (1, ""))
        self.assertIn(text, out)
        return found, out

    def test_circle_of_receives(self):
        found, out = self.check("circle", "Deadlock: 0 waits for 1, 1 waits for 2, 2 waits for 0.")
        for rank in range(3):
            wait = self.only_wait(found, rank)
            self.assertEqual((wait["call"], wait["peer"], wait["number"]),
                             ("receive", (rank + 1) % 3, 5))
            self.assertEqual(wait["waits_for"], [(rank + 1) % 3])
            self.assertGreaterEqual(wait["seconds"], 1)
            self.assertTrue(found["ranks"][rank]["deadlocked"])
            self.assertRegex(out, rf"(?m)^ +{rank} +\d+ +[\d.]+ s  waits in receive from rank "
                                  rf"{(rank + 1) % 3}, tag 5$")

    def test_pair(self):
        self.check("circle", "Deadlock: 0 waits for 1, 1 waits for 0. 2 of 2", 2, ranks=2)

    def test_itself(self):
        self.check("self", "Deadlock: 0 waits for itself. 3 of 3 ranks can never go on.")

    def test_all_for_any(self):
        found, _ = self.check("any", "3 of 3 ranks can never go on")
        self.assertEqual(self.only_wait(found, 0)["waits_for"], [])

    def test_nobody_left(self):
        self.check("left", "Deadlock: 0 waits for any rank, but nobody is left to come.", 1)

    def test_locks_in_opposite_order(self):
        found, out = self.check("locks", "Deadlock: 0 waits for 1, 1 waits for 0.")
        self.assertIn("waits in lock 1, held by rank 1", out)
        self.assertIn("waits in lock 0, held by rank 0", out)
        # Rank 2 stands behind rank 0 in the queue; what it waits for is the holder.
        self.assertEqual(self.only_wait(found, 2)["waits_for"], [1])

    def test_barrier_against_receive(self):
        found, out = self.check("mixed", "Deadlock: 0 waits for 1, 1 waits for 0.")
        self.assertEqual(self.only_wait(found, 0)["call"], "barrier")
        self.assertIn("barrier of set 9, missing rank 1", out)

    def test_many_ranks(self):
        _, out = self.check("circle", "and so on back to 0. 12 of 12 ranks", 12, ranks=12)
        self.assertEqual(len(re.findall(r"(?m)waits in receive from rank", out)), 12)


class Waiting(Case):
    def check(self, way, call, text, peer=1):
        job = self.start(way)
        found = self.until(job, lambda found: found["verdict"] == "waiting" and
                           found["ranks"][0]["waits"] and
                           found["ranks"][1]["process"] == "sleeping")
        wait = self.only_wait(found, 0)
        self.assertEqual((wait["call"], wait["peer"]), (call, peer))
        status, out, _ = self.doctor(job)
        self.assertEqual(status, 1)
        self.assertRegex(out, rf"Long wait: rank 0 has waited [\d.]+ s in {text}")
        return wait, out

    def test_barrier_with_a_missing_rank(self):
        wait, out = self.check("barrier", "barrier", "barrier of set 9, missing rank 1", -1)
        self.assertEqual((wait["number"], wait["waits_for"]), (9, [1]))
        self.assertIn("rank 1 sleeps outside rhinet", out)

    def test_send_to_the_deaf(self):
        wait, _ = self.check("deaf", "send", "send to rank 1, tag 5, 48 bytes; rank 1 sleeps")
        self.assertEqual((wait["length"], wait["waits_for"]), (48, [1]))

    def test_queue(self):
        wait, _ = self.check("queue", "queue", "rh_queue_next of queue 2, which is empty", -1)
        self.assertEqual(wait["number"], 2)

    def test_append(self):
        self.check("append", "append", "append to queue 2 of rank 1, which is full")

    def test_segment(self):
        self.check("segment", "segment", "rh_segment_wait for segment 3 of rank 1")

    def test_word(self):
        self.check("word", "word", "rh_wait_word from rank 1, word is 0 and should be at least 5")

    def test_patience(self):
        job = self.start("deaf")
        self.until(job, lambda found: found["verdict"] == "waiting")
        self.assertEqual(self.doctor(job, after="10m")[0], 0)


class Stopped(Case):
    def test_lock_held_by_a_stopped_rank(self):
        job = self.start("lock")
        found = self.until_verdict(job, "stopped", 2)
        holder = found["ranks"][0]
        self.assertEqual((holder["process"], holder["waits"]), ("stopped", []))
        for rank in (1, 2):
            wait = self.only_wait(found, rank)
            self.assertEqual((wait["call"], wait["number"], wait["peer"]), ("lock", 7, 0))
        status, out, _ = self.doctor(job)
        self.assertEqual(status, 1)
        self.assertIn(f"Stopped: rank 0; 2 waiting for it. `kill -CONT {holder['pid']}`", out)
        self.assertIn("waits in lock 7, held by rank 0", out)

    def test_stopped_in_a_wait(self):
        job = self.start("circle")
        found = self.until_verdict(job, "deadlock", 3)
        os.kill(found["ranks"][2]["pid"], signal.SIGSTOP)
        self.until_verdict(job, "stopped", 3)
        self.assertIn("is stopped in receive from rank 0, tag 5", self.doctor(job)[1])
        os.kill(found["ranks"][2]["pid"], signal.SIGCONT)
        self.until_verdict(job, "deadlock", 3)


class Fine(Case):
    def check(self, way, looks, *options, **more):
        job = self.start(way, *options, stuck="1s", **more)
        self.until(job, lambda found: found["ranks"])  # the launcher takes a moment to be there
        for _ in range(looks):
            self.assertIsNone(job.poll())
            found = self.json(job, after="10s")
            self.assertEqual(found["verdict"], "fine", found)
        self.assertIn("Nothing is stuck", self.doctor(job, after="10s")[1])

    def test_busy(self):
        self.check("busy", 8)

    def test_busy_beyond_the_cores(self):
        self.check("busy", 4, ranks=10)

    def test_large_messages(self):
        self.check("large", 8)

    def test_large_messages_by_pull(self):
        self.check("large", 4, "--env", "RHINET_MSG_WAY=pull")

    def test_dead_rank(self):
        job = self.start("die", "--survive")
        self.until(job, lambda found: found["verdict"] == "dead")
        status, out, _ = self.doctor(job)
        self.assertEqual(status, 0)
        self.assertIn("Dead: rank 1 has died (signal 9).", out)


class Watch(Case):
    def test_until_the_job_ends(self):
        job = self.start("circle")
        self.until_verdict(job, "deadlock", 3)
        with subprocess.Popen([RHINET, "doctor", str(job.pid), "--json", "--watch", "0.1"],
                              stdout=subprocess.PIPE, text=True, env=environment()) as doctor:
            self.assertEqual(json.loads(doctor.stdout.readline())["verdict"], "deadlock")
            self.assertEqual(json.loads(doctor.stdout.readline())["verdict"], "deadlock")
            self.end(job)
            doctor.stdout.read()
            doctor.wait(timeout=HANG_S)

    def test_usage(self):
        for arguments in (("--bogus",), ("a", "b"), ("--watch",), ("--watch", "soon"),
                          ("--after", "-1"), ("--watch", "1ms")):
            run = subprocess.run([RHINET, "doctor", *arguments], capture_output=True, text=True,
                                 timeout=HANG_S, env=environment(), check=False)
            self.assertEqual(run.returncode, 2)
            self.assertIn("`rhinet help doctor` shows the usage", run.stderr)
        run = subprocess.run([RHINET, "doctor", "ffffffffffff"], capture_output=True, text=True,
                             timeout=HANG_S, env=environment(), check=False)
        self.assertEqual(run.returncode, 3)
        self.assertIn("no job", run.stderr)


class SelfReport(Case):
    def until_said(self, job, count):
        deadline = time.monotonic() + HANG_S
        while len(self.said()) < count:
            self.assertIsNone(job.poll(), "the job ended by itself")
            self.assertLess(time.monotonic(), deadline, self.said())
            time.sleep(0.1)
        return self.said()

    def test_once_per_wait(self):
        job = self.start("circle", stuck="2s")
        self.until_said(job, 3)
        time.sleep(4)
        lines = sorted(self.said())
        self.assertEqual(len(lines), 3, lines)
        for rank, line in enumerate(lines):
            self.assertRegex(line, rf"rank {rank} has waited [\d.]+ s in receive from rank "
                                   rf"{(rank + 1) % 3}, tag 5; rank {(rank + 1) % 3} waits in "
                                   rf"receive .* \(pid \d+\); deadlock: 0 waits for 1, ")

    def test_lock_held_by_a_stopped_rank(self):
        job = self.start("lock", stuck="1s")
        for line in self.until_said(job, 2):
            self.assertRegex(line, r"rank [12] has waited [\d.]+ s in lock 7, held by rank 0; "
                                   r"rank 0 is stopped \(pid \d+\)")

    def test_barrier_append_segment(self):
        for way, text in (("barrier", "barrier of set 9, missing rank 1; rank 1 sleeps"),
                          ("append", "append to queue 2 of rank 1, which is full; rank 1 sleeps"),
                          ("segment", "rh_segment_wait for segment 3 of rank 1; rank 1 sleeps")):
            job = self.start(way, stuck="0.5s")
            self.assertIn(text, self.until_said(job, 1)[0])
            self.end(job)

    def test_never(self):
        job = self.start("circle", stuck="0")
        self.until_verdict(job, "deadlock", 3)
        self.assertEqual(self.said(), [])

    def test_wrapped_nic(self):
        job = self.start("circle", "--nic", "fault(shm)", stuck="2s")
        self.assertIn("deadlock", self.until_said(job, 3)[0])


if __name__ == "__main__":
    tap.main()
