"""Inputs that small models stumble over, and what must hold for each: tests/data/awkward.tsv."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from service.offline import OfflineTranslator

ROOT = Path(__file__).parents[2]
MODELS = {"zh": "zh-en", "de": "en-de"}
CJK, HALF_WIDTH, FULL_WIDTH = r"[\u4e00-\u9fff]", r"[,.?!;](?:\s|$)", r"[，。？！；]"
LOOP = re.compile(r"(.{2,}?)\1{4,}", re.DOTALL)
RULES: dict[str, Callable[[str, str], bool]] = {
    "short": lambda source, target: 0 < len(target) <= 4 * len(source) + 20,
    "no loop": lambda source, target: bool(LOOP.search(source)) or not LOOP.search(target),
    "Chinese": lambda _, target: bool(re.search(CJK, target)),
    "no Chinese": lambda _, target: not re.search(CJK, target),
    "full width": lambda _, target: not re.search(HALF_WIDTH, target),
    "half width": lambda _, target: not re.search(FULL_WIDTH, target),
}
LINES = (ROOT / "tests" / "data" / "awkward.tsv").read_text(encoding="utf-8").splitlines()


@functools.cache
def translator(model: str) -> OfflineTranslator:
    return OfflineTranslator(ROOT / "checkpoints" / model, "cpu", "float32", 4, None, None)


def holds(rule: str, source: str, target: str) -> bool:
    """`copies X` and `contains X` want X itself; the others are of RULES."""
    name, _, wanted = rule.partition(" ")
    if name in ("copies", "contains"):
        return wanted in target
    return RULES[rule](source, target)


@pytest.mark.parametrize("line", LINES)
def test_what_must_hold_for_an_awkward_input_holds(line: str) -> None:
    source, target, text, rules = line.split("\t")
    model = MODELS["de" if "de" in (source, target) else "zh"]
    translation = translator(model).translate(text, source, target)
    assert [rule for rule in rules.split("; ") if not holds(rule, text, translation)] == [], (
        translation
    )


def test_there_are_a_hundred_and_they_are_different() -> None:
    assert len(set(LINES)) == len(LINES) == 100
