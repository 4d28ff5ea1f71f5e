"""What CAT tools ask for: OmegaT as of Apertium's server, and the plugins of OPUS-CAT, whose
requests are written here as their sources send them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote_plus

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response
from hypothesis import given
from hypothesis import strategies as st

from service.http.apis import opus_cat as api
from service.translation.alignment import AlignmentLink

FORM = "application/x-www-form-urlencoded"
OPUS_CAT = ("/MTRestService/", "/MtRestService/")
QUERY = "tokenCode=0&input={}&srcLangCode={}&trgLangCode={}&modelTag="
SEGMENTS = (
    "Hi.",
    "Hi <b0>you</b0> there.",
    "<t0/>Press <br1/>OK & go: 5 < 6.",
    "One. Two three.  Four – „five“.",
    "  In   spaces ",
)


def apertium(client: TestClient, text: str, pair: str = "en|de", key: str = "") -> Response:
    """As OmegaT asks, with a bar that is not quoted."""
    query = f"q={quote_plus(text)}&markUnknown=no&langpair={pair}&key={key}"
    return client.get(f"/translate?{query}")


@pytest.mark.parametrize("text", SEGMENTS)
@pytest.mark.parametrize("pair", ["en|de", "en_US|de_DE", "eng|deu"])
def test_omegat_gets_its_segment_with_its_tags(client: TestClient, text: str, pair: str) -> None:
    answer = apertium(client, text, pair)
    assert "X-Ignored-Fields" not in answer.headers
    found = answer.json()
    assert found.keys() == {"responseData", "responseDetails", "responseStatus"}
    assert (found["responseStatus"], found["responseDetails"]) == (200, None)
    translated = found["responseData"]["translatedText"]
    assert re.findall("<.+?>", translated) == re.findall("<.+?>", text)
    assert re.sub("<.+?>", "", translated) == re.sub("<.+?>", "", text).upper()


def test_apertiums_pairs_are_listed_and_its_form_is_known_by_its_fields(
    client: TestClient,
) -> None:
    """Weblate asks for the pairs, and Wikipedia's content translation posts a form."""
    listed = client.get("/listPairs").json()
    assert (listed["responseStatus"], listed["responseDetails"]) == (200, None)
    assert {"sourceLanguage": "en", "targetLanguage": "de"} in listed["responseData"]
    form = {"markUnknown": "0", "langpair": "eng|deu", "format": "txt", "q": "Hi."}
    answer = client.post("/translate", data=form)
    assert answer.json()["responseData"] == {"translatedText": "HI."}
    assert "X-Ignored-Fields" not in answer.headers


@pytest.mark.parametrize(
    ("query", "status", "told"),
    [
        ("q=Hi", 400, "missing langpair"),
        ("langpair=en|de", 400, "missing q"),
        ("q=Hi&source=en&target=de", 400, "source and target are for POST"),
        ("q=Hi&langpair=en", 400, "langpair must be such as en|de, got 'en'"),
        ("q=Hi&langpair=en|", 400, "langpair must be such as en|de"),
        ("q=Hi&langpair=|de", 400, "langpair must be such as en|de"),
        ("q=Hi&langpair=en|" + 200 * "x", 400, "langpair must be such as en|de"),
        ("q=Hi&q=Ho&langpair=en|de", 400, "q must be"),
        ("q=Hi&langpair=en|xx", 400, "supported: zh, en, zh-Hant, de"),
        ("q=" + 1001 * "x" + "&langpair=en|de", 413, "1001 characters"),
    ],
)
def test_apertiums_errors(client: TestClient, query: str, status: int, told: str) -> None:
    answer = client.get(f"/translate?{query}")
    found = answer.json()
    assert (answer.status_code, found["code"], found["status"]) == (status, status, "error")
    assert told in found["explanation"]
    assert found["message"] in ("Bad Request", "Request Entity Too Large", "Content Too Large")


def opus_cat(client: TestClient, name: str, *values: str, method: str = "GET") -> Response:
    """As the plugin for Trados asks: with a type of the body, and no body."""
    query = QUERY.format(*map(quote_plus, values))
    headers = {"Content-Type": "application/json"} if method == "GET" else {}
    answers = [
        client.request(method, f"{prefix}{name}?{query}", headers=headers) for prefix in OPUS_CAT
    ]
    assert answers[0].content == answers[1].content
    return answers[0]


@pytest.mark.parametrize("text", SEGMENTS)
def test_every_plugin_of_opus_cat_gets_its_segment(client: TestClient, text: str) -> None:
    for name, method in (("TranslateJson", "GET"), ("TranslatePost", "POST")):
        answer = opus_cat(client, name, text, "eng", "ger", method=method)
        assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
        found = answer.json()
        assert found["translation"] == found["Translation"]
        assert re.sub("<.+?>", "", found["translation"]) == re.sub("<.+?>", "", text).upper()
        check_alignment(text, found)
    assert opus_cat(client, "Translate", text, "en", "de").json() == found["translation"]
    assert opus_cat(client, "TranslateStream", text, "en", "de").text == found["translation"]


def check_alignment(source: str, found: Mapping[str, Any]) -> None:
    """What a plugin relies on when it puts tags between pieces."""
    pieces = (found["SegmentedSourceSentence"], found["SegmentedTranslation"])
    for text, own in zip((source, found["translation"]), pieces, strict=True):
        assert "".join(own).replace("▁", " ") == text
    pairs = [tuple(map(int, pair.split("-"))) for pair in found["AlignmentString"].split()]
    assert pairs
    for one, other in pairs:
        assert one < len(pieces[0])
        assert other < len(pieces[1])
    to_target, to_source = (
        found[f"SegmentedAlignment{way}"] for way in ("SourceToTarget", "TargetToSource")
    )
    assert sorted((int(a), b) for a, others in to_target.items() for b in others) == sorted(pairs)
    assert sorted((a, int(b)) for b, others in to_source.items() for a in others) == sorted(pairs)


def tagged(source: Sequence[str], found: Mapping[str, Any]) -> str:
    """The translation with the tags of a segment, given as texts and tags in turn, as the plugin
    for memoQ puts them back."""
    tags: dict[int, str] = {}
    pieces, taken = list(found["SegmentedSourceSentence"]), 0
    for index, part in enumerate(source):
        if index % 2:
            tags[taken] = tags.get(taken, "") + part
            continue
        rest = re.sub(r"[\W_]", "", part)
        while rest and taken < len(pieces):
            rest = rest.removeprefix(re.sub(r"[\W_▁]", "", pieces[taken]))
            taken += 1
    placed: dict[int, str] = {}
    links = {int(a): b for a, b in found["SegmentedAlignmentSourceToTarget"].items()}
    for at, tag in tags.items():
        near = min(links, key=lambda one: abs(one - at))
        place = links[near][0] + ((at > near) - (at < near))
        placed[place] = placed.get(place, "") + tag
    translated = found["SegmentedTranslation"]
    return "".join(
        placed.get(index, "") + (translated[index] if index < len(translated) else "")
        for index in range(len(translated) + 1)
    ).replace("▁", " ")


WORDS = st.lists(st.sampled_from(["a", "bb", "ü"]), min_size=1, max_size=4)
PLACES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4)


@given(st.lists(st.tuples(WORDS, WORDS, PLACES), min_size=1, max_size=3), st.booleans())
def test_linked_words_begin_pieces_that_are_linked(
    made: list[tuple[list[str], list[str], list[tuple[int, int]]]], lacks_source: bool
) -> None:
    """Of sentences before one that is not found, as behind a pivot language."""
    sentences, linked, source, target = list[Any](), set[tuple[int, int]](), "", ""
    for own, other, places in made:
        texts = " ".join(own), "  ".join(other)
        starts, ends = ([m.start() for m in re.finditer(r"\S+", text)] for text in texts)
        links = [(starts[a % len(starts)], ends[b % len(ends)]) for a, b in places]
        sentences.append(aligned(*texts, links))
        linked |= {(len(source) + a, len(target) + b) for a, b in links}
        source, target = f"{source}{texts[0]} ", f"{target}{texts[1]} "
    sentences.append(aligned("?" * lacks_source, "?" * (not lacks_source), [(0, 0)]))
    found = api._alignment(source, SimpleNamespace(text=target, sentences=sentences))
    check_alignment(source, {**found, "translation": target})
    sides = found["SegmentedSourceSentence"], found["SegmentedTranslation"]
    assert not any(piece.endswith("▁") for pieces in sides for piece in pieces[:-1])
    words = [*map(word_starts, sides)]
    pairs = {(words[0].index(a), words[1].index(b)) for a, b in linked} or {(0, 0)}
    assert found["AlignmentString"] == " ".join(f"{a}-{b}" for a, b in sorted(pairs))


def word_starts(pieces: Sequence[str]) -> list[int]:
    """Where the first word of each piece begins in the text."""
    ends = itertools.accumulate(map(len, pieces))
    return [end - len(piece.lstrip("▁")) for end, piece in zip(ends, pieces, strict=True)]


def aligned(source: str, target: str, links: Sequence[tuple[int, int]]) -> Any:
    """A sentence of a result."""
    alignment = [AlignmentLink(a, a + 1, b, b + 1, 1.0) for a, b in links]
    return SimpleNamespace(source=source, target=target, alignment=alignment)


def test_a_plugin_can_put_the_tags_of_its_segment_back(client: TestClient) -> None:
    for segment in (
        ["Press ", "<1>", "the button", "</1>", " now."],
        ["", "<1>", "Press", "</1>", " it. Then ", "<2/>", "go."],
        ["Press", "<1/>"],
    ):
        text = "".join(segment[::2])
        found = opus_cat(client, "TranslateJson", text, "en", "de").json()
        shown = tagged(segment, found)
        assert re.sub("<.+?>", "", shown) == text.upper()
        assert sorted(re.findall("<.+?>", shown)) == sorted(segment[1::2])


@pytest.mark.parametrize("kind", ["", "application/json", "text/plain", FORM])
def test_a_post_has_its_fields_in_the_query_whatever_its_body_is(
    client: TestClient, kind: str
) -> None:
    url = "/MTRestService/TranslatePost?" + QUERY.format("Hi.", "en", "de")
    headers = {"Content-Type": kind} if kind else {}
    assert client.post(url, headers=headers).json()["translation"] == "HI."
    form = {"input": "Ho.", "srcLangCode": "en", "trgLangCode": "de"}
    assert client.post(url.partition("?")[0], data=form).json()["translation"] == "HO."


def test_what_the_plugins_ask_of_the_models(client: TestClient) -> None:
    pairs = client.get("/MTRestService/ListSupportedLanguagePairs").json()
    assert {"en-de", "zh-en", "en-zh-Hant"} <= set(pairs)
    query = "?tokenCode=0&srcLangCode=en&trgLangCode="
    status = "/MtRestService/CheckModelStatus" + query
    assert client.get(status + "de").json() == "en-de: fake"
    assert "'xx' is not supported" in client.get(status + "xx").json()
    assert client.get(status + 65 * "x").status_code == 422  # routes are kept by their codes
    tags = client.get("/MtRestService/GetLanguagePairModelTags" + query + "de")
    assert tags.json() == []
    ordered = client.post("/MtRestService/PreOrderBatch?tokenCode=0&srcLangCode=en", json=["Hi."])
    assert (ordered.status_code, ordered.content) == (200, b"")


def test_memoqs_tag_has_no_effect_and_another_is_named(client: TestClient) -> None:
    path = "/MtRestService/TranslateJson?tokenCode=0&input=Hi.&srcLangCode=en&trgLangCode=de"
    assert "X-Ignored-Fields" not in client.get(path + '&modelTag=""').headers
    assert client.get(path + "&modelTag=law").headers["X-Ignored-Fields"] == "modelTag"
    assert client.get(path.replace("=de", "=xx")).status_code == 400
