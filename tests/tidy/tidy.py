#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Style as a test: tidy.py CHECK [ROOT] prints what is wrong, one finding a line, and exits with 1
if there is any; with 77 (skipped) if the tool it needs is missing."""

import sys
from pathlib import Path

import check_documents
import check_errors
import check_format
import check_functions
import check_headers
import check_layers
import check_manual
import check_sizes
import check_symbols
import check_text
from source import Tree

CHECKS = {
    "documents": check_documents.check,
    "errors": check_errors.check,
    "format": check_format.check,
    "functions": check_functions.check,
    "headers": check_headers.check,
    "layers": check_layers.check,
    "manual": check_manual.check,
    "sizes": check_sizes.check,
    "symbols": check_symbols.check,
    "text": check_text.check,
}


def main(arguments):
    if not arguments or arguments[0] not in CHECKS:
        print(f"usage: tidy.py {'|'.join(sorted(CHECKS))} [ROOT]", file=sys.stderr)
        return 2
    root = arguments[1] if len(arguments) > 1 else Path(__file__).resolve().parents[2]
    try:
        findings = list(CHECKS[arguments[0]](Tree(root)))
    except check_format.Missing as reason:
        print(f"skipped: {reason}")
        return 77
    for finding in findings:
        print(finding)
    print(f"{arguments[0]}: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
