"""Which sentences are translated once more."""

from __future__ import annotations

import pytest

from service.translation import second_translation
from service.translation.markup.flow import MARK, Kept
from service.translation.second_translation import num_parted
from service.translation.sentence.numbers.amounts import find_amounts
from service.translation.sentence.parsed_text import Sentence
from service.translation.sentence.stages import Draft


def sentence(text: str, *kept: str) -> Sentence:
    return Sentence(text.replace("|", MARK), [Kept((one,), one) for one in kept])


@pytest.mark.parametrize(
    ("text", "kept", "target", "order", "count"),
    [
        ("20 | warm", ["°C"], "20| 暖", [0], 0),
        ("20 | warm", ["°C"], "| 暖20", [0], 1),
        ("8 | and 5 |", ["km", "kg"], "5 | und 8 |", [1, 0], 0),
        ("8 | and 5 |", ["km", "kg"], "| 8 und 5 |", [0, 1], 1),
        ("8 | and 5 |", ["km/h", "€"], "| und |", [0, 1], 2),
        ("3 | now, | m", ["{name}", "m"], "| 3, |", [0, 1], 0),
        ("a sentence", [], "ein Satz", [], 0),
    ],
)
def test_a_unit_stays_at_its_number(
    text: str, kept: list[str], target: str, order: list[int], count: int
) -> None:
    draft = Draft(target.replace("|", MARK), (), order)
    assert num_parted(sentence(text, *kept), draft) == count


@pytest.mark.parametrize(
    ("text", "kept", "carried"),
    [
        ("A 20% discount on 3 items", [], ["20%", "3"]),
        ("up 12.5%, at |5 or 8 |", ["$", "km"], ["12,5%", f"{MARK}5", f"8 {MARK}"]),
        ("10 % of 5%d", [], ["10", "5%"]),
    ],
)
def test_a_number_is_carried_with_its_sign(text: str, kept: list[str], carried: list[str]) -> None:
    """Networks write 20%% of a carrier before a sign."""
    one = sentence(text, *kept)
    amounts = second_translation._with_signs(one, find_amounts(one.text, "en", "de"))
    assert [amount.new for amount in amounts] == carried
