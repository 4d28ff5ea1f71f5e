"""Names behind German titles come out as they are, whatever they mean as nouns."""

from __future__ import annotations

import pytest

from service.translation.preparation import USUAL
from service.translation.sentence.named import find_named, may_name
from service.translation.sentence.rendering import read
from service.translation.sentence.replaced import Replaced
from service.translation.sentence.stages import leave
from tests.service.translation.sentence.test_stages import prepared, to_itself


def written(text: str) -> str:
    found = [*find_named(text, "de", "en")]
    assert not found or may_name(text, "de") or not USUAL.fullmatch(text)
    return Replaced(text, found).text


@pytest.mark.parametrize("name", ["Koch", "Klein", "Weiß", "König", "Müller-Stein", "von Wolf"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sehr geehrter Herr {},", "Dear Mr {},"),
        ("Liebe Frau {}, lieber Herr {},", "Dear Ms {}, dear Mr {},"),
        ("Ich sah Herrn {} und Frau {}.", "Ich sah Mr {} und Ms {}."),
        ("Herrn Max {}", "Mr Max {}"),
        ("Hat Frau {} Zeit?", "Hat Ms {} Zeit?"),
        ("Sehr geehrte Damen und Herren {},", "Dear Damen und Herren {},"),
        ("Liebe Kollegen,", "Dear Kollegen,"),
        ("Liebe Kollegen sind da.", "Liebe Kollegen sind da."),
        ("Hr. {}, Fr. {}", "Mr {}, Ms {}"),
        ("Frau Prof. Dr. {} sagte es.", "Prof. Dr. {} sagte es."),
        ("Herr und Frau {} sind da.", "Mr and Mrs {} sind da."),
        ("Die Frau {} und seine Frau {}", "Die Frau {} und seine Frau {}"),
        ("im Herrn {} haben", "im Herrn {} haben"),
    ],
)
def test_a_name_behind_a_title_goes_in_as_one_with_it(name: str, text: str, expected: str) -> None:
    assert written(text.format(name, name)) == expected.format(name, name)


@pytest.mark.parametrize("name", ["Baker", "Young", "Smith-White"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dear Mr. {}, I", "Sehr geehrter Herr {}, I"),
        ("Dear Mrs {},", "Sehr geehrte Frau {},"),
        ("Dear Miss {}!", "Sehr geehrte Frau {}!"),
        ("Dear Mr. and Mrs. {},", "Sehr geehrte Herr und Frau {},"),
        ("Ask Ms. {} and Mrs. {}'s dog.", "Ask Frau {} and Frau {}'s dog."),
        ("I met Mr. {} and Miss {}.", "I met Mr. {} and Miss {}."),
    ],
)
def test_an_english_name_goes_in_with_a_title_without_cases(
    name: str, text: str, expected: str
) -> None:
    text = text.format(name, name)
    assert Replaced(text, [*find_named(text, "en", "de")]).text == expected.format(name, name)


@pytest.mark.parametrize(
    "text",
    [
        *("Herr Präsident, ja.", "Frau Bundeskanzlerin!", "Herr Doktor", "Frau Kollegin"),
        *("Eine Frau Mitte 40", "Mann und Frau Hand in Hand", "Der Herr ist da.", "Herr der Ringe"),
    ],
)
def test_an_office_and_a_woman_are_no_names(text: str) -> None:
    assert written(text) == text


def test_a_name_leaves_where_the_network_puts_it_and_its_loss_counts() -> None:
    parsed, (entry,) = prepared("Herr Koch ruft an.", pair=("de", "en"))
    draft = leave(entry.stages, to_itself("⟦0⟧ calls."))
    assert draft is not None
    assert read(parsed.sentences[0], draft) == "Mr Koch calls."
    assert leave(entry.stages, to_itself("He calls.")) is None
