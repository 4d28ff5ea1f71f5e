"""Signs and words that a network cannot copy are found; words of other languages are not."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig
from service.translation.text.unspelled import find_unspelled

TEXTS = st.text(
    st.sampled_from("ab€♪★✓①²½←° .,\nñŁд你喆«»❤\ufe0f👩\u200d🇩1\u20e3e\u0301$|<")
    | st.characters(exclude_categories=["Cs"]),
    max_size=30,
)


def tokenizer_of(pair: str, reserved: int) -> Tokenizer:
    file = Path("checkpoints", pair, "sentencepiece.model")
    return Tokenizer(file, file, TokenizerConfig(file.name, file.name, reserved=reserved))


ZH_EN, EN_DE = tokenizer_of("zh-en", 16), tokenizer_of("en-de", 16)
WITHOUT_RESERVED = tokenizer_of("zh-en", 0)
ORDINARY = [
    *("", " ", "Hello, world!", "“Yes” – he said…", "Grüße aus München", "5 % of 20 & more"),
    *("1 + 1 = 2", "C# or f(x) * [2]", "«Oui» ‹non›", "me@home", "`code` ´ ¨"),
    *("I ❤️ you 👩‍👩‍👧 🇩🇪 1️⃣ 👍🏽", "Он любит Python."),
]
"""Without a sign or word to carry, emoji and other languages among them."""


def found(text: str, tokenizer: Tokenizer, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in find_unspelled(text, tokenizer, language)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs €5, or £4.", ["€", "£"]),
        ("25 °C ± 2, 3 × 4 ≤ 12", ["°", "±", "×", "≤"]),
        ("File → Save ♪ § 5", ["→", "♪", "§"]),
        ("½ of ① is 5²", ["½", "①", "²"]),
        ("a | b < c", ["|", "<"]),
        ("Dvořák’s friend Søren lives in Łódź.", ["Dvořák", "Søren", "Łódź"]),
        ("Dvor\u030ca\u0301k is here", ["Dvor\u030ca\u0301k"]),
        ("8 km² of CO₂", ["km²", "CO₂"]),
        ("Привет, как дела?\nSay привет now!\nПока", ["привет"]),
        ("My friend 李明 read 《红楼梦》 in 北京.", ["李明", "《红楼梦》", "北京"]),
        *((text, []) for text in ORDINARY),
    ],
)
def test_signs_and_words_that_the_vocabulary_lacks_are_found(
    text: str, expected: list[str]
) -> None:
    assert found(text, EN_DE) == expected


def test_chinese_characters_of_a_chinese_text_are_left_to_the_model() -> None:
    assert ZH_EN.count_unspelled("喆") == 1
    assert found("陶喆是歌手。", ZH_EN, "zh") == []
    assert found("他叫Dvořák。", ZH_EN, "zh") == ["Dvořák"]


def test_signs_that_the_vocabulary_has_are_carried_only_by_reserved_placeholders() -> None:
    assert ZH_EN.count_unspelled("→ £ $") == 0
    assert found("A → B for £5", ZH_EN) == ["→", "£"]
    assert found("A → B for £5, or ₿5", WITHOUT_RESERVED) == ["₿"]
    assert found("这本书$20。", ZH_EN, "zh") == ["$"]


@settings(deadline=None)
@given(TEXTS)
def test_what_is_found_is_visible_and_in_order(text: str) -> None:
    for tokenizer in (ZH_EN, EN_DE, WITHOUT_RESERVED):
        spans = list(find_unspelled(text, tokenizer, "en"))
        assert all(before.end <= after.start for before, after in itertools.pairwise(spans))
        for start, end in spans:
            assert text[start:end].split() == [text[start:end]]
            assert not text[start:end].isdecimal()
