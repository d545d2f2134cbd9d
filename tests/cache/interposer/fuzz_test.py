# SPDX-License-Identifier: BSD-3-Clause
"""Random calls on descriptors (descriptor_fuzz.c) have the same outcomes with and without the
cache, and races between threads and processes (descriptor_race.c) end well.
CACHE_FUZZ_SEEDS: how many sequences; CACHE_FUZZ_FIRST: the first one's number."""

import os

import cache_harness as harness

SEEDS = int(os.environ.get("CACHE_FUZZ_SEEDS", "25"))
FIRST = int(os.environ.get("CACHE_FUZZ_FIRST", "1"))
CALLS = 400


class Fuzz(harness.CacheTest):
    def log(self, start, seed):
        for path in self.data.glob("*"):
            path.unlink()
        status, out, err = self.finish(start(harness.PROGRAMS / "descriptor-fuzz", self.data, seed,
                                             CALLS), 60)
        self.assertEqual(status, 0, f"seed {seed}: {err}")
        return (out + err).splitlines()

    def compare(self, start, first, count):
        self.data.mkdir()
        for seed in range(first, first + count):
            plain, cached = self.log(self.start_plain, seed), self.log(start, seed)
            for number, (expected, have) in enumerate(zip(plain, cached), 1):
                self.assertEqual(have, expected, f"seed {seed}, line {number}")
            self.assertEqual(len(plain), len(cached), f"seed {seed}")

    def test_stand_in(self):
        self.compare(self.start_fake, FIRST, SEEDS)
        self.assertGreater(self.served(), 100000 * SEEDS // 4)

    def test_real(self):
        self.compare(self.start_cached, FIRST + SEEDS, max(SEEDS // 5, 1))


class Numbers(harness.CacheTest):
    """Numbers that are closed where no library sees it, and are something else's next."""

    def test_same(self):
        self.data.mkdir()
        paths = [self.data / name for name in "ab"]
        for path in paths:
            path.write_text(path.name * 100_000)
        self.settle()
        outcomes = [self.finish(start(harness.PROGRAMS / "odd-numbers", *paths), 60)
                    for start in (self.start_plain, self.start_fake, self.start_cached)]
        self.assertEqual(outcomes[0][0], 0)
        self.assertIn("1100 streams, 0 wrong", outcomes[0][1])
        self.assertEqual(outcomes[1], outcomes[0])
        self.assertEqual(outcomes[2], outcomes[0])
        self.assertGreater(self.served(), 1_000_000)


class Calls(harness.CacheTest):
    """What programs call rarely, well and badly."""

    def log(self, start):
        self.data.mkdir(exist_ok=True)
        for path in self.data.glob("*"):
            path.unlink()
        (self.data / "a").write_text("".join(f"{k} line\n" for k in range(20_000)))
        self.settle()
        elsewhere = f"/dev/shm/odd-calls-{os.getpid()}"  # another file system
        status, out, err = self.finish(start(harness.PROGRAMS / "odd-calls", self.data, elsewhere),
                                       60)
        self.assertEqual(status, 0, err)
        return out.splitlines()

    def test_same(self):
        plain = self.log(self.start_plain)
        self.assertGreater(len(plain), 150)
        for start in (self.start_fake, self.start_cached):
            have = self.log(start)
            for number, (line, want) in enumerate(zip(have, plain), 1):
                self.assertEqual(line, want, f"line {number}")
            self.assertEqual(len(have), len(plain))
        self.assertGreater(self.served(), 100_000)


class Race(harness.CacheTest):
    """Threads that change descriptors others read, processes that share an offset."""

    def race(self, start):
        self.data.mkdir()
        for seed in range(FIRST, FIRST + max(SEEDS // 8, 1)):
            outcome = self.finish(start(harness.PROGRAMS / "descriptor-race", self.data, seed), 120)
            self.assertEqual(outcome, (0, "", ""), f"seed {seed}")

    def test_plain(self):
        self.race(self.start_plain)

    def test_stand_in(self):
        self.race(self.start_fake)
        self.assertGreater(self.served(), 1_000_000)

    def test_real(self):
        self.race(self.start_cached)


if __name__ == "__main__":
    harness.main()
