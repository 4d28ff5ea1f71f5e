"""Put the tags of a sentence into its translation, by the alignment of words.

Every tag is placed once. A pair encloses the words that translate what it enclosed, whole words
only, and pairs stay nested as they were. A pair is one span: if the translations of its words are
apart, it takes the run of words that is mostly its own.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import regex

from model.text.spans import Span
from service.translation.alignment import AlignmentLink
from service.translation.markup.flow import MARK

_WORD = regex.compile(r"[\p{L}\p{N}\ufffc]")
_INSIDE_WORD = regex.compile(r"[\p{Latin}\p{Greek}\p{Cyrillic}]{2}")
_INNER = regex.compile(r"(?V1)[^\p{P}\s](?:.*[[^\p{P}\s][%‰]])?", regex.DOTALL)
_MARKS_OF_WORD, _MOST_MARKS = regex.compile(r"(?<=[\p{L}\p{N}])\p{P}++\Z"), 8
_ORDINAL_END = regex.compile(r"(?<=\p{N})(?:st|nd|rd|th)\b")
_NOWHERE = Span(0, 0)
Otherwise = Callable[[Span, Sequence[Span]], Span | None]


class SentenceTag(NamedTuple):
    """A tag before the character at `offset` of the sentence. `partner` is the index of the other
    tag of its pair in the sentence. `opens` or `closes`: the partner is in a later or an earlier
    sentence. Otherwise the tag stands by itself; one that `is_note` stays behind a word."""

    offset: int
    partner: int | None = None
    opens: bool = False
    closes: bool = False
    is_note: bool = False


class PlacedTag(NamedTuple):
    """The tag with index `tag` goes before the character at `offset` of the translation."""

    offset: int
    tag: int


@dataclass(eq=False)
class _Node:
    """An element, or a tag by itself. `opening` and `closing` are the indices of its tags, None if
    not in the sentence; `begins_before` and `ends_after` tell an element that other sentences
    share. The placement sets `target`."""

    source: Span
    opening: int | None = None
    closing: int | None = None
    begins_before: bool = False
    ends_after: bool = False
    is_note: bool = False
    children: list[_Node] = field(default_factory=list)
    target: Span = _NOWHERE

    def placed(self) -> Iterator[PlacedTag]:
        """The tags of all nodes within, in the order of the translation."""
        pending: list[tuple[_Node, bool]] = [(self, False)]
        while pending:
            node, is_done = pending.pop()
            if is_done:
                if node.closing is not None:
                    yield PlacedTag(node.target.end, node.closing)
                continue
            if node.opening is not None:
                yield PlacedTag(node.target.start, node.opening)
            pending.append((node, True))
            ordered = sorted(node.children, key=lambda child: child.target)
            pending += [(child, False) for child in reversed(ordered)]


class _Link(NamedTuple):
    """A link of source[start:end] to the target word with index `place`."""

    start: int
    end: int
    place: int
    weight: float


class _Run(NamedTuple):
    """A run of target words, and by how much their links to an element outweigh the others."""

    weight: float
    span: Span


def place_tags(
    tags: Sequence[SentenceTag], source: str, target: str, links: Sequence[AlignmentLink]
) -> list[PlacedTag]:
    """Where each tag goes, in the order in which they are written."""
    root = _build_tree(tags, len(source))
    root.target = Span(0, len(target))
    placement = Placement(source, target, links)
    pending = [root]
    while pending:
        node = pending.pop()
        placement.place_children(node)
        pending += [child for child in node.children if child.children]
    return list(root.placed())


class Placement:
    """Places parts of a sentence, by its links, and the children of one element after the other."""

    def __init__(self, source: str, target: str, links: Sequence[AlignmentLink]) -> None:
        self._source, self._target = source, target
        self._words = sorted({Span(link.target_start, link.target_end) for link in links})
        places = {word: place for place, word in enumerate(self._words)}
        self._links = sorted(
            _Link(
                k.source_start, k.source_end, places[Span(k.target_start, k.target_end)], k.weight
            )
            for k in links
        )

    def place_children(self, parent: _Node) -> None:
        """Set the children's targets, within the parent's and without overlaps."""
        room = parent.target
        for child in parent.children:
            if child.begins_before:
                child.target = self._shared(child, room)
                room = Span(child.target.end, room.end)
            elif child.ends_after:
                child.target = self._shared(child, room)
                room = Span(room.start, child.target.start)
        inner = [c for c in parent.children if not (c.begins_before or c.ends_after)]
        elements = {c.source: c for c in inner if self._has_words(c)}
        taken = set()
        for source, target in self.spans(elements, [room], self._nearest_word).items():
            elements[source].target = target
            taken.add(elements[source])
        for child in inner:
            if child not in taken:
                point = self._point(child, parent, room)
                child.target = self._same_marks(child, point, room, taken) or Span(point, point)
                if child.target.end > point:
                    taken.add(child)
        _move_out(inner, sorted(taken, key=lambda c: c.target))

    def spans(
        self, sources: Iterable[Span], rooms: Sequence[Span], otherwise: Otherwise = lambda *_: None
    ) -> dict[Span, Span]:
        """The words in the rooms of each part of the source, the most certain first; they do not
        overlap. `otherwise`: gives the words of a part without links, of those that are free."""
        free, found = list(rooms), {}
        ranked = [(run.weight if (run := self._run(one, free)) else 0.0, one) for one in sources]
        for _, source in sorted(ranked, key=lambda pair: -pair[0]):
            run = self._run(source, free)
            span = run.span if run else otherwise(source, free)
            if span is not None:
                found[source] = span
                free = [rest for part in free for rest in _without(part, span)]
        return found

    def _has_words(self, node: _Node) -> bool:
        """Whether an element has words; the end of an ordinal, as in 21st, is none."""
        ordinal = _ORDINAL_END.match(self._source, node.source.start)
        is_ordinal = ordinal is not None and ordinal.end() == node.source.end
        return not is_ordinal and _WORD.search(self._source, *node.source) is not None

    def _run(self, source: Span, free: Iterable[Span]) -> _Run | None:
        """The run of words, in one of the free rooms, that is mostly linked to this part; None if
        it has none, only punctuation."""
        weights = self._weights(source)
        runs = (_best_run(self._words, weights, part) for part in free)
        best = max((run for run in runs if run), default=None)
        if best is None or not _WORD.search(self._target, *best.span):
            return None
        return best._replace(span=self._without_marks(source, best.span))

    def _without_marks(self, source: Span, span: Span) -> Span:
        """The span without punctuation at an end where the source has a word, unless it has no
        word."""
        inner = self._source[source.start : source.end].strip()
        words = _INNER.search(self._target, *span)
        if words is None:
            return span
        start = words.start() if _WORD.match(inner[:1]) else span.start
        return Span(start, words.end() if _WORD.match(inner[-1:]) else span.end)

    def _weights(self, source: Span) -> list[float]:
        """Each target word's weight of links to a part of the source, minus that of its other
        links. The kept strings of others never belong to it: they may be links themselves."""
        weights = [0.0] * len(self._words)
        for start, end, place, weight in self._links:
            if start < source.end and source.start < end:
                weights[place] += weight
            else:
                weights[place] -= math.inf if self._source[start] == MARK else weight
        return weights

    def _shared(self, node: _Node, room: Span) -> Span:
        """The words at the start of the room, or at its end if the element ends after it, that are
        most the element's."""
        weights, places = self._weights(node.source), _inside(self._words, room)
        best, total, edge = 0.0, 0.0, room.end if node.ends_after else room.start
        for place in reversed(places) if node.ends_after else places:
            total += weights[place]
            if total > best:
                word = self._words[place]
                best, edge = total, word.start if node.ends_after else word.end
        return Span(edge, room.end) if node.ends_after else Span(room.start, edge)

    def _nearest_word(self, source: Span, free: Sequence[Span]) -> Span | None:
        """The free word, but no kept string, that is nearest to where the part would be; None if
        there is none, or if the part is one of a word."""
        if any(edge and _INSIDE_WORD.match(self._source, edge - 1) for edge in source):
            return None
        point = self._anchor(source.start, len(self._source))
        inside = (self._words[place] for part in free for place in _inside(self._words, part))
        words = [word for word in inside if self._target[word.start] != MARK]
        lettered = [word for word in words if _WORD.search(self._target, *word)]
        return min(lettered or words, key=lambda w: abs(w.start - (point or 0)), default=None)

    def _point(self, node: _Node, parent: _Node, room: Span) -> int:
        """Where a tag by itself goes."""
        start, end = node.source.start, parent.source.end
        if node.closing is None and not node.is_note:
            start = self._word_start(start)
        marks = self._marks_before(start)
        start -= len(marks)
        follows = node.is_note or self._follows_word(start)
        point = self._anchor(start, start if follows else end)
        if point is None:
            point = room.start if start <= parent.source.start else room.end
        if marks and self._target.startswith(marks, point):
            point += len(marks)
        return min(max(point, room.start), room.end)

    def _marks_before(self, offset: int) -> str:
        """The punctuation between a word and the offset, after which a space follows."""
        if not self._source[offset : offset + 1].isspace():
            return ""
        found = _MARKS_OF_WORD.search(self._source, max(0, offset - _MOST_MARKS), offset)
        return found.group() if found else ""

    def _word_start(self, offset: int) -> int:
        """The start of the linked word that the offset is inside, or the offset."""
        at = self._first_link(offset)
        return self._links[at - 1].start if at and self._links[at - 1].end > offset else offset

    def _follows_word(self, offset: int) -> bool:
        """Whether a word ends there, without a space, and none begins."""
        before, after = self._source[max(0, offset - 1) : offset], self._source[offset : offset + 1]
        return _WORD.match(before) is not None and _WORD.match(after) is None

    def _same_marks(
        self, node: _Node, point: int, room: Span, taken: Iterable[_Node]
    ) -> Span | None:
        """The same punctuation in the room, at the point or after the next space, or where it
        stands once, as in the source; None if it is taken, or is not there."""
        marks = self._source[node.source.start : node.source.end].strip()
        if not marks:
            return None
        start = point
        while start < room.end and self._target[start].isspace():
            start += 1
        found = Span(start, start + len(marks))
        if found.end > room.end or not self._target.startswith(marks, start):
            same = _apart(self._target, marks, room)
            if len(same) != 1 or len(_apart(self._source, marks, Span(0, len(self._source)))) != 1:
                return None
            (found,) = same
        is_free = all(
            node.target.end <= found.start or found.end <= node.target.start for node in taken
        )
        return found if is_free else None

    def _anchor(self, offset: int, end: int) -> int | None:
        """Before the translation of the word that begins at `offset`, if that is before `end`; or
        else after that of the word before. None if neither is linked."""
        while offset < end and self._source[offset].isspace():
            offset += 1
        at = self._first_link(offset)
        if at < len(self._links) and self._links[at].start == offset < end:
            return self._words[self._heaviest(at).place].start
        if at > 0:
            return self._words[self._last_place(at)].end
        return None

    def _first_link(self, offset: int) -> int:
        """The index of the first link of a word that begins at `offset` or later."""
        return bisect.bisect_left(self._links, offset, key=lambda link: link.start)

    def _last_place(self, at: int) -> int:
        """The last of the neighbouring target words, from the heaviest on, of the source word whose
        links end before this index."""
        first = self._first_link(self._links[at - 1].start)
        place, linked = self._heaviest(first).place, {link.place for link in self._links[first:at]}
        while place + 1 in linked:
            place += 1
        return place

    def _heaviest(self, at: int) -> _Link:
        """The heaviest link of the source word whose first link has this index."""
        links = itertools.takewhile(
            lambda link: link.start == self._links[at].start, self._links[at:]
        )
        return max(links, key=lambda link: link.weight)


def _inside(words: Sequence[Span], room: Span) -> range:
    """The indices of the words inside the room."""
    first = bisect.bisect_left(words, room.start, key=lambda word: word.start)
    last = bisect.bisect_right(words, room.end, key=lambda word: word.end)
    return range(first, max(first, last))


def _best_run(words: Sequence[Span], weights: Sequence[float], room: Span) -> _Run | None:
    """The run of words in the room with the greatest sum of weights, if that is positive."""
    best: _Run | None = None
    total, start = 0.0, room.start
    for place in _inside(words, room):
        if total <= 0:
            total, start = 0.0, words[place].start
        total += weights[place]
        if total > (best.weight if best else 0.0):
            best = _Run(total, Span(start, words[place].end))
    return best


def _apart(text: str, marks: str, room: Span) -> list[Span]:
    """Where the marks stand in the room, and touch no word."""
    ends = ((at, at + len(marks)) for at in range(*room) if text.startswith(marks, at, room.end))
    return [
        Span(start, end)
        for start, end in ends
        if not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())
    ]


def _without(room: Span, taken: Span) -> Iterator[Span]:
    """The room before and after the taken span."""
    if taken.end <= room.start or room.end <= taken.start:
        yield room
        return
    if room.start < taken.start:
        yield Span(room.start, taken.start)
    if taken.end < room.end:
        yield Span(taken.end, room.end)


def _move_out(children: Iterable[_Node], elements: Sequence[_Node]) -> None:
    """Move empty targets out of the elements, which are in the target's order."""
    for child in children:
        point = child.target.start
        if child.target.end > point:
            continue
        at = bisect.bisect_left(elements, point, key=lambda element: element.target.start) - 1
        if at >= 0 and elements[at].target.end > point:
            target = elements[at].target
            is_after = elements[at].source.start < child.source.start
            point = target.end if is_after else target.start
            child.target = Span(point, point)


def _build_tree(tags: Sequence[SentenceTag], length: int) -> _Node:
    """The root, which has the whole sentence of `length` characters, with its elements."""
    root = _Node(Span(0, length))
    opened = [root]

    def push(node: _Node) -> None:
        opened[-1].children.append(node)
        opened.append(node)

    for index in reversed(range(len(tags))):
        if tags[index].closes:
            push(_Node(Span(0, length), closing=index, begins_before=True))
    for index, tag in enumerate(tags):
        if tag.opens or (tag.partner is not None and tag.partner > index):
            push(_Node(Span(tag.offset, length), opening=index, ends_after=tag.opens))
        elif tag.closes or tag.partner is not None:
            node = opened.pop()
            node.source, node.closing = Span(node.source.start, tag.offset), index
        else:
            span = Span(tag.offset, tag.offset)
            opened[-1].children.append(_Node(span, opening=index, is_note=tag.is_note))
    return root
