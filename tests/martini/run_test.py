#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs as they are on a simulated cluster: `rhinet run --nic martini`. They behave as on any
NIC, virtual time is the same each time, deaths are noticed."""
import os
import re
import subprocess
import sys
import tempfile

RHINET, CONFORMANCE, RANDOM, EXAMPLES = sys.argv[1:5]
SECONDS = 120
TIME = re.compile(r"simulated: (\d+) nodes, ([0-9.]+) ms of virtual time, (\d+) events, "
                  r"hash ([0-9a-f]{16})")
failures = []


def run(*words, martini="report=-", **more):
    """rhinet run --nic martini with these words. The finished process."""
    environment = dict(os.environ, RHINET_MARTINI=martini, RHINET_TIMEOUT="30s", **more)
    return subprocess.run([RHINET, "run", "--nic", "martini", *words], text=True,
                          capture_output=True, timeout=SECONDS, env=environment, check=False)


def check(what, holds, done):
    print(("ok " if holds else "FAIL ") + what, flush=True)
    if not holds:
        failures.append(what)
        print(done.args, done.returncode, done.stdout[-2000:], done.stderr[-2000:], flush=True)


def simulated(done):
    """What the simulation reports: (nodes, ms, events, hash), or None."""
    found = TIME.search(done.stderr)
    return (int(found[1]), float(found[2]), int(found[3]), found[4]) if found else None


def examples():
    for name in ("hello", "halo", "queue", "counter", "sort"):
        done = run("-n", "4", os.path.join(EXAMPLES, name))
        check(f"example {name}", done.returncode == 0 and simulated(done) is not None, done)


def same_each_time():
    words = ("-n", "3", RANDOM, "--seed", "5", "--count", "2")
    first, second = run(*words), run(*words)
    check("a job is the same each time", first.returncode == 0 and second.returncode == 0 and
          simulated(first) == simulated(second), second)
    slow = run("-n", "4", os.path.join(EXAMPLES, "hello"), martini="report=-,cluster_mbps=600")
    fast = run("-n", "4", os.path.join(EXAMPLES, "hello"), martini="report=-")
    check("slower links take longer", simulated(slow)[1] > simulated(fast)[1], slow)


def conformance():
    for case in ("order-flush", "atomic-*", "append-one-sender", "wait-several-threads"):
        done = run("-n", "3", CONFORMANCE, "--quick", "--case", case)
        check(f"conformance {case}", done.returncode == 0, done)
    for case in ("dead-wait-any", "dead-every-access", "left-page"):
        done = run("-n", "3", "--survive", CONFORMANCE, "--quick", "--case", case)
        check(f"conformance {case}", " 1 ok, 0 failed" in done.stdout, done)


def route(*words):
    subprocess.run([RHINET, "route", *words], check=True, timeout=SECONDS, capture_output=True)


def networks():
    """The network comes from a file: routing by an algorithm or by tables. Rank i is its host i."""
    hello = os.path.join(EXAMPLES, "hello")
    clean, noisy = (run("-n", "4", os.path.join(EXAMPLES, "halo"),
                        martini=f"report=-,network=rhinet3,errors={errors}")
                    for errors in ("0", "0.005"))
    check("wrong bits are sent again, which takes time",
          noisy.returncode == 0 and simulated(noisy)[1] > simulated(clean)[1], noisy)
    with tempfile.TemporaryDirectory(prefix="martini-") as folder:
        ring, tables = os.path.join(folder, "ring"), os.path.join(folder, "tables")
        route("generate", "ring", "--switches", "4", "--hosts", "2", "-o", ring)
        route("compute", ring, "--algorithm", "up-down", "--lft", tables)
        place = f"report=-,topology={ring}"
        near = run("-n", "2", hello, martini=place)
        usual = run("-n", "2", hello)
        check("two ranks at one switch of a ring are as near as by default",
              simulated(near)[1] == simulated(usual)[1], near)
        found = {}
        for routing in ("up-down", tables, "reduced-channels"):
            done = run("-n", "8", hello, martini=f"{place},routing={routing}")
            check(f"eight ranks on a ring, routing {os.path.basename(routing)}",
                  done.returncode == 0 and simulated(done) is not None, done)
            found[routing] = simulated(done)
        check("an algorithm and its tables are the same network",
              found["up-down"] == found[tables], done)
        far = run("-n", "8", hello)
        check("a ring is not the usual network", simulated(far)[3] != found["up-down"][3], far)
        network_refusals(folder, ring, hello)


def network_refusals(folder, ring, hello):
    broken, partial = os.path.join(folder, "broken"), os.path.join(folder, "partial")
    with open(ring, encoding="utf-8") as file:
        text = file.read()
    with open(broken, "w", encoding="utf-8") as file:
        file.write(text + "one two three four five six seven\n")
    with open(partial, "w", encoding="utf-8") as file:
        file.write("")
    for martini, words in ((f"topology={ring},routing=upp-down", ["upp-down", "up-down"]),
                           (f"topology={folder}/none", ["none"]),
                           (f"topology={broken}", ["broken:97:", "one two three"]),
                           (f"topology={ring},routing={partial}", ["partial"]),
                           (f"topology={ring},routing=up-down,lanes=three", ["lanes=three"]),
                           ("routing=up-down", ["routing goes with topology=FILE"])):
        done = run("-n", "8", hello, martini=martini)
        check(f"refused: {martini.replace(folder, '')}", done.returncode != 0 and
              all(word in done.stderr for word in words), done)
    done = run("-n", "9", hello, martini=f"topology={ring}")
    check("more ranks than hosts are refused", done.returncode != 0 and
          "8 hosts, which is less than 9 ranks" in done.stderr, done)


def refusals():
    for martini in ("colour=blue", "errors=x", "errors=0.5", "errors=-1"):
        done = run("-n", "2", os.path.join(EXAMPLES, "hello"), martini=martini)
        check(f"{martini} is refused", done.returncode != 0 and
              martini.split("=", maxsplit=1)[0] in done.stderr, done)
    alone = subprocess.run([os.path.join(EXAMPLES, "hello")], text=True, capture_output=True,
                           timeout=SECONDS, env=dict(os.environ, RHINET_NIC="martini"), check=False)
    check("without the launcher there is no simulation",
          alone.returncode != 0 and "rhinet run --nic martini" in alone.stderr, alone)


def main():
    examples()
    same_each_time()
    conformance()
    networks()
    refusals()
    print(f"{len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
