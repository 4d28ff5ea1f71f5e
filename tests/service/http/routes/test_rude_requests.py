"""What each surface answers to requests that are legal HTTP and rude, or nearly legal, and to
bodies that are slow or large to parse."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.errors import ServiceError
from tests.service.http.clients import FIELDS, JSON, STREAM, client_of, last_message
from tests.service.served import Served, served

GOOGLE = "/language/translate/v2"
DEEPL = {"text": ["Hi."], "source_lang": "EN", "target_lang": "DE"}
WORK: dict[str, dict[str, Any]] = {
    "/translate": FIELDS,
    "/v2/translate": DEEPL,
    "/v1/translate": {**DEEPL, "text": "Hi."},
    GOOGLE: FIELDS,
    "/immersive": {"text_list": ["Hi."], "source_lang": "en", "target_lang": "de"},
}
"""By path: what is translated to HI."""


def error_of(answer: Any) -> str:
    """The message in the format of any API."""
    body = answer.json()
    error = body.get("message") or body["error"]
    return str(error["message"] if isinstance(error, dict) else error)


@pytest.mark.parametrize("path", WORK)
def test_one_slash_more_before_a_path_is_no_other_path(client: TestClient, path: str) -> None:
    """As after an address that is written with a slash at its end."""
    assert "HI." in client.post("http://testserver/" + path, json=WORK[path]).text
    answer = client.post(path + "/", json=WORK[path])
    if path.startswith("/v2/"):
        assert "HI." in answer.text
        return
    assert answer.status_code == 404
    assert f"'{path}/': not found" in error_of(answer)


@pytest.mark.parametrize("path", WORK)
def test_a_packed_body_is_refused_in_words(client: TestClient, path: str) -> None:
    body = gzip.compress(json.dumps(WORK[path]).encode())
    answer = client.post(path, content=body, headers={**JSON, "Content-Encoding": "gzip"})
    assert answer.status_code == 415
    assert error_of(answer) == "Content-Encoding must be identity, got 'gzip'"
    same = client.post(path, json=WORK[path], headers={"Content-Encoding": "identity"})
    assert "HI." in same.text


@pytest.mark.parametrize("path", WORK)
def test_json_may_have_a_byte_order_mark_and_any_charset_but_is_utf_8(
    client: TestClient, path: str
) -> None:
    text = json.dumps(WORK[path]).replace("Hi.", "Größe.")
    for charset in ("utf-8", '"UTF-8"', "utf8", "iso-8859-1", "nonsense"):
        kind = {"Content-Type": f"application/json; charset={charset}"}
        for body in (text.encode(), text.encode("utf-8-sig")):
            assert "GRÖSSE." in client.post(path, content=body, headers=kind).text
    for charset in ("latin-1", "utf-16", "utf-32-be"):
        kind = {"Content-Type": f"application/json; charset={charset}"}
        body = text.replace("\\u00f6", "ö").replace("\\u00df", "ß").encode(charset)
        answer = client.post(path, content=body, headers=kind)
        assert answer.status_code == 400
        assert "not valid JSON" in error_of(answer)


@pytest.mark.parametrize("path", ["/translate", "/v2/translate", "/v1/translate", GOOGLE])
def test_a_repeated_field_is_a_list_and_refused_where_one_is_wanted(
    client: TestClient, path: str
) -> None:
    name = "target" if "target" in WORK[path] else "target_lang"
    answer = client.post(path, data={**WORK[path], name: ["de", "en"]})
    assert answer.status_code in (400, 422)
    assert f"{name} must be" in error_of(answer)


UPLOADS = {
    "/translate_file": {"source": "en", "target": "de"},
    "/v2/document": {"source_lang": "EN", "target_lang": "DE"},
}


@pytest.mark.parametrize("path", UPLOADS)
def test_a_second_file_is_not_dropped_and_an_empty_one_is_translated(
    client: TestClient, path: str
) -> None:
    twice = [("file", ("a.txt", b"Hi.")), ("file", ("b.txt", b"Ho."))]
    answer = client.post(path, data=UPLOADS[path], files=twice)
    assert (answer.status_code, error_of(answer)) == (400, "the form has two files named 'file'")
    other = [("file", ("a.txt", b"Hi.")), ("letter", ("b.txt", b"Ho."))]
    answer = client.post(path, data=UPLOADS[path], files=other)
    assert (answer.status_code, answer.headers["X-Ignored-Fields"]) == (200, "letter")
    answer = client.post(path, data=UPLOADS[path], files={"file": ("a.txt", b"")})
    assert answer.status_code == 200
    assert "X-Ignored-Fields" not in answer.headers
    if path == "/translate_file":
        assert client.get(answer.json()["translatedFileUrl"]).content == b""


@pytest.mark.parametrize(
    "name", ["a.txt\x00.exe", "\u202etxt.a", "a\r\nX-Evil: 1.txt", "CON.txt", "é" * 400 + ".txt"]
)
def test_a_rude_name_of_a_file_is_no_header_and_no_path(client: TestClient, name: str) -> None:
    head = f'--B\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    rest = "".join(
        f'\r\n--B\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n{value}'
        for field, value in UPLOADS["/translate_file"].items()
    )
    body = f"{head}Hi.{rest}\r\n--B--\r\n".encode()
    kind = {"Content-Type": "multipart/form-data; boundary=B"}
    answer = client.post("/translate_file", content=body, headers=kind)
    assert answer.status_code in (200, 400)
    if answer.status_code == 200:
        file = client.get(answer.json()["translatedFileUrl"])
        assert file.content == b"HI."
        assert "X-Evil" not in file.headers
        assert file.headers["Content-Disposition"].isascii()


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(client_of(max_characters=1000).app) as server:  # type: ignore[arg-type]
        yield server


def request_of(method: str, path: str, body: bytes, kind: str = "application/json") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize("path", WORK)
def test_a_connection_stays_open_after_errors(server: Served, path: str) -> None:
    """If the body comes with the head; else a refusal by the head closes the connection."""
    good = json.dumps(WORK[path]).encode()
    unknown = good.replace(b'"de"', b'"zz"').replace(b'"DE"', b'"ZZ"')
    requests = [
        (400, request_of("POST", path, b"{")),
        (415, request_of("POST", path, good, "text/csv")),
        (413, request_of("POST", path, good.replace(b"Hi.", b"x" * 1001))),
        (400, request_of("POST", path, unknown)),
        (405, request_of("DELETE", path, b"")),
        (404, request_of("POST", path + "/nowhere", good)),
        (200, request_of("POST", "/" + path, good)),
    ]
    with server.connect() as connection:
        for status, request in requests:
            connection.sendall(request)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert answer.status == status
            assert (b"HI." in answer.read()) == (status == 200)
            answer.close()


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
    "long fields": HEAD + numbered(10_000, '"%090x":0') + b"}",
    "one field again and again": filled(b'"a":0,', HEAD, b"}"),
    "objects": filled(b"{},", HEAD + b'"x":[', b"]}"),
    "zeros": filled(b"0,", HEAD + b'"x":[', b"]}"),
    "empty strings": filled(b'"",', HEAD + b'"x":[', b"]}"),
    "empty texts": filled(b'"",', b'{"source":"en","target":"de","q":[', b"]}"),
    "numbers as texts": filled(b"1,", b'{"source":"en","target":"de","q":[', b"]}"),
    "depth": HEAD + b'"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a number of a million digits": filled(b"9", HEAD + b'"seed":', b"}"),
    "a text of escapes": filled(rb"\u4e00", HEAD + b'"x":"', b'"}'),
    "a text of escaped quotes": filled(rb"\",", HEAD + b'"x":"', b'"}'),
    "a text of backslashes": filled(rb"\\", HEAD + b'"x":"', b',"}' + b"," * 20_000),
}
FORMS = {
    "ampersands": b"&" * MEGABYTE,
    "fields": b"a=&" * (MEGABYTE // 3),
    "equals": b"=" * MEGABYTE,
    "as many escapes as are allowed": b"q=" + b"%41" * 130_000,
    "as many percents as are allowed": b"q=" + b"%" * 130_000,
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
