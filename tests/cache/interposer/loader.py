# SPDX-License-Identifier: BSD-3-Clause
"""What a training program's loader does, without its library: forked workers, each reads whole
sample files and parts of one long file, in an order of its own."""

import multiprocessing
import sys
import zlib
from pathlib import Path

import numpy


def work(job):
    folder, number = job
    sample = numpy.load(Path(folder) / f"{number}.npy")
    with open(Path(folder) / "long", "rb", buffering=0) as file:
        file.seek(number * 4096)
        part = file.read(4096)
    return float(sample.sum()), zlib.crc32(part)


def main(folder):
    count = len(list(Path(folder).glob("*.npy")))
    order = numpy.random.default_rng(5).permutation(count)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        for result in pool.imap(work, [(folder, int(k)) for k in order]):
            print(*result)


if __name__ == "__main__":
    main(sys.argv[1])
