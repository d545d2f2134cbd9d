# SPDX-License-Identifier: BSD-3-Clause
"""What the file caches of this host hold and have done, as `rhinet cache stat` knows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Optional

from ._errors import REFUSED, Error
from ._library import lib

LIMIT_S = 60


def program() -> str:
    """The program `rhinet`: in the path, or with the library that is in use."""
    found = shutil.which("rhinet")
    if found:
        return found
    library = Path(lib.path).resolve()
    places = (library.parents[1] / "rhinet", library.parents[1] / "bin" / "rhinet",
              *(k / "bin" / "rhinet" for k in library.parents[2:3]))
    for place in places if "/" in lib.path else ():  # else the loader alone knows where it is
        if place.is_file() and os.access(place, os.X_OK):
            return str(place)
    raise FileNotFoundError("the program rhinet is neither in PATH nor beside the library")


def cache_statistics(job: Optional[str] = None, files: int = 10) -> list[dict[str, Any]]:
    """One dictionary for each node's cache on this host, all jobs' or that of one job by its
    number as text; `files` is how many of the most read files each tells of."""
    command = [program(), "cache", "stat", "--json", f"--files={int(files)}"]
    done = subprocess.run([*command, *([f"--job={job}"] if job else [])], check=False,
                          capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        raise Error(REFUSED, done.stderr.strip() or f"{command[0]} cache stat has failed")
    decoder, text, nodes = json.JSONDecoder(), done.stdout.strip(), []
    while text:
        node, end = decoder.raw_decode(text)
        nodes.extend(node if isinstance(node, list) else [node])
        text = text[end:].lstrip()
    return nodes
