#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What every subcommand says to words that it cannot use: a status that scripts can tell apart, and
a line that names the option, the value and what was expected. Then small runs of those that work
on files alone."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../support"))
import tap

RHINET = os.environ["CLI_PROGRAM_PATH"]
HANG_S = 40
USAGE, FAILED = 2, 1

# Words, status, what must be said.
WRONG = {
    "route": [
        ("", USAGE, "say what to do: generate, compute"),
        ("frob", USAGE, "no subcommand 'frob'"),
        ("--frob", USAGE, "no option '--frob'"),
        ("generate frob", FAILED, "no kind of fabric is called 'frob'"),
        ("generate fat-tree --ports x", USAGE, "--ports is a number from 1 to 1000000, not 'x'"),
        ("generate fat-tree --ports 3", FAILED, "needs an even number of ports"),
        ("generate torus --size 3y4", USAGE, "--size is up to four numbers"),
        ("generate fat-tree --format x", USAGE, "--format is ibnetdiscover, edges or dot"),
        ("generate fat-tree --frob", USAGE, "unknown option --frob"),
        ("compute", USAGE, "rhinet route compute: FABRIC is missing"),
        ("compute a b", USAGE, "'b' is one word too many; FABRIC is expected"),
        ("compute a --threads", USAGE, "--threads needs a value: a number from 1 to 64"),
        ("compute a --threads 65", USAGE, "--threads is a number from 1 to 64, not '65'"),
        ("compute a --no-check=1", USAGE, "--no-check takes no value"),
        ("compute a --l x", USAGE, "--l may be --lft or --lane-limit"),
        ("compute /none", FAILED, "cannot read /none"),
        ("compute /dev/null", FAILED, "the file holds no fabric"),
        ("check /none", USAGE, "either LFT or --paths FILE is expected"),
        ("check /none x --paths y", USAGE, "either LFT or --paths FILE is expected"),
        ("check /dev/null /dev/null", FAILED, "the file holds no fabric"),
        ("compare", USAGE, "FABRIC is missing"),
        ("repair a", USAGE, "rhinet route repair: OLD-LFT NEW-FABRIC is missing"),
        ("repair /none /none /none", FAILED, "cannot read /none"),
        ("paper frob", USAGE, "fig-20, fig-21, fig-24 or table-2 is expected, not 'frob'"),
        ("paper fig-20 --networks x", USAGE, "--networks is a number from 1 to 64"),
        ("paper --ports 3", USAGE, "--ports is a number from 4 to 64, not '3'"),
        ("generate joined --join frob", USAGE, "--join is top, middle or bottom, not 'frob'"),
        ("generate torus --size 0x3", USAGE, "--size is up to four numbers"),
        ("generate ring --seed x", USAGE, "--seed is a whole number, not 'x'"),
        ("generate", USAGE, "kinds of fabrics"),
        ("generate ring star", USAGE, "'star' is one word too many; [KIND] is expected"),
        ("compute x --map", USAGE, "--map is for --json"),
        ("compute x --threads 0", USAGE, "--threads is a number from 1 to 64, not '0'"),
        ("compute x --lane-limit x", USAGE, "--lane-limit is a number from 1 to 64, not 'x'"),
        ("check x y --lanes frob", USAGE, "--lanes is one, hop or branch, not 'frob'"),
        ("compare /none", FAILED, "cannot read /none"),
        ("compare /none -a frob", FAILED, "no algorithm is called 'frob'"),
        ("compare /none -a up-dwn", FAILED, "did you mean 'up-down'?"),
        ("compare --frob x", USAGE, "--frob"),
    ],
    "sim": [
        ("", USAGE, "say what to do: run, thesis, constants, platform, sensitivity or bench"),
        ("frob", USAGE, "no subcommand 'frob'"),
        ("run", USAGE, "rhinet sim run: --topology FILE is missing"),
        ("run x", USAGE, "'x' is one word too many; nothing more is expected"),
        ("run --frob", USAGE, "unknown option --frob"),
        ("run --tim 3s --frob", USAGE, "unknown option --frob"),
        ("run --topology /none", FAILED, "rhinet sim run: cannot read /none"),
        ("run --topology x --load x", FAILED, "'x' is no load"),
        ("run --topology x --traffic frob", USAGE,
         "--traffic is uniform, hotspot, all-to-all or trace, not 'frob'"),
        ("run --topology x --load 0", FAILED, "'0' is no load"),
        ("run --topology x --load 101", FAILED, "'101' is no load"),
        ("run --topology x --load " + "0.100000000," * 60 + "x", FAILED, "'x' is no load"),
        ("run --topology x --load 0." + "1" * 70, FAILED, "is no load"),
        ("run --topology x --load 1" + ",1" * 64, FAILED, "more than 64 loads"),
        ("run --topology x --load 1:2", FAILED, "'1:2' is not of the form FROM:TO:STEP"),
        ("run --topology x --load 1:2:x", FAILED, "'x' is no load"),
        ("run --topology x --time -1us", USAGE, "--time is a duration from 0s to 1000s"),
        ("run --topology x --error-rate x", USAGE, "--error-rate is a number from 0 to 1"),
        ("run --topology x --length x", USAGE, "--length is a number from 0 to 100000, not 'x'"),
        ("run --topology x --traffic trace", USAGE, "--traffic trace and --trace FILE go together"),
        ("run --topology x --trace y", USAGE, "--traffic trace and --trace FILE go together"),
        ("run --topology x --hot-share 2", USAGE, "--hot-share is a number from 0 to 1, not '2'"),
        ("run --topology x --hot-share -1", USAGE, "--hot-share is a number from 0 to 1"),
        ("run --topology x --warm soon", USAGE,
         "--warm is a duration from 0s to 1000s, not 'soon'"),
        ("run --topology x --size x", USAGE, "--size is a number from 0 to 1073741824, not 'x'"),
        ("run --topology x --size 9999999999", USAGE, "--size is a number from 0 to 1073741824"),
        ("run --topology x --network x", USAGE, "--network is rhinet2 or rhinet3, not 'x'"),
        ("run --topology x --lanes x", USAGE, "--lanes is one, hop or branch, not 'x'"),
        ("run --topology x --set a", FAILED, "'a' is not of the form NAME=VALUE"),
        ("run --topology x --set a=b", FAILED, "'b' is no whole number"),
        ("thesis frob", USAGE, "PART is all, a table or figure"),
        ("thesis --clock x", USAGE, "--clock is a number from 1 to 10000, not 'x'"),
        ("thesis --mtu 0", USAGE, "--mtu is a number from 8 to 4096, not '0'"),
        ("run --topology x --set a=9223372036854775808", FAILED, "is no whole number"),
        ("run --topology x --set =5", FAILED, "'=5' is not of the form NAME=VALUE"),
        ("run --topology x --set " + 64 * "a" + "=5", FAILED, "is not of the form NAME=VALUE"),
        ("run --topology x --set 0123456789=5", FAILED, "there is no constant '0123456789'\n"),
        ("run --topology x --set core_pz=5", FAILED, "did you mean 'core_ps'?"),
        ("constants --packets x", USAGE, "unknown option --packets; `thesis` has it"),
        ("bench --ports x", USAGE, "--ports is an even number from 4 to 32"),
        ("bench --ports 5", USAGE, "--ports is an even number from 4 to 32"),
        ("constants x", USAGE, "'x' is one word too many"),
    ],
    "cache": [
        ("", USAGE, "say what to do: run, start, serve, exec, env, status, stop, stat, warm, mount "
                    "or bench"),
        ("frob", USAGE, "no subcommand 'frob'"),
        ("warn", USAGE, "did you mean 'warm'?"),
        ("run true", USAGE, "rhinet cache run: how many processes? Give -n N"),
        ("run -n 2", USAGE, "PROGRAM [ARGUMENT...] is missing"),
        ("run -n 2 --cache x true", USAGE, "--cache is a size such as 8G, or a part such as 20%, "
                                           "not 'x'"),
        ("run -n 2 --block 3 true", FAILED, "blocks are powers of two"),
        ("run -n 2 --singlets 2 true", FAILED, "expected a number from 0 to 0.99, or auto"),
        ("run -n 2 --groups x true", USAGE,
         "rhinet cache run: --groups: RHINET_CACHE_GROUPS=x: expected a whole number"),
        ("stat --frob", USAGE, "unknown option --frob"),
        ("stat --fils x", USAGE, "did you mean --files?"),
        ("stat --files x", USAGE, "rhinet cache stat: --files is a whole number, not 'x'"),
        ("warm", USAGE, "PATH... is missing"),
        ("warm --frob", USAGE, "unknown option --frob"),
        ("mount", USAGE, "FOLDER PLACE [-- PROGRAM [ARGUMENT...]] is missing"),
        ("mount /none", USAGE, ": PLACE [-- PROGRAM [ARGUMENT...]] is missing"),
        ("mount /none /none", FAILED, "rhinet cache mount: "),  # with or without its helper
        ("bench frob", USAGE, "random, stride or overhead is expected, not 'frob'"),
        ("bench --nodes x", USAGE, "--nodes is a number up to 128"),
        ("bench --seed x", USAGE, "--seed is a whole number, not 'x'"),
        ("bench --pretend x", USAGE, "--pretend is a speed such as 100M, not 'x'"),
        ("bench --pretend 0", USAGE, "--pretend is a speed such as 100M, not '0'"),
        ("bench --simulate --nodes 2,0", USAGE, "with commas, not '2,0'"),
        ("bench --path /none --quick", FAILED, "no folder for data in /none (--path)"),
        ("run -n 2 --path /none true", USAGE, "--path /none: there is no such folder"),
    ],
    "run": [
        ("-np x true", USAGE, "--ranks is a number from 1 to 2147483647, not 'x'"),
        ("-np", USAGE, "-np needs a value"),
        ("-n", USAGE, "-n needs a value: a number from 1 to 2147483647"),
        ("-n x true", USAGE, "--ranks is a number from 1 to 2147483647, not 'x'"),
        ("-n 0 true", USAGE, "--ranks is a number from 1 to 2147483647, not '0'"),
        ("-n 2 --nic frob true", USAGE,
         "--nic is the name of a NIC (`rhinet info` lists them), not 'frob'"),
        ("-n 2 --timeout x true", USAGE, "--timeout is a time such as 90, 1.5s or 2m, not 'x'"),
        ("-n 2 --timeout 0 true", USAGE, "--timeout is a time such as 90, 1.5s or 2m, not '0'"),
        ("-n 2 --bind frob true", USAGE, "--bind is auto, core or none, not 'frob'"),
        ("-n 2 --env X true", USAGE, "--env is NAME=VALUE, not 'X'"),
        ("-n 2 --env =X true", USAGE, "--env is NAME=VALUE, not '=X'"),
        ("-n 2 --map frob true", USAGE, "--map is block or cyclic, not 'frob'"),
        ("-n 2 --hosts a:x true", USAGE, '"x" processes on host a: a number is expected'),
        ("-n 2 --hosts , true", USAGE, '"" is no name of a host'),
        ("-n 2 --hostfile /none true", FAILED, "--hostfile: cannot read /none"),
        ("-n 2 --frob true", USAGE, "unknown option --frob"),
    ],
    "info": [
        ("--frob", USAGE, "unknown option --frob"),
        ("x y", USAGE, "'y' is one word too many; [JOB] is expected"),
    ],
    "top": [
        ("--web --once", USAGE, "--web goes neither with --once nor with --json"),
        ("--web --port 70000", USAGE, "--port is a number from 1024 to 65535, not '70000'"),
        ("--port 2000", USAGE, "--port is for --web"),
        ("--frob", USAGE, "unknown option --frob"),
        ("--interval x", USAGE, "--interval is a duration from 10ms to 60m, not 'x'"),
    ],
    "doctor": [("--frob", USAGE, "unknown option --frob")],
    "dsm": [
        ("bench --frob", USAGE, "unknown option --frob"),
        ("bench --nic frob", USAGE, "--nic is shm, ofi or mixed, not 'frob'"),
        ("", USAGE, "say what to do: bench"),
        ("frob", USAGE, "no subcommand 'frob'"),
        ("bench frob", USAGE, "no subcommand 'frob'"),
    ],
    "bench": [
        ("frob", USAGE, "no subcommand 'frob'"),
        ("thesi", USAGE, "did you mean 'thesis'?"),
        ("--frob", USAGE, "unknown option --frob"),
        ("thesis frob", USAGE, "rhinet bench thesis: PART is all, a table or figure"),
        ("route frob", USAGE, "rhinet bench route: fig-20, fig-21, fig-24 or table-2 is expected"),
        ("sim --ports 5", USAGE, "rhinet bench sim: --ports is an even number from 4 to 32"),
        ("cache --nodes x", USAGE, "rhinet bench cache: --nodes is a number up to 128"),
        (".trial a cache b 1 2", USAGE, "rhinet bench .trial: there is no kind a"),
        (".trial a cache b x 2", USAGE, "READS are numbers"),
        ("rma --rounds x", USAGE, "--rounds is a number from 1 to 199, not 'x'"),
        ("rma --peers", USAGE, "unknown option --peers; `msg` has it"),
        ("pages --nic shm", USAGE, "unknown option --nic; `dsm` has it"),
        ("rma --pretend 1", USAGE, "unknown option --pretend; `cache` has it"),
        ("dsm --nic x", USAGE, "--nic is shm, ofi or mixed, not 'x'"),
        ("rma --only frob", USAGE, 'there is no "frob"'),
        ("rma --frob", USAGE, "unknown option --frob"),
    ],
    "node": [("x", USAGE, "'x' is one word too many; nothing more is expected")],
    "completion": [("", USAGE, "bash|zsh|fish is missing"),
                   ("csh", USAGE, "bash, zsh or fish is expected, not 'csh'"),
                   ("bash b", USAGE, "'b' is one word too many")],
}


def rhinet(*words, status=0, **more):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RHINET_")}
    run = subprocess.run([RHINET, *words], capture_output=True, text=True, timeout=HANG_S,
                         stdin=subprocess.DEVNULL, env=clean, check=False, **more)
    if run.returncode != status:
        raise AssertionError(f"{words}: status {run.returncode}, not {status}\n{run.stderr}")
    return run


class Wrong(unittest.TestCase):
    def test_every_subcommand(self):
        for command, rows in WRONG.items():
            for words, status, said in rows:
                with self.subTest(command=command, words=words):
                    run = rhinet(command, *words.split(), status=status)
                    self.assertIn(said, run.stderr)
                    self.assertEqual(run.stdout, "")

    def test_no_cache_runs(self):
        """In a job of nobody: what asks for a running cache says that there is none."""
        for words in (("stat", "--job", "x"), ("warm", "--job", "x", "/none")):
            self.assertIn(f"rhinet cache {words[0]}: no ", rhinet("cache", *words, status=1).stderr)


class Paper(unittest.TestCase):
    """The paper's evaluation, as small as it goes: rows of each algorithm, and what holds there."""

    def rows(self, *words):
        return [line.split() for line in rhinet("route", "paper", *words).stdout.split("\n")]

    def test_prohibited_turns(self):
        self.assertIn(["16", "4", "6.25", "6.25", "+0.00"], self.rows("table-2", "--ports", "4"))

    def test_places_of_joining(self):
        found = {tuple(row[:2]): list(map(float, row[2:4]))
                 for row in self.rows("fig-21", "--ports", "4")
                 if row[:1] in (["top"], ["middle"], ["bottom"])}
        self.assertEqual(len(found), 9)
        self.assertEqual(found["top", "turn-addition"], [1, 1])
        for place in ("top", "middle", "bottom"):
            inside, between = found[place, "turn-addition"]
            self.assertEqual(inside, 1)
            self.assertGreaterEqual(between, found[place, "turn-prohibition"][1])

    def test_sizes(self):
        found = {row[1]: row[2:] for row in self.rows("fig-24", "--ports", "4")
                 if row[:1] == ["16"]}
        self.assertEqual(set(found), {"turn-addition", "up-down", "turn-prohibition"})
        self.assertGreater(float(found["turn-addition"][1]), float(found["turn-prohibition"][1]))


class Files(unittest.TestCase):
    """From a fabric to tables to simulated traffic, by files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        rhinet("route", "generate", "fat-tree", "--ports", "4", "-o", self.path("net"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_simulated_traffic(self):
        run = rhinet("sim", "run", "--topology", self.path("net"), "--load", "0.1,0.2", "--warm",
                     "10us", "--time", "50us", "--json", "-", "--plot", self.path("plot.svg"),
                     "--log", self.path("log"), "--loads", "2")
        report = json.loads(run.stdout[run.stdout.index("{"):])
        self.assertTrue(report)
        with open(self.path("plot.svg"), encoding="utf-8") as plot:
            self.assertIn("<svg", plot.read())
        self.assertGreater(os.path.getsize(self.path("log")), 0)

    def test_same_seed_same_run(self):
        words = ("sim", "run", "--topology", self.path("net"), "--load", "0.3", "--warm", "10us",
                 "--time", "30us", "--seed")
        def measured(seed):  # without the simulator's own speed, which is the clock's
            return rhinet(*words, seed).stdout.split("\n")[-2].split()[:8]
        first, again, other = map(measured, ("5", "5", "6"))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_unwritable_files_are_errors(self):
        missing = self.path("no/such/folder")
        for words in (("sim", "run", "--topology", self.path("net"), "--load", "0.1", "--warm",
                       "1us", "--time", "5us", "--log", missing),
                      ("route", "generate", "fat-tree", "--ports", "4", "-o", missing),
                      ("route", "compute", self.path("net"), "--lft", missing)):
            self.assertIn(missing, rhinet(*words, status=1).stderr)

    def test_constants(self):
        text = rhinet("sim", "constants").stdout
        rows = rhinet("sim", "constants", "--json").stdout.strip().split("\n")
        self.assertGreater(len([json.loads(row) for row in rows]), 10)
        self.assertGreater(len(text.split("\n")), 10)


if __name__ == "__main__":
    tap.main()
