"""A translation closes the brackets of its sentence."""

from __future__ import annotations

import pytest

from service.translation.sentence.brackets import enter_brackets
from service.translation.sentence.stages import Draft


def left(source: str, target: str) -> str:
    stage = enter_brackets(source)
    return stage.leave(Draft(target)).text if stage else target


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Do it (see there).", "Tun Sie es (siehe dort.", "Tun Sie es (siehe dort)."),
        ("(He did it.)", "(Er tat es.", "(Er tat es.)"),
        ("Do it (or not): now (I say)", "Tu es (oder nicht): jetzt (sage", None),
        ("It is (see B) big (see A)?", "Es ist (siehe B) groß (siehe A?", None),
        ('He said "it (big)."', 'Er sagte "es (groß."', 'Er sagte "es (groß)."'),
        (
            "调整它们（不要损坏）。",
            "Move them (do not break them.",
            "Move them (do not break them).",
        ),
        ("Move them (or not).", "移动它们（或不。", "移动它们（或不）。"),
        (
            "The team (Atlanta Braves) won.",
            "队（Atlanta Braves 赢了。",
            "队（Atlanta Braves） 赢了。",
        ),
        ("The side (PC) of it.", "Die Seite (PC des.", "Die Seite (PC) des."),
        ("The part (8 %) of it", "Der Teil (8% des", "Der Teil (8%) des"),
        ("A (b, c and Infinity) is.", "A (b, c und Infinity)) ist.", "A (b, c und Infinity) ist."),
        ("根据第三十九条第（二）项", "Section 39 (2) part 2)", "Section 39 (2) part 2"),
        ("Pain (1 in 10), fever (1 in 5)", "疼 (1 10) ），烧（1在5中）", "疼 (1 10)，烧（1在5中）"),
        ("EMR（电子记录）程序", "EMR ( electronic record ) app", "EMR (electronic record) app"),
    ],
)
def test_brackets_are_closed_once_and_have_no_space(
    source: str, target: str, expected: str | None
) -> None:
    if expected is None:
        last = target[-1] if target[-1] in ".?" else ""
        expected = f"{target.removesuffix(last)}){last}"
    assert left(source, target) == expected
    assert left(source, expected) == expected


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("The side (a dog) of it.", "Die Seite (ein Hund des."),  # where is not clear
        ("The side (PC \ufffc) of it.", "Die Seite (PC und \ufffc des."),
        ("1) It is big (see A).", "1) Es ist groß (siehe A."),
        ("It is big :-)", "Es ist groß (sehr."),
        ("The ( and ) of (it).", "Die ( und ) von (es."),
        ("One (a) and two (b).", "Eins (a und zwei (b."),
        ("f(g(x)) is", "f(g(x)) ist"),
    ],
)
def test_other_brackets_stay(source: str, target: str) -> None:
    assert left(source, target) in (target, target.replace("(es.", "(es)."))
