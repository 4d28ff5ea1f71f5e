"""LibreTranslate's API beside POST /translate with JSON: ways of sending, routes, words, files."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.documents.formats import FORMATS
from service.settings import Settings
from tests.service.documents.samples import SAMPLES, pdf
from tests.service.fakes import FakeRunner, fake_model
from tests.service.http.clients import FIELDS, STREAM, by_json, multipart


def test_fields_may_come_in_any_way(client: TestClient) -> None:
    answers = [
        client.post("/translate", json=FIELDS),
        client.post("/translate", data=FIELDS),
        client.post("/translate", files=multipart(**FIELDS)),
        client.post("/translate", params=FIELDS),
    ]
    assert [answer.json() for answer in answers] == [{"translatedText": "HI."}] * 4
    assert not any("X-Ignored-Fields" in answer.headers for answer in answers)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"source": None}, "Invalid request: missing source parameter"),
        ({"target": None}, "Invalid request: missing target parameter"),
        ({"source": ""}, "Invalid request: missing source parameter"),
        ({"target": ""}, "Invalid request: missing target parameter"),
        ({"target": "zz"}, "zz is not supported"),
    ],
)
def test_errors_have_libretranslates_words(
    client: TestClient, changed: dict[str, Any], error: str
) -> None:
    answer = client.post("/translate", json={**FIELDS, **changed})
    assert (answer.status_code, answer.json()["error"]) == (400, error)


def test_libretranslates_own_codes_are_understood() -> None:
    model = fake_model(FakeRunner(), pairs=[("en", "zh-Hant"), ("en", "pt-BR")])
    with TestClient(create_app(Settings(), [model])) as client:
        for sent, known in (("zt", "zh-Hant"), ("pb", "pt-BR")):
            assert by_json(client, target=sent) == {"translatedText": "HI."}
            assert known in [language["code"] for language in client.get("/languages").json()]


@pytest.mark.parametrize("way", ["json", "data", "params", "files"])
def test_detect_takes_a_text_and_preferred_languages_in_any_way(
    client: TestClient, way: str
) -> None:
    def detected(**sent: Any) -> tuple[str, float]:
        answer = client.post("/detect", **{way: multipart(**sent) if way == "files" else sent})
        assert "X-Ignored-Fields" not in answer.headers
        (found,) = answer.json()
        return found["language"], found["confidence"]

    language, confidence = detected(q="Das ist ein Satz in deutscher Sprache.", api_key="k")
    assert (language, 50 < confidence <= 100) == ("de", True)
    assert detected(q="Pizza")[0] == "en"
    assert detected(q="Pizza", preferred_languages="de")[0] == "de"


def test_detect_refuses_what_is_no_text(client: TestClient) -> None:
    sent: list[Any] = [{}, {"q": ["a"]}, [], {"q": "x" * 1001}]
    assert [client.post("/detect", json=one).status_code for one in sent] == [400, 422, 422, 413]


def test_detect_has_no_confidence_in_what_has_no_letters(client: TestClient) -> None:
    for text in ("", " ", "😀", "12", "\x00"):
        assert client.post("/detect", json={"q": text}).json()[0]["confidence"] == 0


def test_a_full_server_still_detects(client: TestClient, runner: FakeRunner) -> None:
    client.app.state.server.models.pool.engines["fake"].refuse_new_work()  # type: ignore[attr-defined]
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


def upload(
    client: TestClient, name: str, content: bytes, headers: Any = None, **fields: Any
) -> Any:
    data, files = {"source": "en", "target": "de", **fields}, {"file": (name, content)}
    return client.post("/translate_file", data=data, files=files, headers=headers)


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
    with client.websocket_connect(STREAM) as socket:
        socket.send_json({"id": 1, **fields})
        messages = [refused, socket.receive_json()]
    assert [one["detectedLanguage"] for one in messages] == 2 * [{"language": "fr"}]


@pytest.mark.parametrize(
    ("headers", "start"),
    [
        ({"X-Forwarded-Prefix": "/mt"}, "http://testserver/mt"),
        ({"X-Forwarded-Prefix": "/a/b/"}, "http://testserver/a/b"),
        ({"X-Forwarded-Prefix": "//evil.example"}, "http://testserver"),
        ({"X-Forwarded-Prefix": "/a b"}, "http://testserver"),
        *(({"Host": host}, "") for host in ("evil.example/x?", "a b", "[", "u@h", "x" * 300)),
    ],
)
def test_the_link_of_a_file_has_a_proxys_prefix_and_no_host_that_is_none(
    client: TestClient, headers: dict[str, str], start: str
) -> None:
    url = upload(client, "a.txt", b"Hi.", headers).json()["translatedFileUrl"]
    assert url.startswith(f"{start}/download_file/")
    assert client.get(url.removeprefix(start)).content == b"HI."
    prefix = start.removeprefix("http://testserver")
    document = client.get("/openapi.json", headers=headers).json()
    assert document.get("servers", []) == ([{"url": prefix}] if prefix else [])


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
        ("d\u202e.txt", 'filename="d_de.txt"'),
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
    answer = upload(client, "a.json", content, keep=" ")
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
        ("", b"a", {}, 400, "missing_field"),
        ("a", b"a", {}, 400, "unsupported_file"),
        ("a.txt/../../b", b"a", {}, 400, "unsupported_file"),
        ("a.txt", b"caf\x81", {}, 400, "invalid_document"),
        ("a.txt", b"a" * 2001, {}, 413, "document_too_large"),
        ("a.txt", b"a" * 1_100_000, {}, 413, "document_too_large"),
        ("a.txt", b"a" * 1_300_000, {}, 413, "body_too_large"),
        ("a.txt", b"a", {"replace": "maybe"}, 422, "invalid_field"),
        ("a.txt", b"", {"target": "zz"}, 400, "unsupported_language"),
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
    languages = multipart(source="en", target="de")
    answer = client.post("/translate_file", files=languages)
    assert answer.json()["error"] == "Invalid request: missing file parameter"
    for path in ("/translate_file", "/documents"):  # as curl sends it without an @
        answer = client.post(path, files=multipart(file="a.txt", source="en", target="de"))
        assert (answer.status_code, answer.json()["code"]) == (400, "missing_field")
        assert "file must be a file, got a text field" in answer.json()["error"]
    answer = client.post("/translate_file", files={"file": ("a.txt", b"a")})
    assert answer.json()["error"] == "Invalid request: missing source parameter"


def test_there_is_no_other_file(client: TestClient) -> None:
    for name in ("x.txt", "..%2f..%2fetc%2fpasswd", "%00", "a" * 5000):
        answer = client.get(f"/download_file/{name}")
        assert answer.status_code == 404
        assert answer.json()["code"] in ("unknown_file", "not_found")
