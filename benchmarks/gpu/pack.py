"""Pack what a GPU machine without network lacks into build/gpu-site.zip: the packages that the
project and its GPU tests need, without those of on-machine.txt.

huggingface-hub stays out although the project needs a newer one: transformers cannot be imported
beside that, and nothing that runs there uses it.

    python -m benchmarks.gpu.pack --python 3.12
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

_ROOT = Path(__file__).parents[2]
_SITE = _ROOT / "build" / "gpu-site.zip"
_TESTING = ("pytest", "hypothesis")
_GLIBC_MINORS = (39, 35, 34, 31, 28, 27, 24, 17)
_PLATFORMS = (
    *(f"manylinux_2_{minor}_x86_64" for minor in _GLIBC_MINORS),
    *("manylinux2014_x86_64", "manylinux1_x86_64", "any"),
)
_LEFT_OUT = re.compile(r"[^/]+/tests?/|babel/locale-data/(?!(root|en|zh|de)(_\w+)?\.dat$)")
"""Tests, and languages that the bundled models do not translate."""


def on_machine() -> set[str]:
    """The packages that the machine has."""
    lines = Path(__file__).with_name("on-machine.txt").read_text(encoding="utf-8").splitlines()
    return {line for line in lines if not line.startswith("#")}


def requirements() -> list[str]:
    """What the project and its GPU tests need besides the packages of the machine."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    testing = project["optional-dependencies"]["test"]
    needed = [*project["dependencies"], *(one for one in testing if one.startswith(_TESTING))]
    return [one for one in needed if normalised(one) not in on_machine()]


def normalised(requirement: str) -> str:
    """The name in a requirement or a wheel's file name, as package indexes write it."""
    name = re.split(r"[^\w.-]|-\d", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def _download(version: str, directory: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:"]
    command += ["--dest", str(directory), "--python-version", version, "--implementation", "cp"]
    for abi in (f"cp{version.replace('.', '')}", "abi3", "none"):
        command += ["--abi", abi]
    for platform in _PLATFORMS:
        command += ["--platform", platform]
    subprocess.run([*command, *requirements()], check=True)


def _files(directory: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files of the wheels that the machine lacks."""
    for path in sorted(directory.glob("*.whl")):
        if normalised(path.name) in on_machine():
            continue
        with ZipFile(path) as wheel:
            for name in wheel.namelist():
                if not _LEFT_OUT.match(name):
                    yield name, wheel.read(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default="3.12", help="the machine's version")
    version = parser.parse_args().python
    _SITE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        _download(version, Path(directory))
        with ZipFile(_SITE, "w", ZIP_DEFLATED) as site:
            for name, content in _files(Path(directory)):
                site.writestr(name, content)
    print(f"{_SITE}: {_SITE.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
