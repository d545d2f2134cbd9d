# SPDX-License-Identifier: BSD-3-Clause
"""Fabrics that ibsim simulates, with OpenSM and the InfiniBand tools on them."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

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
            ["ibsim", "-s", "-N", "40000", "-S", "4000", "-P", "400000", self.net],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            text=True, env=self.environment)
        self.await_socket()

    def await_socket(self):
        """It says nothing when it is ready; but then it has a socket of our name."""
        name = f"@{self.environment['IBSIM_SOCKNAME']}:ctl"
        deadline = time.monotonic() + LIMIT_S
        while name not in Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace"):
            if self.simulator.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("ibsim does not start")
            time.sleep(0.01)

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

    def opensm(self, engine, *arguments, timeout=LIMIT_S):
        """One sweep of the subnet manager with a routing engine."""
        return self.tool("opensm", "-o", "-e", "-f", self.path("osm.log"), "--dump_files_dir",
                         self.folder + "/", "-D", "0x47", "-n", "8", "-t", "2000", "-R", engine,
                         *arguments, timeout=timeout)

    def ibdmchk(self):
        run = subprocess.run(["ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m",
                              "opensm.mcfdbs"], cwd=self.folder, capture_output=True, text=True,
                             timeout=LIMIT_S, check=False)
        return run.stdout + run.stderr
