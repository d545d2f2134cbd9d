#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""packaging_test.py BUILD: what packages are made from, as far as it can be tried without building
them: versions, that every installed file is in exactly one package, the module, the recipe.
Building, installing and removing Debian's is tools/package test."""

import ast
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import tap

BUILD = Path(sys.argv.pop(1)).resolve()
VERSION = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
MODULES = ("/usr/lib/x86_64-linux-gnu/modulecmd.tcl", "/usr/share/modules/libexec/modulecmd.tcl",
           "/usr/lib/modulecmd.tcl")


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=100, stdin=subprocess.DEVNULL, check=False, **more)


class Installed(unittest.TestCase):
    """One tree for all cases, as `make install` leaves it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="packaging-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        done = run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir",
                   cls.folder)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)
        cls.files = sorted("/" + path.relative_to(cls.folder).as_posix()
                           for path in cls.folder.rglob("*") if not path.is_dir())
        data = (BUILD / "packaging" / VERSION).read_text()
        cls.prefix = re.search(r"setenv RHINET_ROOT (\S+)", data)[1]
        cls.library = re.search(r"LD_LIBRARY_PATH (\S+)", data)[1]

    def owners(self, packages, ignored):
        """Each installed file is in one package; each line of a package names a file."""
        for name, patterns in packages.items():
            for pattern in patterns:
                self.assertTrue(self.matching(pattern), f"{name}: {pattern} names nothing")
        for file in self.files:
            owners = [name for name, patterns in packages.items()
                      if any(self.names(pattern, file) for pattern in patterns)]
            if any(self.names(pattern, file) for pattern in ignored):
                self.assertEqual(owners, [], file)
            else:
                self.assertEqual(len(owners), 1, f"{file} is in {owners}")

    def matching(self, pattern):
        return [file for file in self.files if self.names(pattern, file)]

    @staticmethod
    def names(pattern, file):
        """As a shell does it: a star does not go beyond a slash; a folder is all in it."""
        wanted, have = pattern.strip("/").split("/"), file.strip("/").split("/")
        return len(have) >= len(wanted) and all(map(fnmatch.fnmatchcase, have, wanted))

    def test_debian(self):
        packages, absent = {}, [] if (ROOT / "src/provider").is_dir() else ["librhinet-fi"]
        for path in ROOT.glob("debian/*.install"):
            if path.stem in absent:
                continue
            lines = [line.split()[0] for line in path.read_text().splitlines() if line.strip()]
            packages[path.stem] = [re.sub("^usr/lib/\\*", self.library, line) if "usr/lib/*" in line
                                   else re.sub("^usr", self.prefix, line) for line in lines]
        control = (ROOT / "debian/control").read_text()
        self.assertEqual(set(packages) - set(re.findall(r"^Package: (\S+)", control, re.M)), set())
        self.owners(packages, [f"{self.prefix}/share/modulefiles"])

    @unittest.skipUnless(shutil.which("rpmspec"), "rpmspec is not installed")
    def test_rpm(self):
        places = {"_prefix": self.prefix, "_bindir": f"{self.prefix}/bin", "_libdir": self.library,
                  "_datadir": f"{self.prefix}/share", "_mandir": f"{self.prefix}/share/man",
                  "_includedir": f"{self.prefix}/include", "_libexecdir": f"{self.prefix}/libexec"}
        defines = [word for item in places.items() for word in ("--define", " ".join(item))]
        done = run("rpmspec", "-P", *defines, BUILD / "packaging/rhinet.spec",
                   env={**os.environ, "HOME": str(self.folder)})
        self.assertEqual(done.returncode, 0, done.stderr)
        packages = {}
        for name, text in re.findall(r"^%files ?(\S*|-n \S+)\n(.*?)(?=^%|\Z)(?!%license)",
                                     re.sub(r"^%(license|dir).*\n", "", done.stdout, flags=re.M),
                                     re.M | re.DOTALL):
            packages[name or "rhinet"] = text.split()
        self.assertGreaterEqual(len(packages), 5)
        self.owners(packages, [f"{self.prefix}/share/modulefiles"])
        names = run("rpmspec", "-q", "--qf", "%{name} %{version}\n", *defines,
                    BUILD / "packaging/rhinet.spec", env={**os.environ, "HOME": str(self.folder)})
        self.assertIn(f"rhinet {VERSION}", names.stdout.split("\n"))
        self.assertIn(f"rhinet-libs {VERSION}", names.stdout.split("\n"))

    @unittest.skipUnless(any(map(os.path.exists, MODULES)), "environment-modules is not installed")
    def test_module(self):
        command = next(filter(os.path.exists, MODULES))
        folder = f"{self.folder}{self.prefix}/share/modulefiles"
        done = run("tclsh", command, "sh", "load", f"rhinet/{VERSION}",
                   env={"PATH": "/usr/bin:/bin", "MODULEPATH": folder, "HOME": str(self.folder)})
        said = run("sh", "-c", done.stdout + "\necho $PATH; echo $PKG_CONFIG_PATH; echo $MANPATH",
                   env={"PATH": "/usr/bin:/bin"}).stdout.split("\n")
        self.assertEqual(said[0].split(":")[0], f"{self.prefix}/bin", done.stderr)
        self.assertEqual(said[1].split(":")[0], f"{self.library}/pkgconfig")
        self.assertEqual(said[2].split(":")[0], f"{self.prefix}/share/man")

    def test_everything_is_installed(self):
        doc = f"{self.prefix}/share/doc/rhinet"
        for path in [*ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.[ch]"), ROOT / "README.md"]:
            self.assertIn(f"{doc}/{path.relative_to(ROOT)}", self.files)
        for page in ROOT.glob("man/*.[1-8]"):
            self.assertIn(f"{self.prefix}/share/man/man{page.suffix[1:]}/{page.name}", self.files)
        for header in ROOT.glob("include/rhinet/*.h"):
            self.assertIn(f"{self.prefix}/include/rhinet/{header.name}", self.files)
        self.assertIn(f"{self.prefix}/share/bash-completion/completions/rhinet", self.files)


class Recipe(unittest.TestCase):
    """Spack's, beside a Spack that only takes notes."""

    def recipe(self):
        notes = {"version": [], "depends_on": [], "variant": [], "conflicts": [], "license": []}
        spack, package = types.ModuleType("spack"), types.ModuleType("spack.package")
        for name, list_ in notes.items():
            setattr(package, name, lambda *words, _to=list_, **more: _to.append((words, more)))
        package.MesonPackage = object
        sys.modules.update({"spack": spack, "spack.package": package})
        names = {}
        text = (BUILD / "packaging/package.py").read_text()
        ast.parse(text)
        exec(compile(text, "package.py", "exec"), names)  # it is ours
        return names["Rhinet"], notes

    def test_version(self):
        _, notes = self.recipe()
        self.assertEqual([words[0] for words, _ in notes["version"]], ["main", VERSION])

    def test_options(self):
        """What it turns on and off are options of ours, and each has what it needs."""
        recipe, notes = self.recipe()
        options = re.findall(r"^option\('(\w+)'", (ROOT / "meson_options.txt").read_text(), re.M)
        variants = [words[0] for words, _ in notes["variant"]]
        for wanted in ([], variants):
            spec = types.SimpleNamespace(satisfies=lambda what, w=wanted: what[1:] in w)
            said = recipe.meson_args(types.SimpleNamespace(spec=spec))
            for name in variants:
                self.assertIn(name, options)
                self.assertIn(f"-D{name}={'enabled' if wanted else 'disabled'}", said)
        for name in variants:
            needed = [more for _, more in notes["depends_on"] if more.get("when") == f"+{name}"]
            self.assertTrue(needed, name)


class Containerfile(unittest.TestCase):
    TEXT = (ROOT / "packaging/Containerfile").read_text()

    def test_instructions(self):
        text = re.sub(r"^#.*\n", "", self.TEXT, flags=re.M).replace("\\\n", " ")
        words = [line.split()[0] for line in text.split("\n") if line.strip()]
        self.assertEqual(words[0], "FROM")
        self.assertEqual(set(words) - {"FROM", "WORKDIR", "COPY", "RUN", "CMD"}, set())
        for script in re.findall(r"^RUN (.*)$", text, re.M):
            self.assertEqual(run("bash", "-n", "-c", script).stderr, "")

    @unittest.skipUnless(shutil.which("dpkg"), "dpkg is not there")
    def test_libraries_of_the_program(self):
        """The second stage has what the program was linked with, and what it loads."""
        listed = re.search(r"--no-install-recommends (.*?)&&", self.TEXT, re.DOTALL)[1].split()
        needed = re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", BUILD / "rhinet").stdout)
        self.assertTrue(needed)
        for library in needed + ["libfabric.so.1", "libpmix.so.2"]:
            said = run("dpkg", "-S", library).stdout
            owners = set(re.findall(r"^([\w.+-]+)(?::\w+)?: ", said, re.M))
            if owners and not owners & {"libc6", "libgcc-s1"}:
                self.assertTrue(owners & set(listed), f"{library} is in {owners}")


class Package(unittest.TestCase):
    """tools/package, as far as it takes no minutes."""

    def test_says_at_once_what_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("bash", "env", "dirname", "realpath", "id"):
                Path(folder, name).symlink_to(shutil.which(name))
            done = run(ROOT / "tools/package", "build", folder, env={"PATH": folder})
            self.assertEqual(done.returncode, 1)
            self.assertIn("not there: git dpkg-buildpackage; 'tools/setup package'", done.stderr)
            Path(folder, "id").unlink()
            Path(folder, "id").write_text("#!/bin/sh\necho 1000\n")
            Path(folder, "id").chmod(0o755)
            Path(folder, "sh").symlink_to(shutil.which("sh"))
            done = run(ROOT / "tools/package", "test", folder, env={"PATH": folder})
            self.assertEqual(done.returncode, 1)
            self.assertIn("can only be made by root", done.stderr)

    def test_package_takes_the_projects(self):
        """tools/package writes the version of meson.build above an older changelog."""
        done = run(ROOT / "tools/package", "version")
        self.assertEqual((done.returncode, done.stdout), (0, f"{VERSION}\n"), done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "debian").mkdir()
            path = Path(folder) / "debian/changelog"
            path.write_text("rhinet (0.0.1) unstable; urgency=medium\n\n  * Old.\n\n"
                            " -- A <a@example.org>  Mon, 16 Nov 2026 12:00:00 +0000\n")
            for _ in range(2):  # once is enough
                done = run(ROOT / "tools/package", "changelog", folder)
                self.assertEqual(done.returncode, 0, done.stderr)
            found = re.findall(r"^rhinet \((.*?)\)", path.read_text(), re.M)
            self.assertEqual(found, [VERSION, "0.0.1"])


if __name__ == "__main__":
    tap.main()
