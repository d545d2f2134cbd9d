# SPDX-License-Identifier: BSD-3-Clause
"""unittest that reports in TAP, so that each case is counted by itself and each skip says why.

Use: `tap.main()` in place of `unittest.main()`; `protocol: 'tap'` in meson. Arguments choose cases
by name."""

import sys
import traceback
import unittest


class Result(unittest.TestResult):
    """Prints a line per case when it has ended, with the reason if it did not pass."""

    def __init__(self):
        super().__init__()
        self.number = 0
        self.verdict = ("ok", "")

    def startTest(self, test):
        super().startTest(test)
        self.verdict = ("ok", "")

    def stopTest(self, test):
        super().stopTest(test)
        self.report(test)

    def report(self, test):
        self.number += 1
        word, note = self.verdict
        name = test.id().removeprefix("__main__.").replace("#", "")
        print(f"{word} {self.number} - {name}{note}", flush=True)

    def fail(self, test, error):
        self.verdict = ("not ok", "")
        for line in "".join(traceback.format_exception(*error)).rstrip().split("\n"):
            print(f"# {line}", flush=True)
        if not isinstance(test, unittest.TestCase):
            self.report(test)  # a class that could not be set up has no case of its own

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.fail(test, err)

    def addError(self, test, err):
        super().addError(test, err)
        self.fail(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            print(f"# in {subtest.id()}")
            self.fail(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.verdict = ("ok", f" # SKIP {reason}")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.verdict = ("not ok", "")


def main():
    loader, module = unittest.TestLoader(), sys.modules["__main__"]
    suite = loader.loadTestsFromNames(sys.argv[1:], module) if sys.argv[1:] \
        else loader.loadTestsFromModule(module)
    print(f"1..{suite.countTestCases()}", flush=True)
    result = Result()
    suite.run(result)
    sys.exit(0 if result.wasSuccessful() else 1)
