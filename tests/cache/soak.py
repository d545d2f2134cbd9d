#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""soak.py RHINET READER CHANGE --minutes M [--seed S]: the file cache in random shapes, with random
faults and deaths, for a while. Every program that is not killed must end well, having read what the
kernel has. The seed of a failing job is printed; --seed replays it first."""

import argparse
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

FAULTS = ("delay=0.02:300us", "reorder=0.3", "drop=pull%0.01", "drop=atomic%0.01", "drop=push%0.01")


def shape_of(dice):
    """Options and settings of a job."""
    nic = dice.choice(["shm", "shm", "fault(shm)", "ofi", "mixed"])
    settings = {"RHINET_CACHE_AHEAD": str(dice.choice([0, 2, 8])),
                "RHINET_CACHE_LEASE": "500ms", "RHINET_MIXED_RANKS": "2",
                "RHINET_CACHE_CHECKSUM": dice.choice(["on", "off"])}
    if nic.startswith("fault"):
        chosen = dice.sample(FAULTS, dice.randrange(1, 4))
        settings["RHINET_FAULT"] = ",".join([f"seed={dice.randrange(1000)}", *chosen])
    options = ["--nic", nic, "--cache", f"{dice.randrange(4, 40)}M",
               "--groups", str(dice.randrange(0, 4)), "--survive",
               "--singlets", dice.choice(["0", "0.5", "0.9", "auto"])]
    return options, settings


def one_job(tests, seed):
    dice = random.Random(seed)
    options, settings = shape_of(dice)
    nodes = dice.randrange(1, 6)
    files = dice.sample([tests.LARGE, *tests.FILES, *tests.SMALL], dice.randrange(1, 10))
    reader = ["--order", dice.choice(["random", "sequential", "stride"]), "--reads", 500,
              "--length", dice.choice([5000, 100000, 1500000]), "--threads", dice.randrange(1, 4),
              "--forks", dice.randrange(0, 3), "--seed", seed, *files]
    job = tests.Run(nodes, reader, *options, **settings)
    job.open_gate()
    if dice.random() < 0.5:
        time.sleep(dice.uniform(0.3, 1.5))
        agents = tests.agents_of(job.process.pid)
        if agents:
            os.kill(dice.choice(agents), signal.SIGKILL)
    job.finish()
    assert job.status == 0 and len(job.nodes) == nodes, \
        f"seed {seed}: {options} {settings} {reader}: status {job.status}: {job.err}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs=3)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int)
    wishes = parser.parse_args()
    for name, path in zip(("TEST_RHINET", "TEST_READER", "TEST_CHANGE"), wishes.programs):
        os.environ[name] = os.path.abspath(path)
    import cache_test as tests  # it reads the variables
    deadline, count = time.monotonic() + wishes.minutes * 60, 0
    seed = wishes.seed if wishes.seed is not None else random.randrange(1 << 30)
    tests.setUpModule()
    try:
        while count == 0 or time.monotonic() < deadline:
            one_job(tests, seed + count)
            count += 1
    finally:
        tests.tearDownModule()
    print(f"{count} jobs, seeds from {seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
