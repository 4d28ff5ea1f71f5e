"""What each surface answers to requests that are legal HTTP and rude, or nearly legal, and to
bodies that are slow or large to parse."""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.errors import ServiceError
from tests.service.http.clients import FIELDS, FORM, JSON, client_of, error_members
from tests.service.http.wire_client import head, read_answer
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
    if path.startswith(("/v2/", "/language/")):
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


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served(client_of(max_characters=1000).app) as server:  # type: ignore[arg-type]
        yield server


@pytest.mark.parametrize("path", WORK)
def test_a_connection_stays_open_after_errors_of_the_apis_shape(server: Served, path: str) -> None:
    """If the body comes with the head; else a refusal by the head closes the connection."""

    def request_of(method: str, path: str, body: bytes, kind: str = "application/json") -> bytes:
        size = f"Content-Length: {len(body)}"
        return head(path, f"Content-Type: {kind}", size, method=method) + body

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
            found, body = read_answer(connection)
            assert found == status
            assert "HI." in str(body) if status == 200 else error_members(path) <= set(body)


HEAD = b'{"q":"a","source":"en","target":"de",'
FIELDS_OF_JSON = ",".join(f'"{number:x}":0' for number in range(90_000)).encode()
FIELDS_OF_ESCAPES = b"&".join(b"%E4%B8%AD" * 30 + b"=%41" for _ in range(1400))
HOSTILE = {
    "fields": (JSON, HEAD + FIELDS_OF_JSON + b"}"),
    "empty texts": (JSON, HEAD + b'"q":[' + b'"",' * 340_000 + b'""]}'),
    "a number of a million digits": (JSON, HEAD + b'"seed":' + b"9" * 1_000_000 + b"}"),
    "a text of escapes": (JSON, HEAD + b'"x":"' + rb"\u4e00" * 170_000 + b'"}'),
    "a text of escaped quotes": (JSON, HEAD + b'"x":"' + rb"\"," * 340_000 + b'"}'),
    "form fields": (FORM, b"a=&" * 340_000),
    "as many escapes as are allowed": (FORM, b"q=" + b"%41" * 130_000),
    "fields of escapes": (FORM, FIELDS_OF_ESCAPES),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_or_query_is_answered(client: TestClient, name: str) -> None:
    kind, body = HOSTILE[name]
    asked = [client.post("/translate", content=body, headers=kind)]
    if kind is FORM:
        plain, query = {"Content-Type": "text/plain"}, body[:20_000].decode()
        asked.append(client.post(f"/translate?{query}", content="a", headers=plain))
    for answer in asked:
        assert answer.status_code in (200, 400, 413, 422)
        assert len(answer.content) < 1000
        assert len(answer.headers.get("X-Ignored-Fields", "")) <= 256


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
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < 2**21


@pytest.mark.parametrize(
    ("path", "field", "sent"),
    [
        ("/translate", "source", {"q": "Hi.", "target": "de"}),
        ("/translate/next", "target", {"q": "Hi.", "source": "en"}),
        ("/v2/translate", "target_lang", {"text": "Hi."}),
        ("/language/translate/v2", "target", {"q": "Hi."}),
        ("/v1/translate", "target_lang", {"text": "Hi."}),
        ("/immersive", "target_lang", {"text_list": ["Hi."]}),
    ],
)
def test_an_empty_code_is_a_missing_field(
    client: TestClient, path: str, field: str, sent: dict[str, Any]
) -> None:
    """An empty text is a text."""
    answers = [client.post(path, json={**sent, **more}) for more in ({field: ""}, {field: None})]
    assert [answer.status_code for answer in answers] == [400, 400]
    assert all(f"missing {field} parameter" in answer.text for answer in answers)
