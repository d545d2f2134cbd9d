# SPDX-License-Identifier: BSD-3-Clause
"""compare_test.py RHINET EXAMPLES SOURCES DOCUMENT MPICC MPIRUN OSHCC: the programs beside which
docs/comparison.md puts the examples. Each MPI program gives the example's answer, the OpenSHMEM
programs compile, and the document's line counts are those of the files. A word "" instead of a
tool: it is not here, and that case is skipped. Reports each case by itself (TAP)."""

import os
import re
import subprocess
import sys
import tempfile

import examples_test  # reads the first two words, as we do

SOURCES, DOCUMENT, MPICC, MPIRUN, OSHCC = sys.argv[3:8]
COMPARED = {"hello": [], "ring": ["300"], "halo": [], "queue": [], "counter": []}
RANKS = 3
WARNINGS = ["-std=gnu17", "-O1", "-Wall", "-Wextra", "-Werror"]


def line_count(path):
    """Lines with code on them: neither empty nor comment alone."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), file.read(),
                      flags=re.DOTALL)
    return sum(bool(line.strip()) for line in text.splitlines())


def counts_of(name):
    return [line_count(f"{SOURCES}/{path}.c")
            for path in (name, f"compare/mpi_{name}", f"compare/shmem_{name}")]


def check_counts():
    with open(DOCUMENT, encoding="utf-8") as file:
        rows = dict(re.findall(r"^\| \[(\w+)\]\S+ \|((?: *\d+ *\|){3})", file.read(), re.M))
    said = {name: [int(number) for number in re.findall(r"\d+", row)]
            for name, row in rows.items()}
    counted = {name: counts_of(name) for name in COMPARED}
    examples_test.case("line counts", said == counted, f"document {said}\nfiles    {counted}")


def compile_with(compiler, source, program):
    done = subprocess.run([compiler, *WARNINGS, source, "-o", program], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=100, check=False)
    return done.returncode == 0, done.stderr


def run_mpi(program, words):
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([MPIRUN, "--oversubscribe", "-np", str(RANKS), program, *words],
                          env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=100, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


def skip(name, tool):
    examples_test.CASES.append(True)
    print(f"ok {len(examples_test.CASES)} - {name} # SKIP no {tool} here", flush=True)


def check_mpi(name, words, folder):
    if not MPICC or not MPIRUN:
        skip(f"{name} with MPI", "mpicc.openmpi and mpirun.openmpi")
        return
    compiled, said = compile_with(MPICC, f"{SOURCES}/compare/mpi_{name}.c", f"{folder}/{name}")
    status, lines = 1, []
    if compiled:
        status, lines, said = run_mpi(f"{folder}/{name}", words)
    is_right = examples_test.RIGHT[(name, *words)]
    examples_test.case(f"{name} with MPI", status == 0 and bool(is_right(lines, RANKS)),
                       (status, lines, said))


def check_shmem(name, folder):
    if not OSHCC:
        skip(f"{name} with OpenSHMEM", "oshcc")
        return
    compiled, said = compile_with(OSHCC, f"{SOURCES}/compare/shmem_{name}.c", f"{folder}/{name}")
    examples_test.case(f"{name} with OpenSHMEM compiles", compiled, said)


def main():
    print(f"1..{1 + 2 * len(COMPARED)}", flush=True)
    check_counts()
    with tempfile.TemporaryDirectory() as folder:
        for name, words in COMPARED.items():
            check_mpi(name, words, folder)
            check_shmem(name, folder)
    return 0 if all(examples_test.CASES) else 1


if __name__ == "__main__":
    sys.exit(main())
