"""Law 13: no permitted request keeps the event loop busy, measured on the bundled models.

The time between two calls is CPU time of the loop's thread, so that a busy machine changes nothing.
"""

from __future__ import annotations

import asyncio
import gc
import json
import math
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from fastapi import FastAPI

from service.app import build_document, create_app
from service.commands.group import dragoman
from service.loading import load_models
from service.server import Server
from service.settings import Settings
from tests.service.fakes import until
from tests.service.served import Served, served
from tests.service.translation.documents.samples import W, archive

MAX_MILLISECONDS = 50.0
REFERENCE_MILLISECONDS = 4.5
MARK_ABOVE, MARK_BELOW = "\u0301", "\u0323"
MOST = 20_000
REQUESTS = {
    "many texts of unknown language": [f"How are you today? {i}" for i in range(500)],
    "many texts to cut": ["你好我是" * 10] * 500,
    "one sentence without a mark": "你好我是" * (MOST // 4),
    "many sentences": "你好，我是学生。" * (MOST // 8),
    "a script that the model spells in bytes": "བོད་ཀྱི་སྐད་ཡིག" * (MOST // 15),
    "combining marks": "a" + MARK_ABOVE * (MOST // 2) + MARK_BELOW * (MOST // 2 - 1),
    "one word": "a" * MOST,
    "many lines": "a\n" * (MOST // 2),
    "invisible characters": "a\u200b" * (MOST // 2),
    "sentences that lose their numbers": "".join(
        f"{number}年至{number + 7}年有{number % 90}人。"
        for number in range(10_000, 10_000 + MOST // 19)
    ),
    "signs and foreign letters": "价€5ñ。" * (MOST // 6),
}


PAGES = {
    "sentences with tags": "<p>你好，<b>我是</b>学生 {name}。</p>" * (MOST // 31),
    "tags around one word": "<b>" * (MOST // 8) + "你好" + "</b>" * (MOST // 8),
    "kept strings": "你好 {a} " * (MOST // 7),
    "attributes": "<img alt='你好'>" * (MOST // 14),
    "open tags": "<a " * (MOST // 3),
}


def reference_milliseconds() -> float:
    """CPU time of some work like that of the event loop: objects, dictionaries, strings."""
    started = time.thread_time()
    known = {str(i): [i] for i in range(20_000)}
    assert sum(len(known[str(i)]) for i in range(20_000)) == 20_000
    return (time.thread_time() - started) * 1000


class LoopProbe:
    """Asks the loop for a call every half a millisecond, and keeps the longest time between two."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._last_seconds: float | None = None
        self._is_stopped = threading.Event()
        self.num_calls = 0
        self.longest_ms = 0.0

    def tick(self) -> None:
        now = time.thread_time()
        if self._last_seconds is not None:
            self.longest_ms = max(self.longest_ms, (now - self._last_seconds) * 1000)
        self._last_seconds = now
        self.num_calls += 1
        if not self._is_stopped.is_set():
            self._loop.call_later(0.0005, self.tick)

    def least(self, request: Callable[[], None]) -> float:
        """The longest pause of the best of up to eight runs, in milliseconds of a machine that
        takes `REFERENCE_MILLISECONDS` for the reference work: a cold cache, a collection of garbage
        and a slow or shared core are no law."""
        least = math.inf
        for _ in range(8):
            self.longest_ms = 0.0
            before = reference_milliseconds()
            request()
            slowness = max(1.0, max(before, reference_milliseconds()) / REFERENCE_MILLISECONDS)
            least = min(least, self.longest_ms / slowness)
            if least <= MAX_MILLISECONDS:
                break
        return least

    def stop(self) -> None:
        self._is_stopped.set()


@pytest.fixture
def probe(server: Served) -> Iterator[LoopProbe]:
    probe = LoopProbe(server.loop)
    server.loop.call_soon_threadsafe(probe.tick)
    until(lambda: probe.num_calls > 10)
    yield probe
    probe.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    database = tmp_path_factory.mktemp("database") / "server.db"
    settings = Settings(device="cpu", max_characters=MOST, cache_bytes=0, database=database)
    app = create_app(settings, load_models(settings))
    build_document(app)
    with served(app) as server:
        with httpx.Client(base_url=server.url, timeout=600) as client:
            for target in ("en", "zh"):  # imports and caches of the first requests
                given = {"q": ["你好", "hello"], "source": "auto", "target": target}
                client.post("/translate", json={**given, "details": True})
        yield server


def post(server: Served, **fields: object) -> httpx.Response:
    with httpx.Client(base_url=server.url, timeout=600) as client:
        options = {"beam_size": 1, "max_length": 1}
        return client.post("/translate", json={**options, **fields})


@pytest.mark.parametrize("name", REQUESTS)
def test_the_largest_requests_keep_the_event_loop_free(
    name: str, server: Served, probe: LoopProbe
) -> None:
    source = "auto" if "unknown" in name else "zh"

    def request() -> None:
        answer = post(server, q=REQUESTS[name], source=source, target="en", details=True)
        assert answer.status_code == 200, answer.text

    assert 0 < probe.least(request) <= MAX_MILLISECONDS


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("name", PAGES)
def test_the_largest_pages_keep_the_event_loop_free(
    name: str, accept: str, server: Served, probe: LoopProbe
) -> None:
    fields = {"q": PAGES[name], "source": "zh", "target": "en", "format": "html"}
    options = {"beam_size": 1, "max_length": 1}

    def request() -> None:
        with httpx.Client(base_url=server.url, timeout=600) as client:
            answer = client.post(
                "/translate", json={**options, **fields}, headers={"Accept": accept}
            )
        assert answer.status_code == 200, answer.text

    assert 0 < probe.least(request) <= MAX_MILLISECONDS


@pytest.mark.parametrize("mark", ["a ", MARK_ABOVE + MARK_BELOW, MARK_ABOVE])
def test_a_hostile_prefix_keeps_the_event_loop_free(
    mark: str, server: Served, probe: LoopProbe
) -> None:
    prefix = (mark * MOST)[:MOST]

    def request() -> None:
        answer = post(
            server, q="你好", source="zh", target="en", target_prefix=prefix, max_length=9
        )
        assert answer.status_code == 422

    assert 0 < probe.least(request) <= MAX_MILLISECONDS


def test_a_long_stream_keeps_the_event_loop_free(server: Served, probe: LoopProbe) -> None:
    fields = {"q": REQUESTS["many sentences"], "source": "zh", "target": "en", "max_length": 1}
    accept = {"Accept": "text/event-stream"}

    def request() -> None:
        with (
            httpx.Client(base_url=server.url, timeout=600) as client,
            client.stream("POST", "/translate", json=fields, headers=accept) as response,
        ):
            assert response.status_code == 200
            assert "event: final" in "".join(response.iter_text())

    assert 0 < probe.least(request) <= MAX_MILLISECONDS


QUIET = [f"12 34 {i:033d}" for i in range(500)]
"""As many characters as are allowed, without a word: nothing is decoded."""
UNKNOWN = [f"How are you today? {i:021d}" for i in range(500)]
LANGUAGES = [("source", (None, "en")), ("target", (None, "de"))]
PARTS = [*(("q", (None, text)) for text in QUIET), *LANGUAGES]
ENGLISH = {"source": "en", "target": "de"}
PARAGRAPHS = "".join(f"<w:p><w:r><w:t>{number}</w:t></w:r></w:p>" for number in range(50_000))
QUIET_WORD = archive({"word/document.xml": f"<w:document {W}>{PARAGRAPHS}</w:document>".encode()})
QUIET_JSON = json.dumps([str(number) for number in range(200_000)]).encode()
QUIET_ODT = archive({"content.xml": b"<a/>", "picture": random.Random(1).randbytes(9_000_000)})
"""Files as large as are allowed, without a word."""
OTHER_APIS: dict[str, tuple[str, dict[str, Any]]] = {
    "a multipart form": ("/translate", {"files": PARTS}),
    "a form": ("/translate", {"data": {"q": QUIET, "source": "en", "target": "de"}}),
    "a file": (
        "/translate_file",
        {"data": {"source": "en", "target": "de"}, "files": {"file": ("a.txt", "\n".join(QUIET))}},
    ),
    "a document": ("/translate_file", {"data": ENGLISH, "files": {"file": ("a.docx", QUIET_WORD)}}),
    "a catalogue": (
        "/translate_file",
        {"data": ENGLISH, "files": {"file": ("a.json", QUIET_JSON)}},
    ),
    "an archive": ("/translate_file", {"data": ENGLISH, "files": {"file": ("a.odt", QUIET_ODT)}}),
    "detection": ("/detect", {"json": {"q": " ".join(UNKNOWN)[:MOST]}}),
    "DeepL": ("/v2/translate", {"json": {"text": QUIET, "source_lang": "EN", "target_lang": "DE"}}),
    "DeepL by form": (
        "/v2/translate",
        {"data": {"text": QUIET, "source_lang": "EN", "target_lang": "DE"}},
    ),
    "Google": ("/language/translate/v2", {"json": {"q": QUIET, "source": "en", "target": "de"}}),
    "Google's detection": ("/language/translate/v2/detect", {"json": {"q": UNKNOWN}}),
    "Immersive Translate": (
        "/immersive",
        {"json": {"text_list": QUIET, "source_lang": "en", "target_lang": "de"}},
    ),
    "DeepLX": (
        "/v1/translate",
        {"json": {"text": " ".join(QUIET)[:MOST], "source_lang": "en", "target_lang": "de"}},
    ),
}


@pytest.mark.parametrize("name", OTHER_APIS)
def test_the_largest_requests_of_other_apis_keep_the_event_loop_free(
    name: str, server: Served, probe: LoopProbe
) -> None:
    path, sent = OTHER_APIS[name]

    def request() -> None:
        with httpx.Client(base_url=server.url, timeout=600) as client:
            answer = client.post(path, **sent)
            assert answer.status_code == 200, answer.text

    assert 0 < probe.least(request) <= MAX_MILLISECONDS


@pytest.mark.parametrize(
    "path",
    [
        *("/spec", "/openapi.json", "/frontend/settings", "/languages"),
        *("/v2/languages?type=target", "/language/translate/v2/languages?target=de"),
    ],
)
def test_what_describes_the_server_keeps_the_event_loop_free(
    path: str, server: Served, probe: LoopProbe
) -> None:
    def request() -> None:
        assert httpx.get(server.url + path).status_code == 200

    assert 0 < probe.least(request) <= MAX_MILLISECONDS


@pytest.mark.parametrize("has_docs", [True, False])
def test_what_start_up_can_do_is_done_before_the_server_runs(
    has_docs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document is built, and the collector of garbage scans nothing of what is there."""
    apps: list[FastAPI] = []

    def run(server: Server, sockets: list[socket.socket]) -> None:
        apps.append(server.config.app)
        for listener in sockets:
            listener.close()
        started = time.thread_time()
        gc.collect()
        assert (time.thread_time() - started) * 1000 < MAX_MILLISECONDS

    monkeypatch.setattr(Server, "run", run)
    arguments = ["serve", "--model", "en-de", "--port", "0", "--device", "cpu"]
    started = CliRunner().invoke(dragoman, [*arguments, "--api-docs", str(has_docs)])
    gc.unfreeze()
    assert started.exit_code == 0, started.output
    assert (apps[0].openapi_schema is not None) == has_docs


TERMS = [{"source": f"term {i}", "target": f"Wort {i}"} for i in range(10_000)]
WIDE_TERMS = [{"source": f"{i:0100d}", "target": f"{i:0100d}"} for i in range(4000)]
LINES = "".join(f"term {i}\tWort {i}\n" for i in range(10_000))
DEEPL_GLOSSARY = {"name": "deepl", "source_lang": "EN", "target_lang": "DE", "entries": LINES}
NEXT = "/translate/next"
GLOSSARY_WORK: dict[str, tuple[str, str, dict[str, Any]]] = {
    "storing terms": ("PUT", "/glossaries/most", {"json": {**ENGLISH, "entries": TERMS}}),
    "storing wide terms": ("PUT", "/glossaries/wide", {"json": {**ENGLISH, "entries": WIDE_TERMS}}),
    "storing a file": (
        "PUT",
        "/glossaries/file?source=en&target=de",
        {"content": LINES, "headers": {"Content-Type": "text/tab-separated-values"}},
    ),
    "reading terms": ("GET", "/glossaries/stored", {}),
    "reading a file": ("GET", "/glossaries/stored", {"headers": {"Accept": "text/csv"}}),
    "listing": ("GET", "/glossaries", {}),
    "DeepL's entries": ("GET", "/v2/glossaries/stored/entries", {}),
    "terms of a request": (
        "POST",
        "/translate",
        {"json": {**ENGLISH, "q": "12", "glossary": WIDE_TERMS[:1000]}},
    ),
    "terms of a form": (
        "POST",
        "/translate",
        {"data": {**ENGLISH, "q": "12", "glossary": json.dumps(WIDE_TERMS[:1000])}},
    ),
    "a stored glossary": (
        "POST",
        "/translate",
        {"json": {**ENGLISH, "q": "12", "glossary": "stored"}},
    ),
    "next words of a long text": ("POST", NEXT, {"json": {**ENGLISH, "q": " ".join(QUIET)[:MOST]}}),
}


@pytest.mark.parametrize("name", GLOSSARY_WORK)
def test_the_largest_glossaries_keep_the_event_loop_free(
    name: str, server: Served, probe: LoopProbe
) -> None:
    method, path, sent = GLOSSARY_WORK[name]
    with httpx.Client(base_url=server.url, timeout=600) as client:
        stored = client.put("/glossaries/stored", json={**ENGLISH, "entries": TERMS})
        assert stored.status_code in (200, 201), stored.text

        def request() -> None:
            answer = client.request(method, path, **sent)
            assert answer.status_code in (200, 201), answer.text

        assert 0 < probe.least(request) <= MAX_MILLISECONDS


def test_a_glossary_of_deepl_is_stored_without_the_event_loop(
    server: Served, probe: LoopProbe
) -> None:
    with httpx.Client(base_url=server.url, timeout=600) as client:

        def request() -> None:
            answer = client.post("/v2/glossaries", json=DEEPL_GLOSSARY)
            assert answer.status_code == 201, answer.text
            client.delete(f"/v2/glossaries/{answer.json()['glossary_id']}")

        assert 0 < probe.least(request) <= MAX_MILLISECONDS


@pytest.mark.parametrize("mark", ["a ", MARK_ABOVE + MARK_BELOW, "<b>", "\u200b"])
def test_a_hostile_prefix_of_next_words_keeps_the_event_loop_free(
    mark: str, server: Served, probe: LoopProbe
) -> None:
    fields = {**ENGLISH, "q": "A house.", "prefix": (mark * MOST)[:MOST]}

    def request() -> None:
        answer = httpx.post(server.url + NEXT, json=fields, timeout=600)
        assert answer.status_code in (200, 422), answer.text

    assert 0 < probe.least(request) <= MAX_MILLISECONDS
