"""Sentences in capitals: translated in ordinary case, and given back in capitals.

Models learned few of them, and spell capitals letter by letter. They also know few words that stand
alone with a capital, as on buttons.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import regex

from service.translation.sentence.stages import Draft

_WORD = regex.compile(r"[\p{L}\p{M}'’]+")
_TITLE = regex.compile(
    r"(?!OK\b)(?:\p{Lu}[\p{Lu}\p{Ll}]*+(?: \p{Lu}[\p{Lu}\p{Ll}]*+)?"
    r"|\p{Lu}\p{Ll}*+(?: \p{Lu}\p{Ll}*+){2,5})(?:[:…]|\.{3})?"
    r"|(?!OK\b)\p{Lu}++(?: \p{Lu}++)?[.:!?…]*+"
)
_SINGLE_I = regex.compile(r"(?<![\p{L}\p{M}])i(?![\p{L}\p{M}])")
_LEAST_SHARE = 0.9
_LEAST_WORDS, _LEAST_LONGEST = 2, 4


class Capitals(NamedTuple):
    """The stage of a sentence in capitals, which the network reads in ordinary case: `text`."""

    text: str

    def leave(self, draft: Draft) -> Draft:
        """The translation in capitals."""
        text = in_capitals(draft.text)
        if len(text) == len(draft.text):
            return draft._replace(text=text)
        lengths = (len(in_capitals(char)) for char in draft.text)
        moved = [0, *itertools.accumulate(lengths)]
        links = [
            link._replace(target_start=moved[link.target_start], target_end=moved[link.target_end])
            for link in draft.links
        ]
        return draft._replace(text=text, links=links)


class Title(NamedTuple):
    """The stage of a title, which the network reads in small letters: `text`."""

    text: str
    written: str

    def leave(self, draft: Draft) -> Draft:
        """The translation with a capital as first letter, or in capitals, as the title was."""
        return draft._replace(text=match_case(draft.text, self.written))


def enter_capitals(text: str, count: Callable[[str], int] | None = None) -> Capitals:
    """The stage of a sentence in capitals. `count`: the network's pieces of a word, in a language
    whose nouns have capitals: those of fewer pieces with one."""
    small = in_sentence_case(text)
    if count is None:
        return Capitals(small)
    return Capitals(_WORD.sub(lambda word: _as_noun(word[0], count), small))


def _as_noun(word: str, count: Callable[[str], int]) -> str:
    """The word, with a capital if the network knows it better then."""
    noun = match_case(word, "Aa")
    return noun if count(noun) < count(word) else word


def enter_title(text: str) -> Title:
    """The stage of a title."""
    return Title(in_small_letters(text), text)


def is_in_capitals(text: str) -> bool:
    """Whether the text has two or more words in capitals, one of four letters or more, and hardly
    a small letter. Acronyms alone are not, nor is text without case."""
    if (num_capitals := sum(map(str.isupper, text))) < _LEAST_LONGEST:
        return False
    if num_capitals < _LEAST_SHARE * (num_capitals + sum(map(str.islower, text))):
        return False
    words = [word for word in _WORD.findall(text) if any(map(str.isalpha, word))]
    letters = [char for word in words for char in word if char.isalpha()]
    capitals = sum(map(str.isupper, letters))
    if capitals < _LEAST_SHARE * len(letters):
        return False
    in_capitals = [word for word in words if word.isupper() and len(word) > 1]
    longest = max(map(len, in_capitals), default=0)
    return len(words) >= _LEAST_WORDS and longest >= _LEAST_LONGEST and bool(in_capitals)


def is_title(text: str) -> bool:
    """Whether the text is up to six words that begin with capitals. With the mark of a sentence,
    such as "Cheers!", only words in capitals are."""
    return _TITLE.fullmatch(text) is not None


def in_small_letters(text: str) -> str:
    """The text in small letters, of the same length."""
    return "".join(map(_small, text))


def match_case(text: str, other: str) -> str:
    """The text with a capital as first letter, or in capitals if the other is; of the same
    length."""
    end = len(text) if other.isupper() else 1
    return "".join(map(_capital, text[:end])) + text[end:]


def in_sentence_case(text: str) -> str:
    """The text in small letters, but for its first letter and the word I; of the same length."""
    small = _SINGLE_I.sub("I", in_small_letters(text))
    first = next((place for place, char in enumerate(small) if char.isalpha()), None)
    if first is None:
        return small
    return small[:first] + _capital(small[first]) + small[first + 1 :]


def in_capitals(text: str) -> str:
    """The text in capitals; ß becomes SS."""
    return text.upper()


def _small(char: str) -> str:
    small = char.lower()
    return small if len(small) == 1 else char


def _capital(char: str) -> str:
    capital = char.upper()
    return capital if len(capital) == 1 else char
