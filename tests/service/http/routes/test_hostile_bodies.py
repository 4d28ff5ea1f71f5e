"""Bodies made to be slow or large to parse: refused or parsed within a bounded time."""

from __future__ import annotations

import contextlib
import tracemalloc

import pytest
from fastapi.testclient import TestClient

from service.errors import ServiceError
from tests.service.http.clients import JSON, STREAM, last_message

MEGABYTE = 2**20 - 100  # with room for an id
HEAD = b'{"q":"a","source":"en","target":"de",'
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def filled(unit: bytes, head: bytes, tail: bytes) -> bytes:
    count = (MEGABYTE - len(head) - len(tail)) // len(unit)
    return head + (unit * count).rstrip(b",") + tail


def numbered(count: int, spelled: str) -> bytes:
    return ",".join(spelled % i for i in range(count)).encode()


JSON_BODIES = {
    "fields": HEAD + numbered(90_000, '"%x":0') + b"}",
    "10,000 fields": HEAD + numbered(10_000, '"%x":0') + b"}",
    "long fields": HEAD + numbered(10_000, '"%090x":0') + b"}",
    "one field again and again": filled(b'"a":0,', HEAD, b"}"),
    "objects": filled(b"{},", HEAD + b'"x":[', b"]}"),
    "lists": filled(b"[],", HEAD + b'"x":[', b"]}"),
    "zeros": filled(b"0,", HEAD + b'"x":[', b"]}"),
    "empty strings": filled(b'"",', HEAD + b'"x":[', b"]}"),
    "empty texts": filled(b'"",', b'{"source":"en","target":"de","q":[', b"]}"),
    "numbers as texts": filled(b"1,", b'{"source":"en","target":"de","q":[', b"]}"),
    "depth": HEAD + b'"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a number of a million digits": filled(b"9", HEAD + b'"seed":', b"}"),
    "a fraction of a million digits": filled(b"9", HEAD + b'"top_p":0.', b"}"),
    "a text of escapes": filled(rb"\u4e00", HEAD + b'"x":"', b'"}'),
    "a text of escaped quotes": filled(rb"\",", HEAD + b'"x":"', b'"}'),
    "a text of backslashes": filled(rb"\\", HEAD + b'"x":"', b',"}' + b"," * 20_000),
}
FORMS = {
    "ampersands": b"&" * MEGABYTE,
    "fields": b"a=&" * (MEGABYTE // 3),
    "equals": b"=" * MEGABYTE,
    "escapes": b"q=" + b"%41" * (MEGABYTE // 3),
    "as many escapes as are allowed": b"q=" + b"%41" * 130_000,
    "percents": b"q=" + b"%" * MEGABYTE,
    "as many percents as are allowed": b"q=" + b"%" * 130_000,
    "pluses": b"q=" + b"+" * MEGABYTE,
    "fields of escapes": b"&".join(b"%E4%B8%AD" * 30 + b"=%41" for _ in range(1400)),
}


@pytest.mark.parametrize("name", JSON_BODIES)
def test_a_hostile_json_body_is_answered(client: TestClient, name: str) -> None:
    body = JSON_BODIES[name]
    assert len(body) <= MEGABYTE + 20_000
    answer = client.post("/translate", content=body, headers=JSON)
    assert answer.status_code in (200, 400, 413, 422)
    assert len(answer.content) < 1000
    assert len(answer.headers.get("X-Ignored-Fields", "")) <= 256


@pytest.mark.parametrize("name", FORMS)
def test_a_hostile_form_or_query_is_answered(client: TestClient, name: str) -> None:
    fields = b"q=a&source=en&target=de&x=" + FORMS[name]
    answer = client.post("/translate", content=fields[:MEGABYTE], headers=FORM)
    assert answer.status_code in (200, 400, 413, 422)
    assert len(answer.content) < 1000
    query = FORMS[name][:20_000].decode()
    answer = client.post(f"/translate?{query}", content="a", headers={"Content-Type": "text/plain"})
    assert answer.status_code in (200, 400, 413, 422)
    assert len(answer.content) < 1000


def test_hostile_codes_leave_the_memory_as_it_was(client: TestClient) -> None:
    """What looking them up caches is bounded, however short they are."""
    dispatcher = client.app.state.server.dispatcher  # type: ignore[attr-defined]

    def look_up(start: int, count: int) -> None:
        for i in range(start, start + count):
            for code in (f"en-x-a{i}", f"en-a{i:07d}", f"q{i % 90 + 10}-x-{i}"):
                for source, target, model in ((code, "de", None), ("en", code, code)):
                    with contextlib.suppress(ServiceError):
                        dispatcher.route(source, target, model)

    look_up(0, 3000)
    tracemalloc.start()
    try:
        look_up(3000, 3000)
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < 2**21


def test_hostile_messages_of_a_websocket_are_answered(client: TestClient) -> None:
    with client.websocket_connect(STREAM) as socket:
        for name, body in JSON_BODIES.items():
            socket.send_text((b'{"id":1,' + body[1:]).decode())
            message = last_message(socket)
            assert message["type"] == "final" or message["code"] in (
                *("invalid_json", "invalid_field", "body_too_large", "text_too_long"),
            ), name
