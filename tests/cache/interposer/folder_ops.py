# SPDX-License-Identifier: BSD-3-Clause
"""folder_ops.py FOLDER: all that can be done to a folder and its files, well and badly; prints what
came out. The same must come out of the folder shown by `rhinet cache mount`."""

import fcntl
import os
import stat
import sys


def say(what, act, *arguments, **more):
    try:
        result = act(*arguments, **more)
    except OSError as error:
        result = f"errno {error.errno}"
    print(what, result, flush=True)


def status(path):
    found = os.lstat(path)
    time = int(found.st_mtime) if found.st_mtime < 1_500_000_000 else "now"
    return stat.filemode(found.st_mode), found.st_size, found.st_nlink, time


def with_file(path, flags, act, mode=0o640):
    fd = os.open(path, flags, mode)
    try:
        return act(fd)
    finally:
        os.close(fd)


def files():
    say("create", with_file, "a", os.O_CREAT | os.O_RDWR | os.O_EXCL,
        lambda fd: os.write(fd, b"x" * 9000))
    say("create again", with_file, "a", os.O_CREAT | os.O_EXCL, os.fstat)
    say("write and sync", with_file, "a", os.O_WRONLY,
        lambda fd: (os.pwrite(fd, b"yy", 5), os.fsync(fd), os.fdatasync(fd)))
    say("write to a reader", with_file, "a", os.O_RDONLY, lambda fd: os.write(fd, b"z"))
    say("append", with_file, "a", os.O_WRONLY | os.O_APPEND, lambda fd: os.write(fd, b"tail"))
    say("read", with_file, "a", os.O_RDONLY, lambda fd: os.pread(fd, 12, 0))
    say("read the end", with_file, "a", os.O_RDONLY, lambda fd: os.pread(fd, 100, 9000))
    say("allocate", with_file, "a", os.O_WRONLY, lambda fd: os.posix_fallocate(fd, 0, 20000))
    say("status", status, "a")
    say("cut", os.truncate, "a", 7)
    say("cut while open", with_file, "a", os.O_RDWR,
        lambda fd: (os.ftruncate(fd, 5), os.fstat(fd).st_size))
    say("empty by opening", with_file, "a", os.O_WRONLY | os.O_TRUNC,
        lambda fd: os.fstat(fd).st_size)
    say("seek", with_file, "a", os.O_RDWR,
        lambda fd: (os.ftruncate(fd, 8192), os.lseek(fd, 0, os.SEEK_DATA)))
    say("lock", with_file, "a", os.O_RDWR, lambda fd: fcntl.flock(fd, fcntl.LOCK_EX))
    say("two locks", two_locks)
    say("no such file", with_file, "none", os.O_RDONLY, os.fstat)
    say("no such file to cut", os.truncate, "none", 1)
    say("a folder is no file", with_file, ".", os.O_WRONLY, os.fstat)


def two_locks():
    first, second = (os.open("a", os.O_RDWR) for _ in range(2))
    try:
        fcntl.flock(first, fcntl.LOCK_EX)
        fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(first)
        os.close(second)


def names():
    say("folder", os.mkdir, "d", 0o750)
    say("folder again", os.mkdir, "d")
    say("link", os.link, "a", "d/b")
    say("link to nothing", os.link, "none", "d/c")
    say("symbolic link", os.symlink, "d/b", "s")
    say("symbolic link again", os.symlink, "d/b", "s")
    say("where it leads", os.readlink, "s")
    say("a file leads nowhere", os.readlink, "a")
    say("rename", os.rename, "a", "d/b2")
    say("rename over another", os.rename, "d/b2", "d/b")
    say("rename nothing", os.rename, "none", "d/x")
    say("list", lambda: sorted(os.listdir("d")))
    say("list nothing", os.listdir, "none")
    say("list all", lambda: sorted((k.name, k.is_dir(), k.is_symlink()) for k in os.scandir(".")))
    say("not empty", os.rmdir, "d")
    say("unlink", os.unlink, "d/b2")
    say("unlink again", os.unlink, "d/b2")
    say("unlink a folder", os.unlink, "d")


def attributes():
    with open("e", "wb") as file:
        file.write(b"12345")
    say("mode", os.chmod, "e", 0o604)
    say("mode of nothing", os.chmod, "none", 0o600)
    say("times", os.utime, "e", (1_000_000_000, 1_100_000_000))
    say("times of nothing", os.utime, "none", (1, 1))
    say("owner", os.chown, "e", os.getuid(), os.getgid())
    say("owner of nothing", os.chown, "none", 0, 0)
    say("status", status, "e")
    say("access", lambda: (os.access("e", os.R_OK), os.access("none", os.R_OK)))
    say("room", lambda: os.statvfs(".").f_namemax)
    say("end", lambda: (os.unlink("e"), os.unlink("s"), os.unlink("d/b"), os.rmdir("d")))
    say("left", lambda: sorted(os.listdir(".")))


def main(folder):
    os.chdir(folder)
    files()
    names()
    attributes()
    os.chdir("/")


if __name__ == "__main__":
    main(sys.argv[1])
