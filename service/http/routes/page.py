"""GET /: the page, and below /page/ its modules, styles, limits and the engines' numbers.

The files need no build: service/web/ is served as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from service.http.browser_files import MEDIA_TYPES, BrowserFile
from service.http.state import Limits

ROOT, FOLDER = "/", "/page/"
_LIMITS = "/page/limits.json"
_ENGINE, _BATCHES = "/page/engine.txt", "/page/engine.json"
_INDEX = "index.html"
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
    limits_file = BrowserFile.of(to_json(asdict(limits)), "json")
    for path, file in {**_read_files(), _LIMITS: limits_file}.items():
        router.add_route(path, file.answer_with(_POLICY), ["GET", "HEAD"], include_in_schema=False)
    if engines is not None:
        numbers = _answer_numbers(engines.render_metrics, CONTENT_TYPE_LATEST)
        router.add_route(_ENGINE, numbers, ["GET", "HEAD"], include_in_schema=False)
        entries = _answer_numbers(engines.render_batches, MEDIA_TYPES["json"])
        router.add_route(_BATCHES, entries, ["GET", "HEAD"], include_in_schema=False)
    return router


def _answer_numbers(
    render: Callable[[], bytes], media_type: str
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        headers = {"Cache-Control": "no-store", "Content-Type": media_type}
        return Response(render(), headers=headers)

    return answer


def _read_files() -> Mapping[str, BrowserFile]:
    web = files("service").joinpath("web")
    return {
        ROOT if name == _INDEX else FOLDER + name: BrowserFile.of(file.read_bytes(), suffix)
        for name, file in _walk(web)
        if (suffix := name.rpartition(".")[2]) in MEDIA_TYPES
    }


def _walk(directory: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in directory.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry
