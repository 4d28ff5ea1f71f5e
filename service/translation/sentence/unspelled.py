"""Find what a network does not copy reliably: signs, and words that its vocabulary spells in bytes.

Without this, €5 becomes ₹5, and Dvořák becomes 丹麦."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import regex

from model.text.spans import Span
from service.translation.language.segmentation import BAR, EMOJI, is_spaced, letters

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer

_LEAST_SPELLED = 0.5
_LINE = regex.compile(r"[^\n]+")
_PERCENTAGES = r"(?<=\d\s?[%％]\s?)[~～]\s?\d"
_RANGE = (
    rf"{_PERCENTAGES}|(?<=[\d日号月年点分])～\d|(?<=\d)~\d{{1,4}}(?:\.\d{{1,2}})?[百千]?[万亿]|(?<=[月\d])~\d\d?月"
    r"|(?<=[:：]\d\d)~\d|(?<=[周期拜][一二三四五六日天])[~～][周星礼]"
)
"""Of percentages, and of Chinese numbers, times and days: another sign is written there."""
_CODES = (
    "AED|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|INR|JPY|KRW|MXN|NOK|NTD|NZD|PLN|RMB|RUB|SEK"
    "|SGD|THB|TWD|USD|ZAR"
)
_DOLLAR = r"(?<![\p{Latin}\d])(?:AU?|CA?|HK|MX|NT|NZ|R|SG?|US)\$(?=[ \u00a0]?\d)"
"""That of a country."""
_CODE = (
    rf"(?<![\p{{Latin}}\d])(?:{_CODES})[ \u00a0]?(?=\d)"
    rf"|(?<=\d[ \u00a0]?)(?:{_CODES})(?![\p{{Latin}}\d])"
    r"|(?<!\d[ \u00a0]?)(?!\$)\p{Sc}[ \u00a0](?=\d)"
)
"""That of a currency, beside a number, and the space before it. Of Chinese, networks know it."""
_SIGNS = (
    r"(?:[[\p{S}\p{No}Ⅰ-ↈ§¶†‡•‣‰‱※′″‖]--[\x00-\x7F´¨]||[$|^~<>\\{}]]"
    r"|(?<!\S|\p{Han}\s)[·・‧¿¡](?!\S|\s\p{Han}))"
)
_SIGN = regex.compile(rf"(?V1){_SIGNS}")
_MAYBE_CODE = re.compile("[A-Z]{3}(?:[ \u00a0]?[0-9]|(?<=[0-9]...)|(?<=[0-9][ \u00a0]...))")
_BESIDE_LETTERS = r"\p{M}\p{Nd}²³¹⁰⁴-₉"
_PART, _PART_OF_UNSPACED = (
    regex.compile(
        rf"(?V1)(?P<end>{EMOJI}|{BAR})|{currency}"
        r"|(?<![²³¹⁰⁴-⁹])[²³¹⁰⁴-⁹]++\p{Lu}\p{Ll}?(?!\p{L})"
        rf"|(?P<word>(?:[A-Z\d]{{1,5}}-)?[{letter}][[{letter}]{_BESIDE_LETTERS}]*)"
        rf"|(?!{ranges}){_SIGNS}\p{{M}}*"
    )
    for letter, ranges, currency in (
        (r"\p{L}\u3001-\u303f\uff01-\uff65", _PERCENTAGES, f"{_DOLLAR}|{_CODE}"),
        (r"\p{L}--\p{Han}", _RANGE, _DOLLAR),
    )
)


def find_unspelled(text: str, tokenizer: Tokenizer, language: str) -> Iterator[Span]:
    """The spans of such signs and words, in order. Linear time.

    Signs are those of currency, mathematics and units, arrows and the like, if the vocabulary
    lacks them or the model has reserved placeholders, and so are codes of currencies beside a
    number; most ASCII signs are left to the model. Emoji
    and bars between spaces are left out, since sentences end there. So are the words of a line of
    which the vocabulary spells less than half of the letters: it is in another language.
    """
    has_reserved = tokenizer.reserved > 0
    if not (tokenizer.count_unspelled(text) or (has_reserved and _has_signs(text))):
        return
    for line in _LINE.finditer(text):
        has_unspelled = tokenizer.count_unspelled(line.group()) > 0
        has_words = has_unspelled and is_spellable(line.group(), tokenizer)
        if has_words or _has_signs(line.group()):
            pattern = _PART if is_spaced(language) else _PART_OF_UNSPACED
            for part in pattern.finditer(text, *line.span()):
                is_unspelled = tokenizer.count_unspelled(part.group()) > 0
                if part["word"]:
                    is_found = is_unspelled and has_words
                else:
                    is_found = part["end"] is None and (is_unspelled or has_reserved)
                if is_found:
                    yield Span(*part.span())


def _has_signs(text: str) -> bool:
    return _SIGN.search(text) is not None or _MAYBE_CODE.search(text) is not None


def is_spellable(text: str, tokenizer: Tokenizer) -> bool:
    """Whether the vocabulary has at least half of the text's letters; the network learned nothing
    of the others."""
    if not tokenizer.count_unspelled(text):
        return True
    written = letters(text)
    return tokenizer.count_unspelled(written) <= (1 - _LEAST_SPELLED) * len(written)
