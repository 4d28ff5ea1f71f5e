"""Which suggestion is for a text, against a plain model of it."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.stores.exact_matches import TextIndex, adapted, match_key, probes_of

TEXTS = st.text(st.sampled_from("aAbßİé图1. \n\t\u00a0&<"), max_size=8)
WORDS = st.lists(st.sampled_from(["open", "Öl", "3D", "a", "“x”", "图", "&"]), min_size=1)
SPACES = st.sampled_from([" ", "  ", "\n", "\t ", "\u00a0"])


@given(WORDS, st.lists(SPACES), st.data())
def test_white_space_and_the_first_letters_case_do_not_count(
    words: list[str], spaces: list[str], data: st.DataObject
) -> None:
    text = " ".join(words)
    spaced = "".join(word + data.draw(SPACES) for word in words)
    assert match_key(spaced) == match_key(text) == match_key(match_key(text))
    first = re.match(r"“?([^\W\d_])", text)
    if first is not None:
        at = first.start(1)
        assert match_key(text[:at] + text[at].upper() + text[at + 1 :]) == match_key(text)
    assert match_key(text + "B") != match_key(text + "b")


@given(st.lists(TEXTS), TEXTS)
def test_the_index_finds_all_texts_of_a_key(texts: list[str], wanted: str) -> None:
    index = TextIndex(enumerate(texts))
    assert index.is_empty == (not texts)
    same = [number for number, text in enumerate(texts) if match_key(text) == match_key(wanted)]
    assert index.find(match_key(wanted)) == same


@pytest.mark.parametrize(
    ("text", "suggestion", "expected"),
    [
        ("open", "öffnen", "öffnen"),
        ("Open", "öffnen", "Öffnen"),
        ("  Open\n", " öffnen ", "  Öffnen\n"),
        ("house", "Haus", "Haus"),
        ("“Open”", "„öffnen“", "„Öffnen“"),
        ("OK", "图", "图"),
        ("Open", "„öffnen“", "„Öffnen“"),
        ("Open", "%s öffnen", "%s öffnen"),
        ("Open", "{name} öffnen", "{name} öffnen"),
        ("Open", "&quot;öffnen&quot;", "&quot;öffnen&quot;"),
        ("Open", "<b>öffnen</b>", "<b>öffnen</b>"),
        ("<B>Open</B>", "<b>öffnen</b>", "<b>öffnen</b>"),
    ],
)
def test_the_suggestion_takes_outer_space_and_a_first_capital(
    text: str, suggestion: str, expected: str
) -> None:
    assert adapted(text, suggestion) == expected


@given(TEXTS)
def test_html_without_tags_is_looked_for_as_plain_text_too(text: str) -> None:
    plain = {probe.key for probe in probes_of(text, "text")}
    assert plain == {match_key(text)}
    escaped = html.escape(text, quote=False)
    as_html = {probe.key for probe in probes_of(escaped, "html") if probe.is_escaped}
    assert as_html == plain
    assert not list(probes_of("x" * 20_001, "html"))
