"""Find the strings of a text that a translation must keep: placeholders, addresses, code.

The patterns name what is certain. Plain numbers, amounts, times and dates other than ISO 8601's are
left to the model. Time is linear in the text's length, times the number of `keep` strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import regex

from service.translation.kept_patterns import LATIN, PATTERNS

_RULES = [(trigger, regex.compile(f"(?V1){pattern}")) for trigger, pattern in PATTERNS]
_SIGNS = {".": regex.compile(r"\.\w"), "-": regex.compile(r"[0-9a-fA-F]{4}-")}
"""What every match of a frequent trigger's patterns has."""
_CODE = regex.compile(
    rf"(?<![{LATIN}])(?:[A-Z]{{1,6}}-?\d{{3,}}+(?:-\d++)*+|0x[0-9a-fA-F]++"
    rf"|[a-z]++(?:[A-Z][a-z0-9]++){{2,}}+)(?![{LATIN}])"
)
_CODE_SIGN = regex.compile(r"[0-9]|[a-z][A-Z]")
_ODD = regex.compile(r"(?V1)[\p{Co}\ufffc\ufffd\x00-\x08\x0e-\x1b\x7f]+")
_PILE = regex.compile(r"\p{M}{5}|[\u0334-\u0338]")
_PILES = regex.compile(
    r"(?<![\p{L}\p{M}])(?:[\p{L}\p{M}]*?\p{M}{5,}+|(?:[\p{L}\p{M}]*?[\u0334-\u0338]){2})[\p{L}\p{M}]*+"
)
"""Words with five marks on a letter, or two letters struck out: no model has learned them."""
_ADDRESSES = frozenset({"://", "www.", ".", "/", "\\"})
_END_MARKS = ".,;:!?'\"*_"
_BLOCK_HEAD = regex.compile(
    r"\{\s*+[\w.$@-]++\s*+,\s*+(?:plural|select|selectordinal)\s*+,", regex.IGNORECASE
)
_WORD = regex.compile(rf"[{LATIN}]")


class Span(NamedTuple):
    """text[start:end]"""

    start: int
    end: int


def find_kept(
    text: str,
    keep: Sequence[str] = (),
    others: Iterable[Span] = (),
    *,
    joins_neighbours: bool = True,
) -> list[Span]:
    """The spans to keep, in order, with the `others`; those that overlap are joined, and those that
    touch if `joins_neighbours`. A `keep` string counts where no other letter or digit touches
    it."""
    found = [*_by_rules(text), *_blocks(text), *_named(text, keep), *others]
    joined: list[Span] = []
    for span in sorted(found):
        if joined and span.start < joined[-1].end + joins_neighbours:
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return joined


def occurs(string: str, text: str) -> bool:
    """Whether the string stands in the text as a word of its own."""
    return next(_named(text, [string]), None) is not None


def _by_rules(text: str) -> Iterator[Span]:
    for trigger, pattern in _RULES:
        if trigger in text and (trigger not in _SIGNS or _SIGNS[trigger].search(text)):
            for match in pattern.finditer(text):
                start, end = match.span()
                if trigger in _ADDRESSES:
                    end = _address_end(text, start, end)
                if end > start:
                    yield Span(start, end)
    for pattern in _always_possible(text):
        yield from (Span(*match.span()) for match in pattern.finditer(text))


def _always_possible(text: str) -> Iterator[regex.Pattern[str]]:
    """The patterns without a trigger that may match; most texts need none."""
    if _CODE_SIGN.search(text):
        yield _CODE
    if not text.isprintable() or "\ufffc" in text or "\ufffd" in text:
        yield _ODD
    if not text.isascii() and _PILE.search(text):
        yield _PILES


def _address_end(text: str, start: int, end: int) -> int:
    """Leave out the marks that end a sentence, and brackets that were opened before."""
    excess = {
        close: text.count(close, start, end) - text.count(opening, start, end)
        for opening, close in ("()", "[]")
    }
    while end > start:
        last = text[end - 1]
        if excess.get(last, 0) > 0:
            excess[last] -= 1
        elif last not in _END_MARKS:
            break
        end -= 1
    return end


def _blocks(text: str) -> Iterator[Span]:
    """ICU plural and select blocks, whole."""
    if not _BLOCK_HEAD.search(text):
        return
    partners, opened = {}, []
    for position, char in enumerate(text):
        if char == "{":
            opened.append(position)
        elif char == "}" and opened:
            partners[opened.pop()] = position + 1
    for match in _BLOCK_HEAD.finditer(text):
        if end := partners.get(match.start()):
            yield Span(match.start(), end)


def _named(text: str, keep: Iterable[str]) -> Iterator[Span]:
    for string in keep:
        start = text.find(string)
        while start >= 0:
            end = start + len(string)
            if not (_is_inside_word(text, start) or _is_inside_word(text, end)):
                yield Span(start, end)
                start = text.find(string, end)
            else:
                start = text.find(string, start + 1)


def _is_inside_word(text: str, position: int) -> bool:
    """Whether letters or digits of an alphabet stand on both sides."""
    both = text[max(0, position - 1) : position + 1]
    return len(both) == 2 and position > 0 and all(map(_WORD.match, both))
