"""DeepL's API: what becomes of every field, its errors, and what rude clients get."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from hypothesis import given
from hypothesis import strategies as st

from service.app import create_app
from service.http.ignored_tags import IgnoredTags
from service.settings import Settings
from tests.service.documents.samples import pdf
from tests.service.fakes import FakeRunner, fake_model, until

KEY = {"Authorization": "DeepL-Auth-Key k:fx"}
FIELDS: dict[str, Any] = {"text": ["Hi."], "source_lang": "EN", "target_lang": "DE"}
ANSWER = {"translations": [{"detected_source_language": "EN", "text": "HI."}]}


def ask(client: TestClient, **fields: Any) -> Response:
    return client.post("/v2/translate", json={**FIELDS, **fields}, headers=KEY)


def refused(answer: Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.json().keys() == {"message"}
    assert "X-Request-ID" in answer.headers
    return str(answer.json()["message"])


def test_json_and_forms_are_understood(client: TestClient) -> None:
    assert ask(client).json() == ANSWER
    assert ask(client, text="Hi.").json() == ANSWER
    form = {**FIELDS, "text": ["Hi.", "Bye."], "auth_key": "k"}
    answer = client.post("/v2/translate", data=form)
    assert [one["text"] for one in answer.json()["translations"]] == ["HI.", "BYE."]
    assert "X-Ignored-Fields" not in answer.headers


def test_the_source_is_detected_for_each_text(client: TestClient) -> None:
    texts = ["Where is the library?", "图书馆在哪里？"]
    answer = ask(client, text=texts, source_lang=None).json()["translations"]
    assert [one["detected_source_language"] for one in answer] == ["EN", "ZH"]
    assert [one["text"] for one in answer] == [text.upper() for text in texts]


def test_languages_are_spelled_as_deepl_spells_them(client: TestClient) -> None:
    for target in ("DE", "de", "DE-AT", "DE-CH", "EN-GB", "EN-US", "ZH-HANS", "ZH", "ZH-HANT"):
        source = "ZH" if target.startswith("EN") else "EN"
        assert ask(client, source_lang=source, target_lang=target).status_code == 200
    for target in ("FR-CA", "ES-419", "PT-BR", "AUTO"):
        message = refused(ask(client, target_lang=target), 400)
        assert f"'{target}'; supported: ZH, ZH-HANS, EN-GB" in message
    assert "'fr-ca'; supported: ZH, EN" in refused(ask(client, source_lang="fr-ca"), 400)


@pytest.mark.parametrize(
    ("name", "values", "more"),
    [
        ("preserve_formatting", [True, 0, "1", "false"], {}),
        ("formality", ["default", "prefer_more", "prefer_less"], {}),
        ("show_billed_characters", [True, "1"], {"billed_characters": 3}),
        ("show_billed_characters", [0], {}),
        ("model_type", ["latency_optimized"], {"model_type_used": "latency_optimized"}),
        (
            "model_type",
            ["quality_optimized", "prefer_quality_optimized"],
            {"model_type_used": "quality_optimized"},
        ),
    ],
)
def test_what_is_honoured(
    client: TestClient, name: str, values: list[Any], more: dict[str, Any]
) -> None:
    for value in values:
        answer = ask(client, **{name: value})
        assert answer.json() == {"translations": [{**ANSWER["translations"][0], **more}]}
        assert "X-Ignored-Fields" not in answer.headers


@pytest.mark.parametrize(
    ("split", "number"), [("0", 2), (False, 2), ("1", 5), (None, 5), ("nonewlines", 3)]
)
def test_sentences_are_split_by_deepls_values(
    client: TestClient, runner: FakeRunner, split: str | int | None, number: int
) -> None:
    text = "the sea is\nblue. it is\r\ndeep.\n\nbye\n"
    assert ask(client, text=[text], split_sentences=split).status_code == 200
    assert len(runner.admitted) == number


def test_latency_is_optimized_by_greedy_search(client: TestClient, runner: FakeRunner) -> None:
    for kind in ("latency_optimized", "quality_optimized"):
        assert ask(client, model_type=kind).status_code == 200
    greedy, best = (sentence.options.beam_size for sentence in runner.sentences)
    assert greedy == 1 < best


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("context", ["A letter."]),
        ("outline_detection", [False, "0", 1]),
        ("splitting_tags", [[]]),
        ("non_splitting_tags", [[]]),
    ],
)
def test_what_has_no_effect_is_named_and_refused_to_the_strict(
    client: TestClient, name: str, values: list[Any]
) -> None:
    for value in values:
        answer = ask(client, **{name: value, "mood": "happy"})
        assert answer.json() == ANSWER, answer.text
        assert answer.headers["X-Ignored-Fields"] == f"{name}, mood"
        strict = {**KEY, "Prefer": "handling=strict"}
        answer = client.post("/v2/translate", json={**FIELDS, name: value}, headers=strict)
        assert f"'{name}'" in refused(answer, 400)


@given(st.text('<xX> /a="nNo translate', max_size=60), st.booleans())
def test_any_text_comes_back_as_it_was(text: str, is_html: bool) -> None:
    for names in (["x"], ["x", "a"], []):
        tags = IgnoredTags(names, is_html=is_html)
        assert tags.unmark(tags.mark(text)) == text


@pytest.mark.parametrize(
    ("name", "value", "status", "message"),
    [
        ("text", None, 400, "Invalid request: missing text parameter"),
        ("text", [], 400, "Parameter 'text' not specified."),
        ("text", "x" * 1001, 413, "1001 characters, at most 1000"),
        (
            "target_lang",
            "XX",
            400,
            "'target_lang' not supported: 'XX'; supported: ZH, ZH-HANS, EN-GB, EN-US, ZH-HANT, DE",
        ),
        ("split_sentences", "2", 400, "split_sentences"),
        ("preserve_formatting", "yes", 400, "true or false"),
        ("formality", "less", 400, "prefer_less is accepted"),
        ("ignore_tags", "x", 400, "need tag_handling"),
        ("style_id", ["x"], 400, "style_id"),
        ("custom_instructions", ["x"], 400, "custom_instructions"),
        ("glossary_ids", ["x"], 400, "glossary_ids"),
    ],
)
def test_what_is_refused(
    client: TestClient, name: str, value: Any, status: int, message: str
) -> None:
    assert message in refused(ask(client, **{name: value}), status)


def test_tags_to_ignore_are_names_of_elements(client: TestClient) -> None:
    for names in ("a b", "<x>", "x" * 65, ["1"], ["x"] * 101, "x," * 101):
        assert "ignore_tags" in refused(ask(client, tag_handling="xml", ignore_tags=names), 400)


def test_languages_and_usage(client: TestClient) -> None:
    assert client.get("/v2/languages").json() == [
        {"language": "ZH", "name": "Chinese"},
        {"language": "EN", "name": "English"},
    ]
    targets = client.get("/v2/languages?type=target").json()
    assert [one["language"] for one in targets] == [
        *("ZH", "ZH-HANS", "EN-GB", "EN-US", "ZH-HANT", "DE")
    ]
    assert {one["supports_formality"] for one in targets} == {False}
    form = client.request("GET", "/v2/languages", data={"type": "target"})
    assert form.json() == targets
    for path in ("/v2/languages", "/v2/languages/"):
        assert client.post(path, data={"type": "target"}).json() == targets
    assert "type must be" in refused(client.get("/v2/languages?type=all"), 400)
    usage = client.get("/v2/usage", headers=KEY).json()
    assert usage == {"character_count": 0, "character_limit": 10**12}


def test_glossaries_are_not_stored_without_a_database(client: TestClient) -> None:
    assert client.get("/v2/glossaries").json() == {"glossaries": []}
    assert client.get("/v2/glossary-language-pairs").json() == {"supported_languages": []}
    given = {"name": "n", "source_lang": "en", "target_lang": "de", "entries": "a\tb"}
    answer = client.post("/v2/glossaries", json={**given, "entries_format": "tsv"})
    assert "setting database" in refused(answer, 404)
    for path in ("/v2/glossaries/x", "/v2/glossaries/x/entries"):
        refused(client.get(path), 404)


def test_languages_of_version_3_say_what_they_can_be_used_as(client: TestClient) -> None:
    found = client.get("/v3/languages?resource=translate_text").json()
    uses = {one["lang"]: (one["usable_as_source"], one["usable_as_target"]) for one in found}
    assert uses["EN"] == (True, False)
    assert uses["EN-GB"] == uses["DE"] == (False, True)
    assert client.get("/v3/languages?resource=voice").json() == []
    refused(client.get("/v3/languages"), 400)
    assert "'foo'" in refused(client.get("/v3/languages?resource=foo"), 400)


def test_each_resource_of_version_3_tells_the_features_that_its_languages_have(
    client: TestClient,
) -> None:
    resources = {
        one["name"]: one["features"] for one in client.get("/v3/languages/resources").json()
    }
    auto = {"name": "auto_detection", "needs_source_support": True}
    assert auto in resources["translate_text"]
    for name, features in resources.items():
        for one in client.get(f"/v3/languages?resource={name}").json():
            for feature in features:
                needed = [
                    one[f"usable_as_{side}"]
                    for side in ("source", "target")
                    if feature.get(f"needs_{side}_support")
                ]
                assert (feature["name"] in one["features"]) == any(needed)


def test_what_is_not_offered_is_refused_in_words(client: TestClient) -> None:
    paths = {"/v2/write/rephrase": "POST", "/v3/style_rules": "GET", "/v3/voice/x": "GET"}
    for path, method in paths.items():
        assert "not offered" in refused(client.request(method, path), 400)


def upload(client: TestClient, name: str = "a.txt", content: bytes = b"Hi.", **data: str) -> Any:
    fields = {"source_lang": "EN", "target_lang": "DE", **data}
    return client.post("/v2/document", data=fields, files={"file": (name, content)})


def sent(client: TestClient, *file: Any, **data: str) -> tuple[str, dict[str, str]]:
    """The path of a document that is accepted, and its key."""
    handle = upload(client, *file, **data).json()
    return f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}


def ended(client: TestClient, path: str, key: dict[str, str]) -> dict[str, Any]:
    """The last status of a document."""
    until(lambda: client.post(path, json=key).json()["status"] in ("done", "error"))
    status: dict[str, Any] = client.post(path, json=key).json()
    return status


def test_a_document_is_translated_and_downloaded_once(client: TestClient) -> None:
    path, key = sent(client, "Zoë.txt", "Hi.\nZoë.\n".encode())
    status = ended(client, path, key)
    assert (status["status"], status["billed_characters"]) == ("done", 9)
    assert client.post(path, data=key).json() == status
    result = client.post(f"{path}/result", json=key)
    assert result.content.decode() == "HI.\nZOË.\n"
    assert result.headers["Content-Type"] == "application/octet-stream"
    refused(client.post(f"{path}/result", json=key), 404)


def test_a_pdf_becomes_a_text_only_if_asked_for(client: TestClient) -> None:
    refused(upload(client, "a.pdf", pdf("Hi.")), 400)
    path, key = sent(client, "a.pdf", pdf("Hi."), output_format="txt")
    ended(client, path, key)
    assert client.post(f"{path}/result", json=key).content == b"HI.\n"


def test_a_document_in_the_target_language_is_refused(client: TestClient) -> None:
    for languages in (("DE", "DE"), ("EN", "EN-US")):
        equal = upload(client, source_lang=languages[0], target_lang=languages[1])
        assert "Source and target language" in refused(equal, 400)
    assert upload(client, source_lang="ZH", target_lang="ZH-HANT").status_code == 200
    files = {"file": ("a.txt", b"Wo ist denn hier die Bibliothek?")}
    handle = client.post("/v2/document", data={"target_lang": "DE"}, files=files).json()
    key = {"document_key": handle["document_key"]}
    status = ended(client, f"/v2/document/{handle['document_id']}", key)
    assert "Source and target language" in status["error_message"]
    refused(client.post(f"/v2/document/{handle['document_id']}/result", json=key), 404)


@pytest.mark.parametrize("key", [{}, {"document_key": "x"}, {"document_key": "é\x00"}])
def test_a_document_needs_its_key(client: TestClient, key: dict[str, str]) -> None:
    handle = upload(client).json()
    for path in ("", "/result"):
        answer = client.post(f"/v2/document/{handle['document_id']}{path}", json=key)
        refused(answer, 404 if key else 400)
    right = {"document_key": handle["document_key"]}
    assert client.post(f"/v2/document/{handle['document_id']}", json=right).status_code == 200
    refused(client.post("/v2/document/other", json=right), 404)


@pytest.mark.parametrize(
    ("name", "content", "data", "status"),
    [
        ("a.txt", b"a", {"filename": "a.pdf"}, 400),
        ("a.txt", b"a", {"formality": "more"}, 400),
        ("a.txt", b"a", {"glossary_id": "x"}, 404),
        ("a.txt", b"a", {"output_format": "pdf"}, 400),
        ("a.txt", b"a" * 2_000_000, {}, 413),
    ],
)
def test_other_documents_are_refused(
    client: TestClient, name: str, content: bytes, data: dict[str, str], status: int
) -> None:
    refused(upload(client, name, content, **data), status)


def test_deeplx_gets_one_text_and_alternatives(client: TestClient) -> None:
    sent = {"text": "Where is the library?", "source_lang": "auto", "target_lang": "DE"}
    answer = client.post("/v1/translate", json=sent).json()
    same = client.post("/translate", json=sent).json()
    assert {**same, "id": 0} == {**answer, "id": 0}
    text = sent["text"].upper()
    assert (answer["code"], answer["data"]) == (200, text)
    assert answer["alternatives"] == [text + "*" * k for k in (1, 2, 3)]
    assert (answer["source_lang"], answer["target_lang"]) == ("EN", "DE")
    refusal = client.post("/v1/translate", json={**sent, "text": ["a"]})
    assert (refusal.status_code, refusal.json()["code"]) == (400, 400)
    for handling, said in ((None, "ONE < TWO"), ("html", "ONE &lt; TWO")):
        marked = {**sent, "text": "one < two", "source_lang": "EN", "tag_handling": handling}
        assert client.post("/v1/translate", json=marked).json()["data"] == said


def test_what_has_q_or_no_text_is_not_deeplxs(client: TestClient) -> None:
    fields = {"source": "en", "target": "de", "target_lang": "DE"}
    both = client.post("/translate", json={**fields, "q": "Hi.", "text": "Bye."})
    assert both.json() == {"translatedText": "HI."}
    neither = client.post("/translate", json=fields)
    assert neither.json()["error"] == "Invalid request: missing q parameter"


def test_deeplx_gets_as_many_alternatives_as_the_widest_beam_gives() -> None:
    app = create_app(Settings(max_beam_size=2), [fake_model(FakeRunner())])
    with TestClient(app) as narrow:
        sent = {"text": "Hi.", "source_lang": "EN", "target_lang": "DE"}
        assert narrow.post("/v1/translate", json=sent).json()["alternatives"] == ["HI.*"]


@pytest.mark.parametrize("kind", ["html", "xml"])
def test_tags_are_kept_and_ignored_elements_are_left_alone(client: TestClient, kind: str) -> None:
    text = "Hi <b>you</b>, <x id='1'>foo</x> &lt; b."
    answer = ask(client, text=[text], tag_handling=kind, ignore_tags="y, x").json()
    expected = "HI <b>YOU</b>, <x id='1'>foo</x> &lt; B."
    assert answer["translations"][0]["text"] == expected
    answer = ask(client, text=[text], tag_handling=kind, ignore_tags="X").json()
    is_html = kind == "html"  # whose names have no case
    assert (answer["translations"][0]["text"] == expected) == is_html
    sent = {"text": "Hi <b>you</b>.", "target_lang": "DE", "source_lang": "EN"}
    answer = client.post("/v1/translate", json={**sent, "tag_handling": kind}).json()
    assert answer["data"] == "HI <b>YOU</b>."
