"""The groups and arguments among the tokens of LaTeX."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import regex

from service.documents.latex_commands import BLOCKS, DEFINITIONS, SEPARATORS
from service.documents.latex_tokens import TexToken

_MOST_IN_A_NAME = 4
_MOST_ARGUMENTS = 9
_MOST_LOOKED_AT = 400
_WORD = regex.compile(r"[^=_/\\\p{L}]*+\p{L}{2}[^=_/\\]*+")


class Argument(NamedTuple):
    """The tokens of an argument, without the brackets."""

    first: int
    last: int
    is_option: bool


class TokenTree:
    """Finds what belongs together among tokens."""

    def __init__(self, source: str, tokens: Sequence[TexToken]) -> None:
        self.source, self.tokens = source, tokens
        self._closing, self._ends_of_options = _closing(tokens)
        separating = (_is_separating(token) for token in tokens)
        self._num_separating = [0, *itertools.accumulate(separating)]

    def behind(self, place: int) -> int:
        """The place behind a token, or behind the group that it begins."""
        return self._closing.get(place, place) + 1

    def is_group(self, place: int) -> bool:
        return place in self._closing

    def has_separator(self, first: int, last: int) -> bool:
        """Whether the tokens have a paragraph, environment, or block among them."""
        return self._num_separating[last] > self._num_separating[first]

    def text(self, first: int, last: int) -> str:
        """The source of tokens."""
        return (
            self.source[self.tokens[first].start : self.tokens[last - 1].end]
            if first < last
            else ""
        )

    def is_prose(self, argument: Argument) -> bool:
        """Whether an argument of an unknown command has several words, and no code."""
        text = self.text(argument.first, argument.last)[:_MOST_LOOKED_AT]
        words = map(_WORD.fullmatch, text.split())
        return "=" not in text and any(one and two for one, two in itertools.pairwise(words))

    def arguments(self, place: int, num_groups: int | None, last: int) -> list[Argument]:
        """The options, and up to this number of groups, before `last`; None: what follows at once,
        as after a command that nobody knows."""
        found: list[Argument] = []
        most = _MOST_ARGUMENTS if num_groups is None else num_groups
        while len(found) < _MOST_ARGUMENTS:
            begin = place if num_groups is None else self._skip_space(place, last)
            argument = self._argument(begin, last)
            num_found = sum(not one.is_option for one in found)
            if argument is None or (num_found == most and not argument.is_option):
                break
            if num_found and num_found == num_groups:
                break
            found.append(argument)
            place = argument.last + 1
        return found

    def definition(self, place: int, last: int) -> list[Argument]:
        """The arguments of what defines a command, whose name may have no braces."""
        for found in range(place, min(last, place + _MOST_IN_A_NAME)):
            if self.is_group(found):
                return self.arguments(found, None, last)
        return []

    def _skip_space(self, place: int, last: int) -> int:
        while place < last and self.tokens[place].kind in ("text", "comment"):
            token = self.tokens[place]
            if token.kind == "text" and self.source[token.start : token.end].strip():
                break
            place += 1
        return place

    def _argument(self, place: int, last: int) -> Argument | None:
        if place >= last:
            return None
        if place in self._closing:
            behind = self._closing[place]
            return Argument(place + 1, behind, is_option=False) if behind < last else None
        behind = self._ends_of_options.get(place, last)
        return Argument(place + 1, behind, is_option=True) if behind < last else None


def _closing(tokens: Sequence[TexToken]) -> tuple[dict[int, int], dict[int, int]]:
    """The place of the brace that closes each brace, and of the bracket that ends each option; what
    has none is not there."""
    braces: dict[int, int] = {}
    brackets: dict[int, int] = {}
    opened: list[int] = []
    options: list[list[int]] = [[]]
    """The open brackets within each open brace."""
    for place, token in enumerate(tokens):
        if token.kind in ("break", "begin", "end"):
            options[-1].clear()
        elif token.kind != "sign":
            continue
        elif token.name == "{":
            opened.append(place)
            options.append([])
        elif token.name == "}" and opened:
            braces[opened.pop()] = place
            options.pop()
        elif token.name == "[":
            options[-1].append(place)
        elif token.name == "]" and options[-1]:
            brackets[options[-1].pop()] = place
    return braces, brackets


def _is_separating(token: TexToken) -> bool:
    if token.kind == "command":
        return token.name in SEPARATORS or token.name in BLOCKS or token.name in DEFINITIONS
    if token.kind == "sign":
        return token.name not in tuple("[]{}")
    return token.kind in ("break", "begin", "end") or (token.kind == "code" and token.name != "")
