"""What a request may say of its texts, over every way to ask: HTML, placeholders, kept strings,
where a sentence ends, and the languages that are expected."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.translation.markup.elements import pair_tags
from service.translation.markup.scanner import Kind, scan
from tests.service.fakes import FakeRunner
from tests.service.http.clients import (
    EVENTS,
    FIELDS,
    Post,
    by_events,
    by_form,
    by_json,
    by_websocket,
    client_of,
    events_of,
)

EVERY_WAY = pytest.mark.parametrize("post", [by_json, by_form, by_events, by_websocket])
WRAPPED = "the sea is\nblue. it is\r\ndeep.\n\nbye\n"


@EVERY_WAY
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"q": "<p>One.</p>\n<P >Two.</P>", "format": "html"}, "<p>ONE.</p>\n<P >TWO.</P>"),
        ({"q": "Fish &amp; chips < 3", "format": "html"}, "FISH &amp; CHIPS &lt; 3"),
        ({"q": "Hi <code>x</code> &#39;a&#39;", "format": "html"}, "HI <code>x</code> &#39;A&#39;"),
        (
            {"q": "See <img alt='a \"b\"' src=c> here <br> now", "format": "html"},
            "SEE <img alt='A \"B\"' src=c> HERE <br> NOW",
        ),
        (
            {"q": "<h2>One two<span><a href=#x>#</a></span> <a>&para;</a></h2>", "format": "html"},
            "<h2>ONE TWO<span><a href=#x>#</a></span> <a>&para;</a></h2>",
        ),
        ({"q": "<p>one</p>", "format": "auto"}, "<p>ONE</p>"),
        ({"q": "<b>one</b>", "format": "text"}, "<b>ONE</b>"),
        ({"q": "open {name} or %s"}, "OPEN {name} OR %s"),
        ({"q": "it&#39;s &lt;b&gt;one&lt;/b&gt; x"}, "IT&#39;S &lt;b&gt;ONE&lt;/b&gt; X"),
        ({"q": "see [[Page|this]] or [[My Page]]"}, "SEE [[Page|THIS]] OR [[My Page]]"),
        ({"q": "a ==big== ''dog'' || cat == x"}, "A ==BIG== ''DOG'' || CAT == X"),
        ({"q": r"it\'s 5\% off"}, r"IT\'S 5\% OFF"),
        ({"q": r"it\'s 5\% of tom's 6%"}, r"IT\'S 5\% OF TOM'S 6%"),
        ({"q": "go to https://a.b/c."}, "GO TO https://a.b/c."),
        ({"q": "the Blue Sky is", "keep": ["Blue Sky"]}, "THE Blue Sky IS"),
        ({"q": "Привет, мир. Yes."}, "Привет, мир. YES."),
        ({"q": "a\ufffdb ⟦1⟧ c"}, "A\ufffdB ⟦1⟧ C"),
    ],
)
def test_what_must_stay_stays(
    client: TestClient, post: Post, fields: dict[str, Any], expected: str
) -> None:
    assert post(client, **fields)["translatedText"] == expected


def test_the_language_of_a_page_is_that_of_its_text(client: TestClient) -> None:
    page = '<div class="the first example of this" title="what a fine day">今天天气很好。</div>' * 2
    for text_format, language in (("html", "zh"), ("auto", "zh"), ("text", "en")):
        answer = by_json(client, q=page, source="auto", target="de", format=text_format)
        assert answer["detectedLanguage"]["language"] == language


def test_details_are_of_the_sentence_as_it_reads(client: TestClient) -> None:
    q = "<p>Open <b>{name}</b> &amp; go</p>"
    (text,) = by_json(client, q=q, format="html", details=True)["details"]
    (sentence,) = text["sentences"]
    assert sentence["source"] == "Open {name} & go"
    assert sentence["target"] == "OPEN {name} & GO"
    assert sentence["finish_reason"] == "stop"
    assert len(sentence["tokens"]) > 3
    for start, end, target_start, target_end, _ in sentence["alignment"]:
        words = sentence["source"][start:end], sentence["target"][target_start:target_end]
        assert words in [("Open", "OPEN"), ("{name}", "{name}"), ("go", "GO"), ("&", "&")]


@EVERY_WAY
def test_alternatives_are_whole_too(client: TestClient, runner: FakeRunner, post: Post) -> None:
    answer = post(client, q="one {a}. two", alternatives=1)
    assert answer["translatedText"] == "ONE {a}. TWO"
    assert answer["alternatives"] == ["ONE {a}.* TWO*"]
    runner.garbled = {"40713.*": ".*"}
    answer = post(client, q="six {a}. two", alternatives=1)
    assert answer["translatedText"] == "SIX {a}. TWO"
    assert answer["alternatives"] == ["SIX {a}. TWO*"]


def test_a_sentence_in_capitals_is_translated_in_small_letters(
    client: TestClient, runner: FakeRunner
) -> None:
    assert by_json(client, q="STOP HERE, {Name}")["translatedText"] == "STOP HERE, {Name}"
    sent = "".join(map(chr, runner.admitted[0][1:-1]))
    assert sent == "Stop here, 40713"


def test_only_sentences_without_tags_and_kept_strings_are_sent_by_the_token(
    client: TestClient,
) -> None:
    q = "one two. open {a} now. <b>one</b> more."
    fields = {**FIELDS, "q": q, "format": "html"}
    events = events_of(client.post("/translate", json=fields, headers=EVENTS).text)
    counts = Counter(data["segment"] for _, data in events[:-1])
    assert counts[0] > 3
    assert counts[1] == counts[2] == 1


def test_a_prefix_begins_the_translation_of_a_marked_sentence(client: TestClient) -> None:
    answer = by_json(client, q="<b>one</b> two", format="html", target_prefix="So ")
    assert answer["translatedText"].replace("<b>", "").replace("</b>", "") == "So ONE TWO"


def test_a_prefix_may_have_kept_strings(client: TestClient, runner: FakeRunner) -> None:
    runner.garbled = {"OPEN 40713": ""}
    answer = by_json(client, q="open {a} now", target_prefix="So {a}")
    assert answer["translatedText"] == "So {a} NOW"


@pytest.mark.parametrize(
    ("text_format", "between"),
    [
        ("text", "I have {x} apples and {y} pears."),
        ("html", "I have &amp; <b>many &copy;</b> of &lt;i&gt; <!-- a --> {x} now."),
    ],
)
def test_what_stays_between_two_sentences_is_written_as_it_was(
    client: TestClient, text_format: str, between: str
) -> None:
    """It is in the target language already, so only the space before it is new."""
    q = f"你好世界。{between}你好世界。"
    answer = by_json(client, q=q, source="zh", target="en", format=text_format)
    assert answer["translatedText"] == q.replace("。I", "。 I")


def test_a_sentence_with_signs_inside_has_no_more_marks_than_the_network_tells_apart(
    client: TestClient,
) -> None:
    q = "SET {A} OR {B} OR [X] OR {C} OR {D} OR → OR {E} OR [ ] OR {F} OR [X] TO GO"
    assert by_json(client, q=q, keep=["→"])["translatedText"] == q


@pytest.fixture(scope="module")
def large() -> Iterator[TestClient]:
    runner = FakeRunner(max_slots=16, max_rows=64, max_source_tokens=60)
    with client_of(runner, max_characters=10**6) as client:
        yield client


PAGES = st.lists(
    st.sampled_from(
        [
            *("<p>", "</p>", "<b>", "</b>", "<i>", "</i>", "<a href='x'>", "</a>", "<br>", "<hr/>"),
            *("<code>", "</code>", "<span translate=no>", "</span>", "<!-- a -->", "<img src=y>"),
            *("&amp;", "&lt;", "&", "<", ">", " ", " ", "\n", ". ", ", ", "{name}", "%s"),
            "https://a.b/c",
            *("word", "hello ", "two ", "THE ", "dog. ", "Привет ", "😀", "\ufffd", "⟦0⟧"),
            "40713 ",
        ]
    ),
    max_size=25,
).map("".join)


@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(PAGES)
def test_no_page_loses_or_gains_a_tag_or_a_kept_string(large: TestClient, page: str) -> None:
    found = by_json(large, q=page, format="html")["translatedText"]
    assert tags_of(found) == tags_of(page)
    assert len(pair_tags(list(scan(found)))) == len(pair_tags(list(scan(page))))
    for kept in ("{name}", "%s", "https://a.b/c", "⟦0⟧", "\ufffd"):
        assert found.count(kept) == page.count(kept)
    assert letters_of(found) == letters_of(page)


def tags_of(page: str) -> Counter[str]:
    return Counter(page[t.start : t.end] for t in scan(page) if t.kind is not Kind.TEXT)


def letters_of(page: str) -> str:
    text = "".join(page[t.start : t.end] for t in scan(page) if t.kind is Kind.TEXT)
    return "".join(char for char in html.unescape(text) if char.isalpha()).casefold()


@EVERY_WAY
def test_what_does_not_match_is_told_in_details(
    client: TestClient, runner: FakeRunner, post: Post
) -> None:
    runner.garbled = {"2013": "2014"}
    answer = post(client, q="in 2013 we {did} meet. see you", details=True)
    checks = [sentence["checks"] for sentence in answer["details"][0]["sentences"]]
    message = "the translation lacks 2013 and adds 2014"
    assert checks == [
        [{"kind": "number", "source": ["2013"], "target": ["2014"], "message": message}],
        [],
    ]


def test_the_checks_of_a_pivot_are_told_with_it(client: TestClient, runner: FakeRunner) -> None:
    runner.garbled = {"2013": "2014"}
    answer = by_json(client, q="2013年。", source="zh", details=True)
    found, of_language = answer["details"][0]["pivot"]["checks"]
    assert (found["source"], found["target"]) == (["2013"], ["2014"])
    assert of_language["kind"] == "language"


@pytest.mark.parametrize("post", [by_json, by_events])
@pytest.mark.parametrize(
    ("garbled", "q", "kept"),
    [
        ({"40713": ""}, "{a}, {b}{c} 😀", ["{a}", "{b}", "{c}", "😀"]),
        ({"40713": "40713 40713"}, "open {name} now", ["{name}"]),
        ({"40713": "40.713"}, "open {name}, or <i>{b}</i>.", ["{name}", "{b}", "<i>", "</i>"]),
    ],
)
def test_a_string_that_the_model_loses_is_put_back(
    client: TestClient, runner: FakeRunner, post: Post, garbled: Any, q: str, kept: list[str]
) -> None:
    runner.garbled = garbled
    found = post(client, q=q)["translatedText"]
    assert [found.count(string) for string in kept] == [1] * len(kept)


@pytest.mark.parametrize("carrier", ["40713", "", "40713 40713"])
def test_a_sentence_begins_with_a_capital_whatever_it_lost(
    client: TestClient, runner: FakeRunner, carrier: str
) -> None:
    runner.garbled = {"OPEN": "open", "40713": carrier}
    assert by_json(client, q="Open {name} now.")["translatedText"].startswith("Open ")


@pytest.mark.parametrize("empty", ["", " "])
def test_no_sentence_becomes_empty(client: TestClient, runner: FakeRunner, empty: str) -> None:
    runner.garbled = {"OF": empty}
    texts = ["of", "one. of", "<p><i>of</i> </p>"]
    answer = by_json(client, q=texts, format="html", details=True)
    assert answer["translatedText"] == ["of", "ONE. of", "<p><i>of</i> </p>"]


def test_a_link_on_a_symbol_is_not_shown_to_the_network(
    client: TestClient, runner: FakeRunner
) -> None:
    """Networks lose the sign of a permanent link, or move it out of the link."""
    by_json(client, q="<h2>one <a href=#x>#</a></h2>", format="html")
    assert ["".join(map(chr, sent[1:-1])) for sent in runner.admitted] == ["one"]


def sentences(answer: dict[str, Any]) -> list[str]:
    return [sentence["source"] for sentence in answer["details"][0]["sentences"]]


@EVERY_WAY
@pytest.mark.parametrize(
    ("split", "expected", "text"),
    [
        (
            True,
            ["the sea is", "blue.", "it is", "deep.", "bye"],
            "THE SEA IS\nBLUE. IT IS\r\nDEEP.\n\nBYE\n",
        ),
        (
            "nonewlines",
            ["the sea is blue.", "it is deep.", "bye"],
            "THE SEA IS BLUE. IT IS DEEP.\n\nBYE\n",
        ),
        (False, ["the sea is blue. it is deep.", "bye"], "THE SEA IS BLUE. IT IS DEEP.\n\nBYE\n"),
    ],
)
def test_sentences_end_where_the_request_says(
    client: TestClient, post: Post, split: Any, expected: list[str], text: str
) -> None:
    fields = {"q": WRAPPED, "split_sentences": split, "details": True}
    if post is by_form:
        fields = {name: str(value).lower() for name, value in fields.items()}
    answer = post(client, **fields)
    assert (sentences(answer), answer["translatedText"]) == (expected, text)


def test_a_line_break_between_sentences_stays(client: TestClient) -> None:
    for split in (True, "nonewlines"):
        answer = by_json(client, q="one day.\nTwo days. ", split_sentences=split)
        assert answer["translatedText"] == "ONE DAY.\nTWO DAYS. "


def test_html_may_be_one_sentence_a_block(client: TestClient) -> None:
    q = "<p>One <b>day.</b> Two days.</p><p>It is.</p>"
    answer = by_json(client, q=q, format="html", split_sentences=False, details=True)
    assert sentences(answer) == ["One day. Two days.", "It is."]


@EVERY_WAY
@pytest.mark.parametrize(
    ("preferred", "language"), [("de", "de"), (["fr-FR", "de-AT"], "de"), (["en"], "en")]
)
def test_a_word_of_two_languages_is_of_the_preferred_one(
    client: TestClient, post: Post, preferred: str | list[str], language: str
) -> None:
    target = "de" if language == "de" else "en"  # the fake model does not translate from German
    fields = {"q": "Pizza", "source": "auto", "target": target, "preferred_languages": preferred}
    assert post(client, **fields)["detectedLanguage"]["language"] == language
