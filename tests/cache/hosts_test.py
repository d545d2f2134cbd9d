#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""hosts_test.py RHINET NETNS-CLUSTER READER: the file cache on several hosts, that is, network
namespaces: each block is read once for all, an agent's death elsewhere ends nothing, and a host
that is cut off is done without. Exit 77 with the reason where there are no namespaces."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

RHINET, NETNS, READER = map(os.path.abspath, sys.argv[1:4])
HANG_S = 120
MIB = 1 << 20


def start(folder, nodes, *options, reader=(), **settings):
    command = [RHINET, "cache", "run", "-n", str(nodes), "--hosts", os.environ["NETNS_HOSTS"],
               "--map", "cyclic", "--rsh", f"{NETNS} rsh", "--remote-rhinet", RHINET,
               "--cache", "32M", "--path", folder, *options, READER, *reader]
    environment = {**os.environ, "RHINET_HOST_TIMEOUT": "2s", **settings}
    return subprocess.Popen(command, env=environment, text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(job):
    out, err = job.communicate(timeout=HANG_S)
    return [json.loads(line) for line in out.split("\n") if line.startswith("{")], err


def once(folder, path, nic):
    """Exactly once, over the network."""
    job = start(folder, 4, "--nic", nic, reader=[path])
    nodes, err = finish(job)
    size = os.path.getsize(path)
    is_well = job.returncode == 0 and len(nodes) == 4 and \
        sum(node["load_bytes"] for node in nodes) == size and \
        sum(node["remote_bytes"] for node in nodes) == 3 * size
    return is_well, f"{job.returncode} {nodes} {err}"


def agents():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as name, open(f"/proc/{pid}/environ", "rb") as variables:
                if name.read().strip() == "rhinet-cache" and MARK.encode() in variables.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


MARK = f"HOSTS_TEST_MARK={os.getpid()}"


def agent_dies(folder, path):
    """On whatever host: the job goes on."""
    name, value = MARK.split("=")
    job = start(folder, 4, "--export", name, **{name: value},
                reader=["--order", "random", "--reads", "2000", "--length", "50000", path])
    deadline = time.monotonic() + HANG_S
    while len(agents()) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    victims = agents()
    os.kill(max(victims), signal.SIGKILL)
    nodes, err = finish(job)
    return job.returncode == 0 and len(nodes) == 4, f"{job.returncode} {nodes} {err}"


def host_is_cut(folder, path):
    """The nodes of the other host end well."""
    job = start(folder, 4, "--survive",
                reader=["--order", "random", "--reads", "4000", "--length", "50000", path])
    time.sleep(1.5)
    subprocess.run([NETNS, "cut", "n2"], check=True)
    nodes, err = finish(job)
    subprocess.run([NETNS, "mend", "n2"], check=True)
    return len(nodes) >= 2, f"{job.returncode} {nodes} {err}"


def inside():
    failed = 0
    with tempfile.TemporaryDirectory(prefix="rhinet-cache-hosts-") as folder:
        path = os.path.join(folder, "data")
        with open(path, "wb") as file:
            file.write(random.Random(5).randbytes(10 * MIB + 4321))
        time.sleep(1.1)
        for name, check in (("once, ofi", lambda: once(folder, path, "ofi")),
                            ("once, mixed", lambda: once(folder, path, "mixed")),
                            ("an agent dies", lambda: agent_dies(folder, path)),
                            ("a host is cut off", lambda: host_is_cut(folder, path))):
            is_well, said = check()
            failed += not is_well
            print(f"{'ok' if is_well else 'FAIL'} {name}" + ("" if is_well else f": {said}"),
                  flush=True)
    return 1 if failed else 0


def main():
    if "NETNS_HOSTS" in os.environ:
        return inside()
    probe = subprocess.run([NETNS, "1", "--", "true"], text=True, capture_output=True, check=False)
    if probe.returncode != 0:
        print(f"skipped: {probe.stderr.strip().splitlines()[-1]}")
        return 77
    return subprocess.run([NETNS, "2", "--", sys.executable, *sys.argv], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
