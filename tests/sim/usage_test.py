# SPDX-License-Identifier: BSD-3-Clause
"""`rhinet run --nic martini --usage --trace --pcap --packets`: files that other programs can read,
bounded in size, of a run that they do not change."""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import tap
from pcapng import blocks, options

PROGRAM = os.environ["SIM_PROGRAM_PATH"]
EXAMPLE = str(Path(PROGRAM).parent / "examples" / "ring")
LIMIT = 64 << 10


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="usage-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_ring(self, *words, status=0, report=True):
        done = subprocess.run(
            [PROGRAM, "run", "--nic", "martini", "-n", "3", *map(str, words), EXAMPLE],
            capture_output=True, text=True, timeout=100, check=False,
            env={**os.environ, "RHINET_MARTINI": "report=-" if report else ""})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def traced(self, *words):
        self.paths = [self.folder / name for name in ("it.json", "it.pcapng", "it.txt", "use.json")]
        said = self.run_ring(*(str(word) for option, path in
                               zip(("--trace", "--pcap", "--packets", "--usage"), self.paths)
                               for word in (option, path)), *words)
        return said


class Files(Case):
    def test_bounded(self):
        plain = self.run_ring()
        said = self.traced("--trace-limit", LIMIT)
        counts = [line for line in plain.splitlines() if line.startswith("simulated:")]
        for line in counts: # hash and all: tracing changes nothing
            self.assertIn(line, said)
        self.assertIn("the trace ends at", said)
        for path in self.paths[:3]:
            self.assertLess(path.stat().st_size, 1.1 * LIMIT, path)
        self.check_timeline()
        self.check_packets()
        self.check_usage()

    def check_timeline(self):
        events = json.loads(self.paths[0].read_text())["traceEvents"]
        names = {event["args"]["name"] for event in events if event["ph"] == "M"}
        self.assertLessEqual({"node 0", "node 2", "Initiator", "RFend", "PCI"}, names)
        spans = [event for event in events if event["ph"] == "X"]
        self.assertGreater(len(spans), 100)
        self.assertEqual({event["pid"] for event in spans}, {0, 1, 2})
        for event in spans:
            self.assertGreaterEqual(event["dur"], 0)

    def check_packets(self):
        read = list(blocks(self.paths[1].read_bytes()))
        self.assertEqual([kind for kind, _ in read[:4]], [0x0a0d0d0a, 1, 1, 1])
        lines = self.paths[2].read_text().splitlines()
        self.assertGreater(len(lines), 50)
        self.assertEqual(len(read) - 4, len(lines))
        before = 0
        for (kind, body), line in zip(read[4:], lines, strict=True):
            self.assertEqual(kind, 6)
            node, high, low, length, whole = struct.unpack_from("<IIIII", body)
            when = high << 32 | low
            self.assertLess(node, 3)
            self.assertEqual(length, whole)
            self.assertGreaterEqual(when, before)
            before = when
            more = options(body[20 + (length + 3) // 4 * 4:])
            self.assertIn(more[1].decode(), line)
            self.assertIn(f"node {node} ", line)

    def check_usage(self):
        usage = json.loads(self.paths[3].read_text())
        self.assertEqual(usage["format"], "rhinet usage 1")
        self.assertEqual(len(usage["parts"]), 3)
        for node in usage["parts"]:
            for part, busy in node.items():
                if part != "node" and "FIFO" not in part:
                    self.assertLessEqual(busy, 1, node)
            self.assertGreater(node["PCI"], 0)
            self.assertGreater(node["receive FIFO"], 0)
        # the bus was used for as long as its steps say
        bus = sum(step["us"] for step in usage["steps"] if step["module"] == "PCI")
        busy = sum(node["PCI"] for node in usage["parts"]) * usage["span_us"]
        self.assertAlmostEqual(bus / busy, 1, places=3)
        packets, *calls = usage["latencies"]
        self.assertEqual((packets["what"], packets["count"]), ("packets", usage["packets"]))
        self.assertIn("push", {call["what"] for call in calls})
        for one in usage["latencies"]:
            self.assertLessEqual(one["least_us"], one["median_us"])
            self.assertLessEqual(one["median_us"], one["p99_us"])
            self.assertLessEqual(one["p99_us"], one["most_us"])
        self.assertTrue(usage["links"])

    def test_for_people(self):
        said = self.run_ring("--usage", "-")
        self.assertRegex(said, r"where the time went: 3 nodes, [\d.]+ us, \d+ packets")
        self.assertRegex(said, r"Initiator +\d+\.\d+ %")
        self.assertNotIn("where the time went", self.run_ring())

    def test_refused(self):
        said = self.run_ring("--trace", self.folder / "none" / "x", status=1, report=False)
        self.assertIn("cannot write", said)
        self.run_ring("--trace-limit", "1", status=2)
        self.run_ring("--trace", "a,b", status=2)


@unittest.skipUnless(shutil.which("tshark"), "no tshark")
class Tshark(Case):
    def test_reads_it(self):
        self.traced("--trace-limit", LIMIT)
        subprocess.run(["tshark", "-r", self.paths[1]], check=True, capture_output=True, timeout=60)


if __name__ == "__main__":
    tap.main()
