"""English ordinals in digits: networks write 22th, and of 3. and a carrier 3th, and copy 2nd into
Chinese. Chinese ones go in as English ones: networks make 33 of 第33届, and anything of
第二十三届."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from service.translation.checks.number_words import numeral_value, ordinal_ending
from service.translation.sentence.replaced import Replacement
from service.translation.sentence.stages import Draft

_ORDINAL = {
    ("de", "en"): regex.compile(r"\d\.\s"),
    ("en", "zh"): regex.compile(r"\d(?:st|nd|rd|th)(?!\p{L})"),
    ("zh", "en"): regex.compile(
        r"第\s?\d|第[二三四五六七八九]?十|第[一二三四五六七八九]百|\d世[纪紀]"
    ),
}
_CHINESE = regex.compile(
    r"第\s?(?P<number>\d{1,4}|[一二三四五六七八九]百[一二三四五六七八九十零]{0,4}"
    r"|[二三四五六七八九]?十[一二三四五六七八九]|[二三四五六七八九]十)"
    r"\s?(?:[届次名位任本]|个(?!月)|(?P<unit>代))"
)
"""Networks know 第一次 to 第十次."""
_WRITTEN = regex.compile(r"(?<![\p{L}\d.,])(?P<number>\d{1,4})(?P<ending>(?:st|nd|rd|th){1,3})\b")
_ENGLISH = regex.compile(
    r"(?<![\p{Latin}\d.,$€£#-])(?P<number>\d{1,4})(?:st|nd|rd|th)(?![\p{Latin}\d-])(?:\s(?=\p{Han}))?"
)


@dataclass(frozen=True)
class Ordinals:
    """The stage of a sentence with ordinals, which go in as they are."""

    text: str
    _target: str

    def leave(self, draft: Draft) -> Draft:
        """The translation with the ending that each number has; a Chinese one has none."""
        if self._target == "zh":
            copies = [*find_english_ordinals(draft.text)] if draft.text != self.text else ()
            return draft.changed(copies)
        right = (
            Replacement(*one.span("ending"), ordinal_ending(int(one["number"])))
            for one in _WRITTEN.finditer(draft.text)
        )
        wrong = [one for one in right if draft.text[one.start : one.end] != one.new]
        return draft.changed(wrong)


def enter_ordinals(text: str, pair: tuple[str, str]) -> Ordinals | None:
    """The stage of a sentence with ordinals in digits, if they need one."""
    known = _ORDINAL.get(pair)
    return Ordinals(text, pair[1]) if known is not None and known.search(text) else None


def find_english_ordinals(text: str) -> Iterator[Replacement]:
    """Those of a text in digits, as Chinese ones."""
    for found in _ENGLISH.finditer(text):
        yield Replacement(*found.span(), f"第{found['number']}")


def find_ordinals(text: str) -> Iterator[Replacement]:
    """Those of a Chinese text with what is counted in order, as English ones."""
    for found in _CHINESE.finditer(text):
        number = numeral_value(found["number"])
        yield Replacement(*found.span(), f"{ordinal(number)}{found['unit'] or ''}")


def ordinal(number: int) -> str:
    """The English one."""
    return f"{number}{ordinal_ending(number)}"
