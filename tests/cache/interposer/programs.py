# SPDX-License-Identifier: BSD-3-Clause
"""Programs that people have, each as a shell line. $D: a folder with files, the cache's; $O: an
empty folder for output. What is not installed is left out, and counted as left out.

As a program: programs.py DATA OUTPUT RESULTS runs them all and writes what came out as JSON. The
test does that twice, with and without the cache, and compares."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

PYTHON = "/usr/bin/python3"

# name: (needs, line). What is needed: a program, or a module of Python's.
PROGRAMS = {
    "cat": ("cat", "cat $D/text $D/noise"),
    "cat-input": ("cat", "cat < $D/noise"),
    "cp": ("cp", "cp $D/noise $O/a; cp --reflink=never --sparse=always $D/holes $O/b; "
                 "cp -a $D/tree $O/"),
    "dd": ("dd", "dd if=$D/noise bs=10000 skip=3 count=7 status=none; "
                 "dd if=$D/noise bs=4096 iflag=skip_bytes,count_bytes skip=5 count=70000 "
                 "status=none"),
    "tar": ("tar", "tar -cf - -C $D --sort=name --mtime=@0 tree text holes | tar -tvf - ; "
                   "tar -xf $D/tree.tar -C $O"),
    "sha256sum": ("sha256sum", "cd $D && sha256sum text noise tree/* empty"),
    "md5sum-input": ("md5sum", "md5sum < $D/noise"),
    "cksum": ("cksum", "cksum $D/noise $D/text"),
    "sort": ("sort", "sort $D/text; sort -k2 --parallel=2 -S 200k $D/text"),
    "grep": ("grep", "grep -n 'line 9' $D/text; grep -c x -r $D/tree | sort; grep zzz $D/text"),
    "rg": ("rg", "rg -n --no-heading 'line 1.3' $D/text; rg --mmap -c line $D/text; "
                 "rg -c --sort path line $D/tree"),
    "gzip": ("gzip", "gzip -nc $D/text; gzip -dc $D/text.gz"),
    "bzip2": ("bzip2", "bzip2 -c $D/text"),
    "xz": ("xz", "xz -0 -c $D/text"),
    "zstd": ("zstd", "zstd -qc $D/text; zstd -q $D/noise -o $O/noise.zst; zstd -qdc $O/noise.zst"),
    "lz4": ("lz4", "lz4 -qc $D/text"),
    "awk": ("awk", "awk '{n += length($0); w[$2]++} END {print n, length(w)}' $D/text"),
    "sed": ("sed", "sed -n '100,200s/line/row/p' $D/text"),
    "wc": ("wc", "wc $D/text $D/noise; wc -l < $D/text; wc -m $D/utf8"),
    "head-tail": ("tail", "head -n 3 $D/text; tail -n 3 $D/text; tail -c 1000 $D/noise; "
                          "head -c -100 $D/noise; tac $D/text | head -n 5"),
    "head-shared-offset": ("head", "(head -n 1; head -n 1; cat) < $D/text"),
    "read-shared-offset": ("bash", "{ read a; read b; echo \"$a $b\"; head -c 100; } < $D/text; "
                                   "exec 3< $D/text; read -u 3 c; cat <&3 | tail -n 1; echo $c"),
    "od": ("od", "od -A d -t x4 -j 1000 -N 5000 $D/noise"),
    "cmp-diff": ("diff", "cmp $D/noise $D/noise2; diff $D/text $D/text2; cmp $D/noise $D/noise"),
    "split": ("split", "split -b 300000 $D/noise $O/part."),
    "comm-join": ("comm", "comm $D/sorted1 $D/sorted2; join $D/sorted1 $D/sorted2; "
                          "paste $D/sorted1 $D/sorted2; cut -c 1-5 $D/text; uniq -c $D/sorted1"),
    "rev": ("rev", "LC_ALL=C.UTF-8 rev $D/utf8; LC_ALL=C rev $D/text"),
    "python-open": (PYTHON, "$P -c 'import sys, zlib\n"
                            "for name in sys.argv[1:]:\n"
                            "    with open(name, \"rb\") as f:\n"
                            "        f.seek(1000); a = f.read(5000); f.seek(-700, 2)\n"
                            "        print(zlib.crc32(a), zlib.crc32(f.read()), f.tell())\n"
                            "    print(zlib.crc32(open(name, \"rb\", buffering=0).read()))\n"
                            "print(sum(1 for _ in open(sys.argv[1])))' $D/text $D/noise"),
    "python-shutil": (PYTHON, "$P -c 'import shutil, sys\n"
                              "shutil.copyfile(sys.argv[1] + \"/noise\", sys.argv[2] + \"/a\")\n"
                              "shutil.copytree(sys.argv[1] + \"/tree\", sys.argv[2] + \"/t\")' "
                              "$D $O"),
    "python-subprocess": (PYTHON, "$P -c 'import subprocess, sys\n"
                                  "f = open(sys.argv[1], \"rb\"); print(f.readline())\n"
                                  "g = open(sys.argv[1], \"rb\", buffering=0); g.read(777)\n"
                                  "print(subprocess.run([\"head\", \"-c\", \"50\"], stdin=g,\n"
                                  "      capture_output=True).stdout, g.tell())' $D/text"),
    "python-mmap": (PYTHON, "$P -c 'import mmap, sys, zlib\n"
                            "f = open(sys.argv[1], \"rb\")\n"
                            "for way in (mmap.ACCESS_READ, mmap.ACCESS_COPY):\n"
                            "    m = mmap.mmap(f.fileno(), 0, access=way)\n"
                            "    print(len(m), zlib.crc32(m), m.find(b\"zz\"))' $D/noise"),
    "python-multiprocessing": (PYTHON, "$P -c 'import multiprocessing as m, sys, zlib\n"
                                       "def work(k):\n"
                                       "    with open(sys.argv[1], \"rb\") as f:\n"
                                       "        f.seek(k * 1000); return zlib.crc32(f.read(9000))\n"
                                       "with m.get_context(\"fork\").Pool(3) as p:\n"
                                       "    print(p.map(work, range(200)))' $D/noise"),
    "python-threads": (PYTHON, "$P -c 'import os, sys, zlib\n"
                               "from concurrent.futures import ThreadPoolExecutor as T\n"
                               "f = os.open(sys.argv[1], os.O_RDONLY)\n"
                               "with T(4) as p:\n"
                               "    print(list(p.map(lambda k: zlib.crc32(os.pread(f, 5000,"
                               " k * 999)), range(500))))' $D/noise"),
    "python-json": (PYTHON, "$P -c 'import json, sys; print(len(json.load(open(sys.argv[1]))))' "
                            "$D/json"),
    "python-zipfile": (PYTHON, "$P -m zipfile -l $D/zip; $P -m zipfile -e $D/zip $O"),
    "python-import": (PYTHON, "PYTHONPATH=$D PYTHONDONTWRITEBYTECODE=1 $P -c 'import module; "
                              "print(module.VALUE)'"),
    "numpy-load": ("numpy", "$P -c 'import numpy as n, sys; a = n.load(sys.argv[1]); "
                            "print(a.shape, a.sum()); b = n.fromfile(sys.argv[1], n.uint8); "
                            "print(b.sum())' $D/array.npy"),
    "numpy-memmap": ("numpy", "$P -c 'import numpy as n, sys\n"
                              "for mode in (\"r\", \"c\"):\n"
                              "    a = n.load(sys.argv[1], mmap_mode=mode)\n"
                              "    print(a[::7].sum(), a.mean())\n"
                              "m = n.memmap(sys.argv[1], n.uint8, \"r\", 128)\n"
                              "print(m[5000:90000].sum())' $D/array.npy"),
    "numpy-text": ("numpy", "$P -c 'import numpy as n, sys; print(n.loadtxt(sys.argv[1]).sum())' "
                            "$D/numbers"),
    "fork-loader": ("numpy", "$P $T/loader.py $D/samples"),
    "torch-dataloader": ("torch", "$P $T/torch_loader.py $D/samples"),
    "h5py": ("h5py", "$P -c 'import h5py, sys; f = h5py.File(sys.argv[1], \"r\"); "
                     "print(f[\"a\"][10:20].sum(), f[\"b\"][()].mean())' $D/data.h5"),
    "h5dump": ("h5dump", "h5dump -d a -s 0 -c 50 $D/data.h5; h5dump -H $D/data.h5"),
    "sqlite3": ("sqlite3", "sqlite3 -readonly $D/data.db 'select count(*), sum(x) from t'; "
                           "sqlite3 $D/data.db 'select x from t order by y limit 20'"),
    "git": ("git", "git -C $D/repo log --format=%H; git -C $D/repo show --stat HEAD; "
                   "git -C $D/repo fsck 2>&1; git clone -q file://$D/repo $O/clone && "
                   "git -C $O/clone rev-parse HEAD"),
    "fio-psync": ("fio", "fio --name=a --filename=$D/noise --readonly --rw=randread --bs=4k "
                         "--size=1m --ioengine=psync --randseed=7 --minimal | cut -d ';' -f 3-6"),
    "fio-mmap": ("fio", "fio --name=a --filename=$D/noise --readonly --rw=read --bs=64k --size=1m "
                        "--ioengine=mmap --minimal | cut -d ';' -f 3-6"),
    "fio-sync-vsync": ("fio", "for e in sync vsync pvsync pvsync2 posixaio; do fio --name=a "
                              "--filename=$D/noise --readonly --rw=read --bs=16k --size=1m "
                              "--ioengine=$e --minimal | cut -d ';' -f 3-6; done"),
    "fio-uring": ("fio", "fio --name=a --filename=$D/noise --readonly --rw=read --bs=16k --size=1m "
                         "--ioengine=io_uring --minimal | cut -d ';' -f 3-6"),
    "perl": ("perl", "perl -ne '$n += length; $w{$_}++; END { print $n, \" \", scalar(keys %w) }' "
                     "$D/text; perl -e 'open F, \"<\", $ARGV[0]; seek F, 1234, 0; read F, $b, 99; "
                     "print unpack(\"H*\", $b), tell F; sysseek F, 7, 0; sysread F, $b, 50; "
                     "print $b' $D/noise"),
    "rsync": ("rsync", "rsync -a --checksum $D/tree $D/noise $O/; rsync -a --delete $D/tree $O/; "
                       "rsync -rcn --itemize-changes $D/tree/ $O/tree/"),
    "ffmpeg": ("ffmpeg", "ffmpeg -v error -i $D/sound.wav -f md5 -; "
                         "ffmpeg -v error -ss 0.3 -i $D/sound.wav -t 0.2 -f s16le - | md5sum"),
    "imagemagick": ("identify", "identify $D/picture.ppm | cut -d ' ' -f 2-4; "
                                "convert $D/picture.ppm -resize 50% ppm:- | md5sum"),
    "openssl": ("openssl", "openssl dgst -sha1 -r $D/noise; "
                           "openssl enc -base64 -in $D/noise | md5sum"),
    "jq": ("jq", "jq length $D/json"),
    "file": ("file", "cd $D && file text noise text.gz data.h5 picture.ppm sound.wav"),
    "find-xargs": ("find", "cd $D && find tree -type f | sort | xargs -P 2 -n 5 md5sum | sort"),
    "sh-loop": ("dash", "dash -c 'while read -r a b; do n=$((n + 1)); done < $D/sorted1; echo $n; "
                        ". $D/script.sh'"),
    "busybox-static": ("busybox", "busybox md5sum $D/noise; busybox wc < $D/text"),
    "missing-files": ("cat", "cat $D/none; cat $D/tree; wc $D/none/x; head -c 10 $D/secret; "
                             "sort $D/none; $P -c 'open(\"'$D'/none\")'"),
    "writers": ("sed", "cp $D/text $O/t; cp $D/text $D/.own; sed -i s/line/row/ $D/.own; "
                       "wc $D/.own; echo more >> $D/.own; tail -n 2 $D/.own; : > $D/.own; "
                       "wc -c $D/.own; sort -o $D/.own $D/text2; md5sum < $D/.own; rm $D/.own; "
                       "ls $D/.own"),
}


def has(need):
    if need.startswith("/") or shutil.which(need):
        return True
    run = subprocess.run([PYTHON, "-c", f"import {need}"], capture_output=True, check=False)
    return run.returncode == 0


def content(folder):
    """Names, modes and contents below a folder, as text."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_symlink():
            found[str(path.relative_to(folder))] = os.readlink(path)
        elif path.is_file() and ".git" not in path.parts:
            digest = hashlib.sha1(path.read_bytes()).hexdigest()
            found[str(path.relative_to(folder))] = f"{path.stat().st_mode:o} {digest}"
    return found


def counted():
    """Bytes that the stand-in for the cache has served (fake_client.c)."""
    name = os.environ.get("FAKE_COUNT")
    return int.from_bytes(Path(name).read_bytes(), "little") if name else 0


def run_one(line, data, output):
    shutil.rmtree(output, ignore_errors=True)
    os.makedirs(output)
    # Errors carry no folder of this run, which differs; LD_PRELOAD comes back for the line only.
    environment = dict(os.environ, D=data, O=output, P=PYTHON, LC_ALL="C", HOME=output,
                       T=str(Path(__file__).parent), GIT_CONFIG_NOSYSTEM="1",
                       PYTHONDONTWRITEBYTECODE="1")
    before = counted()
    try:
        run = subprocess.run(["bash", "-c", line], env=environment, capture_output=True,
                             timeout=120, check=False, stdin=subprocess.DEVNULL)
        status, out, err = run.returncode, run.stdout, run.stderr
    except subprocess.TimeoutExpired:
        status, out, err = "timed out", b"", b""
    return {"status": status, "out": hashlib.sha1(out).hexdigest(), "length": len(out),
            "head": out[:300].decode(errors="replace"),
            "err": err.decode(errors="replace").replace(data, "$D").replace(output, "$O"),
            "files": content(output), "served": counted() - before}


def main(data, output, results, only):
    names = [k for k in PROGRAMS if (not only or k in only) and has(PROGRAMS[k][0])]
    outcome = {name: run_one(PROGRAMS[name][1], data, output) for name in names}
    Path(results).write_text(json.dumps(outcome), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:4], sys.argv[4:])
