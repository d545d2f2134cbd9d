#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Habits of the command line, for every command at every level as --help tells them: exit statuses
as the table of rhinet(1) has them, nearest names, no colours also on a terminal, where what takes
long says how far it is, JSON beside every table of measurements, units in every column, nothing
left after Ctrl-C. What --help tells is walked by options_test."""

import errno
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import processes
import tap

from options_test import TREE, rhinet

RHINET = os.environ["CLI_PROGRAM_PATH"]
PAGE = os.path.join(HERE, "../../man/rhinet.1")
HANG_S = 60
ESCAPE = re.compile(r"\033\[[0-9;]*m")


def below(path):
    """Names of the commands right below one."""
    return [other[-1] for other in TREE if len(other) == len(path) + 1 and other[:-1] == path]


def on_terminal(*words, output=None):
    """What a command writes when it has a terminal; with an output elsewhere, only to stderr."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen([RHINET, *words], stdin=follower, stdout=output or follower,
                          stderr=follower, env=environment) as process:
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


class Progress(unittest.TestCase):
    """What may take more than two seconds, in short: on a terminal it says how far it is, and takes
    that back; elsewhere it says nothing."""

    def setUp(self):
        folder = tempfile.mkdtemp(prefix="habits-")
        self.addCleanup(shutil.rmtree, folder)
        self.fabric, self.table, self.page, self.run = (
            os.path.join(folder, name) for name in ("fabric", "table", "page", "run.json"))
        rhinet("route", "generate", "joined", "--ports", "4", "-o", self.fabric)
        rhinet("route", "compute", self.fabric, "--lft", self.table, "--json", self.run)

    def commands(self):
        """Each with what it says on its way, among other things."""
        return {
            ("bench", "rma", "--quick", "--rounds", "3", "--only", "store-8"): "store-8",
            ("bench", "cache", "sequential", "--quick", "--nodes", "1", "--simulate"): "sequential",
            ("bench", "route", "table-2", "--ports", "4"): "turn-addition",
            ("route", "compute", self.fabric): "tables: ",
            ("route", "check", self.fabric, self.table): "check",
            ("route", "compare", self.fabric, "-a", "up-down"): "up-down: ",
            ("route", "repair", self.fabric, self.table, self.fabric): "mending",
            ("sim", "run", "--topology", self.fabric, "--time", "1us"): "simulation: ",
            ("sim", "thesis", "P3"): " of ",
            ("sim", "thesis", "L1", "--sweep", "flit_bits=80,88"): "sweep: 1 of 2",
            ("sim", "sensitivity", "L1"): " of ",
            ("report", self.run, "-o", self.page): self.run,
        }

    def test_only_on_terminals(self):
        for words, told in self.commands().items():
            with self.subTest(words=words):
                said = on_terminal(*words, output=subprocess.DEVNULL)
                lines = said.replace("\033[K", "").split("\r")
                self.assertIn(told, said)
                self.assertEqual(lines[-1], "", said)
                self.assertNotIn("\n", said)
                self.assertEqual(rhinet(*words).stderr, "")


class Units(unittest.TestCase):
    """A number stands for something: its column has the unit in the heading or in each cell, the
    table has a column of units, or the heading is the name of what is counted."""

    UNIT = r"(?:[kMG]?B|[KMG]iB|[KM]?B/s|MiB/s|ps|ns|us|ms|s|seconds|%|bit|MHz|\S*/s|\S*/link)"
    HEADING = re.compile(rf"(?:^|.*[ ,]){UNIT}$|^[^ ]+/(?:s|link)$", re.I)
    CELL = re.compile(rf"[<>=+~-]*\s*[0-9.]+ ?(?:%|{UNIT}\b(?: far| near)?)")
    NUMBER = re.compile(r"[<>=+~-]*\s*[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?[kMG]?\b")
    # Counts, numbers that are names, and ratios.
    PLAIN = {"nodes", "node", "rank", "ranks", "pid", "launcher", "port", "packets", "messages",
             "hops", "lanes", "turns off", "rounds", "discarded", "hits", "evicted", "fallbacks",
             "denied", "switches", "joining cables", "hosts a tree", "pending", "ratio",
             "file / all caches", "addition/up-down", "addition/tp",
             "total", "least", "most"}  # of counters, whose names and meanings say of what
    IN_PARTS_OF_A_LINK = {"turn-addition", "up-down", "turn-prohibition"}  # figure 20 says so
    # Headings of columns whose cells have the unit, as some run below shows; the last ones are of
    # an experiment that takes long, and of a job that waits.
    IN_CELLS = {"line trip", "error", "1 % of it is", "pairs", "busy", "size", "read", "remote",
                "loaded", "used", "of", "singlets", "local"}
    IN_CELLS_UNSEEN = {"difference", "for"}

    def is_plain(self, title):
        return title.lower() in self.PLAIN or self.HEADING.match(title)

    def test_sources(self):
        """All tables there are."""
        found = 0
        for folder, _, names in os.walk(os.path.join(HERE, "../../src")):
            for name in names:
                if not name.endswith(".c"):
                    continue
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read()
                for table in re.findall(r"struct table_column \w+\[\] = \{(.*?)\};", text, re.S):
                    columns = re.findall(r'\{(?:\.title = )?"([^"]*)"([^}]*)\}', table)
                    found += 1
                    if {"unit"} & {title.lower() for title, _ in columns}:
                        continue
                    for title, rest in columns:
                        if "true" in rest and not self.is_plain(title):
                            self.assertIn(title.lower(), self.IN_CELLS | self.IN_CELLS_UNSEEN, name)
        self.assertGreater(found, 15)

    def tables(self, text):
        """Each as its headings and, for each of them, its cells. Columns are two spaces apart, and
        a cell begins or ends where its heading does."""
        lines = text.splitlines()
        for at, line in enumerate(lines[:-1]):
            heads = list(re.finditer(r"\S+(?: \S+)*", line))
            if len(heads) < 2 or any(self.NUMBER.fullmatch(head[0]) or self.CELL.fullmatch(head[0])
                                     for head in heads):
                continue
            cells = {head: [] for head in heads}
            for row in lines[at + 1:]:
                parts = list(re.finditer(r"\S+(?: \S+)*", row))
                placed = [(head, part[0]) for part in parts for head in heads
                          if part.end() == head.end() or part.start() == head.start()]
                if len(parts) < 2 or len(placed) < len(parts) - 1:
                    break
                for head, cell in placed:
                    cells[head].append(cell)
            if any(cells.values()):
                yield [(head[0], found) for head, found in cells.items()]

    def seen(self, text):
        """Headings of columns of numbers, of those with units in each cell, too."""
        in_cells, count = set(), 0
        for columns in self.tables(text):
            has_unit = "unit" in [title.lower() for title, _ in columns]
            for title, cells in columns:
                cells = [cell for cell in cells if cell != "-"]
                if not cells or not all(self.NUMBER.match(cell) for cell in cells):
                    continue
                count += 1
                if all(self.CELL.match(cell) for cell in cells):
                    in_cells.add(title.lower())
                elif not has_unit and title not in self.IN_PARTS_OF_A_LINK:
                    self.assertTrue(self.is_plain(title), f"{title}: {cells} in\n{text}")
        self.assertGreater(count, 0, text)
        return in_cells

    def test_runs(self):
        folder = tempfile.mkdtemp(prefix="habits-")
        self.addCleanup(shutil.rmtree, folder)
        fabric = os.path.join(folder, "fabric")
        rhinet("route", "generate", "joined", "--ports", "4", "-o", fabric)
        script = f"cat {PAGE} >&2 && {RHINET} cache stat && {RHINET} cache stat --files 3"
        runs = (
            ("bench", "rma", "--quick", "--rounds", "3", "--only", "push-8"),
            ("bench", "cache", "sequential", "random", "--quick", "--nodes", "1", "--simulate"),
            ("bench", "route", "fig-21", "--ports", "4"),
            ("bench", "route", "table-2", "--ports", "4"),
            ("bench", "route", "fig-20", "--networks", "1"),
            ("route", "compare", fabric),
            ("sim", "constants"),
            ("sim", "run", "--topology", fabric, "--time", "10us", "--load", "0.3", "--loads", "3"),
            ("sim", "sensitivity", "L1"),
            ("sim", "thesis", "P3"),
            ("cache", "run", "-n", "1", "--cache", "8M", "--path", os.path.dirname(PAGE), "sh",
             "-c", script),
        )
        seen = set()
        for words in runs:
            with self.subTest(words=words):
                seen |= self.seen(rhinet(*words).stdout)
        self.assertEqual(self.IN_CELLS - seen, set())


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


class Demo(unittest.TestCase):
    def test_one_screen_and_the_page(self):
        with tempfile.TemporaryDirectory() as above:
            folder = os.path.join(above, "demo")
            for _ in range(2):  # an earlier demo is replaced
                run = rhinet("demo", "-o", folder, hang_s=HANG_S)
            said = run.stdout.partition("\nIn short:\n")[2].splitlines()
            self.assertTrue(5 <= len(said) <= 22, run.stdout)
            page = re.fullmatch(r"  all of it: (\S+), for any browser", said[-1])[1]
            self.assertEqual(page, f"{folder}/report.html")
            for name in ("remote-memory", "messages"):
                with open(f"{folder}/{name}.json", encoding="utf-8") as file:
                    rows = [json.loads(line) for line in file]
                for row in rows:
                    if "value" in row:
                        self.assertTrue([line for line in said if line.split()[0] == row["name"]
                                         and f" {row['ratio']:.2f} x " in line], (row, said))
            with open(page, encoding="utf-8") as file:
                self.assertIn("rhinet demo", file.read())
            os.rename(folder, folder + "-gone")
            with open(folder, "w", encoding="ascii"):
                pass
            self.assertIn(folder, rhinet("demo", "-o", folder, status=1).stderr)


class Interrupted(unittest.TestCase):
    """Ctrl-C, as a terminal sends it: to all processes of the command. Whenever it comes, it ends
    the command, and neither processes nor files of its own are left."""

    # How many processes there must be before it comes; 1: the command alone, when it computes;
    # 0: it watches a job, and has said something.
    LONG = {
        "run -n 2 sleep 600": 3,
        "run -n 2 --nic martini sleep 600": 3,
        "bench rma": 3,
        "bench msg": 3,
        "bench dsm": 3,
        "bench himeno": 3,
        "bench ofi": 3,
        "bench cache speed": 3,
        "bench cache sequential --nodes 2": 3,
        "bench route": 1,
        "bench sim": 1,
        "bench thesis": 1,
        "dsm bench": 2,
        "sim run --topology fabric --time 1s": 1,
        "route compare fabric": 1,
        "cache run -n 2 --cache 8M --path . sleep 600": 5,
        "cache serve --cache 8M --path .": 3,
        "cache mount data shown sleep 600": 2,
        "mpirun -n 2 -- --oversubscribe sleep 600": 3,
        "report large.json": 1,
        "top --web --interval 60m": 0,
        "doctor --watch 60m": 0,
    }
    # Ctrl-C is how one ends the first two; a program under a mount gets SIGTERM from it as well.
    STATUSES = {"cache serve": (0,), "top": (0,), "cache mount": (130, 143)}
    COMPUTED = 5  # hundredths of a second

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="habits-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.marker = os.path.basename(self.folder)
        os.mkdir(os.path.join(self.folder, "tmp"))
        for name in ("data", "shown"):
            os.mkdir(os.path.join(self.folder, name))
        self.environment = {**os.environ, "TMPDIR": os.path.join(self.folder, "tmp"),
                            "HABITS_MARKER": self.marker, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                            "RHINET_CACHE_SERVICE": os.path.join(self.folder, "service/default"),
                            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        rhinet("route", "generate", "joined", "--ports", "24", "-o",
               os.path.join(self.folder, "fabric"))
        with open(os.path.join(self.folder, "large.json"), "w", encoding="ascii") as file:
            for number in range(300000):
                file.write(f'{{"format": "rhinet bench 1", "name": "n{number}", "value": 1}}\n')

    def left(self):
        return processes.marked("HABITS_MARKER", self.marker)

    def files(self):
        return sorted(os.path.join(folder, name) for folder, folders, names in
                      os.walk(self.folder) for name in folders + names)

    def computed(self, pid):
        fields = processes.read_proc(pid, "stat").rpartition(b")")[2].split()
        return int(fields[11]) + int(fields[12]) if len(fields) > 12 else 0

    def is_under_way(self, process, count):
        if count == 0:
            return bool(select.select([process.stdout], [], [], 0)[0])
        return len(self.left()) >= count and (
            count > 1 or self.computed(process.pid) >= self.COMPUTED)

    def begin(self, words):
        return subprocess.Popen([RHINET, *words], cwd=self.folder, env=self.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, start_new_session=True)

    def interrupt(self, words, count):
        before = self.files()
        process = self.begin(words)
        processes.wait_until(lambda: process.poll() is not None or (
            self.is_under_way(process, count)), HANG_S)
        self.assertIsNone(process.poll(), "it ends by itself: " + " ".join(words))
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=HANG_S)[0]
        statuses = next((found for name, found in self.STATUSES.items()
                         if " ".join(words).startswith(name)), (130, -signal.SIGINT))
        self.assertIn(process.returncode, statuses, said)
        self.assertTrue(processes.wait_until(lambda: not self.left(), HANG_S),
                        [processes.command_of(pid) for pid in self.left()])
        self.assertTrue(processes.wait_until(lambda: self.files() == before, HANG_S), self.files())

    def test_nothing_is_left(self):
        for command, count in self.LONG.items():
            words = command.split()
            if words[0] == "mpirun" and not shutil.which("mpirun.openmpi"):
                continue
            if words[:2] == ["cache", "mount"] and not os.access("/dev/fuse", os.W_OK):
                continue
            with self.subTest(command=command):
                if count == 0:
                    self.watch(words)
                else:
                    self.interrupt(words, count)

    def watch(self, words):
        """A job to look at, which goes on."""
        marker, environment = self.marker, self.environment
        self.environment = {**environment, "HABITS_MARKER": marker + "-job"}
        job = self.begin(["run", "-n", "2", "sleep", "600"])
        self.environment = environment
        try:
            self.assertTrue(processes.wait_until(
                lambda: subprocess.run([RHINET, "info", str(job.pid)], capture_output=True,
                                       check=False).returncode == 0, HANG_S))
            self.interrupt([words[0], str(job.pid), *words[1:]], 0)
            self.assertIsNone(job.poll())
        finally:
            job.send_signal(signal.SIGTERM)
            job.communicate(timeout=HANG_S)


if __name__ == "__main__":
    tap.main()
