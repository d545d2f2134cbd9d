# SPDX-License-Identifier: BSD-3-Clause
"""`import rhinet`: whole jobs of Python programs. cases.py is what their ranks do."""

import base64
import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "support"))
import tap  # noqa: E402

RHINET, LIBRARY = os.environ["TEST_RHINET"], os.environ["TEST_LIBRARY"]
COMPILER = os.environ.get("TEST_COMPILER", "cc").split()
LIMIT_S = 150
CYCLES = 1000


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RHINET_", "PYTHON"))}
    return {**kept, "PYTHONPATH": str(ROOT / "python"), "RHINET_LIBRARY": LIBRARY,
            "PYTHONDONTWRITEBYTECODE": "1", **more}


def run(*command, **more):
    return subprocess.run([str(k) for k in command], env=environment(**more), check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT_S)


def python(*words, **more):
    return run(sys.executable, *words, **more)


class Base(unittest.TestCase):
    def job(self, size, case, *options, plain=False, dead=0, **more):
        """All ranks, but those that are to die, must say that they are right."""
        interpreter = [sys.executable, *(["-S"] if plain else [])]
        done = run(RHINET, "run", "-n", size, "--timeout", LIMIT_S, *options, *interpreter,
                   HERE / "cases.py", case, **more)
        said = done.stdout + done.stderr
        self.assertEqual(len(re.findall(rf"rank \d+ {case} right", done.stdout)), size - dead,
                         said)
        self.assertNotIn("unknown", done.stderr, said)
        self.assertEqual(done.returncode == 0, dead == 0, said)


class Memory(Base):
    def test_memory(self):
        for size in (1, 2, 4):
            with self.subTest(size=size):
                self.job(size, "memory")

    def test_without_numpy(self):
        for case in ("memory", "attached", "collectives", "messages", "dsm", "refused"):
            with self.subTest(case=case):
                self.job(2, case, plain=True)

    def test_atomics(self):
        self.job(3, "atomics")

    def test_attached(self):
        self.job(3, "attached")

    def test_queues(self):
        self.job(3, "queues")

    def test_refused(self):
        self.job(2, "refused")

    def test_another_nic(self):
        for case in ("memory", "locks"):
            with self.subTest(case=case):
                self.job(2, case, "--nic", "ofi")


class Messages(Base):
    def test_messages(self):
        for size in (1, 3):
            with self.subTest(size=size):
                self.job(size, "messages")

    def test_threads(self):
        self.job(2, "threads")

    def test_collectives(self):
        for size in (1, 2, 4):
            with self.subTest(size=size):
                self.job(size, "collectives")

    def test_locks(self):
        self.job(3, "locks")

    def test_dsm(self):
        self.job(3, "dsm")

    def test_dsm_checked(self):
        self.job(2, "dsm", RHINET_DSM_CHECK="on")


class Ends(Base):
    def test_death(self):
        self.job(3, "survivors", "--survive", dead=1)

    def test_arrays_outlive_their_memory(self):
        self.job(2, "outlive")

    def test_child_that_cannot_be_closed(self):
        self.job(1, "fails")

    def test_interrupted(self):
        self.job(2, "interrupted")

    def test_exception(self):
        self.job(3, "exits")

    def test_memory_that_a_peer_may_still_write(self):
        self.job(1, "lent_for_ever")

    def test_transfer_under_way(self):
        self.job(1, "under_way")

    def test_fork(self):
        self.job(1, "forked")

    def test_group_that_cannot_be_closed(self):
        self.job(1, "unfinished")

    def test_mailbox_below_shared_memory(self):
        self.job(2, "borrowed")

    def test_opened_and_interrupted(self):
        self.job(1, "opened")


class Loaded(Base):
    def test_structures_are_those_of_the_headers(self):
        sys.path.insert(0, str(ROOT / "python"))
        os.environ["RHINET_LIBRARY"] = LIBRARY
        from rhinet._library import STRUCTURES
        words, expected = [], []
        for name, structure in STRUCTURES.items():
            words.append(f"sizeof(struct {name})")
            expected.append(ctypes.sizeof(structure))
            for field, *_ in structure._fields_:
                c_name = {("rh_wait", "source"): "from",
                          ("rh_reduction", "operator"): "operator_"}.get((name, field), field)
                words.append(f"offsetof(struct {name}, {c_name})")
                expected.append(getattr(structure, field).offset)
        source = "#include <rhinet/dsm.h>\n#include <stdio.h>\nint main(void)\n{\n" + "".join(
            f'printf("%zu\\n", {word});\n' for word in words) + "return 0;\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "offsets.c").write_text(source, encoding="ascii")
            subprocess.run([*COMPILER, f"-I{ROOT}/include", f"{folder}/offsets.c", "-o",
                            f"{folder}/offsets"], check=True)
            said = run(f"{folder}/offsets").stdout.split()
        self.assertEqual(dict(zip(words, map(int, said))), dict(zip(words, expected)))

    def test_every_call_is_there(self):
        done = python("-c", "from rhinet._library import CALLS, lib\n"
                            "for name in CALLS: getattr(lib, name)")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_library_not_found(self):
        done = python("-c", "import rhinet", RHINET_LIBRARY="/nowhere/librhinet.so")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, "ImportError: .*/nowhere/librhinet.so.*RHINET_LIBRARY")

    def test_alone(self):
        done = python("-c", "import rhinet\nwith rhinet.join() as job: print(job.rank, job.size, "
                            "job.node(0), job.nic, rhinet.__version__)", RHINET_STARTER="alone")
        self.assertRegex(done.stdout, r"^0 1 0 \S+ \d+\.\d+\.\d+\n$", done.stderr)

    def test_timeout_setting(self):
        program = ("import rhinet, time\nwith rhinet.join() as job:\n"
                   "    words = job.segment(7, 1, 'q')\n"
                   "    try: words.wait(1)\n"
                   "    except rhinet.WaitTimeout as late: print(late)")
        done = python("-c", program, RHINET_TIMEOUT="300ms", RHINET_STARTER="alone")
        self.assertIn("0.3 s in all", done.stdout, done.stderr)

    def test_typed(self):
        self.assertTrue((ROOT / "python/rhinet/py.typed").exists())
        for path in (ROOT / "python/rhinet").glob("*.py"):
            for line in re.findall(r"^    def \w+\([^)]*\)(?! ->)[^\n]*:$", path.read_text(),
                                   re.M):
                self.fail(f"{path.name}: {line.strip()} has no result type")


BLOCK = re.compile(r"```python\n(.*?)```\n\n(?:<!-- any order -->\n)?```console\n"
                   r"\$ rhinet (run -n \d+) python3 \S+\n(.*?)```", re.DOTALL)


class Documents(Base):
    def test_programs_of_the_page(self):
        page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
        blocks = BLOCK.findall(page)
        self.assertEqual(len(blocks), page.count("```python"))
        for program, options, expected in blocks:
            with self.subTest(program=program), tempfile.TemporaryDirectory() as folder:
                Path(folder, "program.py").write_text(program, encoding="utf-8")
                done = run(RHINET, *options.split(), sys.executable, f"{folder}/program.py")
                self.assertEqual(sorted(done.stdout.splitlines()), sorted(expected.splitlines()),
                                 done.stderr)

    def test_calls_that_the_page_names(self):
        page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
        text = "".join(k.read_text() for k in (ROOT / "python/rhinet").glob("_*.py"))
        for name in set(re.findall(r"`(?:\w+\.)*(\w+)\(", page)) - {"at"}:
            self.assertRegex(text, rf"def {name}\b|class {name}\b", name)

    def test_hello(self):
        done = run(RHINET, "run", "-n", 3, sys.executable, ROOT / "python/examples/hello.py")
        self.assertEqual(sorted(done.stdout.splitlines()), [
            f"rank {k} of 3: greetings from rank {(k - 1) % 3}" for k in range(3)], done.stderr)

    def test_mpi_style(self):
        for size in (1, 4):
            done = run(RHINET, "run", "-n", size, sys.executable,
                       ROOT / "python/examples/mpi_style.py")
            self.assertEqual(done.stdout,
                             f"{size} ranks: pi is about 3.141593; {size} answers\n", done.stderr)

    def test_dataset(self):
        with tempfile.TemporaryDirectory() as folder:
            for k in range(3):
                Path(folder, f"{k}.bin").write_bytes(os.urandom(50_000))
            done = run(RHINET, "cache", "run", "-n", 2, "--path", folder, sys.executable,
                       ROOT / "python/examples/dataset.py", folder,
                       PATH=f"{Path(RHINET).parent}{os.pathsep}{os.environ['PATH']}",
                       RHINET_CACHE_SETTLE="0")
        said = done.stdout + done.stderr
        self.assertEqual(done.stdout.count("3 files, 2 epochs, 300000 bytes"), 2, said)
        loads = [int(k) for k in re.findall(r"load_bytes (\d+)", done.stdout)]
        self.assertTrue(loads and max(loads) <= 150_000, said)


class Wheel(Base):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def check_installed(self, where):
        """Imports from there, and only there, and finds a library without being told."""
        done = run(sys.executable, "-c",
                   "import rhinet\nwith rhinet.join() as job: print(job.size, rhinet.__file__)",
                   PYTHONPATH=str(where), RHINET_STARTER="alone",
                   LD_LIBRARY_PATH=str(Path(LIBRARY).parent), RHINET_LIBRARY="")
        self.assertEqual(done.stdout, f"1 {where}/rhinet/__init__.py\n", done.stderr)

    def test_wheel(self):
        made = run(ROOT / "tools/wheel", self.folder)
        wheel = Path(made.stdout.strip())
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            archive.extractall(f"{self.folder}/there")
            record = archive.read(next(k for k in names if k.endswith("RECORD"))).decode()
            for line in record.splitlines():
                path, digest, _ = line.split(",")
                if digest:
                    found = base64.urlsafe_b64encode(hashlib.sha256(archive.read(path)).digest())
                    self.assertEqual(digest, "sha256=" + found.decode().rstrip("="), path)
        self.assertEqual(sorted(names), sorted(k.split(",")[0] for k in record.splitlines()))
        self.assertEqual({k for k in names if k.startswith("rhinet/")},
                         {f"rhinet/{k.name}" for k in (ROOT / "python/rhinet").iterdir()
                          if k.is_file()})
        self.check_installed(f"{self.folder}/there")

    def test_pip(self):
        if python("-m", "pip", "--version").returncode != 0:
            self.skipTest("pip is not installed")
        shutil.copytree(ROOT / "python", f"{self.folder}/tree/python")
        shutil.copy(ROOT / "meson.build", f"{self.folder}/tree")
        done = python("-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps",
                      "--target", f"{self.folder}/there", f"{self.folder}/tree/python")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.check_installed(f"{self.folder}/there")

    def test_source_archive(self):
        done = python("-c", "import rhinet_build as b, sys; print(b.build_sdist(sys.argv[1]))",
                      self.folder, PYTHONPATH=str(ROOT / "python/backend"))
        name = done.stdout.strip().removesuffix(".tar.gz")
        with tarfile.open(f"{self.folder}/{name}.tar.gz") as archive:
            archive.extractall(self.folder)
        done = python("-c", "import rhinet_build as b, sys; print(b.build_wheel(sys.argv[1]))",
                      self.folder, PYTHONPATH=f"{self.folder}/{name}/backend")
        self.assertEqual(done.stdout, f"{name}-py3-none-any.whl\n", done.stderr)

    def test_library_beside_the_installed_package(self):
        place = Path(self.folder, "lib/python3/dist-packages")
        shutil.copytree(ROOT / "python/rhinet", place / "rhinet",
                        ignore=shutil.ignore_patterns("__pycache__"))
        library = Path(self.folder, "lib/any-linux-gnu/librhinet.so.0")
        library.parent.mkdir()
        library.symlink_to(LIBRARY)
        done = run(sys.executable, "-c", "import rhinet; print(rhinet._lib.path)",
                   PYTHONPATH=str(place), RHINET_LIBRARY="")
        self.assertEqual(done.stdout, f"{library}\n", done.stderr)

    def test_meson_installs_all(self):
        listed = re.findall(r"'(rhinet/[^']+)'", (ROOT / "python/meson.build").read_text())
        self.assertEqual(sorted(listed), sorted(f"rhinet/{k.name}" for k in
                                                (ROOT / "python/rhinet").iterdir()
                                                if k.is_file()))


class Cycles(Base):
    def test_nothing_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            done = python("-S", HERE / "cycles.py", CYCLES, RHINET_STARTER="alone",
                          PYTHONDONTWRITEBYTECODE="", PYTHONPYCACHEPREFIX=folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    tap.main()
