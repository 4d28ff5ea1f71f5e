"""The files of a checkpoint, and their checksums."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
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


def verify_sums(directory: Path, unread: Collection[str] = ()) -> set[str]:
    """Compare every file with SHA256SUMS -> the listed files; raises CheckpointError. Of the
    `unread` files only their presence is checked."""
    sums = read_sums(directory)
    for name, expected in sums.items():
        _verify(directory, name, None if name in unread else expected)
    return set(sums)


def read_sums(directory: Path) -> dict[str, str]:
    """The files that SHA256SUMS lists, and their sums; raises CheckpointError."""
    path = directory / SUMS_FILE
    try:
        if not is_regular(path):
            raise CheckpointError(
                f"{directory} holds no {SUMS_FILE}, so its files cannot be verified"
            )
        lines = read_text(path, MOST_TEXT_BYTES).split("\n")
    except FileError as error:
        raise CheckpointError(str(error)) from error
    sums: dict[str, str] = {}
    for line in filter(None, lines):
        expected, _, name = line.partition("  ")
        if not is_file_name(name):
            raise CheckpointError(
                f"{path} has a line that is not '<sha256>  <file>': {shown(line)}"
            )
        sums[name] = expected
    if missing := sorted({CONFIG_FILE, WEIGHTS_FILE} - sums.keys()):
        raise CheckpointError(f"{path} does not list {missing[0]}, which cannot be verified then")
    return sums


def write_sums(directory: Path, files: Mapping[str, Path]) -> None:
    """Write SHA256SUMS in `directory` for files by name."""
    lines = [f"{_sha256(files[name])}  {name}\n" for name in sorted(files)]
    (directory / SUMS_FILE).write_text("".join(lines), encoding="utf-8")


def _verify(directory: Path, name: str, expected: str | None) -> None:
    """Verify that the file is there and has this sum; None: any."""
    file = directory / name
    try:
        if not is_regular(file):
            raise CheckpointError(
                f"{directory} lacks {name}, which {SUMS_FILE} lists"
                + (": it is no regular file" if file.exists() or file.is_symlink() else "")
            )
        found = expected and _sha256(file)
    except (FileError, OSError) as error:
        raise CheckpointError(one_line(error, file)) from error
    if found != expected:
        raise CheckpointError(
            f"{file} does not match {SUMS_FILE}: the file is truncated or was changed"
        )


def one_line(error: Exception, path: Path) -> str:
    return str(error) if isinstance(error, FileError) else f"cannot read {path}: {reason_of(error)}"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class CheckpointError(ValueError):
    """The checkpoint cannot be served; the message gives the value found and the one needed."""


def is_damage(error: BaseException) -> bool:
    """Whether a checkpoint's files are wrong, rather than the system unable to read them."""
    if not isinstance(error, CheckpointError):
        return False
    cause = error.__cause__
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__
    return cause is None
