"""A translation has a hard space beside the number, sign or name that has it in the sentence."""

from __future__ import annotations

import pytest

from service.translation.sentence.hard_spaces import enter_hard_spaces
from service.translation.sentence.stages import Draft


def translated(text: str, translation: str, order: tuple[int, ...]) -> str | None:
    stage = enter_hard_spaces(text.replace("~", "\u00a0"))
    return stage and stage.leave(Draft(translation, order=order)).text.replace("\u00a0", "~")


@pytest.mark.parametrize(
    ("text", "translation", "expected"),
    [
        ("It weighs 1.5~kg.", "Es wiegt 1,5 kg.", "Es wiegt 1,5~kg."),
        ("It is 3~years old.", "Es ist 3 Jahre alt.", "Es ist 3~Jahre alt."),
        ("10~000 for Mr.~Smith", "10 000 für Herrn Smith", "10~000 für Herrn~Smith"),
        ("7~%, €~5 and 9 %", "7 %, € 5 und 9 %", "7~%, €~5 und 9 %"),
        ("5~cm or 5 cm", "5 cm oder 5 cm", "5~cm oder 5 cm"),
        ("at 5~\ufffc by 7 \ufffc", "zu 7 \ufffc bei 5 \ufffc", "zu 7 \ufffc bei 5~\ufffc"),
        ("an old,~red car", "ein alter, roter Wagen", "ein alter, roter Wagen"),
        ("5~cm", "5cm", "5cm"),
        ("5~years, 5 m", "5 Jahre", "5 Jahre"),
        ("~5 cm ~", "5 cm", None),
    ],
)
def test_hard_spaces_stay(text: str, translation: str, expected: str | None) -> None:
    assert translated(text, translation, (1, 0)) == expected
    assert translated(text, text, (0, 1)) in (text, expected)
