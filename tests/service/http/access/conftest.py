"""Servers with keys and limits, a real port, and the fake model; every way to send a key."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection

from service.app import create_app
from service.settings import Settings
from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.service.fakes import FakeRunner, fake_model
from tests.service.http.clients import FIELDS, STREAM, multipart
from tests.service.served import Served, served

PAIRS = (("en", "de"), ("de", "en"))
DEEPL = {"text": ["Hi."], "target_lang": "DE", "source_lang": "EN"}
MTRAN = {"text": "Hi.", "from": "en", "to": "de"}
GOOGLE = "/language/translate/v2"
WRONG = "drg_0123456789ab_" + "0" * 48
Serve = Callable[..., Served]
MakeKey = Callable[..., str]


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


WAYS = {
    "bearer": lambda key: ("/translate", {"json": FIELDS, "headers": bearer(key)}),
    "json": lambda key: ("/translate", {"json": {**FIELDS, "api_key": key}}),
    "form": lambda key: ("/translate", {"data": {**FIELDS, "api_key": key}}),
    "multipart": lambda key: ("/translate", {"files": multipart(**FIELDS, api_key=key)}),
    "query": lambda key: ("/translate", {"params": {**FIELDS, "api_key": key}}),
    "query beside a body": lambda key: ("/translate", {"params": {"api_key": key}, "json": FIELDS}),
    "plain text": lambda key: (
        "/translate?source=en&target=de",
        {"content": "Hi.", "headers": {"Content-Type": "text/plain", **bearer(key)}},
    ),
    "stream": lambda key: (
        "/translate",
        {"json": {**FIELDS, "api_key": key}, "headers": {"Accept": "text/event-stream"}},
    ),
    "file": lambda key: (
        "/translate_file",
        {
            "data": {"source": "en", "target": "de", "api_key": key},
            "files": {"file": ("a.txt", b"Hi.")},
        },
    ),
    "deepl header": lambda key: (
        "/v2/translate",
        {"json": DEEPL, "headers": {"Authorization": f"DeepL-Auth-Key {key}"}},
    ),
    "deepl field": lambda key: ("/v2/translate", {"data": {**DEEPL, "auth_key": key}}),
    "google query": lambda key: (GOOGLE, {"params": {"key": key}, "json": FIELDS}),
    "google header": lambda key: (GOOGLE, {"json": FIELDS, "headers": {"X-Goog-Api-Key": key}}),
    "deeplx": lambda key: (
        "/v1/translate",
        {"json": {**DEEPL, "text": "Hi."}, "headers": bearer(key)},
    ),
    "deeplx query": lambda key: (f"/v1/translate?token={key}", {"json": {**DEEPL, "text": "Hi."}}),
    "deeplx query, as pyvideotrans": lambda key: (
        f"/translate?key={key}",
        {"json": {**DEEPL, "text": "Hi."}},
    ),
    "deepl field, as subtitle translator": lambda key: (
        "/v2/translate",
        {"json": {**DEEPL, "text": "Hi.", "authKey": key}},
    ),
    "deeplx query, its other path": lambda key: (
        f"/translate?token={key}",
        {"json": {**DEEPL, "text": "Hi."}},
    ),
    "no scheme": lambda key: ("/translate", {"json": MTRAN, "headers": {"Authorization": key}}),
    "mtranserver query": lambda key: (
        f"/translate/batch?token={key}",
        {"json": {"texts": ["Hi."], "from": "en", "to": "de"}},
    ),
    "ollama": lambda key: (
        "/api/generate",
        {"json": {"model": "en-de", "prompt": "Hi."}, "headers": bearer(key)},
    ),
    "immersive": lambda key: (
        "/immersive",
        {"json": {"text_list": ["Hi."], "target_lang": "de", "source_lang": "en", "api_key": key}},
    ),
}


def post(server: Served, path: str, given: dict[str, Any]) -> httpx.Response:
    return httpx.post(server.url + path, timeout=60, **given)


def translate(server: Served, key: str | None = None, **fields: Any) -> httpx.Response:
    headers = bearer(key) if key else {}
    return post(server, "/translate", {"json": {**FIELDS, **fields}, "headers": headers})


def used(server: Served, key: str) -> int | None:
    """The characters that the server says that the key has used; None if it knows no such key."""
    answer = httpx.get(f"{server.url}/v2/usage", headers=bearer(key))
    return answer.json()["character_count"] if answer.status_code == 200 else None


def stream_url(server: Served) -> str:
    return server.url.replace("http", "ws") + STREAM


def last_of(socket: ClientConnection) -> dict[str, Any]:
    """The next message that is no token."""
    while (message := json.loads(socket.recv()))["type"] == "token":
        pass
    last: dict[str, Any] = message
    return last


@pytest.fixture
def make_key(store: KeyStore) -> MakeKey:
    """Store a key with these options -> the key as it is written."""
    return lambda **options: store.create(KeyOptions(**options))[0]


@pytest.fixture
def serve(tmp_path: Path, runner: FakeRunner) -> Iterator[Serve]:
    """Start a server with these settings."""
    with contextlib.ExitStack() as servers:

        def start(trusted_proxies: tuple[str, ...] = (), **settings: Any) -> Served:
            given = Settings(database=tmp_path / "server.db", **settings)
            app = create_app(given, [fake_model(runner, pairs=PAIRS)])
            return servers.enter_context(served(app, trusted_proxies))

        yield start
