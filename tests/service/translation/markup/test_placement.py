"""Tags are placed once, properly nested, around the words that translate theirs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.translation.alignment import AlignmentLink
from service.translation.markup.placement import SentenceTag, place_tags

TAG = re.compile(r"<(/?)(\w+)>")


def tagged(source: str) -> tuple[str, list[str], list[SentenceTag]]:
    """The text, the tags, and where they are. A tag without partner is open to its side; names
    that begin with p stand by themselves."""
    text, written, offsets, opened, partners = "", list[str](), list[int](), {}, {}
    for part in re.split(r"(</?\w+>)", source):
        name, number = part.strip("</>"), len(written)
        if not TAG.fullmatch(part):
            text += part
            continue
        if not part.startswith("</"):
            opened[name] = number
        elif name in opened:
            partners |= {number: opened[name], opened.pop(name): number}
        written.append(part)
        offsets.append(len(text))
    tags = []
    for index, (tag, offset) in enumerate(zip(written, offsets, strict=True)):
        is_open = index not in partners and not tag.startswith(("<p", "</p"))
        is_end = tag.startswith("</")
        tags.append(
            SentenceTag(offset, partners.get(index), is_open and not is_end, is_open and is_end)
        )
    return text, written, tags


def words_of(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def links_of(source: str, target: str, pairs: str) -> list[AlignmentLink]:
    """`pairs`: "0-1 1-0", the numbers of words."""
    sources, targets = words_of(source), words_of(target)
    return [
        AlignmentLink(*sources[int(a)], *targets[int(b)], 0.9)
        for a, b in (pair.split("-") for pair in pairs.split())
    ]


def placed(source: str, target: str, pairs: str) -> str:
    text, written, tags = tagged(source)
    out, position = "", 0
    for offset, index in place_tags(tags, text, target, links_of(text, target, pairs)):
        out += target[position:offset] + written[index]
        position = offset
    return out + target[position:]


@pytest.mark.parametrize(
    ("source", "target", "pairs", "expected"),
    [
        ("a <b>red</b> car", "ein rotes Auto", "0-0 1-1 2-2", "ein <b>rotes</b> Auto"),
        ("the key<p>, now", "der Schlüssel, nun", "0-0 1-1 2-2 3-3", "der Schlüssel<p>, nun"),
        ("the 21<b>st</b> day", "der 21. Tag", "0-0 1-1 2-3", "der 21<b></b>. Tag"),
        ("a note<p> here", "hier eine Notiz", "0-1 1-2 2-0", "hier eine Notiz<p>"),
        ("a <b>red car</b>.", "X Auto rot.", "0-0 1-2 2-1 3-3", "X <b>Auto rot</b>."),
        ("<a>one</a> <b>two</b>", "zwei eins", "0-1 1-0", "<b>zwei</b> <a>eins</a>"),
        ("<a>one <b>two</b></a> x", "zwei eins x", "0-1 1-0 2-2", "<a><b>zwei</b> eins</a> x"),
        ("I <b>call up</b> him", "Ich rufe ihn an", "0-0 1-1 2-3 3-2", "Ich <b>rufe</b> ihn an"),
        ("un<b>believ</b>able", "unglaublich", "0-0", "<b>unglaublich</b>"),
        ("<a>r</a><b>eport</b> to us", "x y z", "0-0 1-1 2-2", "<a>x</a><b></b> y z"),
        ("no <b>r</b><i>e</i><b>port</b>", "y x", "0-0 1-1", "y <b>x</b><i></i><b></b>"),
        ("a <b></b>c", "x y", "0-0 1-1", "x <b></b>y"),
        ("a <b>c</b> \ufffc d", "x \ufffc z", "0-0 2-1 3-2", "<b>x</b> \ufffc z"),
        ("<b>c d</b> \ufffc", "y \ufffc z", "0-0 1-2 2-1", "<b>y</b> \ufffc z"),
        ("<b>c \ufffc d</b>", "z \ufffc y", "0-2 1-1 2-0", "<b>z \ufffc y</b>"),
        ("<b>c</b> \ufffc", "\ufffc", "1-0", "<b></b>\ufffc"),
        ("e<p>xit", "z", "0-0", "<p>z"),
        ("a <b>c d</b> (1).", "x y z (1).", "0-0 1-1 2-2 2-3 4-4", "x <b>y z</b> (1)."),
        ("a, <b>c</b>!", "x, y!", "0-0 1-1 2-1 2-2 2-3", "x, <b>y</b>!"),
        ("a <b>(c)</b> d", "x (y) z", "0-0 1-1 2-2 3-3 4-4", "x <b>(y)</b> z"),
        ("a <b>5 percent</b>.", "x 5 %.", "0-0 1-1 2-2 3-3", "x <b>5 %</b>."),
        ("a <p1>c", "y x", "0-1 1-0", "<p1>y x"),
        ("<b>a <p1>c</b> d", "x y z", "0-0 1-1 2-2", "<b>x <p1>y</b> z"),
        ("<p1><b>a c</b> d", "z y x", "0-2 1-1 2-0", "z <p1><b>y x</b>"),
        ("a c</b> d", "x y z", "0-0 1-1 2-2", "x y</b> z"),
        ("a <b>c d", "x y z", "0-0 1-1 2-2", "x <b>y z"),
        ("a</i></b> c", "x y", "0-0 1-1", "x</i></b> y"),
        ("a <b>of</b> c", "x y", "0-0 2-1", "<b>x</b> y"),
        ("a <b>c</b>.", "x y.", "0-0 0-1 1-2", "x <b>y</b>."),
        ("<b>do</b> c d", "x y", "1-0 2-1", "<b>x</b> y"),
        ("a <b>,</b> c", "x y", "0-0 2-1", "x<b></b> y"),
        ("a <b>,</b> c", "x, y", "0-0 2-2", "x<b>,</b> y"),
        ("a <b>-</b> c", "x y - z", "0-0 2-1 2-3", "x y <b>-</b> z"),
        ("a <b>-</b> c - d", "x y - z", "0-0 2-1 2-3", "x<b></b> y - z"),
        ("a <b>-</b> c", "x y-z w", "0-0 2-1 2-3", "x<b></b> y-z w"),
        ("word <b>of</b> .", "wordlong .", "0-0 2-1", "<b>wordlong</b> ."),
        ("a <b>c</b>", "", "", "<b></b>"),
        ("a note,<p> and c", "z, und Notiz, x", "0-5 1-3 3-2 4-0", "z, und Notiz,<p> x"),
        ("a note,<p> c", "x 注 释 y", "0-0 1-1 1-2 3-3", "x 注 释<p> y"),
        ("a (note).<p> c", "(y). x", "0-3 2-1", "(y).<p> x"),
        ("a note:<p>c", "y: x", "0-0 3-2", "y: <p>x"),
    ],
)
def test_tags_enclose_the_translation_of_what_they_enclosed(
    source: str, target: str, pairs: str, expected: str
) -> None:
    assert placed(source, target, pairs) == expected


PIECES = ["<n>", "<n>", "</n>", "</n>", "<p>", "a", "word", "好", ",", " "]


@st.composite
def sentences(draw: st.DrawFn) -> tuple[str, str, list[AlignmentLink]]:
    """A source with nested tags, some open to a side, a target and any links between them."""
    source, opened = "", ["a", "b"][draw(st.integers(0, 2)) :]
    for number, piece in enumerate(draw(st.lists(st.sampled_from(PIECES), max_size=40))):
        if piece == "<n>":
            opened.append(f"n{number}")
            source += f"<n{number}>"
        elif piece == "</n>":
            source += f"</{opened.pop()}>" if opened else ""
        else:
            source += f"<p{number}>" if piece == "<p>" else piece
    target = " ".join(draw(st.lists(st.sampled_from(["x", "zwei", "，"]), max_size=10)))
    words = words_of(TAG.sub("", source)), words_of(target)
    pairs = st.tuples(*map(st.sampled_from, words))
    linked = draw(st.lists(pairs, max_size=15, unique=True)) if all(words) else []
    return source, target, [AlignmentLink(*a, *b, 0.9) for a, b in linked]


@settings(deadline=None, max_examples=600)
@given(sentences())
def test_every_tag_is_placed_once_between_words_and_nesting_holds(
    case: tuple[str, str, list[AlignmentLink]],
) -> None:
    source, target, links = case
    text, written, tags = tagged(source)
    places = place_tags(tags, text, target, links)
    assert sorted(place.tag for place in places) == list(range(len(tags)))
    offsets = [place.offset for place in places]
    assert offsets == sorted(offsets)
    boundaries = {0, len(target), *(edge for word in words_of(target) for edge in word)}
    assert set(offsets) <= boundaries
    order = [written[place.tag] for place in places]
    assert ancestors("".join(order)) == ancestors("".join(written))


def ancestors(tags: str) -> dict[str, frozenset[str]]:
    """Each tag's enclosing elements; those that are not opened were opened before."""
    names = [(m.group(1), m.group(2)) for m in TAG.finditer(tags)]
    opened_here = {name for end, name in names if not end}
    before = [name for end, name in names if end and name not in opened_here]
    stack = list(reversed(before))
    found = {}
    for end, name in names:
        if end:
            assert stack.pop() == name
        else:
            found[name] = frozenset(stack)
            stack += [] if name.startswith("p") else [name]
    return found


def test_a_hundred_thousand_tags_around_one_word_are_placed() -> None:
    depth = 20_000
    tags = [SentenceTag(0, 2 * depth - 1 - k) for k in range(depth)]
    tags += [SentenceTag(1, depth - 1 - k) for k in range(depth)]
    places = place_tags(tags, "a", "x", [AlignmentLink(0, 1, 0, 1, 1.0)])
    assert [place.tag for place in places] == list(range(2 * depth))


@pytest.mark.parametrize(("is_note", "offset"), [(True, 10), (False, 0)])
def test_a_note_stays_behind_its_word_and_another_tag_before_the_next(
    is_note: bool, offset: int
) -> None:
    links = [AlignmentLink(0, 1, 6, 10, 0.9), AlignmentLink(1, 2, 0, 5, 0.9)]
    tags = [SentenceTag(1, is_note=is_note)]
    assert place_tags(tags, "甲乙", "alpha beta", links) == [(offset, 0)]
