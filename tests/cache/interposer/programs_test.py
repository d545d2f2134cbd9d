# SPDX-License-Identifier: BSD-3-Clause
"""Real programs (programs.py) say the same and end the same with and without the cache."""

import json

import cache_harness as harness
import programs
import sample_files

# Left to the kernel on purpose, stdio on an inherited input, or nothing to read: all others must
# have been served.
UNSERVED = {"busybox-static", "fio-uring", "md5sum-input", "missing-files"}


class Programs(harness.CacheTest):
    def setUp(self):
        super().setUp()
        sample_files.make(self.data)
        self.settle()

    def outcome(self, start, name):
        results = self.scratch / f"{name}.json"
        process = start(harness.PYTHON, harness.HERE / "programs.py", self.data,
                        self.scratch / "output", results)
        status, _, err = self.finish(process)
        self.assertEqual(status, 0, err)
        return json.loads(results.read_text(encoding="utf-8"))

    def compare(self, plain, cached):
        self.assertEqual(plain.keys(), cached.keys())
        for name, expected in plain.items():
            with self.subTest(name):
                have = dict(cached[name], served=0)
                self.assertEqual(have, dict(expected, served=0))

    def test_same(self):
        plain = self.outcome(self.start_plain, "plain")
        left_out = sorted(set(programs.PROGRAMS) - set(plain))
        print(f"# {len(plain)} programs; not installed: {', '.join(left_out) or 'none'}")
        self.assertGreaterEqual(len(plain), 25)
        fake = self.outcome(self.start_fake, "fake")
        self.compare(plain, fake)
        unserved = {name for name, result in fake.items() if result["served"] == 0}
        self.assertEqual(unserved - UNSERVED, set())
        self.compare(plain, self.outcome(self.start_cached, "cached"))


if __name__ == "__main__":
    harness.main()
