# SPDX-License-Identifier: BSD-3-Clause
"""actor.py SOCKET: does to files what it is told over a socket, one call a line, and answers with
what came out. Runs with the cache; the test that commands it does the same without."""

import fcntl
import json
import os
import socket
import subprocess
import sys

FLAGS = {"read": os.O_RDONLY, "write": os.O_WRONLY, "update": os.O_RDWR,
         "append": os.O_WRONLY | os.O_APPEND, "truncate": os.O_WRONLY | os.O_TRUNC,
         "create": os.O_WRONLY | os.O_CREAT | os.O_TRUNC}


def perform_program(programs, call, key, *command):
    """A program that takes a step for each line that it gets, and says so; see odd_writer.c."""
    if call == "spawn":
        programs[key] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)
    elif call == "end":
        programs[key].communicate()
        return programs.pop(key).returncode
    else:
        programs[key].stdin.write("\n")
        programs[key].stdin.flush()
    return programs[key].stdout.readline().strip()


def perform(fds, call, *words):
    """One call; bytes travel as latin-1 text."""
    if call == "open":
        key, path, way = words
        fds[key] = os.open(path, FLAGS[way], 0o600)
        return "opened"
    if call == "close":
        os.close(fds.pop(words[0]))
        return "closed"
    if call == "pread":
        return os.pread(fds[words[0]], words[1], words[2]).decode("latin-1")
    if call == "pwrite":
        return os.pwrite(fds[words[0]], words[1].encode("latin-1"), words[2])
    if call == "write":
        return os.write(fds[words[0]], words[1].encode("latin-1"))
    if call == "ftruncate":
        return os.ftruncate(fds[words[0]], words[1])
    if call == "stat":
        return os.stat(words[0]).st_ino
    if call == "flock":
        return fcntl.flock(fds[words[0]], fcntl.LOCK_SH)
    if call == "lockf":
        return fcntl.lockf(fds[words[0]], fcntl.LOCK_SH)
    if call in ("spawn", "step", "end"):
        return perform_program(fds, call, *words)
    return getattr(os, call)(*words)  # truncate, rename, unlink


def answer(fds, call):
    try:
        return perform(fds, *call)
    except OSError as error:
        return f"errno {error.errno}"


def main(path):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        stream, fds = connection.makefile("rw"), {}
        for line in stream:
            stream.write(json.dumps(answer(fds, json.loads(line))) + "\n")
            stream.flush()


if __name__ == "__main__":
    main(sys.argv[1])
