"""GET /: the page, and below /page/ its modules, styles, limits and the engines' numbers.

The files are read once, at the start, and a path is looked up among them, so no request reaches the
file system. They need no build: service/web/ is served as it is.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from service.http.state import Limits

ROOT, FOLDER = "/", "/page/"
_LIMITS = "/page/limits.json"
_ENGINE, _BATCHES = "/page/engine.txt", "/page/engine.json"
_INDEX = "index.html"
_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS = {
    "Cache-Control": "no-cache",  # a browser asks again, and mostly gets 304
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class _File:
    """A file as it is sent: plain, and compressed for the browsers that take it so."""

    content: bytes
    compressed: bytes
    media_type: str
    etag: str

    @classmethod
    def of(cls, content: bytes, suffix: str) -> _File:
        etag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
        return cls(content, gzip.compress(content, mtime=0), _TYPES[suffix], etag)


@dataclass(frozen=True)
class EngineNumbers:
    """What the page shows of the engines: numbers in the Prometheus text format, and the entries of
    their batches as JSON (`service.http.engine_view`)."""

    render_metrics: Callable[[], bytes]
    render_batches: Callable[[], bytes]


def make_router(limits: Limits, engines: EngineNumbers | None) -> APIRouter:
    """Make the routes of the page, which reads this server's `limits`; `engines` None: not
    shown."""
    router = APIRouter()
    for path, file in {**_read_files(), _LIMITS: _File.of(to_json(asdict(limits)), "json")}.items():
        router.add_route(path, _answer_with(file), ["GET", "HEAD"], include_in_schema=False)
    if engines is not None:
        numbers = _answer_numbers(engines.render_metrics, CONTENT_TYPE_LATEST)
        router.add_route(_ENGINE, numbers, ["GET", "HEAD"], include_in_schema=False)
        entries = _answer_numbers(engines.render_batches, _TYPES["json"])
        router.add_route(_BATCHES, entries, ["GET", "HEAD"], include_in_schema=False)
    return router


def _answer_numbers(
    render: Callable[[], bytes], media_type: str
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        headers = {"Cache-Control": "no-store", "Content-Type": media_type}
        return Response(render(), headers=headers)

    return answer


def _read_files() -> Mapping[str, _File]:
    web = files("service").joinpath("web")
    return {
        ROOT if name == _INDEX else FOLDER + name: _File.of(file.read_bytes(), suffix)
        for name, file in _walk(web)
        if (suffix := name.rpartition(".")[2]) in _TYPES
    }


def _walk(directory: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in directory.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry


def _answer_with(file: _File) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        headers = {**_HEADERS, "ETag": file.etag}
        known = request.headers.get("if-none-match", "")
        if file.etag in (tag.strip() for tag in known.split(",")):
            return Response(status_code=304, headers=headers)
        content = file.content
        if "gzip" in request.headers.get("accept-encoding", ""):
            content = file.compressed
            headers["Content-Encoding"] = "gzip"
        return Response(content, headers=headers, media_type=file.media_type)

    return answer
