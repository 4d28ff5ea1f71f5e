"""Download a file in as many calls as it takes."""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from pathlib import Path

import httpx2
from tqdm import tqdm

from service.model_store import StoreError

_SECONDS = 30.0


def download_rest(address: str, path: Path, sha256: str | None, headers: dict[str, str]) -> None:
    """Download the rest of a file that may be there in part. Raises StoreError or OSError."""
    path.parent.mkdir(exist_ok=True)
    size = path.stat().st_size if path.exists() else 0
    headers = {"Accept-Encoding": "identity", **headers}
    ranged = {**headers, "Range": f"bytes={size}-"} if size else headers
    stream = httpx2.stream("GET", address, headers=ranged, timeout=_SECONDS, follow_redirects=True)
    try:
        with stream as answer:
            if not size or answer.status_code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                answer.raise_for_status()
                is_rest = answer.status_code == HTTPStatus.PARTIAL_CONTENT
                _save(answer, path, size if is_rest else 0)
    except httpx2.HTTPStatusError as error:
        raise StoreError(f"{address} answers {error.response.status_code}") from error
    except httpx2.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise StoreError(
            f"{address} cannot be downloaded ({reason}); the same command goes on"
        ) from error
    if sha256 is not None:
        try:
            require_sum(address, path, sha256)
        except StoreError:
            path.unlink()
            raise


def require_sum(name: str, path: Path, expected: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise StoreError(f"{name} has the SHA-256 {found}, not {expected}")


def _save(answer: httpx2.Response, path: Path, size: int) -> None:
    total = size + int(answer.headers.get("Content-Length", 0)) or None
    bar = tqdm(total=total, initial=size, unit="B", unit_scale=True, disable=None)
    with path.open("ab" if size else "wb") as file, bar:
        for chunk in answer.iter_raw():
            file.write(chunk)
            bar.update(len(chunk))
