#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""`rhinet report`: what it refuses, and what its page shows in a browser."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import browser  # noqa: E402
import tap  # noqa: E402

RHINET = os.environ["TEST_RHINET"]
BENCH = [{"format": "rhinet bench 1", "name": f"push-{size}", "value": size * 3.25, "unit": "ns",
          "raw": 50.5, "ratio": size / 8, "ok": size < 64, "target": "<= 4 x raw", "rounds": 9,
          "discarded": 0} for size in (8, 16, 32, 64, 128)]
EVIL = "</script><script>document.title = 'taken'</script><b>&"


def rhinet(*words, **options):
    return subprocess.run([RHINET, *map(str, words)], capture_output=True, text=True, timeout=120,
                          check=False, **options)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rhinet-report-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.page = self.folder / "page.html"

    def write(self, name, *documents):
        path = self.folder / name
        path.write_text("".join(json.dumps(one) + "\n" for one in documents), encoding="utf-8")
        return path

    def make(self, *files, **options):
        done = rhinet("report", *files, "-o", self.page, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return self.page.read_text(encoding="utf-8")

    def data(self, page):
        begin = page.index('id="data">') + len('id="data">')
        return json.loads(page[begin:page.index("</script>", begin)])


class Refused(Case):
    def refused(self, path, *said):
        self.page.write_text("as it was", encoding="utf-8")
        done = rhinet("report", path, "-o", self.page)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        for words in (str(path), *said):
            self.assertIn(words, done.stderr)
        self.assertEqual(self.page.read_text(encoding="utf-8"), "as it was")
        self.assertEqual(len(list(self.folder.iterdir())), 1 + path.exists())

    def test_no_such_file(self):
        self.refused(self.folder / "none.json", "No such file")

    def test_empty(self):
        for text in ("", " \n\n"):
            path = self.folder / "empty.json"
            path.write_text(text, encoding="ascii")
            self.refused(path, "empty: there is no run in it")

    def test_cut_off(self):
        whole = "".join(json.dumps(one, indent=1) + "\n" for one in BENCH)
        path = self.folder / "cut.json"
        for length in (1, 40, len(whole) // 2, len(whole) - 2):
            path.write_text(whole[:length], encoding="ascii")
            line = whole[:length].count("\n") + 1
            self.refused(path, f"cut.json:{line}: no JSON", "cut off")

    def test_nonsense(self):
        path = self.folder / "nonsense.json"
        path.write_bytes(b"\x7fELF\x02\x01\0\0")
        self.refused(path, "nonsense.json:1: no JSON")
        path.write_text(json.dumps(BENCH[0]) + "\n{]\n", encoding="ascii")
        self.refused(path, "nonsense.json:2: no JSON")

    def test_another_version(self):
        self.refused(self.write("new.json", BENCH[0], {**BENCH[1], "format": "rhinet bench 7"}),
                     "new.json:2: ", "version 7", "shows version 1")

    def test_not_ours(self):
        self.refused(self.write("a.json", {"name": 1}), "nothing says what this is")
        self.refused(self.write("a.json", [BENCH[0], 5]), "nothing says what this is")
        self.refused(self.write("a.json", {"format": "pcap 1"}), "none of this program's")
        self.refused(self.write("a.json", {"format": "rhinet "}), "none of this program's")
        self.refused(self.write("a.json", {"format": "rhinet bench x"}), "is no number")
        self.refused(self.write("a.json", {"format": "rhinet \033[2J 1"}), 'cannot show "?[2J"')
        self.refused(self.write("a.json", {"format": "rhinet banch 1"}), 'cannot show "banch"',
                     "nearest", "bench")

    def test_too_large(self):
        path = self.folder / "large.json"
        with open(path, "wb") as file:
            file.truncate(100 << 20)
        self.refused(path, "more than 64 MiB")

    def test_cannot_be_written(self):
        path = self.write("a.json", *BENCH)
        done = rhinet("report", path, "-o", self.folder / "no" / "page.html")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write", done.stderr)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([RHINET, "report", path, "-o", "-"], stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write", done.stderr)

    def test_usage(self):
        self.assertEqual(rhinet("report").returncode, 2)
        title = subprocess.run([RHINET.encode(), b"report", b"x", b"--title", b"\xff"],
                               capture_output=True, timeout=60, check=False)
        self.assertEqual((title.returncode, b"is no UTF-8" in title.stderr), (2, True), title)

    def test_zeros_are_not_overlooked(self):
        path = self.folder / "zeros.json"
        path.write_bytes(json.dumps(BENCH[0]).encode() + bytes(4096))
        self.refused(path, "zeros.json:1: no JSON")


class Made(Case):
    def test_all_forms(self):
        """Lines, one document, a list, several kinds in a file, the standard input."""
        lines = self.write("lines.json", *BENCH, {"format": "rhinet info 1", "version": "x"})
        listed = self.write("list.json", BENCH)
        page = self.make(lines, listed, "-", input=json.dumps(BENCH[0], indent=4))
        runs = self.data(page)["runs"]
        self.assertEqual([len(run["documents"]) for run in runs], [6, 5, 1])
        self.assertEqual(runs[1]["documents"], BENCH)
        self.assertIn("Permission is hereby granted", page)  # uPlot's licence

    def test_what_is_no_file_is_not_replaced(self):
        run = self.write("a.json", *BENCH)
        pipe, link = self.folder / "pipe", self.folder / "link"
        os.mkfifo(pipe)
        with open(self.page, "wb") as page, subprocess.Popen(["cat", pipe], stdout=page) as reader:
            done = rhinet("report", run, "-o", pipe)
            self.assertEqual(done.returncode, 0, done.stderr)
            reader.wait(60)
        self.assertIn("push-128", self.page.read_text(encoding="utf-8"))
        self.assertTrue(pipe.is_fifo())
        self.page.write_text("old", encoding="ascii")
        link.symlink_to(self.page)
        self.assertEqual(rhinet("report", run, "-o", link).returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertIn("push-128", self.page.read_text(encoding="utf-8"))

    def test_nothing_of_a_file_is_markup(self):
        page = self.make(self.write("a.json", {**BENCH[0], "name": EVIL}), "--title", EVIL)
        self.assertEqual(page.count("</script>"), 2)
        self.assertEqual(self.data(page)["runs"][0]["documents"][0]["name"], EVIL)

    def test_needs_nothing_from_outside(self):
        page = self.make(self.write("a.json", *BENCH))
        for word in ("src=", "href=\"http", "url(", "@import", "fetch(", "XMLHttpRequest"):
            self.assertNotIn(word, page)


@unittest.skipUnless(browser.PROGRAM, "no Chromium here")
class Shown(Case):
    """In a browser. The files are what the commands write."""

    browser = None  # one for all of them

    @classmethod
    def tearDownClass(cls):
        if cls.browser:
            cls.browser.close()

    def setUp(self):
        super().setUp()
        Shown.browser = Shown.browser or browser.start()

    def show(self, *files, **options):
        self.make(*files)
        self.browser.errors.clear()
        self.browser.open(self.page.as_uri(), **options)
        self.assertEqual(self.browser.errors, [])

    def command(self, name, *words):
        """A command that writes JSON to standard output, or to the word FILE."""
        path = self.folder / name
        done = rhinet(*(path if word == "FILE" else word for word in words))
        self.assertEqual(done.returncode, 0, done.stderr)
        if "FILE" not in words:
            path.write_text(done.stdout, encoding="utf-8")
        return path

    def fabric(self):
        path = self.folder / "fabric.ib"
        if not path.exists():
            rhinet("route", "generate", "fat-tree", "--ports", 4, "--levels", 2, "-o", path)
        return path

    def tables(self):
        path = self.folder / "tables"
        rhinet("route", "compute", self.fabric(), "--lft", path)
        return path

    def cells(self, caption):
        """The table under this caption, as texts."""
        return self.browser.run(f"""[...document.querySelectorAll("table")].find((table) =>
            table.caption && table.caption.textContent.includes({json.dumps(caption)}))
            .innerText.split("\\n").map((line) => line.split("\\t"))""")

    def rows(self, caption):
        head, *rows = [row for row in self.cells(caption)[1:] if row != [""]]
        return [dict(zip(head, row)) for row in rows]

    def shown_number(self, value):
        return self.browser.run(f"number({value!r})")

    def test_numbers_are_those_of_the_file(self):
        self.show(self.write("run.json", *BENCH))
        rows = self.rows("run.json")
        self.assertEqual([row["what"] for row in rows], [one["name"] for one in BENCH])
        for row, one in zip(rows, BENCH):
            self.assertAlmostEqual(float(row["value"].replace(",", "")), one["value"], places=3)
            self.assertEqual(row["reached"], "yes" if one["ok"] else "missed")

    def test_sizes_and_shares(self):
        """A size may end with B; shares of time are percents, but a FIFO's are packets."""
        self.show(self.write("run.json", *BENCH))
        rows = [{"name": f"broadcast-{size}", "value": 5, "unit": "us"}
                for size in ("8B", "256B", "8K", "1M")]
        points = self.browser.run(f"curves_by_size({json.dumps(rows)})[0].points")
        self.assertEqual([x for x, _ in points], [8, 256, 8192, 1048576])
        self.assertEqual(self.browser.run("usage_column('PCI', 0.25)"), ["PCI %", 25])
        self.assertEqual(self.browser.run("usage_column('Send FIFO', 1.5)"),
                         ["Send FIFO, packets", 1.5])
        self.assertEqual(self.browser.run("usage_column('node', 3)"), ["node", 3])

    def test_every_kind(self):
        """Each is shown without an error, under its heading."""
        fabric, words = self.fabric(), ("--time", "50us", "--load", "0.1,0.5")
        files = [
            self.command("route.json", "route", "compute", fabric, "--map", "--json", "FILE"),
            self.command("compare.json", "route", "compare", fabric, "--json"),
            self.command("sim.json", "sim", "run", "--topology", fabric, *words, "--json", "FILE"),
            self.command("thesis.json", "bench", "thesis", "table-6.2", "--json", "FILE"),
            self.command("line.json", "bench", "thesis", "table-6.2", "--timeline", "FILE"),
            self.command("cache.json", "bench", "cache", "sequential", "--simulate", "--quick",
                         "--nodes", "2,4", "--json", "FILE"),
            self.command("info.json", "info", "--json"),
            self.command("check.json", "route", "check", fabric, self.tables(), "--json", "FILE"),
            self.command("sweep.json", "sim", "thesis", "P1", "--sweep", "core_ps=9000,15152",
                         "--sweep", "pci_ps=9000,15152", "--json", "FILE"),
            self.command("sensitivity.json", "sim", "sensitivity", "P1", "--json", "FILE"),
            self.write("bench.json", *BENCH),
            self.write("top.json", *({"format": "rhinet top 1", "job": "7", "time": 1700000000 + i,
                                      "interval_s": 1.0, "ranks": [
                                          {"rank": r, "ops_per_s": 10.0 * r + i, "bytes_per_s": 8.0,
                                           "waits_per_s": 0.0} for r in range(2)]}
                                     for i in range(3))),
        ]
        self.show(*files)
        heads = self.browser.run("[...document.querySelectorAll('h2')].map((h) => h.textContent)")
        self.assertEqual(len(heads), len(files), heads)
        self.assertEqual(self.browser.run("document.querySelectorAll('[role=alert]').length"), 0)
        self.check_thesis(files[3])
        self.check_routing(files[0])

    def check_thesis(self, path):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        rows = self.rows("thesis against simulation")
        self.assertEqual([row["id"] for row in rows], [line["id"] for line in lines])
        for row, line in zip(rows, lines):
            self.assertEqual(row["simulated"], self.shown_number(line["simulated"]))

    def check_routing(self, path):
        routing = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual(len(routing["links"]), 2 * routing["cables"])
        self.assertEqual(len(routing["prohibited"]), routing["turns_prohibited"])
        self.assertEqual(sum(map(len, routing["hosts_at"].values())), routing["hosts"])
        at = routing["prohibited"][0]["at"]
        said = self.browser.run(f"""(() => {{
            const input = document.querySelector("#routing input");
            input.value = {json.dumps(at)};
            input.dispatchEvent(new Event("change"));
            return input.closest("p").querySelector("[role=status]").textContent; }})()""")
        self.assertRegex(said, rf"^{at.replace('(', '.').replace(')', '.')}: .* "
                               rf"{routing['turns_prohibited_at'][at]} turns prohibited")

    def focus(self, script):
        self.browser.run(f"{script}.focus()")

    def test_by_keyboard(self):
        routing = self.command("route.json", "route", "compute", self.fabric(), "--map", "--json",
                               "FILE")
        self.show(self.write("run.json", *BENCH), routing)
        find = ("[...document.querySelectorAll('#bench button')].find((b) => b.textContent === "
                "'Log y')")
        self.focus(find)
        for expected in ("false", "true"):
            self.browser.press("Enter")
            self.assertEqual(self.browser.run(f"{find}.getAttribute('aria-pressed')"), expected)
        head = "document.querySelector('#bench th button')"
        self.focus(head)
        for first, order in (("push-8", "ascending"), ("push-128", "descending")):
            self.browser.press(" ")
            self.assertEqual(self.rows("run.json")[0]["what"], first)
            self.assertEqual(self.browser.run(f"{head}.closest('th').ariaSort"), order)
        self.focus("document.querySelector('.viewer canvas')")
        looks = set()
        for key in ("0", "+", "ArrowLeft", "ArrowDown", "-"):
            self.browser.press(key)
            looks.add(self.browser.run("document.querySelector('.viewer canvas').toDataURL()"))
        self.assertEqual(len(looks), 5)
        self.assertEqual(self.browser.errors, [])

    def test_zoom(self):
        self.show(self.write("run.json", *BENCH))
        def span():
            return self.browser.run("plots[0].chart.scales.x.max / plots[0].chart.scales.x.min")
        def click(text):
            self.browser.run(f"[...document.querySelectorAll('#bench button')].find((b) => "
                             f"b.textContent === '{text}').click()")
        whole = span()
        click("Zoom in")
        near = span()
        self.assertLess(near, whole)
        click("All")
        self.assertAlmostEqual(span(), whole)

    def test_names_for_screen_readers(self):
        routing = self.command("route.json", "route", "compute", self.fabric(), "--map", "--json",
                               "FILE")
        self.show(self.write("run.json", *BENCH), routing)
        tree = self.browser.call("Accessibility.getFullAXTree")["nodes"]
        wanted = {"button", "searchbox", "textbox", "combobox", "image", "img", "region", "table",
                  "link", "navigation"}
        found = [(node["role"]["value"], node.get("name", {}).get("value")) for node in tree
                 if not node["ignored"] and node["role"]["value"] in wanted]
        self.assertGreater(len(found), 20)
        self.assertEqual([role for role, name in found if not name], [])

    def test_widths_and_themes(self):
        routing = self.command("route.json", "route", "compute", self.fabric(), "--map", "--json",
                               "FILE")
        backs = []
        for width in (1440, 390):
            for dark in (False, True):
                self.show(self.write("run.json", *BENCH), routing, width=width, dark=dark)
                self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"),
                                     width)
                backs.append(self.browser.run("getComputedStyle(document.body).backgroundColor"))
                self.browser.run("document.getElementById('theme').click()")
                self.assertNotEqual(
                    self.browser.run("getComputedStyle(document.body).backgroundColor"), backs[-1])
        self.assertEqual((backs[0], backs[1]), (backs[2], backs[3]))

    def test_ratios_are_to_the_same_but_for_the_cache(self):
        def trial(length, plain, speed):
            return {"format": "rhinet cache trial 1", "experiment": "stride", "nodes": 4,
                    "plain": plain, "groups": 1, "singlets": "auto", "read_length": length,
                    "data_bytes": 1000, "mib_per_s": speed}
        self.show(self.write("run.json", trial(10, True, 5.0), trial(20, True, 50.0),
                             trial(10, False, 10.0), trial(20, False, 400.0)))
        self.assertEqual([row["to plain"] for row in self.rows("run.json")], ["1", "1", "2", "8"])

    def test_markup_of_files_does_nothing(self):
        self.show(self.write("run.json", {**BENCH[0], "name": EVIL, "unit": EVIL}))
        self.assertEqual(self.browser.run("document.title"), "rhinet report")
        self.assertEqual(self.rows("run.json")[0]["what"], EVIL)

    def test_one_that_cannot_be_shown_hides_no_other(self):
        self.make(self.write("a.json", {"format": "rhinet simulation 1"}),
                  self.write("b.json", *BENCH))
        self.browser.open(self.page.as_uri())
        self.assertEqual(len(self.rows("b.json")), len(BENCH))
        self.assertIn("a.json: cannot be shown",
                      self.browser.run("document.querySelector('[role=alert]').textContent"))

    def test_large_network(self):
        """Two joined trees of 1024 hosts each."""
        fabric = self.folder / "large.ib"
        rhinet("route", "generate", "joined", "--ports", 16, "-o", fabric)
        routing = self.command("large.json", "route", "compute", "--no-check", fabric,
                               "--map", "--json", "FILE")
        self.show(routing)
        label = self.browser.run("document.querySelector('.viewer canvas').ariaLabel")
        whole = json.loads(routing.read_text(encoding="utf-8"))
        self.assertIn(f"{whole['switches'] + whole['hosts']} nodes", label)
        self.assertEqual(whole["hosts"], 2048)


if __name__ == "__main__":
    tap.main()
