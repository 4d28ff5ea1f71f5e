"""Bodies: multipart forms, JSON and forms within bounds, and a budget that arriving ones share."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import Request
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.types import Message

from service.app import create_app
from service.errors import BodyTooLarge, InvalidJson, InvalidText, Overloaded
from service.http import bodies
from service.http.bodies import (
    BodyBudget,
    MultipartForm,
    SentFile,
    parse_form,
    parse_json,
    read_multipart,
)
from service.http.exchange import Exchange
from service.http.json_values import count_values
from service.http.limits import RequestLimits
from service.http.route_table import PATHS
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.http.wire_client import ServerProcess, answer_of, read_to_end
from tests.service.served import served

LIMITS = RequestLimits(2**20, 20_000, 500, 16, 256, 64, 300.0, None)
KIND = b"multipart/form-data; boundary=B"
END = b"--B--\r\n"
BUDGET_BYTES, BODY_BYTES = 50_000, 20_000
HEAD = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
BODY = b'{"q": "abc", "source": "en", "target": "zh"}'.ljust(BODY_BYTES)
SIZED = HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % BODY_BYTES
CHUNKED = HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"


def part(name: str, content: bytes, *, file_name: str | None = None) -> bytes:
    file = "" if file_name is None else f'; filename="{file_name}"'
    head = f'--B\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'
    return head.encode() + content + b"\r\n"


def request_with(chunks: Sequence[bytes], kind: bytes = KIND) -> Request:
    messages: Iterator[dict[str, Any]] = iter(
        [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
        + [{"type": "http.request", "body": b"", "more_body": False}]
    )

    async def receive() -> dict[str, Any]:
        return next(messages, {"type": "http.disconnect"})

    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-type", kind)]}
    state = SimpleNamespace(bodies=BodyBudget(LIMITS.max_body_bytes))
    app = SimpleNamespace(state=SimpleNamespace(server=state))

    async def send(_: Message) -> None:
        """Nothing is answered."""

    exchange = Exchange(scope, receive, send, PATHS.rules("/translate"))
    return Request({**scope, "app": app, "state": {"exchange": exchange}}, receive)


def read(*chunks: bytes, kind: bytes = KIND, limits: RequestLimits = LIMITS) -> MultipartForm:
    return asyncio.run(read_multipart(request_with(chunks, kind), limits, limits.max_body_bytes))


def test_fields_are_strings_repeated_ones_lists_and_files_apart() -> None:
    form = read(
        part("q", "日本".encode()),
        part("q", b"b\r\n--"),
        part("", b""),
        part("file", b"\xff\x00", file_name="a.txt"),
        END,
    )
    assert form.fields == {"q": ["日本", "b\r\n--"], "": ""}
    assert form.files == {"file": SentFile("a.txt", b"\xff\x00")}


@given(
    contents=st.lists(st.text("aB-\r\né", max_size=30), max_size=5),
    cuts=st.lists(st.integers(0, 400), max_size=8),
)
def test_a_form_may_be_cut_anywhere(contents: list[str], cuts: list[int]) -> None:
    whole = b"".join(part(f"f{i}", text.encode()) for i, text in enumerate(contents)) + END
    edges = [0, *sorted(cuts), len(whole)]
    chunks = [whole[a:b] for a, b in itertools.pairwise(edges)]
    try:
        expected: Any = read(whole).fields
    except InvalidText:
        expected = InvalidText
    if expected is InvalidText:  # the text held a boundary
        with pytest.raises(InvalidText):
            read(*chunks)
    else:
        assert read(*chunks).fields == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"garbage", "cannot be parsed"),
        (part("q", b"a"), "ends before its last boundary"),
        (b"--B\r\n\r\na\r\n" + END, "Field name not found"),
        (b"--B\r\nbad header\xff: x\r\n\r\na\r\n" + END, "cannot be parsed"),
        (b"--B\r\n" + b"X-Y: z\r\n" * 9 + b"\r\na\r\n" + END, "cannot be parsed"),
        (b"--B\r\nX-Y: " + b"z" * 2000 + b"\r\n\r\na\r\n" + END, "cannot be parsed"),
        (part("q", b"caf\xe9") + END, "not UTF-8"),
        (part("q", b"a").replace(b'"q"', b'"caf\xe9"') + END, "not UTF-8"),
    ],
)
def test_what_is_no_form_is_refused_with_the_reason(body: bytes, message: str) -> None:
    with pytest.raises(InvalidText, match=message):
        read(body)


@pytest.mark.parametrize("boundary", [b"", b"; boundary=", b"; boundary=" + b"b" * 5000])
def test_a_form_without_a_sane_boundary_is_refused(boundary: bytes) -> None:
    with pytest.raises(InvalidText):
        read(b"--B\r\n", kind=b"multipart/form-data" + boundary)


def test_bytes_and_fields_are_bounded() -> None:
    with pytest.raises(BodyTooLarge, match="1048576 bytes"):
        read(*[part("q", b"a" * 65_000)] * 17)
    with pytest.raises(BodyTooLarge, match="1500 fields"):
        read(part("q", b"") * 1501, END)
    assert len(read(part("q", b"") * 1500, END).fields["q"]) == 1500
    with pytest.raises(BodyTooLarge, match="1501 fields, at most 1500"):
        parse_form(b"q=" + b"&q=" * 1500, LIMITS)
    assert len(parse_form(b"q=" + b"&q=" * 1499, LIMITS)["q"]) == 1500
    with pytest.raises(BodyTooLarge, match="1000000 bytes spelled with %"):
        parse_form(b"%" * 1_000_000, LIMITS)


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


@given(st.text('\ud83d\ude00a\\"😀', max_size=9))
def test_half_a_character_is_read_as_the_replacement_character(text: str) -> None:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert parse_json(json.dumps({"q": text}).encode(), LIMITS) == {"q": whole}


@pytest.mark.parametrize("end", ['"}', '"'])
def test_half_a_character_in_a_long_text_takes_no_long_look(end: str) -> None:
    body = b'{"q": "\\ude00' + b"a" * 2**20 + end.encode()
    seconds = []
    for _ in range(3):
        began = time.thread_time()
        with contextlib.suppress(InvalidJson):
            parse_json(body, LIMITS)
        seconds.append(time.thread_time() - began)
    assert min(seconds) < 0.05


@settings(max_examples=20)
@given(count=st.integers(10_501, 12_000), filler=st.sampled_from(["0", '""', '"\\""', "[]", "{}"]))
def test_what_has_more_values_than_allowed_is_refused(count: int, filler: str) -> None:
    body = "[" + ",".join([filler] * count) + "]"
    with pytest.raises(BodyTooLarge, match="JSON values, at most 10500 are allowed"):
        parse_json(body.encode(), LIMITS)


@given(
    values=st.lists(st.sampled_from(["1", '""', '",["', '{"a": 1}', '{",": "{"}']), min_size=1),
    most=st.integers(1, 20),
)
def test_more_values_than_allowed_are_counted_whatever_strings_are_among_them(
    values: list[str], most: int
) -> None:
    num_values = 1 + len(values) + sum(value[0] == "{" for value in values)
    counted = count_values(f"[{','.join(values)}]".encode(), most)
    assert (counted > most) is (num_values > most)


@given(raw=st.text("aq=%+4fFgx\\N{u&中\n", max_size=20))
def test_a_carelessly_written_form_is_parsed_as_urllib_does(raw: str) -> None:
    form = raw.encode()
    try:
        expected = urllib.parse.parse_qs(raw, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        with pytest.raises(InvalidText, match="not UTF-8"):
            parse_form(form, LIMITS)
        return
    got = parse_form(form, LIMITS)
    assert {name: v if isinstance(v, list) else [v] for name, v in got.items()} == expected


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(
        tmp_path / "log", max_bodies_bytes=BUDGET_BYTES, max_body_bytes=BUDGET_BYTES
    )
    yield process
    process.end()


def test_the_only_body_has_room_and_what_is_held_is_given_back() -> None:
    budget = BodyBudget(100)

    def held(num_bytes: int) -> AbstractContextManager[None]:
        return budget.hold({b"content-length": b"%d" % num_bytes}, 1000)

    with held(1000), pytest.raises(Overloaded, match="1000 bytes"), held(1):
        pass
    with contextlib.suppress(KeyError), held(60):
        raise KeyError
    with held(60), held(40), held(0):
        pass
    with pytest.raises(BodyTooLarge, match="1001 bytes"), held(1001):
        pass
    unannounced = budget.hold({b"transfer-encoding": b"chunked"}, 60)
    with unannounced, held(40), pytest.raises(Overloaded), held(1):
        pass


def test_a_body_that_finds_no_room_is_refused_until_another_has_come_or_its_client_has_left(
    server: ServerProcess,
) -> None:
    with server.connect() as first, server.connect() as second, server.connect() as third:
        for client in (first, second):
            client.sendall(SIZED + BODY[:-1])
        assert until_refused(server)["code"] == "overloaded"
        first.close()
        until(lambda: answer_of(server.exchange(SIZED + BODY))[0] == 200)
        third.sendall(SIZED + BODY[:-1])
        until_refused(server)
        second.sendall(BODY[-1:])
        assert answer_of(read_to_end(second))[0] == 200
        assert answer_of(server.exchange(SIZED + BODY))[0] == 200


def test_a_body_of_unknown_length_counts_as_the_longest(server: ServerProcess) -> None:
    with server.connect() as client:
        client.sendall(CHUNKED + b"5\r\n     \r\n")
        until_refused(server)
        text = BODY.strip()
        client.sendall(b"%x\r\n" % len(text) + text + b"\r\n0\r\n\r\n")
        assert answer_of(read_to_end(client))[0] == 200


@pytest.mark.parametrize("kind", [b"application/json", KIND, b"application/x-www-form-urlencoded"])
@pytest.mark.parametrize("length", [b"Content-Length: 20000", b"Transfer-Encoding: chunked"])
def test_a_body_that_does_not_come_gives_its_room_back(
    kind: bytes, length: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has come but for its end has longer."""
    monkeypatch.setattr(bodies, "SECONDS_OF_A_BODY", 0.2)
    monkeypatch.setattr(Exchange, "max_seconds", 0.1)
    app = create_app(Settings(), [fake_model(FakeRunner())])
    with served(app) as server, server.connect() as slow, server.connect() as client:
        slow.sendall(SIZED + BODY[:-1])
        head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: %b\r\n%b\r\n\r\n"
        client.sendall(head % (kind, length))
        status, told = answer_of(read_to_end(client))
        assert (status, told["code"]) == (408, "body_too_slow")
        slow.sendall(BODY[-1:])
        assert answer_of(read_to_end(slow))[0] == 200
        assert not app.state.server.bodies._num_bytes


def until_refused(server: ServerProcess) -> dict[str, object]:
    """Send bodies until one finds no room -> its error."""
    answers: list[tuple[int, dict[str, object]]] = []

    def is_refused() -> bool:
        answers.append(answer_of(server.exchange(SIZED + BODY)))
        return answers[-1][0] == 503

    until(is_refused)
    return answers[-1][1]


def test_a_body_of_many_halves_is_refused_instead_of_searched() -> None:
    with pytest.raises(InvalidJson):
        parse_json(b'"' + rb"\ud800" * 2000 + b'"', LIMITS)
