# SPDX-License-Identifier: BSD-3-Clause
"""What is in the libraries that are installed: little memory of each thread, no code that only the
program `rhinet` needs, no name that belongs to another library; and that they come and go."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import tap  # noqa: E402

LIBRARY = os.environ["TEST_LIBRARY"]
INSTALLED = [LIBRARY] + os.environ["TEST_OTHERS"].split(os.pathsep)
LAYERS = os.environ["TEST_LAYERS"].split(os.pathsep)  # archives that librhinet is made of
ENGINES = os.environ["TEST_ENGINES"].split(os.pathsep)  # archives that it must have nothing of
HERE = os.path.dirname(os.path.abspath(__file__))
TLS_MAX = 1024
LOADED = ["libfabric.so.1", "libpmix.so.2", "libpmi.so.0", "libpmi2.so.0"]  # not linked
PREFIX = re.compile(r"(rh_|pm[A-Z])\w+$")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def symbols(path, *options):
    """{name: kind} as nm shows them, without versions and what sanitizers add."""
    found = {}
    for line in run("nm", "--defined-only", "-P", *options, path).split("\n"):
        words = line.split()
        if len(words) >= 2 and not words[0].startswith(("__asan", "__odr", "__tsan")):
            found[words[0].split("@")[0]] = words[1]
    return found


def globals_of(path):
    return {name for name, kind in symbols(path).items() if kind.isupper()}


def other_libraries():
    """Those that ours need, and those that ours load, as far as they are here."""
    paths = set()
    for library in INSTALLED:
        paths |= set(re.findall(r"=> (/\S+)", run("ldd", library)))
    for line in run("/sbin/ldconfig", "-p").split("\n"):
        if line.split(" ")[0].strip() in LOADED:
            paths.add(line.split("=> ")[1])
    return sorted(path for path in paths if "rhinet" not in path and "san.so" not in path)


class Library(unittest.TestCase):
    def test_thread_local_memory(self):
        for library in INSTALLED:
            with self.subTest(library=library):
                segments = re.findall(r"^ +TLS +(.*)", run("readelf", "-lW", library), re.M)
                sizes = [int(segment.split()[4], 16) for segment in segments]
                self.assertLess(sum(sizes), TLS_MAX)

    def test_exported_names(self):
        for library in INSTALLED:
            with self.subTest(library=library):
                exported = {name for name, kind in symbols(library, "-D").items() if kind != "A"}
                self.assertTrue(exported)
                self.assertEqual([name for name in exported if not PREFIX.match(name)], [])

    def test_no_name_of_another_library(self):
        owner = {}
        for path in other_libraries():
            for name, kind in symbols(path, "-D").items():
                if kind not in "WwVv":
                    owner[name] = path
        self.assertIn("malloc", owner)
        for archive in LAYERS + ENGINES:
            with self.subTest(archive=archive):
                taken = {name: owner[name] for name in globals_of(archive) & owner.keys()}
                self.assertEqual(taken, {})
                borrowed = [name for name in globals_of(archive)
                            if name.startswith(("fi_", "PMI"))]
                self.assertEqual(borrowed, [])

    def test_no_engine_inside(self):
        own = set().union(*(symbols(layer) for layer in LAYERS))
        inside = symbols(LIBRARY).keys()
        if "rh_join" not in inside:
            self.skipTest("it is stripped")
        for engine in ENGINES:
            with self.subTest(engine=engine):
                foreign = globals_of(engine) - own
                self.assertTrue(foreign)
                self.assertEqual(sorted(foreign & inside), [])

    def test_the_linker_refuses_a_call_upwards(self):
        archive = {os.path.basename(path): path for path in LAYERS}
        with tempfile.TemporaryDirectory() as folder:
            linked = subprocess.run(
                ["cc", f"{HERE}/nothing.c", "-o", f"{folder}/program", "-Wl,--start-group",
                 "-Wl,--whole-archive", archive["librhinet-rma.a"], "-Wl,--no-whole-archive",
                 archive["librhinet-base.a"], "-Wl,--end-group", "-lsodium", "-lm", "-pthread"],
                capture_output=True, text=True, check=False)
        self.assertNotEqual(linked.returncode, 0)
        self.assertRegex(linked.stderr, "undefined reference to `stall_watch_keep'")

    @unittest.skipIf(os.environ["TEST_SANITIZER"] != "none", "Python has no sanitizer in it")
    def test_comes_and_goes(self):
        loaded = subprocess.run([sys.executable, "-B", f"{HERE}/load.py", LIBRARY],
                                capture_output=True, text=True, check=False, timeout=100)
        self.assertEqual(loaded.returncode, 0, loaded.stdout + loaded.stderr)


if __name__ == "__main__":
    tap.main()
