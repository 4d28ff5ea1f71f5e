"""Any field or header, however long, is answered, or refused by a clear error, on every surface."""

from __future__ import annotations

import itertools
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from service.http.bodies import JSON
from service.http.models import KEY_FIELDS, RequestModel
from service.http.routes.deepl import DeepLRequest
from service.http.routes.websocket import PATH as STREAM
from service.http.schemas import TranslateRequest
from tests.fuzz.long_values import (
    HEADERS,
    LONG,
    MOST_CHARACTERS,
    PATHS,
    ROUTES,
    Answer,
    LongRequest,
    ask,
    bounded_requests,
    long_requests,
    long_server,
    models,
    read_headers,
    sized_requests,
)
from tests.service.served import Served

HEAD_BYTES = 32 * 1024
BODY_BYTES = 2**20
SHORT = 2500
"""More bytes than any refusal has."""
BOUND_BY_THE_BODY = {
    *("TextRequest.context", "TextRequest.model", "TextRequest.cid", "LanguagesRequest.model"),
    *("TextRequest.splitting_tags", "TextRequest.non_splitting_tags"),
}
"""Fields that have no effect, and may be as long as the body."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with long_server(tmp_path_factory.mktemp("long")) as server:
        yield server
        assert 'outcome="error"' not in server.metrics()


def check(request: LongRequest, answer: Answer) -> None:
    """A right answer, or a short error in JSON."""
    assert 200 <= answer.status < 500, (request.name, answer)
    if answer.status >= 400:
        assert len(answer.content) < SHORT, (request.name, answer)
        assert message_of(answer), (request.name, answer)


def message_of(answer: Answer) -> str:
    """The message of an error in any API's format."""
    body = json.loads(answer.content)
    error = body.get("error", body.get("message"))
    return str(body.get("detail") or (error["message"] if isinstance(error, dict) else error))


def test_every_request_model_and_every_header_is_tried() -> None:
    assert set(ROUTES) == set(models()) - {DeepLRequest}
    assert read_headers() <= set(HEADERS)


@pytest.mark.parametrize("model", ROUTES, ids=lambda model: f"{model.__module__}.{model.__name__}")
def test_a_long_value_of_any_field_is_answered_or_refused(
    server: Served, model: type[RequestModel]
) -> None:
    for request in long_requests(only=model):
        answer = ask(server, request)
        check(request, answer)
        is_text = " as letters, " in request.name and not request.name.endswith(", query")
        field = request.name.partition(" ")[0]
        if is_text and model.model_fields.keys() & {field.rpartition(".")[2]}:
            assert answer.status >= 400 or field in BOUND_BY_THE_BODY, (request.name, answer)


def test_one_character_more_than_a_bound_is_refused_with_the_fields_name(server: Served) -> None:
    for request, field, most in bounded_requests():
        answer = ask(server, request)
        check(request, answer)
        is_key = field in KEY_FIELDS and answer.status == 403
        assert is_key or answer.status in (400, 415, 422), (request.name, answer)
        if answer.status != 415 and not is_key:
            assert message_of(answer).startswith(f"{field} must "), (request.name, answer)
            assert f"at most {most} characters" in message_of(answer), (request.name, answer)


def test_a_list_of_many_small_values_in_a_string_is_refused_before_it_is_parsed(
    server: Served,
) -> None:
    """Parsed it would block the event loop for half a second."""
    fields = {**ROUTES[TranslateRequest].needed, "glossary": "[" + "[]," * 299_998 + "[]]"}
    headers, body = {"Content-Type": JSON}, json.dumps(fields).encode()
    answer = ask(server, LongRequest("glossary", "POST", "/translate", headers, body))
    expected = "glossary must be JSON of at most 5000 values where it is a list"
    assert (answer.status, message_of(answer)[: len(expected)]) == (422, expected)


def test_texts_may_have_as_many_characters_as_the_server_says_and_no_more(server: Served) -> None:
    for request in sized_requests(MOST_CHARACTERS):
        assert ask(server, request, seconds=120).status == 200, request.name
    for request in sized_requests(MOST_CHARACTERS + 1):
        answer = ask(server, request)
        assert answer.status == 413, request.name
        assert f"{MOST_CHARACTERS + 1} characters" in message_of(answer)


@pytest.mark.parametrize("path", ["/translate", "/v2/translate", "/language/translate/v2", STREAM])
@pytest.mark.parametrize("name", HEADERS)
def test_a_long_header_is_answered_or_refused(server: Served, name: str, path: str) -> None:
    for size in (1000, HEAD_BYTES - 300, 2 * HEAD_BYTES, LONG):
        for value in ("x" * size, "," * size, "Bearer " + "=" * size):
            headers = {"Content-Type": JSON, name: value}
            request = LongRequest(f"{name}, {size}", "POST", path, headers, b"{}")
            answer = ask(server, request)
            check(request, answer)
            assert size < HEAD_BYTES or answer.status in (400, 431), (request.name, answer)


def test_a_long_path_is_answered_or_refused(server: Served) -> None:
    sizes, methods = (1000, HEAD_BYTES - 300, LONG), ("GET", "POST", "DELETE", "PUT")
    for path, size, method in itertools.product(PATHS, sizes, methods):
        for unit in ("x", "%00", "/", ".", "%F0%9F%98%80"):
            request = LongRequest(
                f"{path}{unit}", method, path + unit * (size // len(unit)), {}, b""
            )
            check(request, ask(server, request))


@pytest.mark.parametrize("size", [BODY_BYTES - 1, BODY_BYTES, BODY_BYTES + 1])
def test_a_body_may_have_as_many_bytes_as_the_server_says(server: Served, size: int) -> None:
    for model, route in ROUTES.items():
        if JSON not in route.ways:
            continue
        body = json.dumps(route.needed | {"ignored": ""})
        body = body.removesuffix('"}') + "x" * (size - len(body)) + '"}'
        request = LongRequest(
            model.__name__, "POST", route.path, {"Content-Type": JSON}, body.encode()
        )
        answer = ask(server, request)
        check(request, answer)
        assert (answer.status == 413) == (size > BODY_BYTES), (model, answer)


def multipart(disposition: str, boundary: str = "b", content: str = "a") -> LongRequest:
    body = f"--{boundary}\r\n{disposition}\r\n\r\n{content}\r\n--{boundary}--\r\n"
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    return LongRequest(disposition[:60], "POST", "/translate", headers, body.encode())


@pytest.mark.parametrize("path", ["/translate", "/translate_file", "/v2/document"])
def test_a_form_with_long_names_is_answered_or_refused(server: Served, path: str) -> None:
    named = 'Content-Disposition: form-data; name="{}"'
    for size in (50, 900, 1100, LONG):
        long = "x" * size
        for request in (
            multipart(named.format(long)),
            multipart(named.format("file") + f'; filename="{long}.txt"'),
            multipart(named.format("q") + f"\r\nX-{long}: a"),
            multipart(named.format("q") + f"\r\nX-A: {long}"),
            multipart(named.format("q"), content=f"\r\n--{long}" * (LONG // (size + 4))),
            multipart(named.format("q"), boundary=long[: HEAD_BYTES - 400]),
        ):
            answer = ask(
                server, LongRequest(request.name, "POST", path, request.headers, request.body)
            )
            check(request, answer)
            assert answer.status >= 400


def long_messages() -> Iterator[dict[str, Any]]:
    """Each field of a message with a long value."""
    whole = {"id": "a", "q": "a", "source": "en", "target": "de"}
    for field in ("id", "cancel", "ignored", *TranslateRequest.model_fields):
        for value in (
            "x" * LONG,
            "[" + "[]," * (LONG // 3 - 2) + "[]]",
            ["x" * LONG],
            ["x"] * 9000,
        ):
            yield {**whole, field: value}


def test_a_long_value_in_a_message_is_answered_or_refused(server: Served) -> None:
    url = f"ws://127.0.0.1:{server.port}{STREAM}"
    with connect(url, max_size=None, proxy=None) as client:
        for message in long_messages():
            client.send(json.dumps(message))
            answer: dict[str, Any] = {"type": "token"}
            while answer["type"] == "token":
                answer = json.loads(client.recv(timeout=60))
            assert answer["type"] == "final" or answer["code"] not in (
                "internal_error",
                "overloaded",
            )
            assert len(answer.get("error", "")) < SHORT
        client.send("x" * (BODY_BYTES + 1))
        with pytest.raises(ConnectionClosed):
            client.recv(timeout=60)
        assert client.close_code in (1006, 1009)


def test_a_head_that_never_ends_is_refused(server: Served) -> None:
    for head in (b"GET /", b"GET / HTTP/1.1\r\nX-A: ", b"GET / HTTP/1.1\r\n", b""):
        with server.connect() as client:
            client.settimeout(60)
            try:
                client.sendall(head + b"x" * LONG)
                client.shutdown(socket.SHUT_WR)
            except OSError:  # it is refused already
                pass
            answer = client.recv(100)
        assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431")), answer
