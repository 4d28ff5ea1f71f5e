"""What requests leave behind: nothing that only a scan for garbage finds, since that stops every
thread, is seldom, and may find a whole file."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from types import FrameType

import httpx
import pytest

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model
from tests.service.http.clients import EVENTS, FIELDS, JSON
from tests.service.served import Served, served

NUM_REQUESTS = 5
OURS = ("service", "model", "uvicorn", "starlette", "python_multipart")
Sent = tuple[str, bytes, Mapping[str, str]]


def sent_json(path: str, headers: Mapping[str, str] = JSON, **fields: object) -> Sent:
    return path, json.dumps(FIELDS | fields).encode(), headers


def sent_file(name: str, content: bytes) -> Sent:
    fields = {"source": "en", "target": "de"}
    request = httpx.Request("POST", "http://a/", data=fields, files={"file": (name, content)})
    return "/translate_file", request.read(), dict(request.headers)


REQUESTS = {
    "a plain sentence": sent_json("/translate"),
    "texts": sent_json("/translate", q=["One (1).", "See https://a.example!", "- 3 km\n- b"]),
    "HTML": sent_json("/translate", q="<p>Is <b>it</b>?</p>", format="html"),
    "details": sent_json("/translate", details=True, alternatives=2, beam_size=4),
    "a stream": sent_json("/translate", JSON | EVENTS),
    "no language": sent_json("/translate", target="xx"),
    "a wrong type": sent_json("/translate", beam_size="many"),
    "too late": sent_json("/translate", deadline_ms=1, q=["a", "b", "c"] * 20),
    "no JSON": ("/translate", b"{", JSON),
    "no path": ("/nowhere", b"", {}),
    "a file": sent_file("a.txt", b"A dog.\n"),
    "a broken file": sent_file("a.docx", b"nonsense"),
}


@contextmanager
def saved_garbage() -> Iterator[list[object]]:
    """What scans find that begin in the block or at its end, once it has ended."""
    found: list[object] = []
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        found += gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def is_ours(one: object) -> bool:
    module = one.f_globals["__name__"] if isinstance(one, FrameType) else type(one).__module__
    return str(module).split(".")[0] in OURS


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(create_app(Settings(), [fake_model(FakeRunner())])) as running:
        yield running


def ask(server: Served, path: str, body: bytes, headers: Mapping[str, str]) -> None:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("POST", path, body, headers)
    connection.getresponse().read()
    connection.close()


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_leaves_no_cycle(server: Served, name: str) -> None:
    ask(server, *REQUESTS[name])
    with saved_garbage() as found:
        for _ in range(NUM_REQUESTS):
            ask(server, *REQUESTS[name])
        ask(server, "/nowhere", b"", {})  # what the last one was told may wait for a turn
    kinds = [type(one).__qualname__ for one in found if is_ours(one)]
    assert len(kinds) < NUM_REQUESTS, kinds
