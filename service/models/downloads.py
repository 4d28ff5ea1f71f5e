"""Download a file in as many calls as it takes, and never more than was announced."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

import httpx2

from model.training.progress_bar import ProgressBar
from service.models.sizing import shown_bytes
from service.models.store import StoreError

_SECONDS = 30.0


@dataclass(frozen=True)
class Download:
    """A file to download. `size`: as announced, or None if the answer announces it."""

    address: str
    path: Path
    sha256: str | None
    size: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def download_rest(wanted: Download, most_bytes: int) -> None:
    """Download what is missing of the file, at most to `most_bytes`. Raises StoreError or OSError.

    After an error the bytes that arrived stay, and the next call goes on behind them.
    """
    path, size = wanted.path, wanted.size
    path.parent.mkdir(parents=True, exist_ok=True)
    start = path.stat().st_size if path.exists() else 0
    if start > (most_bytes if size is None else size):
        path.unlink()
        start = 0
    if not start or start != size:
        _request(wanted, start, most_bytes)
    _require_whole(wanted)


def require_room(directory: Path, name: str, size: int, there: int, most_bytes: int) -> None:
    """Raise StoreError if a file of `size` bytes, of which `there` have arrived, is larger than
    allowed, or if the disk has no room for the rest."""
    if size > most_bytes:
        raise StoreError(
            f"{name} has {shown_bytes(size)}, and at most {shown_bytes(most_bytes)} is allowed "
            "(--max-size)"
        )
    missing, free = size - there, shutil.disk_usage(directory).free
    if missing > free:
        raise StoreError(
            f"{name} needs {shown_bytes(missing)}, and {directory} has {shown_bytes(free)} free"
        )


def require_sum(name: str, path: Path, expected: str) -> None:
    """Raises StoreError if the file has another SHA-256."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise StoreError(f"{name} has the SHA-256 {found}, not {expected}")


def _request(wanted: Download, start: int, most_bytes: int) -> None:
    address = wanted.address
    headers = {"Accept-Encoding": "identity", **wanted.headers}
    ranged = {**headers, "Range": f"bytes={start}-"} if start else headers
    try:
        with httpx2.stream(
            "GET", address, headers=ranged, timeout=_SECONDS, follow_redirects=True
        ) as answer:
            if not start or answer.status_code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                answer.raise_for_status()
                _save(answer, wanted, _first_byte(answer, start), most_bytes)
    except httpx2.HTTPStatusError as error:
        raise StoreError(f"{address} answers {error.response.status_code}") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        reason = str(error) or type(error).__name__
        raise StoreError(
            f"{address} cannot be downloaded ({reason}); the same command goes on"
        ) from error


def _first_byte(answer: httpx2.Response, asked: int) -> int:
    """The place in the file where the answer begins. Raises StoreError."""
    if answer.status_code != HTTPStatus.PARTIAL_CONTENT:
        return 0
    sent = answer.headers.get("Content-Range", "")
    if not sent.startswith(f"bytes {asked}-"):
        raise StoreError(f"{answer.url} sends {sent!r} and not the bytes from {asked}")
    return asked


def _save(answer: httpx2.Response, wanted: Download, start: int, most_bytes: int) -> None:
    """Write the answer behind the first `start` bytes. Raises StoreError if more bytes arrive than
    were announced or allowed."""
    announced = wanted.size
    if announced is None and "Content-Length" in answer.headers:
        announced = start + int(answer.headers["Content-Length"])
    if announced is not None:
        require_room(wanted.path.parent, wanted.address, announced, start, most_bytes)
    most, num_bytes = most_bytes if announced is None else announced, start
    bar = ProgressBar(total=announced, initial=start, unit="B", unit_scale=True, disable=None)
    with wanted.path.open("ab" if start else "wb") as file, bar:
        for chunk in answer.iter_raw():
            num_bytes += len(chunk)
            if num_bytes > most:
                wanted.path.unlink()
                raise StoreError(f"{wanted.address} sends more than {shown_bytes(most)}")
            file.write(chunk)
            bar.update(len(chunk))


def _require_whole(wanted: Download) -> None:
    found = wanted.path.stat().st_size
    if wanted.size is not None and found < wanted.size:
        raise StoreError(
            f"{wanted.address} ended after {found} of {wanted.size} bytes; the same command goes on"
        )
    if wanted.sha256 is not None:
        try:
            require_sum(wanted.address, wanted.path, wanted.sha256)
        except StoreError:
            wanted.path.unlink()
            raise
