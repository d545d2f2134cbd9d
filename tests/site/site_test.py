#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""site_test.py: tools/site makes a site whose links all lead somewhere, and removes nothing that it
has not made."""

import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import tap

LACKING = [name for name in ("cmark-gfm", "mandoc") if not shutil.which(name)]


def load():
    """tools/site as a module: its parts alone."""
    loader = importlib.machinery.SourceFileLoader("site_tool", str(ROOT / "tools/site"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("site_tool", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


class Page(HTMLParser):
    """What a page links to, the names in it, and tags that are not closed."""

    OPTIONAL = {"p", "li", "dd", "dt", "td", "tr"}  # need not be closed
    EMPTY = {"source", "meta", "link", "input", "br", "hr", "img", "col"}

    def __init__(self, text):
        super().__init__()
        self.links, self.names, self.open, self.wrong = [], set(), [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.links += [attrs[key] for key in ("href", "src") if key in attrs]
        if "id" in attrs:
            if attrs["id"] in self.names:
                self.wrong.append(f"two have the name {attrs['id']}")
            self.names.add(attrs["id"])
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.EMPTY:  # <br/>
            return
        while self.open and self.open[-1] != tag and self.open[-1] in self.OPTIONAL:
            self.open.pop()
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes nothing")


@unittest.skipIf(LACKING, f"not installed: {', '.join(LACKING)}")
class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="site-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.made = cls.make(cls.folder / "site")
        cls.pages = {path.relative_to(cls.folder / "site").as_posix():
                     Page(path.read_text(encoding="utf-8"))
                     for path in (cls.folder / "site").rglob("*.html")}

    @staticmethod
    def make(folder, **more):
        return subprocess.run([sys.executable, "-B", ROOT / "tools/site", folder], text=True,
                              capture_output=True, timeout=300, check=False, **more)

    def test_made(self):
        self.assertEqual((self.made.returncode, self.made.stderr), (0, ""))
        for path in ROOT.glob("docs/*.md"):
            name = "index" if path.name == "README.md" else path.stem
            self.assertIn(f"{name}.html", self.pages)
        self.assertIn("about/README.html", self.pages)
        self.assertIn("man/rhinet-run.1.html", self.pages)

    def test_links(self):
        """Each leads to a file of the site, and to a name in it; none to another machine."""
        self.assertGreater(sum(len(page.links) for page in self.pages.values()), 1000)
        for name, page in self.pages.items():
            for link in page.links:
                if link.startswith(("http:", "https:", "mailto:")):
                    continue
                path, _, fragment = link.partition("#")
                there = os.path.join(os.path.dirname(name), path) if path else name
                there = os.path.normpath(there)
                self.assertTrue((self.folder / "site" / there).is_file(), f"{name}: {link}")
                if fragment:
                    self.assertIn(fragment, self.pages[there].names, f"{name}: {link}")

    def test_nothing_is_fetched(self):
        for name in self.pages:
            text = (self.folder / "site" / name).read_text(encoding="utf-8")
            self.assertNotRegex(text, r'(?:src|<link[^>]*href)="https?:', name)

    def test_well_formed(self):
        for name, page in self.pages.items():
            self.assertEqual((name, page.wrong), (name, []))

    def test_manual_pages_refer_to_each_other(self):
        self.assertIn("rhinet-node.1.html", self.pages["man/rhinet-run.1.html"].links)

    def test_search(self):
        text = (self.folder / "site/index.js").read_text(encoding="utf-8")
        pages = json.loads(text.removeprefix("const PAGES = ").rstrip(";\n"))
        found = [page[0] for page in pages if "about to open it, use rh_segment_wait" in page[2]]
        self.assertEqual(found, ["errors-library.html"])
        for page in pages:
            self.assertIn(page[0], self.pages)

    def test_again(self):
        """What was made is replaced; what somebody else has put there stays."""
        folder = self.folder / "again"
        self.assertEqual(self.make(folder).returncode, 0)
        (folder / "theirs").write_text("x")
        (folder / "man/theirs").write_text("x")
        (folder / "empty").mkdir()
        (folder / "old.html").write_text("x")
        with open(folder / ".rhinet-site", "a", encoding="utf-8") as file:
            file.write("old.html\nold/er.html\n")
        (folder / "cache.html").write_text("x")
        self.assertEqual(self.make(folder).returncode, 0)
        self.assertTrue((folder / "theirs").exists() and (folder / "man/theirs").exists())
        self.assertTrue((folder / "empty").exists())
        self.assertFalse((folder / "old.html").exists())
        self.assertGreater((folder / "cache.html").stat().st_size, 1000)

    def test_refuses_another_folder(self):
        folder = self.folder / "theirs"
        folder.mkdir()
        (folder / "letter").write_text("dear")
        done = self.make(folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not empty, and no site", done.stderr)
        self.assertEqual([path.name for path in folder.iterdir()], ["letter"])
        done = self.make(folder / "letter")
        self.assertIn("is not a folder", done.stderr)

    def test_refuses_a_list_that_leads_out(self):
        folder = self.folder / "lying"
        folder.mkdir()
        (self.folder / "victim").write_text("x")
        (folder / "kept.html").write_text("x")
        (folder / ".rhinet-site").write_text("kept.html\n../victim\n")
        done = self.make(folder)
        self.assertIn("outside of the folder", done.stderr)
        self.assertTrue((self.folder / "victim").exists() and (folder / "kept.html").exists())

    def test_missing_tool(self):
        done = self.make(self.folder / "none", env={"PATH": "/nonexistent"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("tools/setup", done.stderr)
        self.assertFalse((self.folder / "none").exists())

    def test_pictures(self):
        """They go along; what is elsewhere is refused, as readers' browsers would fetch it."""
        tool = load()
        site = tool.Site()
        site.add("docs/x.md", "x.html", "X", '<img alt="a" src="../LICENSE">')
        site.link_all()
        self.assertEqual(site.files["media/LICENSE"], (ROOT / "LICENSE").read_bytes())
        self.assertIn('src="media/LICENSE"', site.bodies["x.html"])
        for picture in ("gone.svg", "https://example.org/a.png", "../../../etc/passwd"):
            site = tool.Site()
            site.add("docs/x.md", "x.html", "X", f'<img src="{picture}">')
            with self.assertRaisesRegex(tool.Wrong, "not a file of the tree"):
                site.link_all()

    def test_broken_link(self):
        tool = load()
        site = tool.Site()
        site.add("docs/x.md", "x.html", "X", '<a href="gone.md">x</a>')
        with self.assertRaisesRegex(tool.Wrong, "docs/x.md: links to gone.md, which is not there"):
            site.link_all()


if __name__ == "__main__":
    tap.main()
