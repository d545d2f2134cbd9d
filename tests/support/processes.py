# SPDX-License-Identifier: BSD-3-Clause
"""Looking at processes from outside, for tests that prove that nothing of a job is left.

A test gives its jobs a marker in their environment, so that their processes are found in /proc
wherever they went.
"""
import os
import signal
import time


def read_proc(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def name_of(pid):
    return read_proc(pid, "comm").decode(errors="replace").strip()


def command_of(pid):
    return read_proc(pid, "cmdline").decode(errors="replace").replace("\0", " ").strip()


def marked(variable, value):
    """Processes that have the variable with this value in their environment."""
    wanted = f"{variable}={value}".encode()
    return [pid for pid in all_pids() if wanted in read_proc(pid, "environ").split(b"\0")]


def kill_all(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def wait_until(condition, limit_s):
    """The condition's value when it is true, or what it was at the end."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.002)
    return condition()
