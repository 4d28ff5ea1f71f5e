"""Bodies made to be slow or large to parse: refused or parsed within a bounded time."""

from __future__ import annotations

import contextlib
import json
import tracemalloc
import urllib.parse
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import BodyTooLarge, InvalidText, ServiceError
from service.http.bodies import parse_form, parse_json
from service.http.limits import Limits

MEGABYTE = 2**20 - 100  # with room for an id
LIMITS = Limits(2**20, 20_000, 500, 16, 64, 300.0, None)
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
    answer = client.post("/translate", content=body, headers={"Content-Type": "application/json"})
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


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text('a,[{"\\:é', max_size=5),
        lambda inner: st.lists(inner) | st.dictionaries(st.text('b,"[\\', max_size=3), inner),
        max_leaves=30,
    )
)
def test_what_is_within_the_bounds_is_parsed_as_ever(value: Any) -> None:
    """However many separators stand in its strings."""
    body = json.dumps({"x": value, "commas": ",[{" * 10_000}).encode()
    assert parse_json(body, LIMITS) == json.loads(body)


@settings(max_examples=20)
@given(count=st.integers(10_501, 12_000), filler=st.sampled_from(["0", '""', '"\\""', "[]", "{}"]))
def test_what_has_more_values_than_allowed_is_refused(count: int, filler: str) -> None:
    body = "[" + ",".join([filler] * count) + "]"
    with pytest.raises(BodyTooLarge, match="JSON values, at most 10500 are allowed"):
        parse_json(body.encode(), LIMITS)


@given(
    fields=st.dictionaries(
        st.text(min_size=1, max_size=5), st.text("a%+&=\\\\ 4中😀\n\x00", max_size=9), min_size=1
    )
)
def test_a_form_is_parsed_as_urllib_does(fields: dict[str, str]) -> None:
    form = urllib.parse.urlencode(fields, errors="surrogatepass").encode()
    expected = {name: values[0] for name, values in _parse_qs(form).items()}
    assert parse_form(form, LIMITS) == expected


@given(raw=st.text("aq=%+4fFgx\\N{u&", max_size=20))
def test_a_carelessly_written_form_is_parsed_as_urllib_does(raw: str) -> None:
    form = raw.encode()
    try:
        expected = _parse_qs(form)
    except UnicodeDecodeError:
        with pytest.raises(InvalidText, match="not UTF-8"):
            parse_form(form, LIMITS)
        return
    got = parse_form(form, LIMITS)
    assert {name: v if isinstance(v, list) else [v] for name, v in got.items()} == expected


def _parse_qs(form: bytes) -> dict[str, list[str]]:
    return urllib.parse.parse_qs(form.decode(), keep_blank_values=True, errors="strict")


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


@pytest.mark.parametrize("name", ["source", "target", "model"])
def test_a_code_of_any_length_is_answered(client: TestClient, name: str) -> None:
    for code in ("en" + "-abcde" * 10_000, "de-x" + "-a" * 30, "x" * 900_000, "", "\x00"):
        answer = client.post(
            "/translate", json={"q": "a", "source": "en", "target": "de", name: code}
        )
        assert answer.status_code in (200, 400, 422)
        assert len(answer.content) < 1000


def test_hostile_messages_of_a_websocket_are_answered(client: TestClient) -> None:
    with client.websocket_connect("/translate/stream") as socket:
        for name, body in JSON_BODIES.items():
            socket.send_text((b'{"id":1,' + body[1:]).decode())
            while (message := socket.receive_json())["type"] == "token":
                pass
            assert message["type"] == "final" or message["code"] in (
                *("invalid_json", "invalid_field", "body_too_large", "text_too_long"),
            ), name


@pytest.mark.parametrize("digits", [19, 20, 4000])
def test_a_websockets_id_is_a_number_of_bounded_size(client: TestClient, digits: int) -> None:
    with client.websocket_connect("/translate/stream") as socket:
        socket.send_text('{"id":%s,"q":"a","source":"en","target":"de"}' % ("8" * digits))
        while (message := socket.receive_json())["type"] == "token":
            pass
    if digits < 20:
        assert message["id"] == int("8" * digits)
    else:
        assert message["code"] == "invalid_message"
        assert message["error"].startswith("id must be at most 9223372036854775807, got 888")
        assert len(message["error"]) < 200
