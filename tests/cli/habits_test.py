#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Habits of the command line, for every command at every level as --help tells them: exit statuses
as the table of rhinet(1) has them, nearest names, no colours also on a terminal, JSON beside every
table of measurements, nothing left after Ctrl-C. What --help tells is walked by options_test."""

import errno
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import tap

from options_test import TREE, rhinet

RHINET = os.environ["CLI_PROGRAM_PATH"]
PAGE = os.path.join(HERE, "../../man/rhinet.1")
HANG_S = 60
ESCAPE = re.compile(r"\033\[[0-9;]*m")


def below(path):
    """Names of the commands right below one."""
    return [other[-1] for other in TREE if len(other) == len(path) + 1 and other[:-1] == path]


def on_terminal(*words):
    """What a command writes when it has a terminal."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen([RHINET, *words], stdin=follower, stdout=follower, stderr=follower,
                          env=environment) as process:
        os.close(follower)
        said = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                break
            if not part:
                break
            said += part
        process.wait(HANG_S)
    os.close(leader)
    return said.decode()


class Statuses(unittest.TestCase):
    """One case that ends with each status of the table."""

    CASES = {
        "0": (["--version"], 0),
        "1": (["info", "no-such-job"], 1),
        "2": (["run"], 2),
        "124": (["run", "-n", "1", "--timeout", "1", "sleep", "60"], 124),
        "126": (["run", "-n", "1", "/etc/passwd"], 126),
        "127": (["run", "-n", "1", "no-such-program-anywhere"], 127),
        "128 + S": (["run", "-n", "1", "sh", "-c", "kill -9 $$"], 137),
        "other": (["run", "-n", "1", "sh", "-c", "exit 42"], 42),
    }

    def test_table(self):
        with open(PAGE, encoding="utf-8") as file:
            table = re.search(r"^\.TS\n.*?^status\tmeaning\n(.*?)^\.TE", file.read(),
                              re.M | re.DOTALL)[1]
        told = {line.split("\t")[0] for line in table.splitlines() if "\t" in line}
        self.assertEqual(told, set(self.CASES) | {"130"})  # Ctrl-C has a case of its own

    def test_each(self):
        for told, (words, status) in self.CASES.items():
            with self.subTest(status=told):
                run = subprocess.run([RHINET, *words], stdin=subprocess.DEVNULL,
                                     capture_output=True, text=True, timeout=HANG_S, check=False)
                self.assertEqual(run.returncode, status, run.stderr)
                self.assertEqual(run.stderr == "", status == 0, run.stderr)


class Names(unittest.TestCase):
    def test_nearest_subcommand(self):
        for path in TREE:
            for name in below(path):
                if len(name) < 4 or any(other != name and other.startswith(name[:-1])
                                        for other in below(path)):
                    continue
                wrong = name[:-1] + "q" + name[-1]
                with self.subTest(path=path, name=name):
                    run = rhinet(*path, wrong, status=2)
                    self.assertIn(wrong, run.stderr)
                    self.assertIn(name, run.stderr.replace(wrong, ""))


class Terminal(unittest.TestCase):
    def test_no_colours(self):
        for path in TREE:
            with self.subTest(path=path):
                said = on_terminal(*path, "--help")
                self.assertIn("Usage: ", said)
                self.assertNotRegex(said, ESCAPE)
        for words in (["info"], ["bench"], ["run", "-n", "2", "true"]):
            self.assertNotRegex(on_terminal(*words), ESCAPE)


class Tables(unittest.TestCase):
    def test_experiments_have_json(self):
        for path in TREE:
            if path[:1] == ("bench",) and len(path) == 2:
                self.assertRegex(TREE[path], r"(?m)^ +--json\b", path)

    def test_new_json(self):
        document = json.loads(rhinet("bench", "route", "table-2", "--ports", "8", "--json").stdout)
        self.assertEqual([row["hosts"] for row in document["rows"]], [16, 128])
        self.assertEqual(document["rows"][0]["prohibited_percent"], 6.25)
        text = rhinet("bench", "route", "table-2", "--ports", "8").stdout
        self.assertIn("6.25", text)


class Interrupted(unittest.TestCase):
    def test_nothing_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            script = f"echo > {folder}/$$; exec sleep 600"
            command = [RHINET, "run", "-n", "2", "sh", "-c", script]
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  start_new_session=True) as process:
                end = time.monotonic() + HANG_S
                while len(os.listdir(folder)) < 2 and time.monotonic() < end:
                    time.sleep(0.01)
                started = [int(name) for name in os.listdir(folder)]
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=HANG_S)
            self.assertEqual(process.returncode, 130)
            self.assertEqual(len(started), 2)
            for pid in started:
                with self.assertRaises(ProcessLookupError):
                    os.kill(pid, 0)


if __name__ == "__main__":
    tap.main()
