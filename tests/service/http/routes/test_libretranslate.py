"""LibreTranslate's API beside POST /translate with JSON: ways of sending, routes, words, files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings, read_settings
from service.translation.documents.formats import FORMATS
from tests.service.fakes import FakeRunner, fake_model
from tests.service.translation.documents.samples import SAMPLES, pdf

FIELDS = {"q": "Hi.", "source": "en", "target": "de"}
EMPTY_MULTIPART = (b"--B--\r\n", "multipart/form-data; boundary=B")


def multipart(fields: dict[str, str]) -> dict[str, tuple[None, str]]:
    return {name: (None, value) for name, value in fields.items()}


def test_fields_may_come_in_any_way(client: TestClient) -> None:
    answers = [
        client.post("/translate", json=FIELDS),
        client.post("/translate", data=FIELDS),
        client.post("/translate", files=multipart(FIELDS)),
        client.post("/translate", params=FIELDS),
    ]
    assert [answer.json() for answer in answers] == [{"translatedText": "HI."}] * 4
    assert not any("X-Ignored-Fields" in answer.headers for answer in answers)


@pytest.mark.parametrize(
    ("body", "kind"), [(b"", "application/x-www-form-urlencoded"), EMPTY_MULTIPART]
)
def test_an_empty_form_leaves_the_query(client: TestClient, body: bytes, kind: str) -> None:
    headers = {"Content-Type": kind}
    answer = client.post("/translate", params=FIELDS, content=body, headers=headers)
    assert answer.json() == {"translatedText": "HI."}


def test_a_multipart_form_hides_the_query_and_names_what_it_does_not_know(
    client: TestClient,
) -> None:
    files = multipart({**FIELDS, "mood": "happy"})
    answer = client.post("/translate?q=other", files=files)
    assert answer.json() == {"translatedText": "HI."}
    assert answer.headers["X-Ignored-Fields"] == "mood, q"
    answer = client.post("/translate", files=files, headers={"Prefer": "handling=strict"})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_field")


def test_alternatives_may_be_a_string_in_json(client: TestClient) -> None:
    answer = client.post("/translate", json={**FIELDS, "alternatives": "2"})
    assert answer.json() == {"translatedText": "HI.", "alternatives": ["HI.*", "HI.**"]}


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"source": None}, "Invalid request: missing source parameter"),
        ({"target": "zz"}, "zz is not supported"),
        ({"source": "\udc80"}, "\\udc80 is not supported"),
    ],
)
def test_errors_have_libretranslates_words(
    client: TestClient, changed: dict[str, Any], error: str
) -> None:
    body = json.dumps({**FIELDS, **changed}, ensure_ascii=True)
    answer = client.post("/translate", content=body, headers={"Content-Type": "application/json"})
    if "\udc80" in changed.values():  # no JSON text has a lone surrogate
        assert answer.json()["code"] == "invalid_json"
        return
    assert (answer.status_code, answer.json()["error"]) == (400, error)


def test_an_unknown_language_is_told_with_those_that_are_known(client: TestClient) -> None:
    answer = client.post("/translate", json={**FIELDS, "target": "zz"}).json()
    assert answer["detail"] == "target language 'zz' is not supported; supported: zh, en, de"


@pytest.mark.parametrize(("sent", "known"), [("zt", "zh-Hant"), ("pb", "pt-BR")])
def test_libretranslates_own_codes_are_understood(sent: str, known: str) -> None:
    model = fake_model(FakeRunner(), pairs=[("en", known)])
    with TestClient(create_app(Settings(), [model])) as client:
        answer = client.post("/translate", json={**FIELDS, "target": sent})
        assert answer.json() == {"translatedText": "HI."}
        assert known in [language["code"] for language in client.get("/languages").json()]


@pytest.mark.parametrize("way", ["json", "data", "params", "files"])
def test_detect_takes_a_text_in_any_way(client: TestClient, way: str) -> None:
    text = "Das ist ein Satz in deutscher Sprache."
    sent: Any = {"q": text, "api_key": "k"}
    answer = client.post("/detect", **{way: multipart(sent) if way == "files" else sent})
    (found,) = answer.json()
    assert found["language"] == "de"
    assert 50 < found["confidence"] <= 100
    assert "X-Ignored-Fields" not in answer.headers


def test_detect_by_query_with_an_empty_multipart_form(client: TestClient) -> None:
    """As PHP's curl sends it."""
    body, kind = EMPTY_MULTIPART
    query = {"q": "Where is the library?"}
    answer = client.post("/detect", params=query, content=body, headers={"Content-Type": kind})
    assert answer.json()[0]["language"] == "en"


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ({}, 400, "missing_field"),
        ({"q": None}, 400, "missing_field"),
        ({"q": 5}, 422, "invalid_field"),
        ({"q": ["a"]}, 422, "invalid_field"),
        ([], 422, "invalid_field"),
        ({"q": "x" * 1001}, 413, "text_too_long"),
    ],
)
def test_detect_refuses_what_is_no_text(
    client: TestClient, sent: Any, status: int, code: str
) -> None:
    answer = client.post("/detect", json=sent)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.mark.parametrize("text", ["", " ", "😀", "12", "\x00"])
def test_detect_has_no_confidence_in_what_has_no_letters(client: TestClient, text: str) -> None:
    assert client.post("/detect", json={"q": text}).json()[0]["confidence"] == 0


def test_a_full_server_still_detects(client: TestClient, runner: FakeRunner) -> None:
    client.app.state.server.engines["fake"].refuse_new_work()  # type: ignore[attr-defined]
    assert client.post("/translate", json=FIELDS).status_code == 503
    assert client.post("/detect", json={"q": "Guten Tag"}).status_code == 200


def test_the_page_and_clients_get_their_settings(client: TestClient) -> None:
    assert client.get("/frontend/settings").json() == {
        "charLimit": 1000,
        "frontendTimeout": 500,
        "apiKeys": False,
        "keyRequired": False,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": list(FORMATS),
        "language": {
            "source": {"code": "auto", "name": "Auto Detect"},
            "target": {"code": "en", "name": "English"},
        },
    }


def test_the_specification_has_the_title_that_clients_look_for(client: TestClient) -> None:
    spec = client.get("/spec").json()
    assert spec["info"]["title"] == "LibreTranslate"
    own = client.get("/openapi.json").json()
    assert (own["info"]["title"], spec["paths"]) == ("Dragoman", own["paths"])


@pytest.mark.parametrize("way", ["json", "data"])
def test_suggestions_are_switched_off(client: TestClient, way: str) -> None:
    answer = client.post("/suggest", **{way: {**FIELDS, "s": "Hallo."}})
    assert (answer.status_code, answer.json()["code"]) == (403, "suggestions_off")


def upload(client: TestClient, name: str, content: bytes, **fields: Any) -> Any:
    data = {"source": "en", "target": "de", **fields}
    return client.post("/translate_file", data=data, files={"file": (name, content)})


def test_a_text_file_is_translated_and_downloaded(client: TestClient) -> None:
    answer = upload(client, "Letter.TXT", "\ufeffHi.\n\nBye, Zoë.\n".encode(), api_key="k")
    assert answer.status_code == 200, answer.text
    url = answer.json()["translatedFileUrl"]
    assert re.fullmatch(r"http://testserver/download_file/[0-9a-f]{48}\.txt", url)
    file = client.get(url)
    assert file.content.decode() == "\ufeffHI.\n\nBYE, ZOË.\n"
    assert file.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert file.headers["Content-Disposition"] == 'attachment; filename="Letter_de.txt"'
    assert file.headers["X-Content-Type-Options"] == "nosniff"


def test_a_detected_language_is_named_for_files_and_in_refusals(client: TestClient) -> None:
    answer = upload(client, "a.txt", "图书馆在哪里？".encode(), source="auto", target="en").json()
    assert answer["detectedLanguage"] == {"language": "zh"}
    assert "detectedLanguage" not in upload(client, "a.txt", b"Hi.").json()
    fields = {"q": "Où est la bibliothèque ?", "source": "auto", "target": "en"}
    refused = client.post("/translate", json=fields).json()
    with client.websocket_connect("/translate/stream") as socket:
        socket.send_json({"id": 1, **fields})
        messages = [refused, socket.receive_json()]
    assert [one["detectedLanguage"] for one in messages] == 2 * [{"language": "fr"}]


@pytest.mark.parametrize(
    ("given", "prefix"), [("/mt", "/mt"), ("/a/b/", "/a/b"), ("//evil.example", ""), ("/a b", "")]
)
def test_the_link_of_a_file_has_the_prefix_of_a_proxy(
    client: TestClient, given: str, prefix: str
) -> None:
    sent = {"files": {"file": ("a.txt", b"Hi.")}, "data": {"source": "en", "target": "de"}}
    answer = client.post("/translate_file", headers={"X-Forwarded-Prefix": given}, **sent)  # type: ignore[arg-type]
    url = answer.json()["translatedFileUrl"]
    assert url.startswith(f"http://testserver{prefix}/download_file/")


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_of_every_format_comes_back_under_its_own_name(
    client: TestClient, name: str
) -> None:
    suffix = "." + name.rpartition(".")[2]
    url = upload(client, f"Ein Haus{suffix}", SAMPLES[name]).json()["translatedFileUrl"]
    assert url.endswith(suffix)
    file = client.get(url)
    named = f'attachment; filename="Ein Haus_de{suffix}"'
    assert file.headers["Content-Disposition"] == named
    assert file.headers["Content-Type"].partition(";")[0] == FORMATS[suffix].media_type
    assert file.content != SAMPLES[name]
    assert client.head(url).headers["Content-Length"] == str(len(file.content))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("größe.txt", "filename*=UTF-8''gr%C3%B6%C3%9Fe_de.txt"),
        ("../../etc/a.txt", 'filename="a_de.txt"'),
        ("C:\\x\\a.txt", 'filename="a_de.txt"'),
        (".txt", 'filename="translated_de.txt"'),
        ("a'b;c.txt", "filename*=UTF-8''a%27b%3Bc_de.txt"),
        ("x" * 500 + ".txt", f'filename="{"x" * 80}_de.txt"'),
        ("a.pdf", 'filename="a_de.txt"'),
    ],
)
def test_the_name_of_a_download_is_safe(client: TestClient, name: str, expected: str) -> None:
    content = pdf("a") if name == "a.pdf" else b"a"
    url = upload(client, name, content).json()["translatedFileUrl"]
    assert client.get(url).headers["Content-Disposition"].endswith(expected)


def test_named_strings_stay_in_a_file(client: TestClient) -> None:
    content = b'["the Blue Sky is", "primary"]'
    url = upload(client, "a.json", content, keep=["Blue Sky", "primary"]).json()
    assert client.get(url["translatedFileUrl"]).content == b'["THE Blue Sky IS", "primary"]'
    answer = upload(client, "a.json", content, keep="")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_field")


def test_what_a_catalogue_has_is_translated_if_asked_for(client: TestClient) -> None:
    content = b'msgid "a"\nmsgstr "b"\n'
    for replace, expected in (("false", content), ("true", content.replace(b'"b"', b'"A"'))):
        url = upload(client, "a.po", content, replace=replace).json()["translatedFileUrl"]
        assert client.get(url).content == expected


@pytest.mark.parametrize(
    ("name", "content", "fields", "status", "code"),
    [
        ("a.pdf", b"a", {}, 400, "invalid_document"),
        ("a.exe", b"a", {}, 400, "unsupported_file"),
        ("", b"a", {}, 400, "missing_field"),
        ("a", b"a", {}, 400, "unsupported_file"),
        ("a.txt/../../b", b"a", {}, 400, "unsupported_file"),
        ("a.txt", b"caf\x81", {}, 400, "invalid_document"),
        ("a.txt", b"a" * 2001, {}, 413, "document_too_large"),
        ("a.txt", b"a" * 1_100_000, {}, 413, "document_too_large"),
        ("a.txt", b"a" * 1_300_000, {}, 413, "body_too_large"),
        ("a.txt", b"a", {"replace": "maybe"}, 422, "invalid_field"),
        ("a.txt", b"1", {"target": "zz"}, 400, "unsupported_language"),
        ("a.txt", b"", {"target": "zz"}, 400, "unsupported_language"),
        ("a.txt", b"a", {"target": "zz"}, 400, "unsupported_language"),
        ("a.txt", b"a", {"source": "x" * 65}, 422, "invalid_field"),
    ],
)
def test_other_files_are_refused(
    client: TestClient, name: str, content: bytes, fields: dict[str, str], status: int, code: str
) -> None:
    answer = upload(client, name, content, **fields)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_a_file_needs_a_multipart_form_a_file_and_languages(client: TestClient) -> None:
    assert client.post("/translate_file", json=FIELDS).status_code == 415
    languages = multipart({"source": "en", "target": "de"})
    answer = client.post("/translate_file", files=languages)
    assert answer.json()["error"] == "Invalid request: missing file parameter"
    answer = client.post("/translate_file", files={"file": ("a.txt", b"a")})
    assert answer.json()["error"] == "Invalid request: missing source parameter"


@pytest.mark.parametrize("host", ["evil.example/x?", "a b", "[", "u@h", "x" * 300])
def test_a_host_header_that_is_no_host_is_not_repeated(client: TestClient, host: str) -> None:
    files = {"file": ("a.txt", b"Hi.")}
    data = {"source": "en", "target": "de"}
    answer = client.post("/translate_file", data=data, files=files, headers={"Host": host})
    url = answer.json()["translatedFileUrl"]
    assert url.startswith("/download_file/")
    assert client.get(url).content == b"HI."


@pytest.mark.parametrize("name", ["x.txt", "..%2f..%2fetc%2fpasswd", "%00", "a" * 5000])
def test_there_is_no_other_file(client: TestClient, name: str) -> None:
    answer = client.get(f"/download_file/{name}")
    assert answer.status_code == 404
    assert answer.json()["code"] in ("unknown_file", "not_found")


@pytest.fixture
def open_client() -> Iterator[TestClient]:
    """A server that pages of one other origin may use."""
    settings = Settings(cors_origins=("https://app.example",))
    with TestClient(create_app(settings, [fake_model(FakeRunner())])) as client:
        yield client


PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type",
}


def test_pages_of_other_origins_are_not_let_in_unless_configured(
    client: TestClient, open_client: TestClient
) -> None:
    origin = {"Origin": "https://app.example"}
    for closed in (
        client.post("/translate", json=FIELDS, headers=origin),
        client.options("/translate", headers={**origin, **PREFLIGHT}),
    ):
        assert (closed.status_code, closed.json()["code"]) == (403, "foreign_page")
        assert "Access-Control-Allow-Origin" not in closed.headers
    answer = open_client.post("/translate", json=FIELDS, headers=origin)
    assert answer.headers["Access-Control-Allow-Origin"] == "https://app.example"
    assert "X-Ignored-Fields" in answer.headers["Access-Control-Expose-Headers"]
    preflight = open_client.options("/translate", headers={**origin, **PREFLIGHT})
    assert preflight.status_code == 200
    assert "content-type" in preflight.headers["Access-Control-Allow-Headers"]
    for headers in ({"Origin": "https://other.example"}, {"Origin": "null"}):
        assert (
            open_client.options("/translate", headers={**headers, **PREFLIGHT}).status_code == 400
        )
        answer = open_client.post("/translate", json=FIELDS, headers=headers)
        assert "Access-Control-Allow-Origin" not in answer.headers


def test_a_refusal_can_be_read_by_an_allowed_page(open_client: TestClient) -> None:
    open_client.app.state.server.engines["fake"].refuse_new_work()  # type: ignore[attr-defined]
    origin = {"Origin": "https://app.example"}
    for path in ("/translate", "/v2/translate"):
        answer = open_client.post(path, json=FIELDS, headers=origin)
        assert answer.status_code == 503
        assert answer.headers["Access-Control-Allow-Origin"] == "https://app.example"


def test_several_origins_are_separated_by_commas() -> None:
    origins = "https://app.example:8443,chrome-extension://abc,http://[::1]:3000"
    assert read_settings(Settings, {"cors_origins": origins}).cors_origins == (
        "https://app.example:8443",
        "chrome-extension://abc",
        "http://[::1]:3000",
    )


@pytest.mark.parametrize("origin", ["app.example", "https://a.example/", "https://A.example", ""])
def test_an_origin_in_the_settings_has_no_path(origin: str) -> None:
    with pytest.raises(ValueError, match="an origin must be"):
        Settings(cors_origins=(origin, "x"))
