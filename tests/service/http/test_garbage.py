"""What requests leave behind: nothing that only a scan for garbage finds, since that stops every
thread, is seldom, and may find a whole file."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from types import FrameType, MappingProxyType
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.sync.client import connect

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import PAIRS, FakeRunner, fake_model
from tests.service.http.clients import EVENTS, FIELDS, JSON, STREAM
from tests.service.http.wire_client import TEXT, exchange, frame, handshake, open_websocket
from tests.service.served import Served, served

NUM_REQUESTS = 5
OURS = ("service", "model", "uvicorn", "starlette", "python_multipart", "websockets")
GERMAN = ("de", "en")
Ask = Callable[[Served], None]


def posted(path: str, body: bytes, headers: Mapping[str, str]) -> Ask:
    return lambda server: void(answer(server, "POST", path, body, headers))


def posted_json(path: str, headers: Mapping[str, str] = JSON, **fields: object) -> Ask:
    return posted(path, json.dumps(FIELDS | fields).encode(), headers)


def void(_: object) -> None:
    """The answer does not matter."""


def answer(
    server: Served,
    method: str,
    path: str,
    body: bytes = b"",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path, body, dict(headers))
    content = connection.getresponse().read()
    connection.close()
    return content


def sent_file(name: str, content: bytes) -> Ask:
    """A file that is translated, and downloaded if it can be."""
    fields = {"source": "en", "target": "de"}
    request = httpx.Request("POST", "http://a/", data=fields, files={"file": (name, content)})
    headers = {"Content-Type": request.headers["Content-Type"]}

    def ask(server: Served) -> None:
        told = json.loads(answer(server, "POST", "/translate_file", request.read(), headers))
        if url := told.get("translatedFileUrl"):
            answer(server, "GET", urlsplit(url).path)

    return ask


def messages(*sent: Mapping[str, object]) -> Ask:
    """On a websocket of their own."""

    def ask(server: Served) -> None:
        with connect(f"ws://127.0.0.1:{server.port}{STREAM}") as socket:
            for number, fields in enumerate(sent):
                socket.send(json.dumps({"id": number, **FIELDS, **fields}))
                while json.loads(socket.recv())["type"] == "token":
                    pass

    return ask


def raw(data: bytes, *, is_frame: bool = False) -> Ask:
    """What only rude clients send, or send on a websocket."""

    def ask(server: Served) -> None:
        with server.connect() as client:
            if is_frame:
                open_websocket(client)
            exchange(client, data)

    return ask


REQUESTS: Mapping[str, Ask] = {
    "a plain sentence": posted_json("/translate"),
    "texts": posted_json("/translate", q=["One (1).", "See https://a.example!", "- 3 km\n- b"]),
    "HTML": posted_json("/translate", q="<p>Is <b>it</b>?</p>", format="html"),
    "details": posted_json("/translate", details=True, alternatives=2, beam_size=4),
    "nouns in capitals": posted_json("/translate", source=GERMAN[0], target=GERMAN[1]),
    "a model": posted_json("/translate", model="fake"),
    "a stream": posted_json("/translate", JSON | EVENTS),
    "no language": posted_json("/translate", target="xx"),
    "a wrong type": posted_json("/translate", beam_size="many"),
    "too late": posted_json("/translate", deadline_ms=1, q=["a", "b", "c"] * 20),
    "poison": posted_json("/translate", JSON | EVENTS, q="☠"),
    "no JSON": posted("/translate", b"{", JSON),
    "no path": posted("/nowhere", b"", {}),
    "a file": sent_file("a.txt", b"A dog.\n"),
    "a broken file": sent_file("a.docx", b"nonsense"),
    "messages": messages({}, {"target": "xx"}, {"api_key": "wrong"}, {"q": "☠"}),
    "a wrong key in a handshake": raw(handshake("Authorization: Bearer wrong")),
    "another version": raw(handshake().replace(b"Version: 13", b"Version: 99")),
    "no frame": raw(b"\xff" * 8, is_frame=True),
    "no text": raw(frame(TEXT, b"\xff"), is_frame=True),
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
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    database = str(tmp_path_factory.mktemp("database") / "dragoman.db")
    model = fake_model(FakeRunner(), pairs=[*PAIRS, GERMAN])
    with served(create_app(Settings(database=database, api_keys="optional"), [model])) as running:
        yield running


def assert_leaves_no_cycle(server: Served, ask: Ask) -> None:
    ask(server)
    with saved_garbage() as found:
        for _ in range(NUM_REQUESTS):
            ask(server)
        answer(server, "POST", "/nowhere")  # what the last one was told may wait for a turn
    kinds = [type(one).__qualname__ for one in found if is_ours(one)]
    assert len(kinds) < NUM_REQUESTS, kinds


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_leaves_no_cycle(server: Served, name: str) -> None:
    assert_leaves_no_cycle(server, REQUESTS[name])


@pytest.mark.parametrize(
    "ask",
    [
        posted_json("/translate", JSON | EVENTS, deadline_ms=30),
        messages({"deadline_ms": 30}),
    ],
)
def test_a_stream_that_is_late_leaves_no_cycle(ask: Ask) -> None:
    runner = FakeRunner()
    runner.gate.clear()
    with served(create_app(Settings(), [fake_model(runner)])) as server:
        try:
            assert_leaves_no_cycle(server, ask)
        finally:
            runner.gate.set()
