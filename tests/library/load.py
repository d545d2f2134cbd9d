# SPDX-License-Identifier: BSD-3-Clause
"""load.py LIBRARY: what a plug-in's host does with librhinet. Loads it with RTLD_LOCAL while
threads run, uses it in all of them, unloads it, and then ends the threads that have used it; over
and over. A process of its own, since what goes wrong here is a crash."""

import _ctypes
import ctypes
import os
import sys
import threading

ROUNDS = 40
THREADS = 3
LIMIT_S = 120  # only a hang takes so long
SID = 7


def is_mapped(path):
    with open("/proc/self/maps", encoding="ascii") as maps:
        return os.path.realpath(path) in maps.read()


class Remote(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int), ("sid", ctypes.c_uint32), ("offset", ctypes.c_uint64)]


# As plug-ins' hosts and Python load; as Julia does, where the library's own names go before all.
MODES = (os.RTLD_NOW | os.RTLD_LOCAL, os.RTLD_LAZY | os.RTLD_DEEPBIND)


def load(path, mode):
    library = ctypes.CDLL(path, mode=mode)
    job = ctypes.c_void_p  # ctypes would cut it off
    library.rh_error_name.restype = ctypes.c_char_p
    library.rh_error_text.restype = ctypes.c_char_p
    library.rh_join.argtypes = [ctypes.POINTER(job), ctypes.c_void_p]
    library.rh_leave.argtypes = [job]
    library.rh_size.argtypes = [job]
    library.rh_segment_alloc.argtypes = [job, ctypes.c_uint32, ctypes.c_uint64,
                                         ctypes.POINTER(ctypes.c_void_p)]
    library.rh_push.argtypes = [job, Remote, ctypes.c_char_p, ctypes.c_size_t]
    return library


def use(library):
    """A job of one: joins, writes into its own memory through the NIC, fails once, leaves."""
    job, base = ctypes.c_void_p(), ctypes.c_void_p()
    assert library.rh_join(ctypes.byref(job), None) == 0, library.rh_error_text()
    assert library.rh_size(job) == 1
    assert library.rh_segment_alloc(job, SID, 64, ctypes.byref(base)) == 0
    assert library.rh_push(job, Remote(0, SID, 0), b"12345678", 8) == 0
    assert ctypes.string_at(base, 8) == b"12345678"
    assert library.rh_push(job, Remote(0, SID, 60), b"12345678", 8) < 0
    assert b"60" in library.rh_error_text(), library.rh_error_text()
    assert library.rh_leave(job) == 0


class User(threading.Thread):
    """There before the library is, and still there when it is gone."""

    def __init__(self):
        super().__init__(daemon=True)
        self.library = None
        self.failure = None
        self.may_use, self.has_used, self.may_end = (threading.Event() for _ in range(3))
        self.start()

    def run(self):
        self.may_use.wait(LIMIT_S)
        try:
            use(self.library)
        except Exception as failure:  # pylint: disable=broad-exception-caught
            self.failure = repr(failure)
        self.has_used.set()
        self.may_end.wait(LIMIT_S)


def once(path, mode):
    users = [User() for _ in range(THREADS)]
    libraries = [load(path, mode) for _ in range(2)]
    assert libraries[0].rh_error_name(0)
    assert is_mapped(path)
    for user in users:
        user.library = libraries[1]
        user.may_use.set()
    for user in users:
        assert user.has_used.wait(LIMIT_S), "a thread hangs in the library"
        user.library = None
        assert not user.failure, user.failure
    use(libraries[0])
    for library in libraries:
        _ctypes.dlclose(library._handle)  # pylint: disable=protected-access
    assert not is_mapped(path), "still mapped"
    for user in users:
        user.may_end.set()
        user.join(LIMIT_S)
        assert not user.is_alive(), "a thread does not end"


def main():
    for i in range(ROUNDS):
        once(sys.argv[1], MODES[i % len(MODES)])
    print(f"{ROUNDS} times loaded and gone")


if __name__ == "__main__":
    main()
