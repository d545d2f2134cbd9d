# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, driven by its DevTools protocol over two pipes: what a page shows, says on
its console, and does when keys are pressed."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
import unittest

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
ANSWER_S = 60
OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
           "--no-first-run", "--disable-background-networking", "--remote-debugging-pipe"]
KEYS = {"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
        "ArrowDown": 40}


def start():
    """A browser, or a skip with the reason: on some machines there is one that cannot run."""
    try:
        return Browser()
    except AssertionError as reason:
        raise unittest.SkipTest(f"Chromium does not start here: {reason}") from reason


class Browser:
    """One page. Its console's errors and its uncaught exceptions are kept in `errors`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="rhinet-browser-")
        theirs_in, self.out = os.pipe()
        self.input, theirs_out = os.pipe()
        for fd in (theirs_in, theirs_out):
            os.set_inheritable(fd, True)
        # The protocol is on descriptors 3 and 4.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "browser", PROGRAM, *OPTIONS,
             f"--user-data-dir={self.folder}", "about:blank"],
            pass_fds=[theirs_in, theirs_out], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.buffer, self.session = 0, b"", None
        self.errors = []
        try:
            self.attach()
        except AssertionError:
            self.close()
            raise

    def attach(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Runtime", "Page", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        for fd in (self.out, self.input):
            os.close(fd)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.input], [], [], left)[0]:
                raise AssertionError("the browser does not answer")
            more = os.read(self.input, 1 << 16)
            if not more:
                raise AssertionError("the browser has ended")
            self.buffer += more
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, message):
        method, of = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(of["exceptionDetails"].get("exception", {}).get("description") or
                               of["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and of["type"] in ("error", "warning"):
            self.errors.append(" ".join(str(argument.get("value", argument.get("description")))
                                        for argument in of["args"]))
        elif method == "Log.entryAdded" and of["entry"]["level"] in ("error", "warning"):
            self.errors.append(of["entry"]["text"])

    def call(self, method, **parameters):
        self.number += 1
        wish = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            wish["sessionId"] = self.session
        os.write(self.out, json.dumps(wish).encode() + b"\0")
        deadline = time.monotonic() + ANSWER_S
        while True:
            message = self.message(deadline)
            if message.get("id") != self.number:
                self.note(message)
            elif "error" in message:
                raise AssertionError(f"{method}: {message['error']}")
            else:
                return message["result"]

    def open(self, url, width=1440, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + ANSWER_S
        loaded = f"location.href === {json.dumps(url)} && document.readyState === 'complete'"
        while not self.run(loaded):
            if time.monotonic() > deadline:
                raise AssertionError(f"{url} is not loaded")
            time.sleep(0.02)

    def run(self, script):
        """The value of an expression."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def press(self, key):
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=text,
                      windowsVirtualKeyCode=KEYS.get(key, ord(key[0])))

    def picture(self, path):
        """All of the page."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
