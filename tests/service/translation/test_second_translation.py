"""Which sentences are translated once more."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from model.decoding.options import DecodingOptions
from model.decoding.sentence import LEAST_SOURCE_TOKENS
from model.decoding.sentence_limits import SentenceLimits
from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig
from service.translation import second_translation
from service.translation.job import ModelJob, TranslationJob
from service.translation.markup.flow import MARK, Kept
from service.translation.preparation import Preparation
from service.translation.second_translation import num_parted
from service.translation.sentence.numbers.amounts import find_amounts
from service.translation.sentence.parsed_text import Sentence
from service.translation.sentence.stages import Draft

FILE = Path("checkpoints/zh-en/sentencepiece.model")
TOKENIZER = Tokenizer(FILE, FILE, TokenizerConfig(FILE.name, FILE.name, reserved=16))


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


@pytest.mark.parametrize("most", [LEAST_SOURCE_TOKENS, 40])
@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("Boston Australia Japan Tom Mary Sunday", 0),
        ("It is 7 or 8 or 9 or 1 or 2.", 2),
        ("See {name}, {street} and {number} 7.", math.inf),
    ],
)
def test_what_enters_again_fits_the_network(text: str, faults: float, most: int) -> None:
    """Words in small letters have more tokens."""
    job = TranslationJob([text], "en", "zh")
    work = ModelJob(job, [text], [0], "en", "zh", DecodingOptions())
    preparation = Preparation(TOKENIZER, SentenceLimits(most, 60, 8), work)
    (parsed,), entries = preparation.prepare()
    again = [
        preparation.second_translation.entry(number, one, entry, faults)
        for number, (one, entry) in enumerate(zip(parsed.sentences, entries, strict=True))
    ]
    assert all(entry is None or len(entry.source.ids) <= most for entry in again)
    assert any(again) or most < 40
