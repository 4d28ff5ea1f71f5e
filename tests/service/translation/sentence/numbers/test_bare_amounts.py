"""An amount without a sentence has the marks of the target, and nothing else changes."""

from __future__ import annotations

import pytest

from tests.service.translation.sentence.test_stages import prepared

SWAPPED = str.maketrans(",.", ".,")


@pytest.mark.parametrize("around", ["{}", "{} – {}", "| {} |\n| {} |", "({}); {}", "👍 {}\t{}"])
@pytest.mark.parametrize(
    "amount",
    ["$49.99", "1,299.00 €", "EUR 1,299.00", "49.90 USD", "-2.5 %", "+3.5 °C", "85.5 m²", "£1,250"],
)
def test_it_has_the_marks_of_the_target(amount: str, around: str) -> None:
    text = around.replace("{}", amount)
    german = text.replace(amount, amount.translate(SWAPPED))
    for pair, source, target in ((("en", "de"), text, german), (("de", "en"), german, text)):
        parsed, entries = prepared(source, pair=pair)
        assert not entries
        assert "".join(parsed.gaps) == target


@pytest.mark.parametrize(
    "text", ["3.10", "12.05.2024", "1,$1.20,3", '"$1.20"', "3.10 {x}", "v3.1, 2.5:1", "1.5/2.5 €5"]
)
def test_other_numbers_stay(text: str) -> None:
    parsed, _ = prepared(text)
    assert "".join(parsed.gaps) + "".join(one.read() for one in parsed.sentences) == text
