"""Write a sentence's translation with its tags, kept strings and escapes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from service.translation.alignment import AlignmentLink
from service.translation.markup.coded_text import TextPart
from service.translation.markup.flow import MARK
from service.translation.markup.placement import PlacedTag, place_tags
from service.translation.sentence.parsed_text import Item, Sentence
from service.translation.sentence.stages import Draft

_EMPHASIS = frozenset({"*", "**", "***", "_", "__", "~~", "=="})


def render(
    sentence: Sentence,
    translation: Draft,
    attributes: Mapping[Sentence, Sequence[TextPart]],
) -> list[TextPart]:
    """The translation as it is written; `attributes`: the rendered sentences in attributes of the
    sentence's tags and in its kept strings."""
    if sentence.is_bare:
        return escape(translation.text, sentence.escapes)
    return [*_parts(sentence, translation, attributes)]


def read(sentence: Sentence, translation: Draft) -> str:
    """The translation as a reader sees it, without tags and escapes."""
    if not sentence.kept:
        return translation.text
    parts = translation.text.split(MARK)
    kept = [*(sentence.kept[index].text for index in translation.order), ""]
    return "".join(part for pair in zip(parts, kept, strict=True) for part in pair)


def read_links(sentence: Sentence, translation: Draft) -> Sequence[AlignmentLink]:
    """The translation's links, in offsets of the sentence and the translation as they read; what
    reads as nothing has none."""
    if not sentence.kept:
        return translation.links
    kept = [string.text for string in sentence.kept]
    ordered = [kept[index] for index in translation.order]
    sources = _read_offsets(sentence.text, kept)
    targets = _read_offsets(translation.text, ordered)
    return [
        AlignmentLink(sources[a], sources[b], targets[c], targets[d], weight)
        for a, b, c, d, weight in translation.links
        if sources[a] < sources[b] and targets[c] < targets[d]
    ]


def _read_offsets(text: str, kept: Iterable[str]) -> list[int]:
    """Where each offset of a text with marks is in the text as it reads."""
    strings = iter(kept)
    lengths = (len(next(strings)) if char == MARK else 1 for char in text)
    return [0, *itertools.accumulate(lengths)]


def escape(text: str, escapes: Mapping[str, TextPart]) -> list[TextPart]:
    """The text with some characters written otherwise."""
    if escapes.keys().isdisjoint(text):
        return [text]
    return [escapes.get(char, char) for char in text]


def _parts(
    sentence: Sentence,
    translation: Draft,
    attributes: Mapping[Sentence, Sequence[TextPart]],
) -> Iterator[TextPart]:
    text = translation.text
    kept = iter(_kept(sentence, index, attributes) for index in translation.order)
    position, last = 0, None
    for tag in place_tags(sentence.tags, sentence.text, text, translation.links):
        if last and _is_stuck(sentence, text, last, tag):
            yield " "
        yield from _written(sentence, text[position : tag.offset], kept)
        yield from _items(sentence.tag_items[tag.tag], attributes)
        position, last = tag.offset, tag
    if last and _is_stuck(sentence, text, last, None):
        yield " "
    yield from _written(sentence, text[position:], kept)


def _is_stuck(sentence: Sentence, text: str, tag: PlacedTag, after: PlacedTag | None) -> bool:
    """Whether Markdown does not read the end of an emphasis as one: before the beginning of
    another, and between punctuation and a word."""
    mark, partner = _emphasis(sentence, tag.tag), sentence.tags[tag.tag].partner
    if not mark or partner is None or partner > tag.tag:
        return False
    if after and after.offset == tag.offset:
        opened = sentence.tags[after.tag].partner or 0
        return opened > after.tag and _emphasis(sentence, after.tag) == mark
    sides = text[tag.offset - 1 : tag.offset + 1]
    return sides[1:].isalnum() and sides[0] != MARK and not (sides[0].isalnum() or sides[0] == " ")


def _emphasis(sentence: Sentence, tag: int) -> str:
    """The character of a mark of emphasis; "" of another tag."""
    written, *others = sentence.tag_items[tag] or [""]
    return written[0] if written in _EMPHASIS and not others else ""


def _kept(
    sentence: Sentence, index: int, attributes: Mapping[Sentence, Sequence[TextPart]]
) -> Sequence[TextPart]:
    """What is written for a kept string."""
    if items := sentence.kept_items.get(index):
        return [*_items(items, attributes)]
    return sentence.kept[index].written


def _items(
    items: Iterable[Item], attributes: Mapping[Sentence, Sequence[TextPart]]
) -> Iterator[TextPart]:
    for item in items:
        yield from attributes[item] if isinstance(item, Sentence) else (item,)


def _written(
    sentence: Sentence, text: str, kept: Iterator[Sequence[TextPart]]
) -> Iterator[TextPart]:
    first, *others = text.split(MARK)
    yield from escape(first, sentence.escapes)
    for part in others:
        yield from next(kept)
        yield from escape(part, sentence.escapes)
