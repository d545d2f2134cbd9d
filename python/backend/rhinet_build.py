# SPDX-License-Identifier: BSD-3-Clause
"""Makes the wheel and the source archive of the package (PEP 517), from the standard library alone.
The version is the project's, from meson.build; in a source archive from its PKG-INFO."""

import base64
import hashlib
import io
import re
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "rhinet"
SOURCES = ("rhinet/*.py", "rhinet/py.typed")
MOMENT = (1980, 1, 1, 0, 0, 0)  # the same files make the same archive


def version():
    for path, pattern in ((ROOT / "PKG-INFO", r"^Version: (\S+)"),
                          (ROOT.parent / "meson.build", r"^ *version: '([^']+)'")):
        found = re.search(pattern, path.read_text(encoding="utf-8"), re.M) \
            if path.exists() else None
        if found:
            return found[1]
    raise RuntimeError(f"no version in {ROOT.parent / 'meson.build'} nor {ROOT / 'PKG-INFO'}")


def metadata():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    said = {key: re.search(rf'^{key} = "([^"]+)"', project, re.M)[1]
            for key in ("description", "requires-python")}
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version()}\n"
            f"Summary: {said['description']}\nLicense: BSD-3-Clause\n"
            f"Requires-Python: {said['requires-python']}\n"
            "Provides-Extra: arrays\nRequires-Dist: numpy; extra == 'arrays'\n")


def sources():
    return sorted(path for pattern in SOURCES for path in ROOT.glob(pattern))


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    info = f"{NAME}-{version()}.dist-info"
    files = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in sources()}
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = (b"Wheel-Version: 1.0\nGenerator: rhinet_build\n"
                              b"Root-Is-Purelib: true\nTag: py3-none-any\n")
    record = "".join(f"{path},sha256={digest(data)},{len(data)}\n"
                     for path, data in files.items()) + f"{info}/RECORD,,\n"
    files[f"{info}/RECORD"] = record.encode()
    name = f"{NAME}-{version()}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, MOMENT)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return name


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def build_sdist(sdist_directory, config_settings=None):
    base = f"{NAME}-{version()}"
    files = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in
             [*sources(), ROOT / "pyproject.toml", Path(__file__).resolve()]}
    files["PKG-INFO"] = metadata().encode()
    with tarfile.open(Path(sdist_directory, f"{base}.tar.gz"), "w:gz") as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(f"{base}/{path}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return f"{base}.tar.gz"
