"""Which sentences are translated once more."""

from __future__ import annotations

import pytest

from service.translation.markup.flow import MARK, Kept
from service.translation.second_translation import num_parted
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
