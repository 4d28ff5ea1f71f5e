"""Words in capitals within a sentence, as in `This is VERY important`: networks copy most of them.

They go in as they are usually written, and what translates them is in capitals. Acronyms, keys and
the words of programming languages stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import regex

from model.text.spans import Span
from service.translation.alignment import AlignmentLink
from service.translation.language.short_texts import ShortTexts
from service.translation.sentence.capitals import (
    Capitals,
    in_capitals,
    in_sentence_case,
    in_small_letters,
    match_case,
)
from service.translation.sentence.replaced import Replaced, Replacement
from service.translation.sentence.stages import Draft

_RUN = regex.compile(
    r"(?<![\p{L}\p{M}\p{N}_'’&/.$%@#<\[=\\+-])\p{Lu}{2,}+(?: \p{Lu}{2,}+){0,9}+"
    r"(?![\p{L}\p{M}\p{N}_&/=(\]\\+]|[-.'’]\p{L})"
)
_WORD = regex.compile(r"\p{Lu}+")
_ONLY_WORD = regex.compile(r"(?P<word>\p{Lu}{2,}+)[.:!?…]*+")
_SMALL = regex.compile(r"\p{Ll}")
_LETTER = regex.compile(r"\p{L}")
_LEAST_FREQUENCY = 4.0
"""Of a word as it is usually written, as of ShortTexts."""
NOUNS_IN_CAPITALS = frozenset({"de"})
_LEAST_ON_BUTTON = 4
_LEAST_LONG, _LEAST_ALONE = 8, 5
_LEAST_OF_PIECE, _LEAST_OF_SPELLED = 2.3, 1.6
"""Letters of a long word, of one that stands alone; of each of its pieces on average, and of those
of a word that is not spelled letter by letter."""
_NAMES = {
    "de": """
        ALTER AM ARM BLOB BUS DES ELF ERROR ES FALSE FORMAT GAR IM IN INDEX INTEGER LAST MAIL MIT
        NAME NEW NULL OPTION PDO PORT POST SO TEXT TRUE TYP TYPE UNIX
        """,
    "en": """
        ACT AIDS ALTER AM ARM AS AT BASIC BE BOX BY CAD CAN CASE CAT COM COMMIT CONNECT COPY
        CREATE DATA DECLARE DELETE DO DROP DRY ELSE END ENTER ESCAPE EXECUTE FALSE FAT FORMAT
        FROM GET GRASS GROUP HE HEAD HOME HOST ICE IDEA IF IN INDEX INI INN INSERT INT INTEGER
        INTO IS IT JOIN LED LIFE LIKE LOCK MAC MAD MAIL MASTER MAY MIT NAME NONE NULL OF OFFSET OK
        OPTIONS ORDER PATH PDO PI PIN PORT POST POT PUT QUERY RAM RANGE RAW RE REST RETURN ROW
        SALT SAT SELECT SET SHIFT SIM SMART SOAP ST STACK SUN TAB TABLE TERM TEST TEXT TH TRUE
        TYPE UNIX UPDATE US WHERE WHO
        """,
}
"""By language, words that are something else in capitals. Most are those that the translations of
technical texts have as they are."""
KNOWN_NAMES = {language: frozenset(words.split()) for language, words in _NAMES.items()}


@dataclass(frozen=True)
class Emphasis:
    """The stage of a sentence with such words: `text` has them as they are usually written."""

    text: str
    _words: frozenset[Span]

    def leave(self, draft: Draft) -> Draft:
        """The translation with capitals where it translates these words."""
        best: dict[Span, AlignmentLink] = {}
        for link in draft.links:
            span = Span(link.source_start, link.source_end)
            if span in self._words and (span not in best or link.weight > best[span].weight):
                best[span] = link
        emphasised = {Span(link.target_start, link.target_end) for link in best.values()}
        capitals: list[Replacement] = []
        for span in sorted(emphasised):  # an abbreviation is inside the word that it begins
            if not capitals or span.start >= capitals[-1].end:
                capitals.append(Replacement(*span, in_capitals(draft.text[slice(*span)])))
        replaced = Replaced(draft.text, capitals)
        return draft.replaced(replaced)


class CapitalWord(Capitals):
    """The stage of a word in capitals that stands alone: `text` is in small letters, or as a
    German noun."""


def enter_emphasis(
    text: str, language: str, count: Callable[[str], int]
) -> Emphasis | CapitalWord | None:
    """The stage of a sentence with words in capitals beside others, or of nothing else than one;
    None without. `count`: the network's pieces of a word."""
    if language not in _NAMES:
        return None
    if _SMALL.search(text) is None:
        only = _ONLY_WORD.fullmatch(text)
        if only is None or not _is_usual_alone(only["word"], language, count):
            return None
        has_nouns = language in NOUNS_IN_CAPITALS
        return CapitalWord(in_sentence_case(text) if has_nouns else in_small_letters(text))
    words = [*_find(text, language, count)]
    if not words:
        return None
    usual = Replaced(text, [Replacement(*span, word) for span, word in words])
    return Emphasis(usual.text, frozenset(span for span, _ in words))


class _Word(NamedTuple):
    span: Span
    usual: str


def _find(text: str, language: str, count: Callable[[str], int]) -> Iterator[_Word]:
    """The words that the network knows better in small letters, or with a capital as German nouns
    and first words. Of words side by side all must be of the language."""
    for run in _RUN.finditer(text):
        if not all(_is_usual(word, language, count) for word in run.group().split()):
            continue
        for match in _WORD.finditer(text, *run.span()):
            small = in_small_letters(match.group())
            capital = match_case(small, "Aa")
            as_small, as_capital = count(small), count(capital)
            is_first = match.start() == run.start() and not _LETTER.search(text, 0, run.start())
            if min(as_small, as_capital) < count(match.group()):
                usual = capital if is_first or as_capital < as_small else small
                yield _Word(Span(*match.span()), usual)


def is_acronym(text: str, pair: tuple[str, str], count: Callable[[str], int]) -> bool:
    """Whether a text is nothing else than one word in capitals that both languages have as it
    is."""
    only = _ONLY_WORD.fullmatch(text) if _NAMES.keys() >= {*pair} else None
    if only is None or only["word"] in KNOWN_NAMES[pair[0]]:
        return False
    word = only["word"]
    is_like_word = len(word) >= max(_LEAST_ON_BUTTON, _LEAST_OF_SPELLED * _num_pieces(word, count))
    return not is_like_word and not _is_usual_alone(word, pair[0], count)


def _is_usual_alone(word: str, language: str, count: Callable[[str], int]) -> bool:
    """Whether a word that stands alone is one of the language. Longer ones that are something else
    among others, such as DELETE, stand on buttons."""
    if word in KNOWN_NAMES[language]:
        return len(word) >= _LEAST_ON_BUTTON
    return _is_usual(word, language, count, _LEAST_ALONE)


def _is_usual(
    word: str, language: str, count: Callable[[str], int], least_long: int = _LEAST_LONG
) -> bool:
    """Whether the letters are a word of the language, and nothing else. A long one is no acronym,
    and few pieces make no name."""
    if word in KNOWN_NAMES[language]:
        return False
    small = in_small_letters(word)
    if ShortTexts.load().frequency(small, language) >= _LEAST_FREQUENCY:
        return True
    if len(word) < least_long:
        return False
    return len(word) >= _LEAST_OF_PIECE * _num_pieces(word, count)


def _num_pieces(word: str, count: Callable[[str], int]) -> int:
    """The network's pieces of a word in capitals, as it is usually written."""
    small = in_small_letters(word)
    return min(count(small), count(match_case(small, "Aa"))) - count("")
