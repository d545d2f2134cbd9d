# SPDX-License-Identifier: BSD-3-Clause
"""readme_test.py README RHINET INCLUDE LIBRARY COMPILER...: the program in the README compiles as
it stands and prints what the README says."""

import os
import re
import subprocess
import sys
import tempfile


def main(readme, rhinet, include, library, *compiler):
    with open(readme, encoding="utf-8") as file:
        text = file.read()
    source = re.search(r"```c\n(.*?)```", text, re.DOTALL)[1]
    options, said = re.search(r"^\$ rhinet (run [^\n]*) \./number\n(.*?)```", text,
                              re.DOTALL | re.M).groups()
    options = options.split()
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/number"
        with open(f"{program}.c", "w", encoding="utf-8") as file:
            file.write(source)
        subprocess.run([*compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{include}",
                        f"{program}.c", "-o", program, library,
                        f"-Wl,-rpath,{os.path.dirname(library)}"], check=True)
        done = subprocess.run([rhinet, *options, program], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=100, check=True)
    if sorted(done.stdout.splitlines()) != sorted(said.splitlines()):
        print(f"the README says:\n{said}but the program prints:\n{done.stdout}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
