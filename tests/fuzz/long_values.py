"""Every field of every request model, and every header that the server reads, with long values.

    python -m tests.fuzz.long_values

sends each at a quarter, a half and the whole of 900 KB, and shows what took the most CPU time, and
what took more than its share at the greater length. The table names each model once, so that a new
field is sent by itself, and a new model fails test_long_values.py until it stands here.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx

import service
from service.http.bodies import FORM, JSON, MULTIPART
from service.http.models import RequestModel
from service.http.routes import deepl, glossaries, google
from service.http.routes.deepl import GlossaryRequest
from service.http.routes.files import FileRequest
from service.http.routes.libretranslate import DetectRequest, SuggestRequest
from service.http.routes.next_words import NextWordsRequest
from service.http.routes.small_apis import DeepLXRequest, ImmersiveRequest
from service.http.schemas import TranslateRequest
from tests.fuzz.tiny_server import tiny_server
from tests.service.served import Served

LONG = 900_000
MOST_CHARACTERS = 100_000
"""Of a request to `long_server`."""
QUERY, CSV = "query", "text/csv"
_HEAD_BYTES = 30_000
"""As many bytes of a field or header as the head of a request may have."""
_GOOGLE = "/language/translate/v2"
_PAIR = {"source": "en", "target": "de"}
_TERMS = [{"source": "a", "target": "b"}]
_DOCUMENT = {"file": ("a.txt", b"a")}
ANY = (JSON, FORM, MULTIPART, QUERY)


class Route(NamedTuple):
    """A route that reads a model: the fields that it needs, and the ways that it takes them."""

    path: str
    needed: Mapping[str, Any]
    ways: Sequence[str] = ANY
    method: str = "POST"
    files: Mapping[str, tuple[str, bytes]] | None = None


ROUTES: Mapping[type[RequestModel], Route] = {
    TranslateRequest: Route("/translate", {"q": "a", **_PAIR}),
    NextWordsRequest: Route("/translate/next", {"q": "a", **_PAIR}),
    DetectRequest: Route("/detect", {"q": "a"}),
    SuggestRequest: Route("/suggest", {"q": "a", "s": "b", **_PAIR}),
    FileRequest: Route("/translate_file", _PAIR, (MULTIPART,), files=_DOCUMENT),
    glossaries._Description: Route("/glossaries", {"name": "n", **_PAIR}, (CSV,)),
    glossaries._Whole: Route("/glossaries", {"name": "n", **_PAIR, "entries": _TERMS}, (JSON,)),
    deepl.TextRequest: Route("/v2/translate", {"text": "a", "target_lang": "DE"}),
    deepl.DocumentRequest: Route(
        "/v2/document", {"target_lang": "DE"}, (MULTIPART,), files=_DOCUMENT
    ),
    deepl.DocumentKey: Route("/v2/document/a", {"document_key": "a"}),
    deepl.LanguagesRequest: Route("/v2/languages", {}, (QUERY,), "GET"),
    GlossaryRequest: Route(
        "/v2/glossaries",
        {"name": "n", "source_lang": "EN", "target_lang": "DE", "entries": "a\tb"},
        (JSON, FORM),
    ),
    DeepLXRequest: Route("/v1/translate", {"text": "a", "target_lang": "DE"}, (JSON, FORM)),
    ImmersiveRequest: Route("/immersive", {"text_list": ["a"], "target_lang": "de"}, (JSON,)),
    google.TextRequest: Route(_GOOGLE, {"q": "a", "target": "de"}),
    google.DetectRequest: Route(f"{_GOOGLE}/detect", {"q": "a"}),
    google.LanguagesRequest: Route(f"{_GOOGLE}/languages", {"target": "en"}),
}
"""Of DeepL's common fields there is no request of its own: `deepl.DeepLRequest` is a base."""
UNKNOWN = "no field of any model"
PATHS = ("/glossaries/", "/v2/glossaries/", "/v2/document/", "/download_file/", "/", "/?q=")
HEADERS = (
    *("accept", "accept-encoding", "authorization", "content-encoding", "content-length"),
    *("content-type", "host", "if-none-match", "origin", "prefer", "traceparent", "x-request-id"),
    *("x-goog-api-key", "x-forwarded-for", "x-forwarded-proto", "cookie", "user-agent", "expect"),
    *("transfer-encoding", "upgrade", "connection", "accept-language", "range", "x-any"),
    *("access-control-request-method", "access-control-request-headers", "sec-fetch-site"),
    *("sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol"),
    "sec-websocket-extensions",
)


@dataclass(frozen=True)
class LongRequest:
    """A request with one long value."""

    name: str
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What came back. `status` 0: the connection was closed without an answer."""

    status: int
    content: bytes


def models(base: type[RequestModel] = RequestModel) -> Iterator[type[RequestModel]]:
    """Every request model of the server."""
    for model in base.__subclasses__():
        if model.__module__.startswith(f"{service.__name__}."):
            yield model
        yield from models(model)


def read_headers() -> set[str]:
    """The names of headers that the service's code asks for."""
    found: set[str] = set()
    for file in Path(service.__file__).parent.rglob("*.py"):
        found |= set(re.findall(r"headers\.get(?:list)?\(\s*\"([^\"]+)\"", file.read_text("utf-8")))
    return {name.lower() for name in found}


def long_requests(
    size: int = LONG, only: type[RequestModel] | None = None
) -> Iterator[LongRequest]:
    """Every field of every model in every way, with values of about `size` bytes, one at a time."""
    for model, route in ROUTES.items():
        if only not in (None, model):
            continue
        for field in (*model.model_fields, UNKNOWN):
            for way in route.ways:
                for shape, value in _values(field, way, size):
                    name = f"{model.__name__}.{field} as {shape}, {way}"
                    yield _request(name, route, way, {**route.needed, field: value})
        if JSON in route.ways:
            named = {**route.needed, "x" * size: 1}
            yield _request(f"{model.__name__}: a long name, {JSON}", route, JSON, named)


def bounded_requests() -> Iterator[tuple[LongRequest, str, int]]:
    """The fields whose schema has a bound, one above it: also the field's name and the bound."""
    for model, route in ROUTES.items():
        properties = model.model_json_schema()["properties"]
        for field, most in _bounds(properties):
            for way in route.ways:
                value = "x" * (most + 1)
                name = f"{model.__name__}.{field}, {way}"
                yield _request(name, route, way, {**route.needed, field: value}), field, most


def sized_requests(num_characters: int) -> Iterator[LongRequest]:
    """The fields that hold texts, with so many characters, which take little to translate."""
    blank = " " * num_characters
    for model, field in (
        *((TranslateRequest, "q"), (NextWordsRequest, "q"), (DetectRequest, "q")),
        *((deepl.TextRequest, "text"), (DeepLXRequest, "text"), (ImmersiveRequest, "text_list")),
        *((google.TextRequest, "q"), (google.DetectRequest, "q")),
    ):
        route = ROUTES[model]
        name = f"{model.__name__}.{field}: {num_characters}"
        yield _request(name, route, JSON, {**route.needed, field: blank})


def _bounds(properties: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for field, schema in properties.items():
        choices = [choice for choice in schema.get("anyOf", [schema]) if "maxLength" in choice]
        if choices:
            yield field, choices[0]["maxLength"]


def _values(field: str, way: str, size: int) -> Iterator[tuple[str, Any]]:
    if way in (QUERY, CSV):
        size = min(size, _HEAD_BYTES)
    yield "letters", "x" * size
    yield "brackets", "[" + "[]," * (size // 3 - 2) + "[]]"
    if way == JSON:
        yield "digits", "1" * size
        yield "a list", ["x" * size]
        yield "many", ["x"] * (size // 5)
        yield "terms", [{"source": "x" * (size // 2), "target": "x" * (size // 2)}]
    elif way in (FORM, MULTIPART):
        yield "a line", "\n" * (size // (3 if way == FORM else 1))
        yield "separators", "," * (size // (3 if way == FORM else 1))


def _request(name: str, route: Route, way: str, fields: Mapping[str, Any]) -> LongRequest:
    query = urlencode(fields, doseq=True)
    if way == QUERY:
        return LongRequest(name, route.method, f"{route.path}?{query}", {}, b"")
    if way == CSV:
        path, headers = f"{route.path}?{query}", {"Content-Type": CSV}
        return LongRequest(name, route.method, path, headers, b"a,b\n")
    if way == MULTIPART:
        parts = [(key, (None, str(value))) for key, value in fields.items()]
        sent = httpx.Request("POST", "http://a", files=[*parts, *(route.files or {}).items()])
        headers = {"Content-Type": sent.headers["content-type"]}
        return LongRequest(name, route.method, route.path, headers, sent.read())
    body = json.dumps(fields) if way == JSON else query
    return LongRequest(name, route.method, route.path, {"Content-Type": way}, body.encode())


def ask(server: Served, request: LongRequest, seconds: float = 60) -> Answer:
    """Send it, whatever a client of ours would say to its length. Raises TimeoutError if there is
    no answer in time."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=seconds)
    with contextlib.closing(connection):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it is refused already
            connection.request(request.method, request.path, request.body, dict(request.headers))
        try:
            answer = connection.getresponse()
            return Answer(answer.status, answer.read())
        except (ConnectionResetError, http.client.RemoteDisconnected):
            return Answer(0, b"")


@contextlib.contextmanager
def long_server(scratch: Path) -> Iterator[Served]:
    """A server that has every route and reads keys."""
    with tiny_server(
        scratch,
        database=scratch / "server.db",
        suggestions=True,
        api_keys="optional",
        max_characters=MOST_CHARACTERS,
    ) as server:
        yield server


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if nothing was answered with a server error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of the names")
    options = parser.parse_args(arguments)
    sizes, rows, failures, count = (LONG // 4, LONG // 2, LONG), [], 0, 0
    with tempfile.TemporaryDirectory() as scratch, long_server(Path(scratch)) as server:
        for requests in zip(*map(long_requests, sizes), strict=True):
            if options.only not in requests[0].name:
                continue
            times = []
            for request in requests:
                started = time.process_time()
                status = ask(server, request).status
                times.append(time.process_time() - started)
                count += 1
                failures += not 200 <= status < 500
                if not 200 <= status < 500:
                    print(f"{request.name}: {status}")
            rows.append((times[-1], times, requests[0].name))
    print(f"{count} requests, {failures} server errors; seconds of CPU at each size, most first:")
    for _, times, name in sorted(rows, reverse=True)[:20]:
        print(f"{'  '.join(f'{spent:.3f}' for spent in times)}  {name}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
