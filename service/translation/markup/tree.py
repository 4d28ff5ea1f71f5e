"""The tags of one sentence as a tree of elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class SentenceTag(NamedTuple):
    """A tag before the character at `offset` of the sentence. `partner` is the index of the other
    tag of its pair in the sentence. `opens` or `closes`: the partner is in a later or an earlier
    sentence. Otherwise the tag stands by itself."""

    offset: int
    partner: int | None = None
    opens: bool = False
    closes: bool = False


class PlacedTag(NamedTuple):
    """The tag with index `tag` goes before the character at `offset` of the translation."""

    offset: int
    tag: int


class Span(NamedTuple):
    start: int
    end: int


_NOWHERE = Span(0, 0)


@dataclass(eq=False)
class Node:
    """An element, or a tag by itself. `opening` and `closing` are the indices of its tags, None if
    not in the sentence; `begins_before` and `ends_after` tell an element that other sentences
    share. The placement sets `target`."""

    source: Span
    opening: int | None = None
    closing: int | None = None
    begins_before: bool = False
    ends_after: bool = False
    children: list[Node] = field(default_factory=list)
    target: Span = _NOWHERE

    def placed(self) -> Iterator[PlacedTag]:
        """The tags of all nodes within, in the order of the translation."""
        pending: list[tuple[Node, bool]] = [(self, False)]
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


def build_tree(tags: Sequence[SentenceTag], length: int) -> Node:
    """The root, which has the whole sentence of `length` characters, with its elements."""
    root = Node(Span(0, length))
    opened = [root]

    def push(node: Node) -> None:
        opened[-1].children.append(node)
        opened.append(node)

    for index in reversed(range(len(tags))):
        if tags[index].closes:
            push(Node(Span(0, length), closing=index, begins_before=True))
    for index, tag in enumerate(tags):
        if tag.opens or (tag.partner is not None and tag.partner > index):
            push(Node(Span(tag.offset, length), opening=index, ends_after=tag.opens))
        elif tag.closes or tag.partner is not None:
            node = opened.pop()
            node.source, node.closing = Span(node.source.start, tag.offset), index
        else:
            opened[-1].children.append(Node(Span(tag.offset, tag.offset), opening=index))
    return root
