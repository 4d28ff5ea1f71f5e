"""The requests of clients that no registry reachable from a test has, as their sources write them.

Each answer is read as the client reads it. `make clients-test` runs those that can be installed.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.http.apis.deepl import TextRequest
from service.http.apis.deeplx import DeepLXRequest
from service.http.apis.google import GoogleLanguagesRequest, GoogleTextRequest
from service.http.apis.immersive import ImmersiveRequest
from service.http.apis.libretranslate import DetectRequest
from service.http.request_fields import RequestModel
from service.http.translate_request import TranslateRequest
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model
from tests.service.http.clients import FORM, JSON

GERMAN = "Das ist ein Satz in deutscher Sprache."
PAIRS = (("de", "en"), ("en", "de"), ("zh", "en"), ("en", "zh"))
PHP = {"Content-Type": "multipart/form-data; boundary=------------------------d74496d66958873e"}
NO_PARTS = b"--------------------------d74496d66958873e--\r\n"


@pytest.fixture
def client() -> Any:
    app = create_app(Settings(), [fake_model(FakeRunner(max_source_tokens=200), pairs=PAIRS)])
    with TestClient(app) as client:
        yield client


def test_mastodon_asks_for_languages_with_a_content_type_and_no_body(client: TestClient) -> None:
    """It offers a translation only into a listed code without a region: zh, not zh-Hans."""
    listed = client.get("/languages", headers=JSON).json()
    targets = {
        one["code"]: [code for code in one["targets"] if code != one["code"]] for one in listed
    }
    assert targets["en"] == ["de", "zh", "zh-Hant"]


def test_mastodon_translates_the_parts_of_a_post(client: TestClient) -> None:
    post = [
        '<p>Hallo <span translate="no">:blobcat:</span>, das ist ein Satz</p>',
        "Ein Titel auf Deutsch",
    ]
    body = {"q": post, "source": "auto", "target": "en", "format": "html", "api_key": None}
    answer = client.post("/translate", content=json.dumps(body), headers=JSON)
    found = answer.json()
    assert found["translatedText"] == [
        '<p>HALLO <span translate="no">:blobcat:</span>, DAS IST EIN SATZ</p>',
        "EIN TITEL AUF DEUTSCH",
    ]
    assert [one["language"] for one in found["detectedLanguage"]] == ["de", "de"]
    assert "X-Ignored-Fields" not in answer.headers


def test_discourse_detects_asks_for_languages_and_translates(client: TestClient) -> None:
    """Its locale zh_CN is zh, and the language that it detects must be listed too."""
    detected = client.post("/detect", content=f"q={GERMAN}&api_key=", headers=FORM).json()
    assert detected[0]["language"] == "de"
    assert {"de", "en", "zh", "zh-Hant"} == {one["code"] for one in client.get("/languages").json()}
    body = "q=%3Cp%3EHallo+du%3C%2Fp%3E&source=de&target=en&format=html&api_key="
    answer = client.post("/translate", content=body, headers=FORM)
    assert answer.json() == {"translatedText": "<p>HALLO DU</p>"}
    assert "X-Ignored-Fields" not in answer.headers


def php_form(**fields: str) -> bytes:
    """A form as PHP's curl writes it."""
    boundary = NO_PARTS.decode().removesuffix("--\r\n")
    parts = (
        f'{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    return "".join(parts).encode() + NO_PARTS


@pytest.mark.parametrize(("empty", "kind"), [(b"", FORM), (NO_PARTS, PHP)])
def test_nextclouds_client_sends_an_empty_form_with_every_question(
    client: TestClient, empty: bytes, kind: dict[str, str]
) -> None:
    """Also with GET; an older curl makes it a multipart form. First it posts to the page, whatever
    becomes of it."""
    headers = {**kind, "Content-Length": str(len(empty))}
    assert client.post("/", content=empty, headers=headers).status_code == 405
    for path, key in (("/frontend/settings", "charLimit"), ("/languages", 0)):
        assert client.request("GET", path, content=empty, headers=headers).json()[key]
    query = {"q": GERMAN, "api_key": ""}
    answer = client.post("/detect", params=query, content=empty, headers=headers)
    assert answer.json()[0]["language"] == "de"


def test_nextclouds_client_translates_texts_lists_and_files(client: TestClient) -> None:
    asked = {"format": "html", "source": "en", "target": "de", "api_key": ""}
    for text, translated in (("Hi.", "HI."), ("%5B%22Hi.%22%5D", "%5B%22HI.%22%5D")):
        answer = client.post("/translate", content=php_form(q=text, **asked), headers=PHP)
        assert answer.json() == {"translatedText": translated}
    file = b'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n'
    file += b"Content-Type: application/octet-stream\r\n\r\nHi.\n\r\n"
    boundary = NO_PARTS.removesuffix(b"--\r\n") + b"\r\n"
    answer = client.post(
        "/translate_file", content=boundary + file + php_form(**asked), headers=PHP
    )
    assert client.get(answer.json()["translatedFileUrl"]).content == b"HI.\n"
    assert "X-Ignored-Fields" not in answer.headers


def test_traduzir_paginas_web_sends_a_form_and_reads_the_detected_language(
    client: TestClient,
) -> None:
    body = "q=Das+ist+ein+Satz+in+deutscher+Sprache.&source=auto&target=en&format=text&api_key="
    found = client.post("/translate", content=body, headers=FORM).json()
    assert found["translatedText"] == GERMAN.upper()
    assert found["detectedLanguage"]["language"] == "de"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/translate", {"q": "a=b&c", "source": "en", "target": "de"}, "translatedText"),
        ("/detect", {"q": "Good morning."}, 0),
        ("/v2/translate", {"text": ["a=b"], "target_lang": "DE"}, "translations"),
        ("/language/translate/v2", {"q": "a+b", "source": "en", "target": "de"}, "data"),
    ],
)
def test_curl_sends_json_as_a_form(client: TestClient, path: str, body: Any, field: Any) -> None:
    """`curl -d '{...}'` without a header."""
    spelled = json.dumps(body, indent=2)
    expected = client.post(path, json=body).json()[field]
    for content in (spelled, f"\n  {spelled}\n", "\ufeff" + spelled):
        answer = client.post(path, content=content, headers=FORM)
        assert (answer.status_code, answer.json()[field]) == (200, expected)
    refused = client.post(path, content=spelled[:-3], headers=FORM)
    assert refused.status_code == 400
    assert "JSON" in refused.text


def test_libreoffice_says_in_the_query_that_its_form_is_html(client: TestClient) -> None:
    form = {"auth_key": "k", "target_lang": "DE", "text": '<p translate="no">hi</p><p>so is it</p>'}
    answer = client.post("/v2/translate?tag_handling=html", data=form)
    (found,) = answer.json()["translations"]
    assert found["text"] == '<p translate="no">hi</p><p>SO IS IT</p>'
    assert "X-Ignored-Fields" not in answer.headers


@pytest.mark.parametrize("path", ["/translate", "/v1/translate"])
def test_subtitle_edit_sends_deeplx_its_json_as_a_text(client: TestClient, path: str) -> None:
    """As .NET does without a media type. A text with braces to translate stays a text."""
    body = '{ "source_lang": "EN", "target_lang": "DE", "text": "a=b" }'
    text = {"Content-Type": "text/plain; charset=utf-8"}
    assert client.post(path, content=body, headers=text).json()["data"] == "a=b"
    braces = client.post("/translate?source=en&target=de", content="{so} it is", headers=text)
    assert braces.text == "{so} IT IS"


def test_clients_of_mtranserver_are_known_by_the_fields(client: TestClient) -> None:
    """Zotero's plugin and STranslate post JSON, and XUnity.AutoTranslator gets a plain text."""
    asked = {"text": "Hi there.", "from": "en", "to": "de"}
    assert client.post("/translate", json=asked).json()["result"] == "HI THERE."
    html = {**asked, "text": "<b>Hi</b> there.", "html": True}
    assert client.post("/translate", json=html).json()["result"] == "<b>HI</b> THERE."
    batch = {**asked, "texts": ["<b>Hi</b> there.", "", "Bye."], "html": True}
    for path in ("/translate", "/translate/batch"):
        found = client.post(path, json=batch).json()["results"]
        assert found == ["<b>HI</b> THERE.", "", "BYE."]
        assert client.post(path, json={**batch, "texts": []}).json()["results"] == []
    plain = client.get("/translate", params={**asked, "text": "Hi\nthere."})
    assert plain.text == "HI\nTHERE."
    assert plain.headers["Content-Type"].startswith("text/plain")
    for wrong in ({"text": ["Hi."]}, {"text": 5}, {"to": "xx"}, {"from": 5}):
        assert client.post("/translate", json=asked | wrong).status_code in (400, 422)
    for wrong in ({"texts": "Hi."}, {"texts": [5]}, {"texts": None}, {"to": "xx"}, {"from": None}):
        answer = client.post("/translate/batch", json=batch | wrong)
        assert answer.status_code in (400, 422)
    for absent in ({"from": "en"}, {"texts": ["Hi."]}, {}, [], "Hi."):
        answer = client.post("/translate/batch", json=absent)
        assert (answer.status_code, "missing" in answer.json()["error"]) == (400, True)
    for query in ("text=a&text=b&from=en&to=de", "texts=a&from=en&to=de"):
        assert client.get(f"/translate?{query}").status_code == 400


def test_kiss_translators_custom_api_tells_the_language_of_each_text(client: TestClient) -> None:
    asked = {"text": GERMAN, "from": "auto", "to": "en"}
    found = client.post("/translate", json=asked).json()
    assert (found["text"], found["src"]) == (GERMAN.upper(), "de")
    batch = {"texts": [GERMAN, "This is an English sentence."], "from": "auto", "to": "zh-CN"}
    items = client.post("/translate", json=batch).json()["translations"]
    assert [(item["text"], item["src"]) for item in items] == [
        (GERMAN.upper(), "de"),
        ("THIS IS AN ENGLISH SENTENCE.", "en"),
    ]
    told = client.post("/translate", json={**asked, "from": "de"}).json()
    assert told["src"] == "de"


FILLED: list[tuple[str, type[RequestModel], dict[str, str]]] = [
    ("/translate", TranslateRequest, {"q": GERMAN, "source": "de", "target": "en"}),
    ("/detect", DetectRequest, {"q": GERMAN}),
    ("/v2/translate", TextRequest, {"text": GERMAN, "target_lang": "EN"}),
    ("/v1/translate", DeepLXRequest, {"text": GERMAN, "target_lang": "EN"}),
    ("/immersive", ImmersiveRequest, {"text_list": GERMAN, "target_lang": "EN"}),
    ("/language/translate/v2", GoogleTextRequest, {"q": GERMAN, "target": "en"}),
    ("/language/translate/v2/languages", GoogleLanguagesRequest, {}),
]


@pytest.mark.parametrize(("path", "model", "fields"), FILLED)
def test_an_empty_string_in_a_field_that_may_be_absent_is_none(
    client: TestClient, path: str, model: type[RequestModel], fields: dict[str, str]
) -> None:
    """Clients send the fields that their users left empty: source_lang, glossary_id, format."""

    def answered(method: str, **options: Any) -> Any:
        answer = client.request(method, path, **options)
        assert answer.status_code == 200, answer.text
        assert "X-Ignored-Fields" not in answer.headers
        return {**answer.json(), "id": 0} if path == "/v1/translate" else answer.json()

    empty = {**dict.fromkeys(model.names, ""), **fields}
    assert answered("POST", json=empty) == answered("POST", json=fields)
    if path != "/immersive":
        assert answered("POST", data=empty) == answered("POST", data=fields)
        assert answered("POST", params=empty) == answered("POST", params=fields)


def test_a_content_type_without_a_body_says_nothing(client: TestClient) -> None:
    """Obsidian's plugin posts so to Google's languages, with all fields in the query."""
    for path, query, key in (
        ("/language/translate/v2/languages", {"key": "k", "target": "en"}, "data"),
        ("/language/translate/v2", {"q": "Hi.", "source": "en", "target": "de"}, "data"),
        ("/v2/translate", {"text": "Hi.", "target_lang": "de"}, "translations"),
        ("/translate", {"q": "Hi.", "source": "en", "target": "de"}, "translatedText"),
    ):
        for kind in (JSON, FORM, PHP):
            asked = client.build_request("POST", path, params=query, headers=kind)
            for _ in range(2):
                answer = client.send(asked)
                assert answer.json()[key], (path, kind, answer.text)
                asked.headers.pop("Content-Length", None)


def test_an_empty_plain_text_is_a_text(client: TestClient) -> None:
    plain = {"Content-Type": "text/plain; charset=utf-8"}
    answer = client.post("/translate?source=en&target=de", content=b"", headers=plain)
    assert (answer.status_code, answer.text) == (200, "")


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/v2/translate", {"text": ["Hi.", "Ho."], "target_lang": "DE", "auth_key": "k"}),
        ("/language/translate/v2", {"q": ["Hi.", "Ho."], "target": "de", "key": "k"}),
    ],
)
def test_what_may_be_posted_in_the_query_may_be_asked_for(
    client: TestClient, path: str, query: dict[str, Any]
) -> None:
    """attranslate gets DeepL's translations, and Rocket.Chat DeepL's and Google's."""
    answers = [client.request(method, path, params=query) for method in ("GET", "POST")]
    assert answers[0].status_code == 200
    assert answers[0].json() == answers[1].json()


def test_googles_address_may_end_with_a_slash(client: TestClient) -> None:
    """LunaTranslator's and Subtitle Edit's does."""
    query = {"key": "k", "q": "Hi.", "source": "en", "target": "de"}
    for method in ("GET", "POST"):
        answer = client.request(method, "/language/translate/v2/", params=query).json()
        assert answer["data"]["translations"] == [{"translatedText": "HI."}]
