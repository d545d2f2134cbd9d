#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""OpenSM's routing engines beside ours: the same fabric, their tables in our checker.

    ROUTE_PROGRAM_PATH=build/rhinet tests/route/opensm_compare.py joined --ports 16

Every engine runs in the real OpenSM on a fabric that ibsim simulates. Its tables are dumped,
checked and measured by `rhinet route check`. OpenSM's time is what its log says between the end of
LID configuration and "tables configured"; ours is what compute reports for turns and tables."""

import argparse
import datetime
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from simulated import ROUTE, Fabric, missing

ENGINES = "minhop,updn,dnup,ftree,lash,dor,sssp,dfsssp,nue"


def log_time(line):
    """Seconds of a log line's time stamp, as "Nov 15 07:29:01 231326 [...]"; None: it has none."""
    found = re.match(r"(\w+ +\d+ [\d:]+) (\d+) \[", line)
    if not found:
        return None
    moment = datetime.datetime.strptime("2000 " + found.group(1), "%Y %b %d %H:%M:%S")
    return moment.timestamp() + int(found.group(2)) / 1e6


def routing_seconds(log):
    """(seconds, engine that OpenSM really used) from its log; None: no tables."""
    started, before = None, None
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            stamp = log_time(line)
            done = re.search(r"osm_ucast_mgr_process: (\S+) tables configured", line)
            if done and started is not None:
                return stamp - started, done.group(1)
            if "STARTING SWITCH TABLE CONFIG" in line:
                started = before
            before = stamp if stamp is not None else before
    return None


def checked(fabric, table, lanes="one"):
    """What our checker says of a table."""
    run = subprocess.run([*ROUTE, "check", fabric.net, table, "--lanes", lanes],
                         capture_output=True, text=True, check=False)
    rates = re.findall(r"throughput[^:]*: ([\d.]+)", run.stdout)
    pairs = re.search(r"pairs connected +(\d+) of (\d+)", run.stdout)
    return {"rates": [float(rate) for rate in rates],
            "free": "no cycle" in run.stdout,
            "reached": int(pairs.group(1)) / int(pairs.group(2)) if pairs else 0}


def own(fabric, algorithm):
    """Our tables for the fabric, and the LIDs that OpenSM shall use too."""
    table = fabric.path("own")
    run = subprocess.run([*ROUTE, "compute", fabric.net, "-a", algorithm, "--lft", table,
                          "--guid2lid", fabric.path("guid2lid")], capture_output=True, text=True,
                         check=False)
    times = re.search(r"time: turns ([\d.]+) s.*tables ([\d.]+) s", run.stdout)
    if run.returncode != 0 or not times:
        raise SystemExit(run.stdout + run.stderr)
    return {**checked(fabric, table), "seconds": float(times.group(1)) + float(times.group(2))}


def theirs(fabric, engine, limit_s):
    """What an engine makes of the fabric; a text if it makes nothing."""
    for name in ("osm.log", "opensm-lfts.dump"):
        if os.path.exists(fabric.path(name)):
            os.unlink(fabric.path(name))
    run = fabric.opensm(engine, timeout=limit_s)
    if run.returncode in (124, 137, -9):  # timeout -k dies of its own signal
        return f"not done after {limit_s} s"
    if not os.path.exists(fabric.path("opensm-lfts.dump")):
        return "made no tables"
    took = routing_seconds(fabric.path("osm.log"))
    if not took:
        return "made no tables"
    if took[1] != engine:
        return f"gave up, OpenSM took {took[1]} instead"
    return {**checked(fabric, fabric.path("opensm-lfts.dump")), "seconds": took[0]}


def row(name, result, best):
    """One line: theirs, and ours divided by theirs."""
    if isinstance(result, str):
        return f"{name:16} {result}"
    rates = "".join(f"{rate:9.4f}" for rate in result["rates"])
    ratios = "".join(f"{mine / rate if rate else 0:8.2f}"
                     for mine, rate in zip(best["rates"], result["rates"]))
    deadlock = "free" if result["free"] else "POSSIBLE"
    faster = result["seconds"] / best["seconds"] if best["seconds"] else 0
    return (f"{name:16}{rates} {deadlock:9}{100 * result['reached']:6.1f}% "
            f"{result['seconds']:9.3f}{ratios}{faster:9.1f}")


def engines_run(fabric, engines, limit_s):
    """Our tables, then each engine's, a line for each; all of it as a dictionary."""
    best = own(fabric, "turn-addition")
    columns = ["inside", "between"][:len(best["rates"])]
    print(f"{'on one lane':16}" + "".join(f"{name:>9}" for name in columns) +
          f" {'deadlock':9}{'pairs':>7} {'seconds':>9}" +
          "".join(f"{'x ' + name[:6]:>8}" for name in columns) + f"{'x faster':>9}")
    print(row("turn addition", best, best), flush=True)
    found = {"turn addition": best}
    for engine in engines:
        found[engine] = theirs(fabric, engine, limit_s)
        print(row(engine, found[engine], best), flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--engines", default=ENGINES, help="of OpenSM, with commas between")
    parser.add_argument("--limit", type=int, default=300, help="seconds for each engine")
    parser.add_argument("kind", nargs=argparse.REMAINDER, help="what `route generate` takes")
    arguments = parser.parse_args()
    if missing():
        raise SystemExit(f"not installed: {missing()}")
    fabric = Fabric(*arguments.kind)
    try:
        engines_run(fabric, arguments.engines.split(","), arguments.limit)
    finally:
        fabric.close()


if __name__ == "__main__":
    main()
