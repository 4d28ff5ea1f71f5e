"""Cut a text into sentences to translate and stretches to keep.

Joining all of them gives the original text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import regex
from sentencex import segment  # type: ignore[import-untyped]

from service.translation.language.codes import primary
from service.translation.language.continuations import rejoined
from service.translation.language.line_marks import bare, is_bare, parts
from service.translation.language.splitting import CountTokens, split_to_fit

_UNSPACED_LANGUAGES = frozenset({"zh", "zt", "yue", "wuu", "ja", "th", "lo", "km", "my", "bo"})
_SEPARATOR = r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+|\s{3,}"
BAR = (
    r"\uff5c|\|(?:(?!\S)(?<!(?:\S|[(\[{]\s?[^()\[\]{}\s]{0,20}\s)\|)"
    r"|(?=[\p{Lu}{\[%:\ufffc][^|\n]*\s)(?<=\s[^|\n]{0,200}[\w.!?)}]\|)"
    r"|(?<=\s(?P<form>\p{Ll}{3,40})\|)(?=\p{Ll}[^|\n]{0,200}\s(?P=form)))"
)
"""Stands between the entries of a menu, or the forms of a plural, also `one day|{n} days` and `one
day|many days`; not in `P(A | B)`."""
EMOJI = (
    r"\p{Regional_Indicator}{2}"
    r"|[0-9#*]\uFE0F?\u20E3"
    r"|(?:[\p{Extended_Pictographic}--[©®™\u2139‼⁉〰〽㊗㊙\u2190-\u21FF]]|\p{Extended_Pictographic}\uFE0F)"
    r"[\p{Emoji_Modifier}\p{Extended_Pictographic}\uFE0F\u200D\U000E0020-\U000E007F]*"
    r"|(?<!\S)(?:[:;=]['-]?(?:[()DPOop|*]|\)+)|\^[_.-]?\^)(?!\S)|<3(?=\s*$)"
)
_LEADER = r"[.…!?](?:(?<=\.)\.{3,}+|(?<=…)…{2,}+|(?<=[!?])[!?]{2,}+)"
"""Marks that stand between the columns of a list, or more of them than a sentence needs; networks
lose some."""
_COMMA = r",(?<=[^\s\"]\",)(?=\"[^\s\"])"
"""Of a row of quoted fields."""
_OF_DOCSTRING = '"{3}'
_JSON_END = r"(?=\s{0,80}(?:[,}\]\n\ufffc]|$))"
_FIELD = (
    r'(?<=(?:^|[\n{,\[\ufffc])\s{0,80})"[^"\n]{1,200}"(?:\ufffc|\s{0,9}:\s{0,9}'
    rf'(?:"(?!")|(?:true|false|null){_JSON_END}|(?=["{{\[\d\ufffc-])))'
    rf'|"(?<=[\[,\ufffc]\s{{0,80}}")(?=(?:[^"\\\n]|\\.){{1,2000}}+"\s{{0,80}}[,\]\ufffc])'
    rf'|"(?<!\\"){_JSON_END}(?<=(?:"\s{{0,9}}:\s{{0,9}}|\\|[\[,\ufffc]\s{{0,80}})"[^"\n]{{1,2000}}")'
)
_BREAK = rf"{_SEPARATOR}|{BAR}|{EMOJI}|{_LEADER}|{_COMMA}|{_OF_DOCSTRING}"
_KEPT = regex.compile(rf"(?V1)(?:{_BREAK})+")
_KEPT_OF_JSON = regex.compile(rf"(?V1)(?:{_BREAK}|{_FIELD})+")
"""Also the name of a field, and what begins and ends a text."""
_JSON = regex.compile(
    r'^[^\S\n]*+[{\["\ufffc](?=[^\n]*"\s?:)[^\n]*(?:[,{}\[\]"\ufffc]|\d|true|false|null)$'
    r'|^[^\S\n]*+\["[^\n]+"\]$',
    regex.MULTILINE,
)
"""A line of JSON."""
_ASCII_BREAK = re.compile(r"[\t-\r\x1c-\x1f|^:;=<.!?](?:(?<![.!?])|(?<=\.)\.{3}|(?<=[!?])[!?]{2})")
"""Signs of what may be kept of an ASCII text, beside three spaces."""
_LETTER = regex.compile(r"(?V1)[\p{L}--\p{Default_Ignorable_Code_Point}]")
_NUMERAL = re.compile(r"(?:[ivx]{2,6}|[IVX]{2,6})\.?|[a-hA-HivxIVX]\.")
"""Of an entry of a list: networks take iii. and I. for words."""
_CHOICES = regex.compile(r"(?:[A-H](?:[.．、)）]|(?=\s))\s*+[^\p{L}]++){2,}+")
"""A. 5 B. 6, of which networks make A's 5."""
_PAUSE = regex.compile(r"\s*+[,;，、；]")
_CLOSE = regex.compile(r"[-–—｜\p{L}\p{N}]|(?!\[[\d^])[\p{Ps}\p{Pi}]")
_WINDOW_CHARACTERS = 2000
_BEGINNING = "So."
"""A sentence of any language, to follow a full stop."""


class Piece(NamedTuple):
    """A sentence to translate, or the text between two sentences. `begins`, `ends`: the parts of a
    sentence that is too long do not all begin or end one."""

    text: str
    is_sentence: bool
    begins: bool = True
    ends: bool = True


def begins_close(gap: str) -> bool:
    """Whether the text behind a sentence begins with what Chinese writes without a space before it:
    a dash, a bar, a bracket, or a letter or digit, but no number of a note, as in [1]."""
    return _CLOSE.match(gap) is not None


def spaced_gap(gap: str, source: str, target: str) -> str:
    """What stands between two sentences of one line, by the spacing of the target language."""
    if (gap == "" or begins_close(gap)) and is_spaced(target) and not is_spaced(source):
        return f" {gap}"
    if gap == " " and not is_spaced(target):
        return "" if is_spaced(source) else gap
    return gap


def cut_text(
    text: str,
    language: str,
    max_tokens: int,
    count_tokens: CountTokens,
    is_translatable: Callable[[str], bool] | None = None,
    *,
    is_split: bool = True,
) -> list[Piece]:
    """Cut one text. Joined, the pieces are the text. A sentence has letters, no white space around
    it, and at most `max_tokens`. Unless `is_split`, only lines and emoji end a sentence.

    A single character of more tokens is kept untranslated, and so are sentences that are not
    translatable; by default all that have letters are.
    """
    accepts = is_translatable or has_letters
    cutter = _Cutter(language, max_tokens, count_tokens, accepts, is_split)
    return list(_merge(cutter.cut(text)))


def sentences_of(line: str, language: str) -> Iterator[str]:
    """Cut a line without emoji. Joined, the sentences, with the white space behind them, are the
    line."""
    for part in parts(line):
        yield from _segment(part, language)


def is_numeral(sentence: str) -> bool:
    """Whether what stands alone between sentences is that of an entry of a list."""
    return _NUMERAL.fullmatch(sentence) is not None


def is_one_sentence(text: str, language: str) -> bool:
    """Whether `cut_text` leaves a text that fits whole. Of texts with spaces at an end, False."""
    return (
        has_letters(text)
        and not (text[:1].isspace() or text[-1:].isspace())
        and is_bare(text)
        and not (has_break(text) or _CHOICES.fullmatch(text))
        and len(list(_segment(text, language))) == 1
    )


def has_break(text: str) -> bool:
    """Whether anything but white space stands between the sentences of a text."""
    return not _has_no_break(text) and _kept_of(text).search(text) is not None


def _has_no_break(text: str) -> bool:
    """Whether one cheap look finds that an ASCII text has nothing to keep."""
    has_gap = "   " in text or '","' in text or '"""' in text or '["' in text
    return text.isascii() and not has_gap and _ASCII_BREAK.search(text) is None


def _kept_of(text: str) -> regex.Pattern[str]:
    """The pattern of what stands between the sentences of a text."""
    is_json = ('":' in text or '["' in text) and _JSON.search(text)
    return _KEPT_OF_JSON if is_json else _KEPT


def without_fields(text: str) -> str:
    """The text with spaces in place of the braces and the names of JSON's fields, and of what ends
    their texts."""
    pattern = _kept_of(text)
    if pattern is not _KEPT_OF_JSON:
        return text
    spaced = pattern.sub(lambda kept: " " * len(kept.group()), text)
    return spaced.replace("{", " ").replace("}", " ")


@functools.lru_cache
def is_spaced(language: str) -> bool:
    """Whether the language writes a space between two sentences."""
    return primary(language) not in _UNSPACED_LANGUAGES


def has_letters(text: str) -> bool:
    """Whether the text has a letter that is shown."""
    return _LETTER.search(text) is not None


def letters(text: str) -> str:
    """The letters of the text."""
    return "".join(_LETTER.findall(text))


def _merge(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Drop empty stretches and join neighbouring kept ones."""
    kept: list[str] = []
    for piece in pieces:
        if not piece.is_sentence:
            kept.append(piece.text)
            continue
        if gap := "".join(kept):
            yield Piece(gap, is_sentence=False)
        kept.clear()
        yield piece
    if gap := "".join(kept):
        yield Piece(gap, is_sentence=False)


@dataclass(frozen=True)
class _Cutter:
    language: str
    max_tokens: int
    count_tokens: CountTokens
    is_translatable: Callable[[str], bool]
    is_split: bool

    def cut(self, text: str) -> Iterator[Piece]:
        position = 0
        for kept in _kept_of(text).finditer(text):
            yield from self._cut_stretch(text[position : kept.start()])
            yield Piece(kept.group(), is_sentence=False)
            position = kept.end()
        yield from self._cut_stretch(text[position:])

    def _cut_stretch(self, stretch: str) -> Iterator[Piece]:
        """Cut text of one line without emoji into sentences and the white space around them."""
        if not has_letters(stretch):
            yield Piece(stretch, is_sentence=False)
            return
        for sentence in self._sentences(stretch):
            if self._stays(sentence, stretch):
                yield Piece(sentence, is_sentence=False)
            elif self.count_tokens(sentence.strip()) <= self.max_tokens:
                yield from _trim(sentence)
            else:
                yield from self._split(sentence)

    def _stays(self, sentence: str, stretch: str) -> bool:
        """Whether a sentence of a stretch is not translated."""
        if not (has_letters(sentence) and self.is_translatable(sentence)):
            return True
        if _CHOICES.fullmatch(sentence):
            return True
        return len(sentence) < len(stretch) and is_numeral(sentence.strip())

    def _sentences(self, stretch: str) -> Iterator[str]:
        if not self.is_split:
            yield stretch
            return
        yield from sentences_of(stretch, self.language)

    def _split(self, sentence: str) -> Iterator[Piece]:
        is_end = functools.partial(_may_end, self.language)
        parts_of_it = [*split_to_fit(sentence, self.max_tokens, self.count_tokens, is_end)]
        for place, part in enumerate(parts_of_it, 1):
            if len(part) == 1 and self.count_tokens(part) > self.max_tokens:
                yield Piece(part, is_sentence=False)
            else:
                yield from _trim(part, begins=place == 1, ends=place == len(parts_of_it))


def _segment(stretch: str, language: str) -> Iterator[str]:
    """Segment one line in windows, because sentencex is quadratic outside ASCII."""
    start = 0
    while start < len(stretch):
        window = stretch[start : start + _WINDOW_CHARACTERS]
        sentences = segment(language, window)
        if len(sentences) > 1:
            sentences = rejoined(sentences, language)
        if "".join(sentences) != window:
            sentences = [window]
        is_last = start + len(window) == len(stretch)
        settled = sentences if is_last or len(sentences) == 1 else sentences[:-1]
        yield from settled
        start += sum(map(len, settled))


def _may_end(language: str, text: str) -> bool:
    """Whether the full stop at the end of a text is of no abbreviation."""
    return len([*_segment(f"{text}{_BEGINNING}", language)]) > 1


def _trim(sentence: str, *, begins: bool = True, ends: bool = True) -> Iterator[Piece]:
    if not has_letters(sentence):
        yield Piece(sentence, is_sentence=False)
        return
    start, end = bare(sentence)
    begins = begins and _PAUSE.match(sentence, 0, start) is None
    if start:
        yield Piece(sentence[:start], is_sentence=False)
    yield Piece(sentence[start:end], is_sentence=True, begins=begins, ends=ends)
    if end < len(sentence):
        yield Piece(sentence[end:], is_sentence=False)
