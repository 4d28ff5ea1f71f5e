"""Swiss amounts go in, are compared and are carried as the language writes them, and a day of the
week stays one."""

from __future__ import annotations

import pytest

from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.sentence.numbers.amounts import find_amounts
from tests.service.translation.sentence.test_abbreviations import entered

SENTENCES = ["Es sind {} pro Jahr.", "Kosten: {}", "{} oder mehr"]
NUMBERS = {
    "10'000": ("10.000", "10,000"),
    "1’250’000": ("1.250.000", "1,250,000"),
    "6'500.50": ("6.500,50", "6,500.50"),
    "1'299.-": ("1.299", "1,299"),
}


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("francs", ["", "CHF ", "Fr. "])
def test_thousands_are_grouped_as_the_language_does(
    sentence: str, number: str, francs: str
) -> None:
    german, english = NUMBERS[number]
    text, code = sentence.format(f"{francs}{number}"), "CHF " if francs else ""
    assert entered(text, "de") == sentence.format(f"{code}{german}")
    assert entered(text, "en") == sentence.format(f"{code}{english}")
    assert [one.new for one in find_amounts(text, "de", "en")] == [f"{code}{english}"]
    assert unmatched(find_numbers(text), find_numbers(english)) == ([], [])


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("Das kostet Fr. 12.50.", "Das kostet CHF 12,50."),
        ("Fr. 20 pro Stunde, ab Fr. 7.50", "CHF 20 pro Stunde, ab CHF 7,50"),
        ("Fr. 5.– für Kinder, sonst 12.50 Franken", "CHF 5 für Kinder, sonst 12,50 Franken"),
        ("Fr. 10.30 Uhr, Fr. 9–18 Uhr", "Freitag 10:30, Freitag 9:00–18:00"),
        (
            "Am Fr. 12.30 im Saal, Fr. 13.12. um acht",
            "Am Freitag 12.30 im Saal, Freitag 13.12. um acht",
        ),
        ("So 3.50 Euro, Fr. Meier", "So 3.50 Euro, Frau Meier"),
        ("Sa 10-14 Uhr, So 10-12 Uhr", "Samstag 10:00-14:00, Sonntag 10:00-12:00"),
        ("Sa 9-12 Uhr, So ⟦", "Samstag 9:00-12:00, Sonntag ⟦"),
        ("Mo Ruhetag, So zu", "Montag ist geschlossen, Sonntag ist geschlossen"),
        ("Mi: geschlossen", "Mittwoch ist geschlossen"),
        ("So geschlossen war es nie, Mi geschlossene Tür", None),
    ],
)
def test_francs_are_no_friday_and_so_is_no_sunday(text: str, spelled: str | None) -> None:
    assert entered(text, "de") == spelled
