"""Parsed texts: sentences with the places of their tags and kept strings, and what stands
between them."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Union

import msgspec

from model.text.normalisation import normalise
from model.text.spans import Span
from service.translation.language.line_marks import line_sign
from service.translation.language.segmentation import Piece, begins_close, is_spaced, spaced_gap
from service.translation.language.widths import in_half_width, narrowed, with_narrow_brackets
from service.translation.markup.coded_text import TextPart, plain_text
from service.translation.markup.flow import MARK, Flow, Kept, Tag
from service.translation.markup.placement import SentenceTag
from service.translation.sentence.acronyms import other_zone
from service.translation.sentence.capitals import is_in_capitals
from service.translation.sentence.list_heads import usual_marks, with_usual_head
from service.translation.sentence.numbers.bare_amounts import usual_amounts

Item = Union[TextPart, "Sentence"]
"""A string or code that stays, or a sentence."""
Cut = Callable[[str, bool], Sequence[Piece]]
"""Cuts a flow's text into pieces; the flag says that it is all in capitals."""
_MOST_SIGNS = 8
_BARE = "&>"
"""Characters that a page may also write as themselves."""


class _Place(NamedTuple):
    """Where a sentence is in a text, and what its `Piece` tells."""

    start: int
    end: int
    begins: bool
    ends: bool

    def within(self, outer: _Place) -> _Place:
        """Where it is if it is in the outer one's text."""
        start, end = outer.start + self.start, outer.start + self.end
        begins = self.begins and (outer.begins or start > outer.start)
        return _Place(start, end, begins, self.ends and (outer.ends or end < outer.end))


class Sentence(msgspec.Struct, frozen=True, eq=False):
    """A sentence of a flow, with a MARK for each string of `kept`.

    `tags` are the tags inside, and `tag_items` what is written for each; `kept_items` is what is
    written for the kept strings that have sentences inside; `escapes` is how the
    translation spells some characters; `is_in_capitals` also if only its flow is; `is_plain`: it
    needs no stage but terms; `begins`, `ends`: as those of the `Piece`.
    """

    text: str
    kept: Sequence[Kept] = ()
    tags: Sequence[SentenceTag] = ()
    tag_items: Sequence[Sequence[Item]] = ()
    kept_items: Mapping[int, Sequence[Item]] = {}
    escapes: Mapping[str, TextPart] = {}
    is_in_capitals: bool = False
    is_plain: bool = False
    begins: bool = True
    ends: bool = True

    @property
    def is_bare(self) -> bool:
        """Whether it has neither tags nor kept strings."""
        return not (self.kept or self.tags)

    @property
    def attributes(self) -> list[Sentence]:
        """The sentences in attributes of the tags inside, and in kept strings."""
        written = (*self.tag_items, *self.kept_items.values())
        return [item for items in written for item in items if isinstance(item, Sentence)]

    def within(self) -> Iterator[Sentence]:
        """It and all sentences inside, an inner one after its outer one."""
        yield self
        for inner in () if self.is_bare else self.attributes:
            yield from inner.within()

    def read(self) -> str:
        """The sentence as a reader sees it, without tags."""
        if not self.kept:
            return self.text
        parts = self.text.split(MARK)
        kept = [*(kept.text for kept in self.kept), ""]
        return "".join(part for pair in zip(parts, kept, strict=True) for part in pair)


class ParsedText:
    """One text as items in order, of which some are outer sentences. Without sentences its
    translation is the text itself."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._gaps: list[list[TextPart]] = [[]]
        self.outer_sentences: list[Sentence] = []
        for item in items:
            if isinstance(item, Sentence):
                self.outer_sentences.append(item)
                self._gaps.append([])
            elif item:
                self._gaps[-1].append(item)
        others = (outer for outer in self.outer_sentences if outer.tags or outer.kept_items)
        inner = [sentence for outer in others for sentence in [*outer.within()][1:]]
        self.sentences = [*self.outer_sentences, *inner]
        """All sentences to translate: the outer ones, which are between the gaps, then those
        inside them."""

    @property
    def is_one_sentence(self) -> bool:
        """Whether it is one sentence that is written as it reads, and nothing else."""
        if len(self.sentences) != 1 or any(self._gaps):
            return False
        (sentence,) = self.sentences
        return not (sentence.kept or sentence.tags or sentence.escapes)

    @property
    def gaps(self) -> Sequence[str]:
        """The text before each outer translation, and after the last."""
        return [*map(plain_text, self._gaps)]

    def join(self, translations: Sequence[Sequence[TextPart]]) -> list[TextPart]:
        """Replace each outer sentence by its translation."""
        joined = [*self._gaps[0]]
        last = ""
        for translation, gap in zip(translations, self._gaps[1:], strict=True):
            text = plain_text(translation)
            joined += [" "] if are_numbers(last, text) else []
            joined += translation
            joined += gap
            last = "" if gap else text
        return joined


def are_numbers(before: str, after: str) -> bool:
    """Whether two texts would be one number if nothing stood between them, as 9:21 and 15:13."""
    return before[-1:].isdigit() and after[:1].isdigit()


class FlowCutter:
    """Turns the parts of a text into items, for one pair of languages. `keep`: the strings that are
    kept as they are written."""

    def __init__(self, source: str, target: str, cut: Cut, keep: Collection[str] = ()) -> None:
        self._source, self._target, self._cut, self._keep = source, target, cut, keep
        self._is_target_spaced = is_spaced(target)
        self._is_spaced_otherwise = self._is_target_spaced != is_spaced(source)
        self._narrows = self._is_target_spaced and self._is_spaced_otherwise

    def items(self, parts: Iterable[TextPart | Flow]) -> Iterator[Item]:
        """Strings and codes stay; flows become sentences and what is between them."""
        for part in parts:
            if isinstance(part, Flow):
                yield from self._flow_items(part)
            else:
                yield part

    def _flow_items(self, flow: Flow) -> Iterator[Item]:
        if flow.kept:
            flow = flow.with_kept(self._usual)
        is_in_caps = is_in_capitals(flow.text)
        position = num_tags = 0
        for place in self._places(flow, is_in_caps):
            start, end = place.start, place.end
            first, last = _tags_inside(flow, start, end)
            first = max(first, num_tags)
            between = flow.tags[num_tags:first]
            yield from self._gap(flow, position, start, between, is_between=position > 0)
            yield self._sentence(flow, place, flow.tags[first:last], is_in_caps)
            position, num_tags = end, max(first, last)
        yield from self._gap(flow, position, len(flow.text), flow.tags[num_tags:])

    def _usual(self, kept: str) -> str:
        """A kept string in signs of half the width, or the target's name of a time zone, unless it
        was named."""
        if kept in self._keep:
            return kept
        return narrowed(kept) if self._narrows else other_zone(kept, self._source, self._target)

    def _places(self, flow: Flow, is_in_caps: bool) -> Iterator[_Place]:
        """Where the sentences are. One with a sign inside is cut once more with the sign's mark,
        since a network tells only so many marks apart."""
        text = _with_signs(flow)
        for place in _places_of(self._cut(text, is_in_caps)):
            span = slice(place.start, place.end)
            if (marked := flow.text[span]) == text[span]:
                yield place
                continue
            for inner in _places_of(self._cut(marked, is_in_caps)):
                yield inner.within(place)

    def _gap(
        self, flow: Flow, start: int, end: int, tags: Sequence[Tag], *, is_between: bool = False
    ) -> Iterator[Item]:
        """What stands before or after a sentence; between two the target's spacing counts, but a
        kept string keeps its space."""
        if start == end and not tags:
            yield spaced_gap("", self._source, self._target) if is_between else ""
            return
        text = flow.text[start:end]
        is_beside_kept = MARK in flow.text[max(0, start - 1) : start] + flow.text[end : end + 1]
        is_between = is_between or (start > 0 and begins_close(text))
        is_as_written = (
            not is_between or (text and is_beside_kept) or _parts_numbers(flow, start, end)
        )
        spaced = text if is_as_written else spaced_gap(text, self._source, self._target)
        closing = [*itertools.takewhile(lambda tag: tag.is_closing and tag.offset == start, tags)]
        yield from self._tag_items(closing)
        others = tags[len(closing) :]
        has_head = self._is_spaced_otherwise and end < len(flow.text) and MARK not in text
        head = with_usual_head(spaced, self._target) if has_head else spaced
        has_other_head = head != spaced and all(tag.offset in (start, end) for tag in others)
        if has_other_head or len(spaced) < len(text):
            before = [tag for tag in others if tag.offset == start]
            yield from self._tag_items(before)
            yield head if has_other_head else ""
            yield from self._tag_items(others[len(before) :])
            return
        yield spaced.removesuffix(text)
        for tag in others:
            yield from self._spelled(flow, Span(start, tag.offset))
            yield from self.items(tag.written)
            start = tag.offset
        yield from self._spelled(flow, Span(start, end))

    def _spelled(self, flow: Flow, span: Span) -> Iterator[Item]:
        """A part of a flow as the source has it, with the flows in its kept strings as items, and
        Chinese marks as a language with spaces writes them."""
        start = span.start
        for offset, items in self._other_items(flow, span):
            yield from flow.spell(start, offset)
            yield from items
            start = offset + 1
        yield from flow.spell(start, span.end)

    def _other_items(self, flow: Flow, span: Span) -> Iterable[tuple[int, Iterable[Item]]]:
        """What is written otherwise for single characters of a part of a flow, by offset."""
        found: dict[int, Iterable[Item]] = {
            offset: self.items(kept.parts) for offset, kept in flow.filled_between(*span)
        }
        if self._narrows:
            found |= {offset: [mark] for offset, mark in usual_marks(flow.text, *span)}
        amounts = usual_amounts(flow, span, (self._source, self._target))
        found |= {offset: [mark] for offset, mark in amounts}
        return sorted(found.items(), key=operator.itemgetter(0))

    def _tag_items(self, tags: Iterable[Tag]) -> Iterator[Item]:
        for tag in tags:
            yield from self.items(tag.written)

    def _sentence(
        self, flow: Flow, place: _Place, tags: Sequence[Tag], is_in_caps: bool
    ) -> Sentence:
        span = Span(place.start, place.end)
        text = in_half_width(flow.text[span.start : span.end])
        if self._narrows:
            text = with_narrow_brackets(text)
        kept = flow.kept_between(*span)
        return Sentence(
            text,
            kept,
            _relative(tags, span.start),
            [list(self.items(tag.written)) for tag in tags],
            {at: list(self.items(one.parts)) for at, one in enumerate(kept) if one.parts},
            _escapes(flow, span),
            is_in_caps or is_in_capitals(text),
            begins=place.begins,
            ends=place.ends,
        )


def _parts_numbers(flow: Flow, start: int, end: int) -> bool:
    """Whether two numbers stand beside what is between two sentences."""
    text = flow.text
    return start < end and text[start - 1 : start].isdigit() and text[end : end + 1].isdigit()


def _with_signs(flow: Flow) -> str:
    """The flow's text with the signs that stand around sentences in place of their marks, unless
    they are many."""
    signs = [line_sign(kept.text) for kept in flow.kept]
    if not 0 < len(signs) - signs.count(None) <= _MOST_SIGNS:
        return flow.text
    in_order = iter(signs)
    return "".join((next(in_order) or MARK) if char == MARK else char for char in flow.text)


def _places_of(pieces: Iterable[Piece]) -> Iterator[_Place]:
    position = 0
    for piece in pieces:
        end = position + len(piece.text)
        if piece.is_sentence:
            yield _Place(position, end, piece.begins, piece.ends)
        position = end


def _tags_inside(flow: Flow, start: int, end: int) -> tuple[int, int]:
    """The range of the tags that belong to the sentence text[start:end]: those within it, and at
    its ends those of elements that end or begin within it."""
    first, last = flow.tag_range(start, end)
    strictly = range(start + 1, end)
    while first < last and flow.tags[first].offset == start:
        tag = flow.tags[first]
        if tag.is_opening and flow.offset_of(tag.partner) in strictly:
            break
        first += 1
    while first < last and flow.tags[last - 1].offset == end:
        tag = flow.tags[last - 1]
        if tag.is_closing and flow.offset_of(tag.partner) in strictly:
            break
        last -= 1
    return first, last


def _relative(tags: Sequence[Tag], start: int) -> list[SentenceTag]:
    indices = {tag.number: index for index, tag in enumerate(tags)}
    relative = []
    for tag in tags:
        partner = None if tag.partner is None else indices.get(tag.partner)
        is_apart = tag.partner is not None and partner is None
        opens, closes = is_apart and tag.is_opening, is_apart and tag.is_closing
        relative.append(SentenceTag(tag.offset - start, partner, opens, closes, tag.is_note))
    return relative


def _escapes(flow: Flow, span: Span) -> Mapping[str, TextPart]:
    """How the translation of text[span] writes some characters: as the source does."""
    if not (flow.escapes or flow.written):
        return {}
    written = {char for char, _ in flow.odd_between(*span)} if flow.written else ()
    bare = {
        char
        for char in _BARE
        if char in flow.escapes and char not in written and flow.text.find(char, *span) >= 0
    }
    escapes = {char: spelled for char, spelled in flow.escapes.items() if char not in bare}
    return {**escapes, **_spellings(flow, span)} if flow.written else escapes


def _spellings(flow: Flow, span: Span) -> dict[str, TextPart]:
    """The characters that the sentence always writes in one other way, as entities."""
    written: dict[str, list[TextPart]] = {}
    for char, (spelling, *_) in flow.odd_between(*span):
        is_same = isinstance(spelling, str) and normalise(spelling) == char
        if char not in (MARK, " ") and not is_same:
            written.setdefault(char, []).append(spelling)
    return {
        char: spellings[0]
        for char, spellings in written.items()
        if len(set(spellings)) == 1
        and flow.text.count(char, span.start, span.end) == len(spellings)
    }
