#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Our tables in the real subnet manager: OpenSM on fabrics that ibsim simulates loads them,
ibtracert follows them, ibdmchk finds no credit loop; a cable fails, the table is mended and loaded
again."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../support"))
import tap

RHINET = os.environ["ROUTE_PROGRAM_PATH"]
ROUTE = [RHINET, *os.environ.get("ROUTE_PROGRAM_ARGUMENTS", "route").split()]
NEEDED = ("ibsim", "opensm", "ibtracert", "ibnetdiscover", "ibdmchk")
LIMIT_S = 120


def umad2sim():
    """The library that lets InfiniBand tools talk to ibsim."""
    found = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so") + glob.glob("/usr/lib*/umad2sim/*.so")
    return found[0] if found else None


def missing():
    lacking = [tool for tool in NEEDED if not shutil.which(tool)]
    if not umad2sim():
        lacking.append("libumad2sim")
    return ", ".join(lacking)


def route(*arguments):
    run = subprocess.run([*ROUTE, *arguments], capture_output=True, text=True, timeout=LIMIT_S,
                         check=False)
    if run.returncode != 0:
        raise AssertionError(f"{arguments}: {run.stdout}\n{run.stderr}")
    return run.stdout


class Fabric:
    """A simulated fabric in a folder of its own, and what one does to it."""

    def __init__(self, *kind):
        self.folder = tempfile.mkdtemp(prefix="rhinet-opensm-")
        self.net = self.path("net")
        route("generate", *kind, "-o", self.net)
        with open(self.net, encoding="utf-8") as file:
            first_host = re.search(r'^Ca\t\d+ "([^"]+)"', file.read(), re.M).group(1)
        self.environment = {**os.environ, "IBSIM_SOCKNAME": f"rhinet{os.getpid()}",
                            "OSM_CACHE_DIR": self.folder + "/", "OSM_TMP_DIR": self.folder + "/",
                            "SIM_HOST": first_host}
        self.simulator = subprocess.Popen(
            ["ibsim", "-s", "-N", "4000", "-S", "1000", "-P", "40000", self.net],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            text=True, env=self.environment)
        time.sleep(1)  # it says nothing when it is ready

    def path(self, name):
        return os.path.join(self.folder, name)

    def close(self):
        self.simulator.stdin.write("quit\n")
        self.simulator.stdin.close()
        self.simulator.wait(10)
        shutil.rmtree(self.folder)

    def tool(self, *arguments, timeout=LIMIT_S):
        """Run an InfiniBand tool on the simulated fabric."""
        return subprocess.run(["timeout", "-k", "2", str(timeout), *arguments], text=True,
                              capture_output=True, check=False, cwd=self.folder,
                              env={**self.environment, "LD_PRELOAD": umad2sim()})

    def fail_cable(self, switch, port):
        self.simulator.stdin.write(f'Unlink "{switch}"[{port}]\n')
        self.simulator.stdin.flush()
        time.sleep(0.5)

    def opensm(self, table):
        run = self.tool("opensm", "-o", "-e", "-f", self.path("osm.log"), "--dump_files_dir",
                        self.folder + "/", "-D", "0x47", "-n", "8", "-t", "2000", "-R", "file",
                        "-U", table)
        if run.returncode != 0:
            raise AssertionError(run.stdout + run.stderr)

    def ibdmchk(self):
        run = subprocess.run(["ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m",
                              "opensm.mcfdbs"], cwd=self.folder, capture_output=True, text=True,
                             timeout=LIMIT_S, check=False)
        return run.stdout + run.stderr


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
    def accepted(self, fabric, table):
        """OpenSM has loaded exactly this table, and it has no credit loop."""
        fabric.opensm(table)
        ours, theirs = entries(table), entries(fabric.path("opensm-lfts.dump"))
        self.assertTrue(ours)
        self.assertEqual({key: theirs.get(key) for key in ours}, ours)
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
            said = route("repair", fabric.net, table, now, "--lft", mended)
            self.assertIn("switches may change in any order", said)
            self.assertNotEqual(entries(table), entries(mended))
            self.accepted(fabric, mended)
        finally:
            fabric.close()


if __name__ == "__main__":
    tap.main()
