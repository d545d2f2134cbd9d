#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every command and code block of docs/*.md, README*.md: documents_test.py SOURCE BUILD [NAME...]

BUILD - means that rhinet is installed on this machine: nothing is taken from a build folder, and
documents that name one are not for this.

Each document has a folder of its own, in which its blocks run in order against one installed tree;
what a block exports, and where it goes, holds for those that follow. Documents run beside each
other. blocks.py tells how blocks are written."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import blocks as markdown

COMMAND_LIMIT_S = 120  # only a hang takes that long
IN_SIGHT = ("build", "docs", "examples", "man", "python", "tests", "tools")  # of the source tree
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-unused-parameter"]
LOOSE = WARNINGS + ["-Wno-unused-result", "-Wno-implicit-fallthrough"]


class Failure(Exception):
    """A block does not do what the document says."""


class Tree:
    """What is installed, and the environment of somebody who has installed it."""

    def __init__(self, source, build, folder):
        self.source, self.build = source, build
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir",
                        folder], check=True, stdout=subprocess.DEVNULL, timeout=120)
        packages = [p for p in Path(folder).rglob("pkgconfig") if (p / "rhinet.pc").exists()]
        if len(packages) != 1:
            raise Failure(f"rhinet.pc is installed {len(packages)} times")
        library = packages[0].parent
        prefix = next(p.parent for p in Path(folder).rglob("bin") if (p / "rhinet").exists())
        modules = [str(p) for p in prefix.rglob("*-packages")] + [str(source / "python")]
        self.environment = {
            "HOME": folder, "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1",
            "PATH": f"{prefix / 'bin'}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "PKG_CONFIG_PATH": str(packages[0]), "PKG_CONFIG_SYSROOT_DIR": folder,
            "LD_LIBRARY_PATH": str(library), "MANPATH": f"{prefix / 'share/man'}:",
            "PYTHONPATH": ":".join(modules), "PYTHONDONTWRITEBYTECODE": "1",
            "CPATH": str(prefix / "include"), "LIBRARY_PATH": str(library)}
        for name in ("CCACHE_DIR", "CCACHE_BASEDIR", "TMPDIR"):
            if name in os.environ:
                self.environment[name] = os.environ[name]


class Machine:
    """The same where rhinet is installed already, by packages say."""

    def __init__(self, source):
        self.source, self.build = source, source / "build"
        self.environment = {"HOME": "/tmp", "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1",
                            "PATH": os.environ.get("PATH", "/usr/bin:/bin")}


class Document:
    """One document while it is tried."""

    def __init__(self, tree, path):
        self.tree, self.path = tree, path
        self.run, self.left_out, self.failures, self.seconds = 0, [], [], 0.0

    def call(self, arguments, text=None):
        """Status and output of a program in the document's folder; all that it started ends."""
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                arguments, cwd=self.folder, env=self.tree.environment, stdout=output,
                stderr=subprocess.STDOUT, stdin=subprocess.PIPE, start_new_session=True)
            self.groups.append(process.pid)
            try:
                process.communicate((text or "").encode(), timeout=COMMAND_LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise Failure(f"not done after {COMMAND_LIMIT_S} s") from None
            output.seek(0)
            return process.returncode, output.read().decode(errors="replace")

    def keep(self, block):
        name = block.marks["file"]
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise Failure(f"file: {name}: is not a name in the document's folder")
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(block.text, encoding="utf-8")

    def compile(self, block):
        """A program or file of C as it is, a fragment inside a function."""
        text = block.text
        is_whole = re.search(r"^\w[\w *]+\w\([^;{]*\)\n?\s*\{\n", text, re.M) is not None
        if not is_whole:
            text = ("#include <rhinet/dsm.h>\n#include <rhinet/dsm_pages.h>\n"
                    "#include <rhinet/msg.h>\n#include <rhinet/rma.h>\n#include <stdio.h>\n"
                    "#include <stdlib.h>\n#include <string.h>\n"
                    + "\n".join(re.findall(r"^#include .*$", text, re.M)) + "\n"
                    + "int fragment(void);\nint fragment(void)\n{\n"
                    + block.marks.get("before", "")
                    + f'\n#line {block.line + 1} "{self.path.name}"\n'
                    + re.sub(r"^#include .*$", "", text, flags=re.M) + "\nreturn 0;\n}\n")
        status, output = self.call(["cc", "-std=gnu17", "-fsyntax-only", *LOOSE, "-x", "c", "-"],
                                   text)
        if status:
            raise Failure("is not C:\n" + output)

    def console(self, block):
        """All commands of a block in one shell, each with its output in a file of its own."""
        commands = block.commands()
        script = ["set -o pipefail", f"cd {self.folder}", "[ ! -e .state ] || . ./.state"]
        for index, command in enumerate(commands):
            place = self.folder / f".output.{index}"
            (place.parent / (place.name + ".status")).unlink(missing_ok=True)
            script += ["{", command.text, f"}} >{place} 2>&1 </dev/null; echo $? >{place}.status"]
        script.append(f"{{ export -p; printf 'cd %q\\n' \"$PWD\"; }} >{self.folder}/.state")
        status, output = self.call(["bash", "-c", "\n".join(script)])
        for index, command in enumerate(commands):
            place = self.folder / f".output.{index}"
            try:
                ended = int((place.parent / (place.name + ".status")).read_text())
            except (FileNotFoundError, ValueError):
                raise Failure(f"line {command.line}: {command.text}\ndid not run:\n{output}") \
                    from None
            self.compare(block, command, index == len(commands) - 1, ended,
                         place.read_text(errors="replace").split("\n"))
        if status:
            raise Failure(output)

    def compare(self, block, command, is_last, ended, output):
        if output and not output[-1]:
            output.pop()
        wanted = int(block.marks.get("status", 0)) if is_last else 0
        shown = "\n".join(f"  | {line}" for line in output[-40:])
        if ended != wanted:
            raise Failure(f"line {command.line}: $ {command.text}\nended with status {ended}, "
                          f"not {wanted}, and printed\n{shown}")
        agrees = markdown.matches_any_order if "any order" in block.marks else markdown.matches
        if command.output and not agrees(command.output, output):
            written = "\n".join(f"  | {line}" for line in command.output)
            raise Failure(f"line {command.line}: $ {command.text}\nprints\n{shown}\n"
                          f"but the document says\n{written}")

    def missing(self, block):
        wanted = [name.strip() for name in block.marks.get("needs", "").split(",") if name.strip()]
        return [name for name in wanted if not shutil.which(name)]

    def try_block(self, block):
        reason = block.marks.get("not run")
        missing = self.missing(block)
        if missing:
            reason = f"{', '.join(missing)} not installed"
        if reason:
            self.left_out.append((block.line, reason))
            return
        language = block.language
        if "file" in block.marks:
            self.keep(block)
        if language == "console":
            self.console(block)
        elif language == "c":
            self.compile(block)
        elif language in ("cpp", "c++"):
            self.check_by(["g++", "-std=c++20", "-fsyntax-only", *LOOSE, "-x", "c++", "-"], block)
        elif language == "python":
            self.check_by(["python3", "-c", "import ast, sys; ast.parse(sys.stdin.read())"]
                          if "file" in block.marks else ["python3", "-"], block)
        elif language in ("", "text"):
            markdown.check_text(block)
            return
        elif "file" not in block.marks:
            raise Failure(f"nobody can tell what to do with ```{language}: name it by "
                          "<!-- file: NAME -->, or say <!-- not run: why -->")
        self.run += 1

    def check_by(self, arguments, block):
        status, output = self.call(arguments, block.text)
        if status:
            raise Failure(output)

    def try_all(self):
        start = time.monotonic()
        self.groups = []
        with tempfile.TemporaryDirectory(prefix="documents-", ignore_cleanup_errors=True) as folder:
            self.folder = Path(folder)
            for name in IN_SIGHT:
                place = self.tree.build if name == "build" else self.tree.source / name
                if place.exists():
                    (self.folder / name).symlink_to(place)
            try:
                self.try_each()
            finally:
                for group in self.groups:
                    try:
                        os.killpg(group, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
        self.seconds = time.monotonic() - start
        return self

    def try_each(self):
        try:
            text = self.path.read_text(encoding="utf-8")
            # A document that has no console block yet was written before there were any.
            is_strict = self.path.parent != self.tree.source or "```console" in text
            found = markdown.parse(text, is_strict)
        except markdown.Mistake as mistake:
            self.failures.append(str(mistake))
            return
        for block in found:
            try:
                self.try_block(block)
            except (Failure, markdown.Mistake) as failure:
                self.failures.append(f"the block at line {block.line}: {failure}")


def documents(source):
    return sorted(source.glob("docs/*.md")) + sorted(source.glob("README*.md"))


def report(number, document, source):
    name = document.path.relative_to(source)
    for line, reason in document.left_out:
        print(f"# {name}:{line}: not run: {reason}")
    for failure in document.failures:
        print("\n".join(f"# {name}: {line}" for line in failure.split("\n")))
    print(f"# {name}: {document.run} blocks run, {len(document.left_out)} not run, "
          f"{document.seconds:.1f} s")
    print(f"{'not ok' if document.failures else 'ok'} {number} - {name}", flush=True)


def main(source, build, *names):
    source = Path(source).resolve()
    paths = [p for p in documents(source) if not names or p.name in names]
    print(f"1..{len(paths)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="documents-tree-") as folder:
        tree = Machine(source) if build == "-" else Tree(source, Path(build).resolve(), folder)
        with ThreadPoolExecutor(2) as pool:
            results = [pool.submit(Document(tree, path).try_all) for path in paths]
            done = []
            for number, result in enumerate(results, 1):
                done.append(result.result())
                report(number, done[-1], source)
    print(f"# {sum(d.run for d in done)} blocks run, {sum(len(d.left_out) for d in done)} not run")
    return 1 if any(d.failures for d in done) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
