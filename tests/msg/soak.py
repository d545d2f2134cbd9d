#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""soak.py RHINET MSG-SOAK [--minutes N] [--seconds N] [--seed S] [--nic NIC] [--stalls]: jobs of
random sizes, ways and faults, one after the other, whose ranks are killed and stopped at random
while they send, lock and meet. Every survivor must end by itself and find every promise kept.
Prints the seed; exit 1 at the first failure. With --stalls nobody is killed, but stops are longer
than the time-out of every call.

A death must not make the survivors slow, either: each job has a time to end in."""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

END_S = 90  # for the survivors to end, on a machine with more ranks than cores
WAYS = ["auto", "auto", "push", "ring", "pull", "both"]
STALL_TIMEOUT = "700ms"
STALLS_S = [0.05, 1.0, 1.0, 2.0, 3.0]
OPEN_S = 30  # for all ranks to be there, before the first stall
FAULTS = ["", "", "", "seed=%d,delay=0.005:300us,reorder=0.5", "seed=%d,drop=push%%0.01"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rhinet")
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seconds", type=float, help="instead of minutes")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--nic", default="shm")
    parser.add_argument("--stalls", action="store_true")
    return parser.parse_args()


def ranks_of(launcher, name):
    """Living processes of the job's ranks."""
    try:
        with open(f"/proc/{launcher}/task/{launcher}/children", encoding="utf-8") as file:
            pids = [int(word) for word in file.read().split()]
    except OSError:
        return []
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                if file.read().strip() == name:
                    found.append(pid)
        except OSError:
            pass
    return found


def hurt(dice, pid, has_stalls):
    """Stop a rank for a while, or kill it. True if it was killed."""
    try:
        if not has_stalls and dice.random() < 0.25:
            os.kill(pid, signal.SIGKILL)
            return True
        os.kill(pid, signal.SIGSTOP)
        time.sleep(dice.choice(STALLS_S if has_stalls else [0.005, 0.02, 0.1, 0.5]))
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        pass
    return False


class Job:
    """One job, its hurts and its verdict."""

    def __init__(self, arguments, dice, seed):
        self.has_stalls = arguments.stalls
        self.size = dice.choice([2, 3, 4, 6, 8])
        self.duration = dice.uniform(4, 10) if self.has_stalls else dice.uniform(1, 5)
        environment = {**os.environ,
                       "RHINET_TIMEOUT": STALL_TIMEOUT if self.has_stalls else "60s",
                       "RHINET_MSG_WAY": dice.choice(WAYS)}
        if arguments.nic == "mixed":
            environment["RHINET_MIXED_RANKS"] = "2"
        faults = "" if self.has_stalls else dice.choice(FAULTS)
        nic = f"fault({arguments.nic})" if faults else arguments.nic
        if faults:
            environment["RHINET_FAULT"] = faults % seed
        # The time-out is for the case that somebody kills us between a stop and its end.
        self.words = [arguments.rhinet, "run", "--survive", "--timeout", str(2 * END_S),
                      "-n", str(self.size), "--nic", nic,
                      arguments.program, f"{self.duration:.2f}", str(seed),
                      str(time.monotonic_ns())]
        self.shown = " ".join(f"{name}={environment[name]}" for name in
                              ("RHINET_MSG_WAY", "RHINET_FAULT") if name in environment)
        self.killed, self.stopped = 0, 0
        # Files, since what is not read from a pipe would stop the ranks.
        self.out = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.err = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.process = subprocess.Popen(self.words, env=environment, text=True,
                                        stdin=subprocess.DEVNULL, stdout=self.out,
                                        stderr=self.err)
        self.end_s = time.monotonic() + self.duration

    def said(self):
        self.out.seek(0)
        self.err.seek(0)
        return self.out.read(), self.err.read()

    def await_open(self):
        limit_s = time.monotonic() + OPEN_S
        while self.process.poll() is None and time.monotonic() < limit_s and \
                len(re.findall("^open$", self.said()[0], re.M)) < self.size:
            time.sleep(0.05)

    def torment(self, dice, name):
        if self.has_stalls:
            self.await_open()
        while time.monotonic() < self.end_s and self.process.poll() is None:
            time.sleep(dice.uniform(0.02, 0.5))
            pids = ranks_of(self.process.pid, name)
            if not pids or time.monotonic() > self.end_s:
                continue
            victim = dice.choice(pids)
            if len(pids) <= 2 and not self.has_stalls and dice.random() < 0.8:
                continue
            if hurt(dice, victim, self.has_stalls):
                self.killed += 1
            else:
                self.stopped += 1

    def verdict(self):
        """Text of what went wrong, or None; and the totals of the survivors."""
        try:
            self.process.wait(timeout=END_S)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait()
            return "does not end\n" + "".join(self.said()), (0, 0, 0)
        out, err = self.said()
        done = re.findall(r"^done rank \d+: (\d+) messages received, \d+ bytes sent, (\d+) locks, "
                          r"(\d+) barriers$", out, re.M)
        totals = tuple(sum(int(row[i]) for row in done) for i in range(3))
        if "FAIL" in out or len(done) < self.size - self.killed:
            said = f"{len(done)} of {self.size} ended well, {self.killed} killed\n{out}{err}"
            return said, totals
        return None, totals


def main():
    arguments = parse_arguments()
    seed = arguments.seed if arguments.seed is not None else random.randrange(1 << 30)
    limit_s = arguments.seconds or arguments.minutes * 60
    end_s, jobs, killed, stopped = time.monotonic() + limit_s, 0, 0, 0
    messages = locks = barriers = 0
    name = os.path.basename(arguments.program)[:15]
    print(f"soak: seed {seed}, {limit_s:.0f} s", flush=True)
    while time.monotonic() < end_s or jobs == 0:
        dice = random.Random(seed + jobs)
        job = Job(arguments, dice, seed + jobs)
        job.torment(dice, name)
        wrong, totals = job.verdict()
        jobs, killed, stopped = jobs + 1, killed + job.killed, stopped + job.stopped
        messages, locks, barriers = (a + b for a, b in zip((messages, locks, barriers), totals))
        if wrong:
            print(f"FAIL soak: --seed {seed + jobs - 1}: {job.shown} {' '.join(job.words)}")
            print(wrong)
            return 1
    print(f"ok soak: {jobs} jobs, {killed} ranks killed, {stopped} stops, {messages} messages, "
          f"{locks} locks, {barriers} barriers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
