"""For browsers: the page at / with its files and numbers below /page/, and the API reference at
/docs, which shows /openapi.json with Swagger UI.

The files need no build, and no request reaches the file system: they are read once, at the start.
Swagger UI's come from the package fastapi-offline, so a browser asks no other host.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from service.documents.formats import SAVE_AS
from service.engine.batch_loop import BatchEntry
from service.http.state import ServerState
from service.models.served import Batches
from service.translation.routing import Routes

ROOT, FOLDER = "/", "/page/"
REFERENCE, REFERENCE_FOLDER = "/docs", "/docs/"
_LIMITS = "/page/limits.json"
_ENGINE, _BATCHES = "/page/engine.txt", "/page/engine.json"
_INDEX = "index.html"
_METHODS = ["GET", "HEAD"]
_OWN_REFERENCE, _SWAGGER_UI = (
    ("start.js", "style.css"),
    ("swagger-ui-bundle.js", "swagger-ui.css"),
)
_PERIOD_SECONDS = 0.2
_RECENT_SECONDS = 1.5
_MOST_ENTRIES = 512
_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}
"""By the suffix of a file's name."""
_HEADERS = {
    "Cache-Control": "no-cache",  # a browser asks again, and mostly gets 304
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'{more}; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TRUSTED_TYPES = "; require-trusted-types-for 'script'; trusted-types 'none'"
_PAGE_POLICY = _POLICY.format(more="") + _TRUSTED_TYPES
_REFERENCE_POLICY = _POLICY.format(more=" data:")
"""Swagger UI's styles hold pictures."""


@dataclass(frozen=True)
class _BrowserFile:
    """A file as it is sent: plain, and compressed for the browsers that take it so."""

    content: bytes
    media_type: str
    etag: str

    @classmethod
    def of(cls, content: bytes, suffix: str) -> _BrowserFile:
        """`suffix`: one of _MEDIA_TYPES."""
        etag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
        return cls(content, _MEDIA_TYPES[suffix], etag)

    @functools.cached_property
    def compressed(self) -> bytes:
        """Made on first use: for all files together it takes a tenth of a second."""
        return gzip.compress(self.content, mtime=0)

    def answer_with(self, policy: str) -> Callable[[Request], Awaitable[Response]]:
        """The endpoint that sends the file under a content policy."""
        common = {**_HEADERS, "Content-Security-Policy": policy, "ETag": self.etag}

        async def answer(request: Request) -> Response:
            headers = dict(common)
            known = request.headers.get("if-none-match", "")
            if self.etag in (tag.strip() for tag in known.split(",")):
                return Response(status_code=304, headers=headers)
            content = self.content
            if "gzip" in request.headers.get("accept-encoding", ""):
                content = self.compressed
                headers["Content-Encoding"] = "gzip"
            return Response(content, headers=headers, media_type=self.media_type)

        return answer


class EngineView:
    """The batches of all engines as small JSON for the page, made at most five times a second for
    all who watch."""

    def __init__(
        self,
        batches: Callable[[float], Awaitable[Batches]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._batches, self._clock = batches, clock
        self._made_seconds = float("-inf")
        self._rendered = b""

    async def render(self) -> bytes:
        """JSON: `models` by name, each a list of workers, each a list of entries [number, rows,
        source tokens, steps, when it joined, when it left or null]; `waiting` sentences by
        model; `now`. Times are monotonic milliseconds."""
        now = self._clock()
        if now - self._made_seconds >= _PERIOD_SECONDS:
            rendered = to_json(await self._describe(now))
            self._made_seconds, self._rendered = now, rendered
        return self._rendered

    async def _describe(self, now: float) -> dict[str, object]:
        batches = await self._batches(now - _RECENT_SECONDS)
        return {
            "now": _milliseconds(now),
            "models": {
                name: [
                    [_numbers(entry) for entry in entries[:_MOST_ENTRIES]] for entries in workers
                ]
                for name, workers in batches.entries.items()
            },
            "waiting": batches.num_waiting,
        }


def _numbers(entry: BatchEntry) -> list[int | None]:
    left = None if entry.left is None else _milliseconds(entry.left)
    counts = (entry.number, entry.num_rows, entry.num_tokens, entry.num_steps)
    return [*counts, _milliseconds(entry.joined), left]


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def make_page_router(state: ServerState, has_engine: bool) -> APIRouter:
    """Make the routes of the page, which reads this server's limits and the pairs that one model
    has. `has_engine`: whether it shows what the engines do."""
    router = APIRouter()
    for path, file in _read_page().items():
        router.add_route(path, file.answer_with(_PAGE_POLICY), _METHODS, include_in_schema=False)

    @functools.lru_cache(maxsize=1)
    def limits_of(routes: Routes) -> Callable[[Request], Awaitable[Response]]:
        told = {**asdict(state.limits), "direct": routes.direct_pairs, "save_as": SAVE_AS}
        content = to_json(told)
        return _BrowserFile.of(content, "json").answer_with(_PAGE_POLICY)

    async def answer_limits(request: Request) -> Response:
        return await limits_of(state.dispatcher.routes)(request)

    router.add_route(_LIMITS, answer_limits, _METHODS, include_in_schema=False)
    if has_engine:
        numbers = _answer_numbers(state.models.render_engines, CONTENT_TYPE_LATEST)
        router.add_route(_ENGINE, numbers, _METHODS, include_in_schema=False)
        batches = _answer_numbers(EngineView(state.models.batches).render, _MEDIA_TYPES["json"])
        router.add_route(_BATCHES, batches, _METHODS, include_in_schema=False)
    return router


def make_reference_router() -> APIRouter:
    """Make the routes of the reference and its files."""
    router = APIRouter()
    for path, file in _read_reference().items():
        endpoint = file.answer_with(_REFERENCE_POLICY)
        router.add_route(path, endpoint, _METHODS, include_in_schema=False)
    return router


def _answer_numbers(
    render: Callable[[], Awaitable[bytes]], media_type: str
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        headers = {"Cache-Control": "no-store", "Content-Type": media_type}
        return Response(await render(), headers=headers)

    return answer


def _read_page() -> Mapping[str, _BrowserFile]:
    web = files("service").joinpath("web")
    return {
        ROOT if name == _INDEX else FOLDER + name: _BrowserFile.of(file.read_bytes(), suffix)
        for name, file in _walk(web)
        if (suffix := name.rpartition(".")[2]) in _MEDIA_TYPES
    }


def _walk(directory: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in directory.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry


@functools.cache
def _read_reference() -> Mapping[str, _BrowserFile]:
    """The files by their paths, cached with their compressed forms."""
    ours, swagger_ui = files("service") / "api_reference", files("fastapi_offline") / "static"
    found = {
        REFERENCE: ours / _INDEX,
        REFERENCE_FOLDER + "icon.svg": files("service") / "web" / "icon.svg",
        **{REFERENCE_FOLDER + name: ours / name for name in _OWN_REFERENCE},
        **{REFERENCE_FOLDER + name: swagger_ui / name for name in _SWAGGER_UI},
    }
    return {
        path: _BrowserFile.of(file.read_bytes(), file.name.rpartition(".")[2])
        for path, file in found.items()
    }
