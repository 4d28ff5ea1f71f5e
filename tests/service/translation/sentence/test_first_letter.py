"""A sentence and a label begin with a capital where the source's do, also in a stream."""

from __future__ import annotations

import pytest

from service.translation import streaming
from service.translation.sentence.first_letter import with_first_capital
from service.translation.sentence.parsed_text import Sentence
from tests.service.fakes import FakeStreamDecoder


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Lehrer sind willkommen.", "teachers are welcome.", "Teachers are welcome."),
        ("Kaffee: 2,50 €", "coffee: 2.50 €", "Coffee: 2.50 €"),
        ("Kaffee:", "coffee:", "Coffee:"),
        ("2000多年前，他来了。", "more than 2000 years ago he came.", "More than 2000"),
        ("电话：010", "phone: 010", "Phone: 010"),
        ("Wohnzimmer", "living room", "living room"),
        ("Kaffee 2,50 €", "coffee 2.50 €", "coffee"),
        ("ich komme.", "i come.", "i come."),
        ("Kauf ein iPhone!", "iPhone", "iPhone"),
        ("Um 8:30 Uhr", "at 8:30", "at 8:30"),
        ("Straße!", "ßtreet", "ßtreet"),
    ],
)
def test_a_sentence_begins_with_a_capital(source: str, translation: str, expected: str) -> None:
    assert with_first_capital(translation, source).startswith(expected)


@pytest.mark.parametrize(
    ("sentence", "is_begun", "expected"),
    [
        (Sentence("Dogs bark."), False, "Dogs d"),
        (Sentence("Dogs"), False, "dogs d"),
        (Sentence("Dogs", ends=False), False, "Dogs d"),
        (Sentence("dogs", ends=False), False, "dogs d"),
        (Sentence("Dogs bark.", begins=False), False, "dogs d"),
        (Sentence("Dogs bark."), True, "dogs d"),
    ],
)
def test_a_stream_begins_as_the_whole_translation(
    sentence: Sentence, is_begun: bool, expected: str
) -> None:
    """What was given as the beginning stays."""
    decoder = streaming._PlainDecoder(FakeStreamDecoder(), sentence, is_begun=is_begun)
    assert "".join(map(decoder.push, map(ord, "dogs d"))) == expected
