# SPDX-License-Identifier: BSD-3-Clause
"""examples_test.py RHINET EXAMPLES: every example gives the right answer for any number of ranks,
and notices when the network does not keep its promises. Reports each case by itself (TAP)."""

import os
import re
import subprocess
import sys

RHINET, EXAMPLES = sys.argv[1:3]
SIZES = [1, 2, 4, 7]
THROWS = 5000  # of each rank in queue.c
PIECES = 400  # in counter.c
NUMBERS = 20000  # of each rank in sort.c


def run(command, size, faults=None):
    """Exit status, lines of stdout, stderr. size None: without a launcher."""
    launcher = [] if size is None else [RHINET, "run", "-n", str(size), "--timeout", "100"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RHINET_")}
    if faults:
        environment.update(RHINET_NIC="fault(shm)", RHINET_FAULT=faults)
    done = subprocess.run([*launcher, f"{EXAMPLES}/{command[0]}", *command[1:]], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=110,
                          check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr.strip()


def hello_is_right(lines, size):
    return sorted(lines) == sorted(
        f"rank {rank} of {size}: greetings from rank {(rank - 1) % size}" for rank in range(size))


def ring_is_right(lines, size):
    return len(lines) == 1 and re.fullmatch(
        rf"300 laps round {size} ranks: \d+\.\d+ us per hop", lines[0])


def halo_is_right(lines, size):
    ranks = [int(line.split(":")[0].split()[1]) for line in lines]
    return sorted(ranks) == list(range(size)) and all(", 0 of " in line for line in lines)


def queue_is_right(lines, size):
    counts = [int(line.split()[1]) for line in lines]
    return len(counts) == 11 and sum(counts) == size * THROWS and max(counts) == counts[5]


def counter_is_right(lines, size):
    pieces = [int(line.split()[3]) for line in lines if "took" in line]
    return len(pieces) == size and sum(pieces) == PIECES and "17984 primes below 200000" in lines


def sort_is_right(lines, size):
    parts = [int(line.split()[3]) for line in lines if line.startswith("rank ")]
    return len(parts) == size and sum(parts) == size * NUMBERS and \
        f"{size * NUMBERS} numbers of {size} ranks sorted" in lines


def dsm_queue_is_right(lines, _):
    return lines == ["200 tasks, sum 27576734"]


def himeno_is_right(lines, size):
    residuals = {line.split()[-1] for line in lines}
    return len(lines) == 4 and len(residuals) == 1 and f" {size} ranks" in lines[3]


def jacobi_is_right(lines, size):
    return len(lines) == size and all(", 0 of " in line for line in lines)


def threads_is_right(lines, size):
    pieces = [int(line.split()[3]) for line in lines if "took" in line]
    return len(pieces) == size and sum(pieces) == 120 and "6057 primes below 60000" in lines


RIGHT = {
    ("dsm_queue",): dsm_queue_is_right,
    ("hello",): hello_is_right,
    ("ring", "300"): ring_is_right,
    ("halo",): halo_is_right,
    ("queue",): queue_is_right,
    ("counter",): counter_is_right,
    ("sort", "20000"): sort_is_right,
    ("himeno", "XS", "5"): himeno_is_right,
    ("jacobi",): jacobi_is_right,
    ("threads",): threads_is_right,
}

# A fault that the contract forbids, or an error: each must end in a status other than 0.
WRONG = [
    (("dsm_queue",), "delay=store%0.001:1us,corrupt=pull@30+,rank=1", ""),
    (("hello",), "drop=push@1,rank=0", "was dropped"),
    (("ring", "300"), "corrupt=push@5,rank=1", "hops, not"),
    (("halo",), "lose=push@1,rank=0", ""),
    (("queue",), "lose=append@9,rank=1", "is wrong"),
    (("counter",), "repeat=atomic@3,rank=1", ""),
    (("sort", "20000"), "corrupt=push@10+,corrupt=pull@1+,rank=2", ""),
    (("jacobi",), "corrupt=pull@30+,rank=1", ""),
]

CASES = []


def case(name, passed, said):
    CASES.append(passed)
    print(f"{'ok' if passed else 'not ok'} {len(CASES)} - {name}", flush=True)
    if not passed:
        print("\n".join(f"# {line}" for line in str(said).splitlines()), flush=True)


def main():
    sizes = [None, *SIZES]
    print(f"1..{len(RIGHT) * len(sizes) + len(WRONG) + 1}", flush=True)
    for command, is_right in RIGHT.items():
        for size in sizes:
            status, lines, said = run(command, size)
            passed = status == 0 and said == "" and bool(is_right(lines, size or 1))
            case(f"{command[0]}, {size or 'no launcher, 1'} ranks", passed, (status, lines, said))
    for command, faults, expected in WRONG:
        status, lines, said = run(command, 4, faults)
        case(f"{command[0]} notices {faults}", status == 1 and expected in said,
             (status, lines, said))
    status, lines, said = run(("ring", "300"), 4, "seed=7,delay=0.1:200us")
    case("ring survives delays", status == 0 and bool(ring_is_right(lines, 4)),
         (status, lines, said))
    return 0 if all(CASES) else 1


if __name__ == "__main__":
    sys.exit(main())
