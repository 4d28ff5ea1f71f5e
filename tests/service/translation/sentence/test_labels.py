"""A label stays before its number."""

from __future__ import annotations

import pytest

from service.translation.sentence.labels import has_lost_label
from service.translation.sentence.rendering import read
from service.translation.sentence.stages import leave
from tests.service.translation.sentence.test_stages import prepared, to_itself

NUMBERS = [
    *("+49 30 1234567", "030/123456-78", "978-3-16-148410-0", "DE89 3704 0044 0532 0130 00"),
    *("info@a.de", "https://www.a.de/b", "www.a-b.de"),
]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("label", ["Telefon", "IBAN", "Bestellung", "Ihre Nummer"])
def test_a_label_goes_in_with_a_colon_and_leaves_without(label: str, number: str) -> None:
    text = f"{label} {number}"
    parsed, (entry,) = prepared(text, pair=("de", "en"))
    assert entry.text.endswith(":⟦0⟧")
    written = {entry.text: text, "Of it: ⟦0⟧": f"Of it {number}", "⟦0⟧ it": f"{number} it"}
    for said, expected in written.items():
        draft = leave(entry.stages, to_itself(said))
        assert draft is not None
        assert read(parsed.sentences[0], draft) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Delete {name}",
        "Open /usr/bin",
        "Room A1",
        "Call me at +49 30 1234567",
        "of {0} 5",
        "Visit www.a.de",
    ],
)
def test_other_words_are_no_label(text: str) -> None:
    _, (entry,) = prepared(text)
    assert ":" not in entry.text


@pytest.mark.parametrize(
    ("said", "expected"), [("Tom said::", "Tom said:"), ("Tom:", "Tom:"), ("Tom :", "Tom:")]
)
def test_the_colon_before_speech_is_not_doubled(said: str, expected: str) -> None:
    parsed, (entry, _) = prepared("汤姆说：你好吗？", pair=("zh", "en"))
    draft = leave(entry.stages, to_itself(said))
    assert draft is not None
    assert read(parsed.sentences[0], draft) == expected


@pytest.mark.parametrize("label", ["Item", "Unit", "Übung", "March"])
@pytest.mark.parametrize("number", ["1", "4b", "12", "1862"])
@pytest.mark.parametrize("rest", ["", ": Food", ", p. 27", " – Food", ". Food"])
def test_a_heading_that_is_only_its_number_lost_its_word(
    label: str, number: str, rest: str
) -> None:
    text, pair = f"{label} {number}{rest}", ("en", "de")
    assert has_lost_label(text, f"{number}{rest}", pair)
    assert has_lost_label(text, f"{number}, Essen", pair)
    for other in (text, f"Nr. {number}{rest}", f"{number}9{rest}", "Essen"):
        assert not has_lost_label(text, other, pair)
    assert not has_lost_label(text, f"{number}号", ("en", "zh"))
    assert not has_lost_label(f"{label} {number} is here", f"{number} ist da", pair)


@pytest.mark.parametrize("beginning", ["In 1895", "At 5", "Since 12", "During 1895"])
def test_a_preposition_is_no_label(beginning: str) -> None:
    number = beginning.split()[1]
    assert not has_lost_label(f"{beginning}, he won.", f"{number}, gewann er.", ("en", "de"))
