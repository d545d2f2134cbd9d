#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""`rhinet top --web`: who is answered, what Prometheus gets, what the page shows."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import browser  # noqa: E402
import processes  # noqa: E402
import tap  # noqa: E402

RHINET = os.environ["TEST_RHINET"]
HANG = os.environ["TEST_HANG"]
WAIT_S = 60


def until(condition, what):
    result = processes.wait_until(condition, WAIT_S)
    if not result:
        raise AssertionError(f"waited in vain for {what}")
    return result


class Case(unittest.TestCase):
    def start(self, *words):
        process = subprocess.Popen([RHINET, *words], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop, process)
        return process

    def stop(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.communicate(timeout=WAIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
        process.stdout.close()
        process.stderr.close()
        process.wait()

    def known(self, job):
        said = subprocess.run([RHINET, "info", "--json", str(job.pid)], capture_output=True,
                              text=True, check=False)
        return said.returncode == 0

    def setUp(self):
        self.job = self.start("run", "-n", "3", HANG, "circle")
        until(lambda: self.known(self.job), "the job")
        self.top = self.start("top", str(self.job.pid), "--web", "--interval", "0.2s")
        self.address = self.top.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})", self.address)
        self.assertTrue(found, self.address)
        self.port, self.token = int(found[1]), found[2]
        self.assertIn(self.get("/state")[0], (200, 204))
        until(lambda: self.get("/state")[0] == 200, "the first sample")

    def get(self, path, token="", method="GET", **headers):
        """Status and text; token: None for none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        if token is not None:
            path += "?token=" + (token or self.token)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text


class Answers(Case):
    def test_only_who_knows_the_token(self):
        wrong = self.token[:-1] + ("0" if self.token[-1] != "0" else "1")
        for path in ("/", "/state", "/metrics", "/else"):
            for token in (None, "0", wrong, self.token + "0"):
                self.assertEqual(self.get(path, token)[0], 403, (path, token))
        self.assertEqual(self.get("/metrics", None, Authorization=f"Bearer {self.token}")[0], 200)
        self.assertEqual(self.get("/metrics", None, Authorization=f"Bearer {wrong}")[0], 403)

    def test_only_by_our_name(self):
        for host, status in ((f"127.0.0.1:{self.port}", 200), (f"localhost:{self.port}", 200),
                             ("evil.example", 403), (f"evil.example:{self.port}", 403)):
            self.assertEqual(self.get("/state", Host=host)[0], status, host)

    def test_only_on_this_machine(self):
        with open("/proc/net/tcp", encoding="ascii") as table:
            lines = [line.split() for line in table]
        places = [line[1] for line in lines
                  if line[1].endswith(f":{self.port:04X}") and line[3] == "0A"]
        self.assertEqual(places, [f"0100007F:{self.port:04X}"])

    def test_other_requests(self):
        self.assertEqual(self.get("/state", method="POST")[0], 405)
        self.assertEqual(self.get("/nothing")[0], 404)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        try:
            connection.request("GET", "/" + "x" * 100000)
            self.assertGreaterEqual(connection.getresponse().status, 400)
        except (ConnectionResetError, BrokenPipeError):
            pass  # it does not read all of that
        connection.close()
        self.assertEqual(self.get("/state")[0], 200)

    def test_state(self):
        def stuck():
            state = json.loads(self.get("/state")[1])
            return state["doctor"] and state["doctor"]["verdict"] == "deadlock" and state
        state = until(stuck, "the verdict")
        self.assertEqual([rank["rank"] for rank in state["sample"]["ranks"]], [0, 1, 2])
        until(lambda: json.loads(self.get("/state")[1])["number"] > state["number"], "another one")

    def test_metrics(self):
        """Each line as Prometheus wants it; each name has a help and a type, and all ranks."""
        until(lambda: self.get("/metrics")[1].count('state="joined"} 1\n') == 3, "all ranks")
        until(lambda: re.search(r"rhinet_wait_total\{\S+ [1-9]", self.get("/metrics")[1]), "waits")
        _, text = self.get("/metrics")
        values = {}
        for line in text.splitlines():
            if line.startswith("#"):
                self.assertRegex(line, r"^# (HELP rhinet_\w+ \S|TYPE rhinet_\w+ (counter|gauge)$)")
                continue
            found = re.fullmatch(r'(rhinet_\w+)\{job="[0-9a-f]+",rank="(\d)"(,state="\w+")?\} '
                                 r"(\d+)", line)
            self.assertTrue(found, line)
            values.setdefault(found[1], {})[int(found[2])] = int(found[4])
        for name, ranks in values.items():
            self.assertEqual(sorted(ranks), [0, 1, 2], name)
            self.assertIn(f"# TYPE {name} ", text)
        self.assertEqual(values["rhinet_rank_joined"], {0: 1, 1: 1, 2: 1})
        self.assertGreater(sum(values["rhinet_wait_total"].values()), 0)

    def test_ends_with_the_job(self):
        """Who asks is told so for two seconds; unless nobody could ask in that time."""
        self.job.send_signal(signal.SIGTERM)
        answers, asked, gap = [], time.monotonic(), 0
        while self.top.poll() is None:
            try:
                answers.append(self.get("/state")[0])
            except OSError:
                break
            gap = max(gap, time.monotonic() - asked)
            asked = time.monotonic()
        self.assertEqual(self.top.wait(WAIT_S), 0, self.top.stderr.read())
        self.assertTrue(410 in answers or gap > 1, answers[-5:])

    def test_ends_when_told(self):
        self.top.send_signal(signal.SIGINT)
        self.assertEqual(self.top.wait(WAIT_S), 0)

    def test_port_that_is_taken(self):
        done = subprocess.run([RHINET, "top", str(self.job.pid), "--web", "--port", str(self.port)],
                              capture_output=True, text=True, timeout=WAIT_S, check=False)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(f"cannot listen on 127.0.0.1:{self.port}: Address already in use",
                      done.stderr)


@unittest.skipUnless(browser.PROGRAM, "no Chromium here")
class Page(Case):
    def setUp(self):
        super().setUp()
        self.browser = browser.start()
        self.addCleanup(self.browser.close)

    def await_ranks(self):
        until(lambda: self.browser.run("document.querySelector('#ranks tbody tr') !== null"),
              "ranks")

    def test_shows_the_job(self):
        for width in (1440, 390):
            self.browser.open(self.address, width=width, dark=width < 600)
            until(lambda: "Deadlock" in self.browser.run("document.body.innerText"), "the verdict")
            rows = self.browser.run("[...document.querySelectorAll('#ranks tbody tr')].map("
                                    "(row) => row.innerText.split('\\t'))")
            self.assertEqual([row[0] for row in rows], ["0", "1", "2"])
            self.assertIn("receive from rank 1", rows[0][-1])
            until(lambda: self.browser.run("live.plots[0].lines[0].points.length") > 2, "samples")
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
        self.assertEqual(self.browser.errors, [])

    def test_order_stays(self):
        self.browser.open(self.address)
        self.await_ranks()
        self.browser.run("document.querySelector('#ranks th button').click()")
        self.browser.run("document.querySelector('#ranks th button').click()")
        seen = self.browser.run("live.samples.length")
        until(lambda: self.browser.run("live.samples.length") > seen, "another sample")
        first = self.browser.run("document.querySelector('#ranks tbody td').innerText")
        self.assertEqual(first, "2")

    def test_says_when_it_is_over(self):
        self.browser.open(self.address)
        self.await_ranks()
        self.job.send_signal(signal.SIGTERM)
        until(lambda: re.search("The job has ended|No answer",
                                self.browser.run("document.body.innerText")), "the end")


if __name__ == "__main__":
    tap.main()
