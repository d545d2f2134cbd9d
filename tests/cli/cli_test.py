#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The program from outside: help, completion, info and top, alone and beside a running job."""

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../support"))
import tap

RHINET = os.environ["CLI_PROGRAM_PATH"]
BUSY = os.environ["CLI_BUSY_PATH"]
COMMANDS = ("run", "mpirun", "node", "top", "doctor", "dsm", "route", "sim", "cache", "info",
            "bench", "report", "demo", "completion", "help")
HANG_S = 20


def rhinet(*arguments, status=0, environment=None, program=RHINET, timeout=HANG_S, **more):
    """Run it to the end; the exit status must be as expected."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RHINET_") and k != "COLUMNS"}
    run = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=timeout,
                         env={**clean, **(environment or {})}, check=False, **more)
    if run.returncode != status:
        raise AssertionError(f"{arguments}: status {run.returncode}, not {status}\n"
                             f"{run.stdout}\n{run.stderr}")
    return run


class Help(unittest.TestCase):
    def test_version(self):
        self.assertRegex(rhinet("--version").stdout, r"^rhinet \d+\.\d+\.\d+\n$")

    def test_overview_lists_all(self):
        for way in (("help",), ("--help",), ("-h",)):
            said = rhinet(*way).stdout
            for name in COMMANDS:
                self.assertRegex(said, rf"(?m)^  {name} +\w")

    def test_no_arguments(self):
        run = rhinet(status=2)
        self.assertEqual(run.stdout, "")
        self.assertIn("Usage: rhinet", run.stderr)

    def test_each_command(self):
        for name in COMMANDS:
            said = rhinet("help", name).stdout
            self.assertIn(f"Usage: rhinet {name} ", said)
            self.assertEqual(rhinet(name, "--help").stdout, said)
            self.assertEqual(rhinet(name, "-h").stdout, said)

    def test_programs_keep_their_help(self):
        self.assertIn("echo --help", rhinet("run", "-n", "1", "echo", "echo", "--help").stdout)

    def test_nearest(self):
        self.assertIn("did you mean 'info'?", rhinet("infos", status=2).stderr)
        self.assertIn("did you mean 'bench'?", rhinet("help", "benhc", status=2).stderr)
        self.assertIn("`rhinet help` shows the usage", rhinet("frobnicate", status=2).stderr)

    def test_wrong_usage(self):
        for arguments in (("help", "a"), ("info", "--bogus"), ("info", "a", "b"),
                          ("info", "--settings", "job"), ("top", "--interval"),
                          ("top", "--interval", "soon"), ("top", "--interval", "1ms"),
                          ("top", "a", "b"), ("top", "--bogus"), ("completion",),
                          ("completion", "csh")):
            run = rhinet(*arguments, status=2)
            self.assertIn(f"`rhinet help {arguments[0]}` shows the usage", run.stderr)
            self.assertEqual(run.stdout, "")

    def test_full_disk_is_an_error(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            run = subprocess.run([RHINET, "help"], stdout=full, stderr=subprocess.PIPE, text=True,
                                 timeout=HANG_S, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("cannot write", run.stderr)


class Hosts(unittest.TestCase):
    """Lists of hosts, all of which are this one, reached by a shell that does not go far."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.shell = self.write(folder.name, "shell", '#!/bin/sh\nshift\nexec env -i '
                                'PATH="$PATH" sh -c "$*"\n')
        os.chmod(self.shell, 0o755)
        self.file = os.path.join(folder.name, "hosts")

    def write(self, folder, name, text):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def run_on(self, *words, **more):
        return rhinet("run", "--rsh", self.shell, *words, **more)

    def test_names_that_are_none(self):
        for names in ("-l", "a,-oProxyCommand", "a;b", "a,,b", "", "x" * 400, "$(id)"):
            run = self.run_on(f"--hosts={names}", "true", status=2)
            self.assertIn("is no name of a host", run.stderr)
        for count in ("0", "-1", "x", "", "99999999999"):
            run = self.run_on(f"--hosts=a:{count}", "true", status=2)
            self.assertIn("processes on host a: a number is expected", run.stderr)

    def test_named_twice_takes_more(self):
        self.assertEqual(self.run_on("--hosts", "a,a", "echo", "up").stdout, "up\n" * 2)
        self.assertEqual(self.run_on("--hosts", "a:2,a", "echo", "up").stdout, "up\n" * 3)

    def test_hostfile(self):
        self.write(os.path.dirname(self.file), "hosts", "# the first\n\na slots=2 # two\n b:1\n")
        self.assertEqual(self.run_on("--hostfile", self.file, "echo", "up").stdout, "up\n" * 3)
        self.write(os.path.dirname(self.file), "hosts", "# none\n\n")
        run = self.run_on("--hostfile", self.file, "-n", "1", "true", status=2)
        self.assertIn("there is no host in it", run.stderr)
        run = self.run_on("--hostfile", self.file + "-not", "true", status=1)
        self.assertIn("--hostfile: cannot read", run.stderr)

    def test_export_takes_whole_names(self):
        out = self.run_on("--hosts", "a", "--export", "COLOUR", "--env", "SIZE=7", "env",
                          environment={"COLOUR": "red", "COLOURS": "3", "COL": "x"}).stdout
        self.assertIn("COLOUR=red\n", out)
        self.assertIn("SIZE=7\n", out)
        self.assertNotIn("COLOURS=", out)
        self.assertNotIn("COL=", out)


class Completion(unittest.TestCase):
    def complete(self, *words):
        script = rhinet("completion", "bash").stdout + \
            'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rhinet; printf "%s\\n" "${COMPREPLY[@]}"'
        run = subprocess.run(["bash", "-c", script, "bash", RHINET, *words], text=True,
                             capture_output=True, timeout=HANG_S, check=True)
        return run.stdout.split()

    def test_bash(self):
        self.assertEqual(self.complete("to"), ["top"])
        self.assertEqual(set(self.complete("")), set(COMMANDS))
        self.assertEqual(set(self.complete("--")), {"--version", "--help"})
        self.assertEqual(self.complete("top", "--o"), ["--once"])
        self.assertEqual(self.complete("help", "inf"), ["info"])
        self.assertEqual(self.complete("completion", "z"), ["zsh"])

    def test_every_option_of_the_help_completes(self):
        for name in COMMANDS:
            options = re.findall(r"(?m)^ +(?:-\w, )?(--[\w-]+)", rhinet("help", name).stdout)
            for option in options:
                self.assertIn(option, self.complete(name, option))

    def test_other_shells_are_quoted(self):
        for shell in ("zsh", "fish"):
            text = rhinet("completion", shell).stdout
            self.assertEqual(text.replace("'\\''", "").count("'") % 2, 0)
            if shutil.which(shell):
                subprocess.run([shell, "-n"], input=text, text=True, timeout=HANG_S, check=True)


class Info(unittest.TestCase):
    def test_text(self):
        said = rhinet("info").stdout
        for word in ("cores", "memory", "huge pages", "cross-memory attach", "membarrier", "shm"):
            self.assertIn(word, said)

    def test_json(self):
        info = json.loads(rhinet("info", "--json").stdout)
        self.assertEqual(set(info), {"format", "version", "machine", "nics", "jobs", "settings",
                                     "counters"})
        self.assertGreater(info["machine"]["cores_usable"], 0)
        self.assertGreater(info["machine"]["memory_total"], info["machine"]["memory_room"] // 2)
        self.assertIn("shm", [nic["name"] for nic in info["nics"]])

    def test_settings(self):
        info = json.loads(rhinet("info", "--settings", "--json",
                                 environment={"RHINET_TIMEOUT": "5s"}).stdout)
        self.assertEqual(set(info), {"format", "settings"})
        found = {setting["name"]: setting for setting in info["settings"]}
        self.assertEqual(found["RHINET_TIMEOUT"]["value"], "5s")
        self.assertEqual(found["RHINET_TIMEOUT"]["origin"], "environment")
        self.assertEqual(found["RHINET_TIMEOUT"]["default"], "60s")
        self.assertEqual(found["RHINET_NIC"]["origin"], "default")
        text = rhinet("info", "--settings").stdout
        for name in found:
            self.assertRegex(text, rf"(?m)^{name} ")

    def test_counters(self):
        info = json.loads(rhinet("info", "--counters", "--json").stdout)
        self.assertEqual(set(info), {"format", "counters"})
        text = rhinet("info", "--counters").stdout
        for counter in info["counters"]:
            self.assertIn(counter["name"], text)
            self.assertTrue(counter["help"])

    def test_bad_environment(self):
        run = rhinet("info", environment={"RHINET_TIMEOUT": "soon"}, status=1)
        self.assertIn("RHINET_TIMEOUT=soon", run.stderr)
        run = rhinet("info", "--settings", environment={"RHINET_TIMOUT": "5s"})
        self.assertIn("did you mean RHINET_TIMEOUT?", run.stderr)

    def test_narrow_terminal(self):
        for width in (40, 62, 80, 200):
            said = rhinet("info", "--settings", environment={"COLUMNS": str(width)}).stdout
            if width >= 62:  # the longest name beside the longest word
                self.assertLessEqual(max(map(len, said.split("\n"))), width)

    def test_no_such_job(self):
        self.assertIn("no job", rhinet("info", "ffffffffffff", status=1).stderr)


class Bench(unittest.TestCase):
    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two cores")
    def test_sizes(self):
        """A row for each size asked for, in order of size; on a machine in company a case may find
        no good round in its time, and says so."""
        said = rhinet("bench", "sizes", "--quick", "--rounds", "1", "--json", "-", "--only",
                      "stream-1M,push-1,stream-1,push-4K", timeout=3 * HANG_S).stdout
        rows = [json.loads(line) for line in said.splitlines()]
        self.assertEqual([row["name"] for row in rows], ["push-1", "stream-1", "push-4K",
                                                         "stream-1M"])
        for row in rows:
            self.assertEqual(row["rounds"], 1 if "value" in row else 0)
            self.assertTrue(row["discarded"] > 0 if "value" not in row else
                            row["value"] > 0 and row["raw"] > 0 and row["unit"] == "MB/s", row)


    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two cores")
    def test_sets_and_many(self):
        for layer, names in (("sets", ["broadcast-8B", "allreduce-8B"]),
                             ("msg", ["many-8", "all-8"])):
            said = rhinet("bench", layer, "--quick", "--rounds", "1", "--json", "-", "--only",
                          ",".join(names), timeout=3 * HANG_S).stdout
            rows = [json.loads(line) for line in said.splitlines()]
            self.assertEqual([row["name"] for row in rows], names)
            for row in rows:
                self.assertTrue(row["discarded"] > 0 if "value" not in row else
                                row["value"] > 0 and row["cores"] in ("near", "far"), row)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two cores")
    def test_curves(self):
        """A bar for each size that was measured, below the table."""
        said = rhinet("bench", "sizes", "--quick", "--rounds", "1", "--only",
                      "push-1,push-64,push-4K", timeout=3 * HANG_S).stdout
        table, _, curve = said.partition("\npush, MB/s\n")
        measured = sum(line.startswith("push-") and "not measured" not in line
                       for line in table.splitlines())
        self.assertEqual(curve.count("# "), measured if measured > 1 else 0, said)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two cores")
    def test_tail(self):
        said = rhinet("bench", "tail", "--quick", "--rounds", "1", "--json", "-", "--only",
                      "send-8,send-8x4", timeout=3 * HANG_S).stdout
        rows = [json.loads(line) for line in said.splitlines()]
        self.assertEqual([row["name"] for row in rows], ["send-8", "send-8x4"])
        for row in rows:
            if "value" not in row:
                self.assertGreater(row["discarded"], 0)
                continue
            self.assertLessEqual(row["value"], row["p99"])
            self.assertLessEqual(row["p99"], row["p99.9"])
            self.assertLessEqual(row["raw_p99"], row["raw_p99.9"])


class Live(unittest.TestCase):
    """Beside a job of three ranks that pushes in a ring."""

    def setUp(self):
        flag, self.flag = tempfile.mkstemp(prefix="cli-test-")
        os.close(flag)
        self.job = subprocess.Popen([RHINET, "run", "-n", "3", BUSY, self.flag])
        self.addCleanup(self.end)
        self.pid = str(self.job.pid)
        deadline = time.monotonic() + HANG_S
        while not self.is_busy():
            self.assertLess(time.monotonic(), deadline, "the job does not start")
            self.assertIsNone(self.job.poll(), "the job ended by itself")
            time.sleep(0.05)

    def end(self):
        if os.path.exists(self.flag):
            os.unlink(self.flag)
        self.assertEqual(self.job.wait(timeout=HANG_S), 0)

    def state(self):
        """The job as `rhinet info` shows it, or None."""
        jobs = json.loads(rhinet("info", "--json").stdout)["jobs"]
        return next((job for job in jobs if job["launcher_pid"] == self.job.pid), None)

    def launchers(self):
        jobs = json.loads(rhinet("info", "--json").stdout)["jobs"]
        return {job["launcher_pid"] for job in jobs}

    def is_busy(self):
        state = self.state()
        return state and all(rank["counters"]["push"] > 0 for rank in state["ranks"])

    def test_info(self):
        state = json.loads(rhinet("info", self.pid, "--json").stdout)
        self.assertEqual(state["size"], 3)
        self.assertEqual(state["nic"], "shm")
        self.assertIn("busy", state["command"])
        self.assertEqual([rank["state"] for rank in state["ranks"]], ["joined"] * 3)
        self.assertEqual([rank["counters"]["denied_bounds"] for rank in state["ranks"]], [0, 3, 0])
        self.assertGreater(len({rank["pid"] for rank in state["ranks"]}), 2)
        by_id = json.loads(rhinet("info", state["job"], "--json").stdout)
        self.assertEqual(by_id["launcher_pid"], self.job.pid)
        self.assertIn(state["job"], rhinet("completion", ".words", "--", "top", "").stdout.split())
        text = rhinet("info", self.pid).stdout
        self.assertRegex(text, r"(?m)^denied_bounds +3 +0 +3 ")

    def busy_sample(self):
        """A look at the job during which each rank was given a processor."""
        deadline = time.monotonic() + HANG_S
        while True:
            said = rhinet("top", self.pid, "--once", "--json", "--interval", "0.3").stdout
            sample = json.loads(said)
            if all(rank["ops_per_s"] > 0 for rank in sample["ranks"]):
                return sample
            self.assertLess(time.monotonic(), deadline, said)

    def test_top_once(self):
        said = rhinet("top", self.pid, "--once", "--interval", "0.3").stdout
        self.assertEqual(len(re.findall(r"(?m)^ +\d joined", re.sub(" +", " ", said))), 3, said)
        sample = self.busy_sample()
        self.assertEqual(len(sample["ranks"]), 3)
        for rank in sample["ranks"]:
            self.assertGreater(rank["bytes_per_s"], rank["ops_per_s"])
        self.assertEqual([rank["denials"] for rank in sample["ranks"]], [0, 3, 0])

    def test_top_ends_with_the_job(self):
        with subprocess.Popen([RHINET, "top", self.pid, "--json", "--interval", "0.1"],
                              stdout=subprocess.PIPE, text=True) as top:
            json.loads(top.stdout.readline())
            os.unlink(self.flag)
            try:
                lines = top.communicate(timeout=HANG_S)[0].strip().split("\n")
            finally:
                top.kill()
            self.assertEqual(top.returncode, 0)
        self.assertEqual(json.loads(lines[-1])["ranks"][0]["rank"], 0)

    def test_top_survives_its_reader(self):
        with subprocess.Popen([RHINET, "top", self.pid, "--json", "--interval", "0.05"],
                              stdout=subprocess.PIPE, text=True) as top:
            top.stdout.readline()
            top.stdout.close()
            top.wait(timeout=HANG_S)
        self.assertTrue(self.is_busy())

    def test_which_job(self):
        other = subprocess.Popen([RHINET, "run", "-n", "1", BUSY, self.flag])
        try:
            deadline = time.monotonic() + HANG_S
            while not {self.job.pid, other.pid} <= self.launchers():  # there may be others' jobs
                self.assertLess(time.monotonic(), deadline)
            said = rhinet("top", "--once", status=1).stderr
            self.assertIn("several jobs are running", said)
            self.assertIn(self.pid, said)
            self.assertIn(str(other.pid), said)
            self.assertIn("no job '1'", rhinet("top", "1", "--once", status=1).stderr)
        finally:
            os.unlink(self.flag)
            other.wait(timeout=HANG_S)

    def test_another_user_sees_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to become another user")
        nobody = pwd.getpwnam("nobody")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            copy = shutil.copy(RHINET, folder)
            run = rhinet("info", "--json", program=copy, user=nobody.pw_uid, group=nobody.pw_gid,
                         extra_groups=[], cwd="/")
            self.assertEqual(json.loads(run.stdout)["jobs"], [])
            run = rhinet("top", self.pid, "--once", status=1, program=copy, user=nobody.pw_uid,
                         group=nobody.pw_gid, extra_groups=[], cwd="/")
            self.assertIn("no job of yours", run.stderr)


if __name__ == "__main__":
    tap.main()
