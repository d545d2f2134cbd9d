#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Our tables in the real subnet manager: OpenSM on fabrics that ibsim simulates loads them,
ibtracert follows them, ibdmchk finds no credit loop; a cable fails, the table is mended and loaded
again."""

import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../support"))
import tap
from simulated import Fabric, missing, route

def entries(path):
    """(switch guid, LID) -> port of a table file."""
    table, guid = {}, None
    with open(path, encoding="utf-8") as file:
        for line in file:
            found = re.search(r"guid (0x[0-9a-f]+)", line)
            if line.startswith("Unicast") and found:
                guid = int(found.group(1), 16)
            elif line.startswith("0x"):
                lid, port = line.split()[:2]
                table[guid, int(lid, 16)] = int(port)
    return table


@unittest.skipIf(missing(), f"not installed: {missing()}")
class OpenSM(unittest.TestCase):
    def loaded(self, fabric, table):
        """OpenSM has loaded exactly this table: what is not in it has no entry."""
        run = fabric.opensm("file", "-U", table)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        ours, theirs = entries(table), entries(fabric.path("opensm-lfts.dump"))
        self.assertTrue(ours)
        self.assertEqual({key: port for key, port in theirs.items() if port != 255}, ours)

    def accepted(self, fabric, table):
        """OpenSM has loaded this table, and it has no credit loop."""
        self.loaded(fabric, table)
        said = fabric.ibdmchk()
        self.assertIn("no credit loops found", said)
        self.assertNotIn("-E-", said)
        route("check", fabric.path("opensm-subnet.lst"), fabric.path("opensm-lfts.dump"))

    def traced(self, fabric, table):
        """ibtracert goes the way the table says, from the first host to the last."""
        with open(fabric.net, encoding="utf-8") as file:
            found = re.findall(r"^\[1\]\(\w+\).*# lid (\d+) lmc", file.read(), re.M)
        lids = [int(lid) for lid in found]
        said = fabric.tool("ibtracert", str(lids[0]), str(lids[-1])).stdout
        table = entries(table)
        hops = re.findall(r"-> switch port \{(0x[0-9a-f]+)\}\[\d+\]", said)
        ports = re.findall(r"^\[(\d+)\] ->", said, re.M)
        self.assertGreater(len(hops), 0, said)
        for guid, port in zip(hops, ports[1:]):
            self.assertEqual(table[int(guid, 16), lids[-1]], int(port))

    def through(self, *kind):
        fabric = Fabric(*kind)
        try:
            table = fabric.path("table")
            route("compute", fabric.net, "--lft", table, "--guid2lid", fabric.path("guid2lid"))
            self.accepted(fabric, table)
            self.traced(fabric, table)
        finally:
            fabric.close()

    def test_fat_tree_4(self):
        self.through("fat-tree", "--ports", "4")

    def test_fat_tree_8(self):
        self.through("fat-tree", "--ports", "8")

    def test_joined_4(self):
        self.through("joined", "--ports", "4")

    def test_joined_8(self):
        self.through("joined", "--ports", "8")

    def test_random(self):
        self.through("random", "--switches", "30", "--ports", "5", "--hosts", "2", "--seed", "4")

    def test_failed_cable(self):
        fabric = Fabric("joined", "--ports", "4")
        try:
            table, mended = fabric.path("table"), fabric.path("mended")
            route("compute", fabric.net, "--lft", table, "--guid2lid", fabric.path("guid2lid"))
            self.accepted(fabric, table)
            fabric.fail_cable("T0.m(0,0)", 3)
            now = fabric.path("now")
            seen = fabric.tool("ibnetdiscover").stdout
            with open(now, "w", encoding="utf-8") as file:
                file.write(seen)
            report = json.loads(route("repair", fabric.net, table, now, "--lft", mended, "--json",
                                      "-"))
            self.assertTrue(report["transition_safe"])
            self.assertGreater(report["stages"], 1)
            self.assertNotEqual(entries(table), entries(mended))
            for stage in range(1, report["stages"]):
                self.loaded(fabric, f"{mended}.stage{stage}")
            self.accepted(fabric, mended)
        finally:
            fabric.close()


if __name__ == "__main__":
    tap.main()
