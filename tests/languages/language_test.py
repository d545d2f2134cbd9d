# SPDX-License-Identifier: BSD-3-Clause
"""The C++ header and the Fortran module: they compile without a warning, jobs through them do what
is right, and types and constants are those of the C headers."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "support"))
import tap  # noqa: E402

RHINET, LIBRARY = os.environ["TEST_RHINET"], os.environ["TEST_LIBRARY"]
LINK = [LIBRARY, f"-Wl,-rpath,{Path(LIBRARY).parent}"]
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
CPP = os.environ.get("CXX", "g++").split()
MODULE = ROOT / "fortran/rhinet.f90"

# What must not compile, and what the compiler must say.
MISTAKES = {
    "auto t = job.push_start({0, 1, 0}, std::vector<int>(3))": "a temporary would be gone",
    "auto r = box.isend(0, 1, std::vector<int>(3))": "a temporary would be gone",
    "auto r = box.irecv(0, 1, std::vector<int>(3))": "into a temporary is lost",
    "job.pull({0, 1, 0}, constant)": "this memory is written",
    "box.send(0, 1, words)": "only plain data",
    "auto other = job": "deleted",
    "int count = 3; job.push({0, 1, 0}, count)": "",
}


def run(*command):
    return subprocess.run([str(k) for k in command], check=False, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=150)


class Base(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def build(self, *command):
        program = self.folder / "program"
        done = run(*command, "-o", program, *LINK)
        self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def check_jobs(self, program, sizes=(1, 3)):
        for size in sizes:
            done = run(RHINET, "run", "-n", size, "--timeout", 120, program)
            self.assertEqual(sorted(done.stdout.splitlines()),
                             [f"rank {rank} is right" for rank in range(size)],
                             done.stdout + done.stderr)
            self.assertEqual(done.returncode, 0)

    def ask_c(self, words):
        """The values of these expressions in C."""
        source = self.folder / "ask.c"
        lines = "".join(f'printf("%lld\\n", (long long)({word}));\n' for word in words)
        source.write_text("#include <rhinet/dsm.h>\n#include <stdio.h>\n"
                          f"int main(void)\n{{\n{lines}return 0;\n}}\n", encoding="ascii")
        program = self.folder / "ask"
        done = run("cc", f"-I{ROOT}/include", source, "-o", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [int(k) for k in run(program).stdout.split()]


class Cpp(Base):
    def compiled(self, standard, *more):
        return [*CPP, f"-std={standard}", *WARNINGS, f"-I{ROOT}/include", *more,
                HERE / "case.cpp"]

    def test_17(self):
        self.check_jobs(self.build(*self.compiled("c++17")))

    def test_20(self):
        self.check_jobs(self.build(*self.compiled("c++20")), sizes=(2,))

    def test_alone_and_twice(self):
        source = self.folder / "twice.cpp"
        source.write_text("#include <rhinet/rhinet.hpp>\n#include <rhinet/rhinet.hpp>\n")
        for compiler in (CPP, ["clang++-14"]):
            if shutil.which(compiler[0]):
                done = run(*compiler, "-std=c++17", *WARNINGS, f"-I{ROOT}/include",
                           "-fsyntax-only", source)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_mistakes_do_not_compile(self):
        for code, said in MISTAKES.items():
            with self.subTest(code=code):
                done = run(*self.compiled("c++17", "-fsyntax-only", f"-DMISTAKE={code}"))
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(said, done.stderr)


@unittest.skipUnless(shutil.which("gfortran"), "gfortran is not installed")
class Fortran(Base):
    def program(self):
        return self.build("gfortran", "-std=f2008", *WARNINGS, f"-J{self.folder}", MODULE,
                          HERE / "case.f90")

    def test_jobs(self):
        self.check_jobs(self.program())

    def test_types_are_those_of_c(self):
        lines = [k.split() for k in run(self.program(), "offsets").stdout.splitlines()]
        found = {name: int(value) for name, value in lines}
        words = [f"offsetof(struct {name.replace('.', ', ')})" if "." in name
                 else f"sizeof(struct {name})" for name in found]
        self.assertEqual(found, dict(zip(found, self.ask_c(words))))
        members = re.findall(r"^ +(?:integer|type)\([^)]*\) :: (\w+)",
                             "".join(re.findall(r"type, bind\(c\).*?end type", MODULE.read_text(),
                                                re.DOTALL)), re.M)
        self.assertEqual(len([k for k in found if "." in k]), len(members))

    def test_constants_are_those_of_c(self):
        lines = re.findall(r"parameter :: (.*)", MODULE.read_text())
        found = {name: int(value) for line in lines
                 for name, value in re.findall(r"(RH_\w+) = (-?\d+)", line)}
        self.assertGreater(len(found), 40)
        self.assertEqual(found, dict(zip(found, self.ask_c(found))))

    def test_calls_are_those_of_c(self):
        """As many arguments as in the headers, under the same names."""
        text = re.sub(r"/\*.*?\*/", "", "".join(
            (ROOT / "include/rhinet" / k).read_text()
            for k in ("error.h", "version.h", "job.h", "rma.h", "msg.h", "dsm.h")), flags=re.DOTALL)
        module = MODULE.read_text().replace("&\n", "")
        calls = re.findall(r"(?:function|subroutine) (rh_\w+)\((.*?)\) +bind", module)
        self.assertGreater(len(calls), 50)
        for name, arguments in calls:
            declared = re.search(rf"\b{name.removesuffix('_c')}\(([^)]*)\);", text)
            self.assertTrue(declared, name)
            words = [re.search(r"(\w+)$", k.strip())[1] for k in declared[1].split(",")]
            mine = [k.strip().rstrip("_") for k in arguments.split(",") if k.strip()]
            self.assertEqual(mine, [] if words == ["void"] else words, name)


if __name__ == "__main__":
    tap.main()
