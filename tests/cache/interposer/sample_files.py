# SPDX-License-Identifier: BSD-3-Clause
"""A folder of files for programs to read, the same for each seed."""

import gzip
import json
import os
import random
import subprocess
import tarfile
import wave
import zipfile
from pathlib import Path

PYTHON = "/usr/bin/python3"

SCIENCE = """
import sys
try:
    import numpy
except ImportError:
    sys.exit()
chance = numpy.random.default_rng(1)
folder = sys.argv[1]
numpy.save(folder + "/array.npy", chance.random((300, 200)))
for k in range(24):
    numpy.save(f"{folder}/samples/{k}.npy", chance.random((3, 32, 32)))
try:
    import h5py
except ImportError:
    sys.exit()
with h5py.File(folder + "/data.h5", "w") as file:
    file.create_dataset("a", data=chance.integers(0, 99, 20000), chunks=(1000,), compression="gzip")
    file.create_dataset("b", data=chance.random((50, 60)))
"""

GIT = "git init -q repo && cd repo && for i in 1 2 3; do cp ../text file$i && " \
      "echo $i >> file$i && git add . && " \
      "git -c user.name=a -c user.email=a@b commit -qm $i; done; git gc -q"


def make_texts(folder, chance):
    lines = [f"line {k} {chance.randrange(1000)} {'x' * (k % 50)}" for k in range(20000)]
    (folder / "text").write_text("\n".join(lines) + "\n")
    lines[7000] = "another"
    (folder / "text2").write_text("\n".join(lines))
    (folder / "sorted1").write_text("".join(sorted(f"{k} a\n" for k in range(0, 3000, 2))))
    (folder / "sorted2").write_text("".join(sorted(f"{k} b\n" for k in range(0, 3000, 3))))
    (folder / "numbers").write_text("".join(f"{k} {k * k}\n" for k in range(2000)))
    (folder / "utf8").write_text("".join(f"zeile {k} äöü€𝄞 {k}\n" for k in range(3000)))
    (folder / "json").write_text(json.dumps([{"k": k, "v": str(k) * 5} for k in range(5000)]))
    (folder / "script.sh").write_text("echo from a script\n")
    (folder / "module.py").write_text("VALUE = 'from the cache'\n")


def make_data(folder, chance):
    noise = bytearray(chance.randbytes(2_345_678))
    (folder / "noise").write_bytes(noise)
    noise[1_000_000] ^= 1
    (folder / "noise2").write_bytes(noise)
    (folder / "empty").touch()
    (folder / "secret").write_text("nobody's")
    (folder / "secret").chmod(0)
    with open(folder / "holes", "wb") as file:
        file.write(b"begin")
        file.seek(1_000_000)
        file.write(b"end")
    (folder / "tree").mkdir()
    for k in range(30):
        (folder / "tree" / f"file{k}").write_bytes(b"line\n" + chance.randbytes(k * k * 100))
    os.symlink("file3", folder / "tree" / "link")
    (folder / "samples").mkdir()
    (folder / "samples" / "long").write_bytes(chance.randbytes(24 * 4096))


def make_formats(folder, chance):
    (folder / "text.gz").write_bytes(gzip.compress((folder / "text").read_bytes(), mtime=0))
    with tarfile.open(folder / "tree.tar", "w") as file:
        file.add(folder / "tree", "tree")
    with zipfile.ZipFile(folder / "zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.write(folder / "text", "text")
        file.write(folder / "noise", "noise")
    with wave.open(str(folder / "sound.wav"), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(44100)
        file.writeframes(chance.randbytes(44100 * 4))
    (folder / "picture.ppm").write_bytes(b"P6 200 100 255\n" + chance.randbytes(60000))
    rows = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) " \
           "insert into t select i, i * 7919 % 5003 from n;"
    for command in (["sqlite3", folder / "data.db", "create table t (x, y); " + rows],
                    ["bash", "-c", GIT], [PYTHON, "-c", SCIENCE, str(folder)]):
        try:
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        except FileNotFoundError:
            pass  # then its test is left out too


def make(folder, seed=1):
    chance = random.Random(seed)
    folder = Path(folder)
    folder.mkdir(parents=True)
    make_texts(folder, chance)
    make_data(folder, chance)
    make_formats(folder, chance)
