"""The files of a checkpoint, and their checksums."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from model.files import (
    FileError,
    is_regular,
    read_text,
    reason_of,
)
from model.values import is_file_name, shown

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
SUMS_FILE = "SHA256SUMS"
SELF_TEST_FILE = "self_test.json"
MOST_TEXT_BYTES = 2**24


def verify_sums(directory: Path) -> set[str]:
    """Compare every file with SHA256SUMS -> the listed files; raises CheckpointError."""
    path = directory / SUMS_FILE
    try:
        if not is_regular(path):
            raise CheckpointError(
                f"{directory} holds no {SUMS_FILE}, so its files cannot be verified"
            )
        lines = read_text(path, MOST_TEXT_BYTES).split("\n")
    except FileError as error:
        raise CheckpointError(str(error)) from error
    listed = {_verify_line(directory, line) for line in lines if line}
    if missing := sorted({CONFIG_FILE, WEIGHTS_FILE} - listed):
        raise CheckpointError(f"{path} does not list {missing[0]}, which cannot be verified then")
    return listed


def write_sums(directory: Path, files: Mapping[str, Path]) -> None:
    """Write SHA256SUMS in `directory` for files by name."""
    lines = [f"{_sha256(files[name])}  {name}\n" for name in sorted(files)]
    (directory / SUMS_FILE).write_text("".join(lines), encoding="utf-8")


def _verify_line(directory: Path, line: str) -> str:
    """Verify one line of SHA256SUMS -> its file name."""
    expected, _, name = line.partition("  ")
    if not is_file_name(name):
        raise CheckpointError(
            f"{directory / SUMS_FILE} has a line that is not '<sha256>  <file>': {shown(line)}"
        )
    file = directory / name
    try:
        if not is_regular(file):
            raise CheckpointError(
                f"{directory} lacks {name}, which {SUMS_FILE} lists"
                + (": it is no regular file" if file.exists() or file.is_symlink() else "")
            )
        found = _sha256(file)
    except (FileError, OSError) as error:
        raise CheckpointError(one_line(error, file)) from error
    if found != expected:
        raise CheckpointError(
            f"{file} does not match {SUMS_FILE}: the file is truncated or was changed"
        )
    return name


def one_line(error: Exception, path: Path) -> str:
    return str(error) if isinstance(error, FileError) else f"cannot read {path}: {reason_of(error)}"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class CheckpointError(ValueError):
    """The checkpoint cannot be served; the message gives the value found and the one needed."""
