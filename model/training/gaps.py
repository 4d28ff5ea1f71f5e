"""Pairs that each lack one string on both sides, so that another one can take its place."""

from __future__ import annotations

import re
from typing import NamedTuple

from model.training.alignment import Pair

Around = tuple[str, str]

_TRADITIONAL = {"hant", "tw", "hk", "mo"}


class Gap(NamedTuple):
    """What is before and after the missing string, on each side of a pair."""

    first: Around
    second: Around

    def filled(self, first: str, second: str) -> Pair:
        return first.join(self.first), second.join(self.second)


def gap_at(pair: Pair, matches: tuple[re.Match[str], re.Match[str]]) -> Gap:
    """The pair without what was found in its first and in its second side."""
    first, second = (
        (text[: match.start()], text[match.end() :])
        for text, match in zip(pair, matches, strict=True)
    )
    return Gap(first, second)


def base_languages(codes: tuple[str, str]) -> tuple[str, str]:
    """("zh-Hans", "en-GB") -> ("zh", "en"); traditional Chinese stays "zh-Hant", because its names
    and numerals are written in another way."""
    return _base(codes[0]), _base(codes[1])


def _base(code: str) -> str:
    base, *subtags = code.lower().split("-")
    return "zh-Hant" if base == "zh" and _TRADITIONAL & set(subtags) else base
