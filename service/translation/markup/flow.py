"""A flow: text without its tags and with a mark in place of each kept string.

A flow is what a reader sees as running text: a block of a page, an attribute, or a plain text. It
remembers where the tags were and how every character was written.
"""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import regex

from model.text.normalisation import normalise
from model.text.spans import Span
from service.translation.markup.coded_text import Code, TextPart, merged, plain_text
from service.translation.markup.elements import is_known

MARK = "\ufffc"
"""Stands for one kept string (OBJECT REPLACEMENT CHARACTER)."""
FindKept = Callable[[str], Sequence[Span]]
"""Finds the strings of a text that its translation must keep, in order."""
_GRAPHEME = regex.compile(r"\X")
_NO_SPACE = regex.compile(r"\S++")
_SIGNS = regex.compile(r"(?=.*[\p{N}+−-])[^\p{L}\s]++")
_ALPHANUMERIC = regex.compile(r"[[\p{L}\p{N}]--\p{Han}]", regex.VERSION1)
_ORDINAL = regex.compile(r"\p{N}++(?:st|nd|rd|th)", regex.IGNORECASE)
_LONGEST_FORMULA = 30
_LETTER = regex.compile(r"[[\p{L}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]]", regex.V1)
_END = regex.compile(r"[.,;!?…。，；！？)\]}’”»]")
CONTENT_ESCAPES: Mapping[str, str] = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


class Kept(NamedTuple):
    """A kept string: as it is written in the source, and as it reads. `parts`: what it is written
    with, if it has flows inside, such as the branches of an ICU choice."""

    written: tuple[TextPart, ...]
    text: str
    parts: tuple[TextPart | Flow, ...] = ()

    @classmethod
    def of(cls, parts: tuple[TextPart | Flow, ...]) -> Kept:
        """A string with flows inside."""
        written = tuple(merged(itertools.chain.from_iterable(map(spell_part, parts))))
        return cls(written, plain_text(written), parts)


_NAME = regex.compile(r"</?+([\w:.-]++)")


class Tag(NamedTuple):
    """A tag before the character at `offset` of its flow.

    `written` has a flow for each attribute with text, between the strings around it. `number` is
    unique in the source; `partner` is the number of the other tag of the pair, or None. `is_note`:
    it stays behind the word before it.
    """

    offset: int
    written: tuple[TextPart | Flow, ...]
    number: int
    partner: int | None = None
    is_note: bool = False

    @property
    def is_opening(self) -> bool:
        return self.partner is not None and self.partner > self.number

    @property
    def is_closing(self) -> bool:
        return self.partner is not None and self.partner < self.number


@dataclass(frozen=True)
class Flow:
    """`kept` has one entry for each MARK of `text`, `tags` are in order, `written` maps offsets to
    the source's spelling of one character where it differs. `escapes` spells what a translation
    may not contain as such."""

    text: str
    kept: Sequence[Kept] = ()
    tags: Sequence[Tag] = ()
    written: Mapping[int, tuple[TextPart, ...]] = field(default_factory=dict)
    escapes: Mapping[str, str] = field(default_factory=dict)

    def spell(self, start: int, end: int) -> Iterator[TextPart]:
        """The source's spelling of text[start:end], without tags."""
        position = start
        for offset in _between(self._odd, start, end) if self.written else ():
            yield self.text[position:offset]
            yield from self.written[offset]
            position = offset + 1
        yield self.text[position:end]

    def kept_between(self, start: int, end: int) -> Sequence[Kept]:
        """The kept strings of text[start:end]."""
        if not self.kept:
            return ()
        first, last = (bisect.bisect_left(self._marks, offset) for offset in (start, end))
        return self.kept[first:last]

    def filled_between(self, start: int, end: int) -> Sequence[tuple[int, Kept]]:
        """The kept strings of text[start:end] that have flows inside, with their offsets."""
        offsets = _between(self._marks, start, end)
        pairs = zip(offsets, self.kept_between(start, end), strict=True)
        return [(offset, kept) for offset, kept in pairs if kept.parts]

    def with_kept(self, spell: Callable[[str], str]) -> Flow:
        """The flow with its kept strings as `spell` writes them."""
        new = {
            offset: Kept((text,), text)
            for offset, one in zip(self._marks, self.kept, strict=True)
            if (text := spell(one.text)) != one.text
        }
        if not new:
            return self
        kept = [new.get(at, one) for at, one in zip(self._marks, self.kept, strict=True)]
        written = {**self.written, **{offset: one.written for offset, one in new.items()}}
        return dataclasses.replace(self, kept=kept, written=written)

    def tag_range(self, start: int, end: int) -> tuple[int, int]:
        """The first and the last (excluded) index of the tags from `start` to `end`, both ends
        included."""
        first = bisect.bisect_left(self.tags, start, key=lambda tag: tag.offset)
        return first, bisect.bisect_right(self.tags, end, key=lambda tag: tag.offset)

    def offset_of(self, number: int | None) -> int:
        """The offset of the tag with this number; -1 if it is in another flow."""
        return self._offsets.get(number, -1)

    @functools.cached_property
    def _offsets(self) -> dict[int | None, int]:
        return {tag.number: tag.offset for tag in self.tags}

    @functools.cached_property
    def _marks(self) -> Sequence[int]:
        return [offset for offset, char in enumerate(self.text) if char == MARK]

    @functools.cached_property
    def _odd(self) -> Sequence[int]:
        return sorted(self.written)

    def odd_between(self, start: int, end: int) -> Iterator[tuple[str, tuple[TextPart, ...]]]:
        """The characters of text[start:end] that the source writes otherwise, and how."""
        odd = _between(self._odd, start, end)
        return ((self.text[offset], self.written[offset]) for offset in odd)


def _between(offsets: Sequence[int], start: int, end: int) -> Sequence[int]:
    """Those of the sorted offsets that are in text[start:end]."""
    return offsets[bisect.bisect_left(offsets, start) : bisect.bisect_left(offsets, end)]


class FlowBuilder:
    """Collects the text and the tags of one flow, in order."""

    def __init__(self, escapes: Mapping[str, str], find_kept: FindKept) -> None:
        self._escapes, self._find_kept = escapes, find_kept
        self._parts: list[str] = []
        self._length, self._has_text = 0, False
        self._tags: list[Tag] = []
        self._written: dict[int, tuple[TextPart, ...]] = {}
        self._kept: dict[int, Kept] = {}

    @property
    def is_empty(self) -> bool:
        return not self._length and not self._tags

    @property
    def end(self) -> str:
        """Its last characters."""
        return "".join(part[-4:] for part in self._parts[-4:])

    def takes_word(self, after: str, *, at_end: bool = True) -> bool:
        """Whether what comes next stands where a word would: not at the beginning, and neither what
        is before nor what comes `after` it touches it; `at_end`: also as the last of the flow."""
        before = self.end[-1:]
        if not self._has_text or _LETTER.match(before) or _END.match(before):
            return False
        return not _LETTER.match(after) if after else at_end

    def add(self, text: str) -> None:
        """Add characters that are written as themselves, or as letters and marks that NFC joins."""
        if normalise(text) == text:
            self._add(text)
            return
        for cluster in _GRAPHEME.findall(text):
            composed = normalise(cluster)
            self.add_written(composed, cluster) if len(composed) == 1 else self._add(cluster)

    def _add(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._length += len(text)
            self._has_text = self._has_text or not text.isspace()

    def add_written(self, char: str, written: TextPart) -> None:
        """Add one character that is written otherwise."""
        if char == written:
            self.add(char)
            return
        self._written[self._length] = (written,)
        self._add(char)

    def add_unread(self, written: str) -> None:
        """Add to the last character what the source has after it and a reader does not see."""
        last = self._length - 1
        self._written[last] = (*self._written.get(last, (self._parts[-1][-1],)), written)

    def add_kept(self, written: TextPart, text: str) -> None:
        """Add a string to keep."""
        self._kept[self._length] = Kept((written,), text)
        self._add(MARK)

    def keep_marks(self, kept: Iterable[Kept]) -> None:
        """The marks that were added as characters stand for these strings."""
        text = "".join(self._parts)
        offsets = (at for at, char in enumerate(text) if char == MARK and at not in self._kept)
        self._kept |= dict(zip(offsets, kept, strict=False))

    def add_space(self, written: str) -> None:
        """Add white space, which reads as one space, or as nothing after another one."""
        if not self.end.endswith(" "):
            self.add_written(" ", written)
        elif self._tags and self._tags[-1].offset == self._length:
            last = self._tags[-1]
            self._tags[-1] = last._replace(written=(*last.written, written))
        else:
            self.add_unread(written)

    def add_tag(
        self,
        written: tuple[TextPart | Flow, ...],
        number: int,
        partner: int | None,
        *,
        is_note: bool = False,
    ) -> None:
        tag = Tag(self._length, written, number, partner, is_note)
        if self._tags and self._is_next(self._tags[-1], tag):
            self.add_written(" ", "")
            tag = tag._replace(offset=self._length)
        self._tags.append(tag)

    def _is_next(self, last: Tag, tag: Tag) -> bool:
        """Whether a tag begins an element that touches the one before it, as in
        `<key>Ctrl</key><key>C</key>`. These are two words, unless HTML knows the elements: most of
        those format letters."""
        if not (last.is_closing and tag.is_opening and last.offset == tag.offset):
            return False
        written = (one.written[0] for one in (last, tag))
        names = [_NAME.match(one) for one in written if isinstance(one, str)]
        own = [name for name in names if name and not is_known(name[1].lower())]
        return len(own) == len((last, tag)) and self.end[-1:].isalnum()

    def build(self) -> Flow:
        """The flow, with its kept strings found and marked."""
        text = "".join(self._parts)
        spans = list(self._spans(text))
        new = _shifted(len(text), spans)
        parts, position, kept = [], 0, []
        for span in spans:
            parts += [text[position : span.start], MARK]
            whole = self._kept.get(span.start) if span.end - span.start == 1 else None
            kept.append(whole if whole and whole.parts else self._keep_span(text, span))
            position = span.end
        within = {offset for span in spans for offset in range(*span)}
        written = {new[o]: spelling for o, spelling in self._written.items() if o not in within}
        written |= {new[s.start]: k.written for s, k in zip(spans, kept, strict=True)}
        inside = {tag.number for span in spans for tag in self._inner_tags(span)}
        outside = (tag for tag in self._tags if tag.number not in inside)
        tags = [tag._replace(offset=new[tag.offset]) for tag in outside]
        text = "".join([*parts, text[position:]])
        return Flow(text, kept, tags, written, self._escapes)

    def _spans(self, text: str) -> Iterator[Span]:
        """What is kept. A string with tags inside is kept whole if they are pairs, else in
        parts."""
        for span in _merged([*self._find_kept(text), *_formulas(text, self._tags)]):
            inner = self._inner_tags(span)
            numbers = {tag.number for tag in inner}
            if all(tag.partner in numbers for tag in inner):
                yield span
                continue
            cuts = list(dict.fromkeys([span.start, *(tag.offset for tag in inner), span.end]))
            yield from map(Span, cuts, cuts[1:])

    def _inner_tags(self, span: Span) -> Sequence[Tag]:
        """The tags inside, and those at the ends whose partners are inside."""
        tags = self._tags
        first = bisect.bisect_right(tags, span.start, key=lambda tag: tag.offset)
        last = bisect.bisect_left(tags, span.end, key=lambda tag: tag.offset)
        numbers = {tag.number for tag in tags[first:last]}
        while first and tags[first - 1].offset == span.start and tags[first - 1].partner in numbers:
            first -= 1
        while last < len(tags) and tags[last].offset == span.end and tags[last].partner in numbers:
            last += 1
        return tags[first:last]

    def _keep_span(self, text: str, span: Span) -> Kept:
        """The span with the tags inside, as written and as read."""
        written: list[TextPart] = []
        shown, position = [], span.start
        for tag in [*self._inner_tags(span), None]:
            end = span.end if tag is None else tag.offset
            for offset in range(position, end):
                inner = self._kept.get(offset)
                char = text[offset]
                written += inner.written if inner else self._written.get(offset, char)
                shown.append(inner.text if inner else char)
            position = end
            if tag is not None:
                written += itertools.chain.from_iterable(map(spell_part, tag.written))
        return Kept(tuple(merged(written)), "".join(shown))


def _shifted(length: int, spans: Sequence[Span]) -> Sequence[int]:
    """The new offset of each, after each span has become one character."""
    if not spans:
        return range(length + 1)
    removed = [0] * (length + 1)
    for span in spans:
        removed[span.end] += span.end - span.start - 1
    return [o - n for o, n in enumerate(itertools.accumulate(removed))]


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    """Those that overlap as one, in order."""
    last: Span | None = None
    for span in sorted(spans):
        if last is not None and span.start < last.end:
            last = Span(last.start, max(last.end, span.end))
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _formulas(text: str, tags: Sequence[Tag]) -> Iterator[Span]:
    """Words with a number or sign in tags inside, or with subscripts or superscripts, such as H₂O
    and m². The end of an ordinal is none of it."""
    offsets = {tag.number: tag.offset for tag in tags}
    for tag in tags:
        if tag.is_opening and tag.partner in offsets and tag.offset > 0:
            end = offsets[tag.partner]
            inner = text[tag.offset : end].rstrip()
            word = _word_around(text, tag.offset, tag.offset + len(inner))
            is_part = _SIGNS.fullmatch(inner) or (_is_script(tag) and _NO_SPACE.fullmatch(inner))
            base = text[word.start : tag.offset]
            is_ordinal = _ORDINAL.fullmatch(text, *word)
            if is_part and base and not is_ordinal and (_is_script(tag, "sub") or _is_symbol(base)):
                yield Span(word.start, max(word.end, end))


def _is_script(tag: Tag, name: str = "su[bp]") -> bool:
    written = tag.written[0]
    if isinstance(written, Code):
        return written.is_script and name != "sub"
    found = isinstance(written, str) and regex.match(rf"<{name}[\s>]", written, regex.IGNORECASE)
    return bool(found)


def _word_around(text: str, start: int, end: int) -> Span:
    """The letters and digits beside text[start:end]; Chinese characters part words."""
    first, last = max(0, start - _LONGEST_FORMULA), min(len(text), end + _LONGEST_FORMULA)
    while start > first and _ALPHANUMERIC.fullmatch(text[start - 1]):
        start -= 1
    while end < last and _ALPHANUMERIC.fullmatch(text[end]):
        end += 1
    return Span(start, end)


def _is_symbol(base: str) -> bool:
    """Whether the letters before a tag are of units and the like rather than a word."""
    return len(base) <= 2 or not (base.islower() or base.istitle())


def spell_part(part: TextPart | Flow) -> Iterator[TextPart]:
    """A part of a tag or kept string as the source has it."""
    if not isinstance(part, Flow):
        yield part
        return
    position = 0
    for tag in part.tags:
        yield from part.spell(position, tag.offset)
        yield from itertools.chain.from_iterable(map(spell_part, tag.written))
        position = tag.offset
    yield from part.spell(position, len(part.text))
