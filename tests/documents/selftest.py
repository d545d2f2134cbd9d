#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The runner of documents, run on documents that are wrong: each must be found."""

import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import blocks
import documents_test
import tap


class Blocks(unittest.TestCase):
    def mistake(self, text):
        with self.assertRaises(blocks.Mistake) as raised:
            for block in blocks.parse(text):
                blocks.check_text(block) if block.language == "text" else block.commands()
        return str(raised.exception)

    def test_commands(self):
        block, = blocks.parse("a\n\n```console\n$ one \\\n  two\nout\n\n$ for\n> done\n```\n")
        first, second = block.commands()
        self.assertEqual((first.text, first.output, first.line), ("one \\\n  two", ["out"], 4))
        self.assertEqual((second.text, second.output), ("for\ndone", []))

    def test_marks(self):
        text = ("<!-- needs: a, b\nany order -->\n```console\n$ x\n```\n"
                "<!-- for people -->\n```c\n```\n")
        first, second = blocks.parse(text)
        self.assertEqual(first.marks, {"needs": "a, b", "any order": True})
        self.assertEqual(second.marks, {})

    def test_a_mark_is_for_the_next_block_only(self):
        text = "<!-- not run: why -->\nsome words\n\n```console\n$ x\n```\n"
        self.assertEqual(blocks.parse(text)[0].marks, {})

    def test_program_is_named_by_who_compiles_it(self):
        text = "```c\nint main(void)\n```\n```console\n$ cc number.c -o number\n```\n"
        self.assertEqual(blocks.parse(text)[0].marks, {"file": "number.c"})

    def test_mistakes(self):
        for text, said in (
                ("x\n\n    rhinet run\n", "indented"),
                ("1. a\n\n       rhinet run\n", "indented"),
                ("- a\n\nb\n\n    rhinet run\n", "indented"),
                ("```text\nrhinet run -n 2 ./a\n```\n", "a block that is not run"),
                ("```console\nx\n```\n", "line that has $"),
                ("```c\n", "does not end"),
                ("<!-- not run: -->\n```c\n```\n", "says nothing"),
                ("<!-- not run\n", "does not end")):
            with self.subTest(said):
                self.assertIn(said, self.mistake(text))

    def test_a_list_is_no_block(self):
        self.assertEqual(blocks.parse("- a\n\n    more of a\n\n1. b\n   c\n\n   d\n\nend\n"), [])
        self.assertEqual(blocks.parse("a\n    of a\n\n- b\n    - c\n\n      d\n"), [])

    def test_output(self):
        self.assertTrue(blocks.matches(["a ... b", "..."], ["a x b", "c"]))
        self.assertTrue(blocks.matches(["..."], []))
        self.assertFalse(blocks.matches(["a"], ["a", "b"]))
        self.assertFalse(blocks.matches(["a.c"], ["abc"]))
        self.assertTrue(blocks.matches_any_order(["a ...", "a 1"], ["a 1", "a 2"]))
        self.assertFalse(blocks.matches_any_order(["a", "b"], ["a", "a"]))
        self.assertFalse(blocks.matches_any_order(["a"], ["a", "b"]))
        self.assertTrue(blocks.matches_any_order(["b", "..."], ["a", "b"]))


class Tree:
    """One without anything installed."""

    def __init__(self, folder):
        self.source = self.build = Path(folder)
        self.environment = dict(os.environ)


def is_running(state):
    try:
        return state.read_text().split()[2] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Documents(unittest.TestCase):
    def tried(self, text):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "docs").mkdir()
            path = Path(folder) / "docs/a.md"
            path.write_text(text)
            return documents_test.Document(Tree(folder), path).try_all()

    def test_good(self):
        done = self.tried("```console\n$ export A=1; mkdir b; cd b\n```\n"
                          "```console\n$ echo $A ${PWD##*/}\n1 b\n```\n"
                          "<!-- not run: why -->\n```console\n$ false\n```\n"
                          "<!-- needs: no-such-program -->\n```console\n$ false\n```\n"
                          "<!-- status: 3 -->\n```console\n$ (exit 3)\n```\n"
                          "<!-- file: x -->\n```ini\ny\n```\n")
        self.assertEqual(done.failures, [])
        self.assertEqual((done.run, done.left_out),
                         (4, [(9, "why"), (13, "no-such-program not installed")]))

    def test_bad(self):
        for text, said in (("```console\n$ false\n```\n", "ended with status 1"),
                           ("```console\n$ false; true\n$ false\n```\n", "line 3: $ false"),
                           ("```console\n$ echo a\nb\n```\n", "but the document says"),
                           ("<!-- status: 1 -->\n```console\n$ true\n```\n", "status 0, not 1"),
                           ("```console\n$ exit 0\n```\n", "did not run"),
                           ("```c\nint f(void)\n{\n    return g();\n}\n```\n", "is not C"),
                           ("```python\nraise SystemExit(1)\n```\n", "block at line 1"),
                           ("```ini\nx\n```\n", "nobody can tell"),
                           ("<!-- file: ../x -->\n```ini\nx\n```\n", "is not a name in")):
            with self.subTest(said):
                self.assertIn(said, "\n".join(self.tried(text).failures))

    def test_nothing_stays(self):
        done = self.tried("```console\n$ sleep 1000 & echo $! > pid; cat pid\n...\n$ cp pid "
                          f"{tempfile.gettempdir()}/documents-pid-{os.getpid()}\n```\n")
        kept = Path(f"{tempfile.gettempdir()}/documents-pid-{os.getpid()}")
        number = int(kept.read_text())
        kept.unlink()
        self.assertEqual(done.failures, [])
        state, end = Path(f"/proc/{number}/stat"), time.monotonic() + 60
        while is_running(state):
            self.assertLess(time.monotonic(), end, "what a block has started is still there")
            time.sleep(0.01)


if __name__ == "__main__":
    tap.main()
