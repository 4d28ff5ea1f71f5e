"""Laws of alignment links: whole words, within the texts, at places that split no grapheme."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.translation.alignment import AlignmentLink, link_words, links_of_alternative, words

_AWKWARD = (
    "ab é e\u0301\u0323 ﬁ ½① Ａｂ 𠮷野 👩\u200d👩\u200d👧 🇩🇪🇫🇷 \u1112\u1161\u11ab "
    "\u200b\u00ad \r\n กำ क्षि "
    "don't 3.14 。，.!?'-_ \u3000\t İß \U0001d15e \u0600"
)
TEXTS = st.text(st.sampled_from(_AWKWARD) | st.characters(exclude_categories=["Cs"]), max_size=30)
Span = tuple[int, int]


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[str, list[Span]]:
    """A text and tokens of it in order, some of them empty, overlapping or of white space."""
    text = draw(TEXTS)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=12)))
    spans = list(itertools.pairwise([0, *cuts, len(text)]))
    return text, [(0, 0), *spans, (0, 0)]


def grapheme_cuts(text: str) -> set[int]:
    return {0, len(text)} | {match.start() for match in regex.finditer(r"\X", text)}


@settings(deadline=None)
@given(cut_texts(), cut_texts(), st.randoms(use_true_random=False))
@example(("", [(0, 0)]), ("a", [(0, 1)]), None)
@example((" ", [(0, 1)]), ("a", [(0, 1)]), None)
def test_links_join_whole_words_within_the_texts(
    source: tuple[str, list[Span]], target: tuple[str, list[Span]], rng: object
) -> None:
    seed = 0 if rng is None else rng.randrange(2**32)  # type: ignore[attr-defined]
    shape = (len(target[1]), len(source[1]))
    attention = np.random.default_rng(seed).dirichlet(np.ones(shape[1]), shape[0])
    links = link_words(source[0], target[0], source[1], target[1], attention.astype(np.float32))
    sides = [(text, set(words(text, spans))) for text, spans in (source, target)]
    for link in links:
        for (text, known), (start, end) in zip(sides, (link[:2], link[2:4]), strict=True):
            assert 0 <= start < end <= len(text)
            assert (start, end) in known
            assert {start, end} <= grapheme_cuts(text)
            assert not text[start:end].isspace()
        assert 0 < link.weight <= 1
    assert len({link[:4] for link in links}) == len(links)
    assert [link.target_start for link in links] == sorted(link.target_start for link in links)


@settings(deadline=None)
@given(cut_texts())
def test_words_cover_the_text_without_its_white_space(cut: tuple[str, list[Span]]) -> None:
    text, spans = cut
    found = words(text, spans)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(found))
    between = [0, *itertools.chain.from_iterable(found), len(text)]
    for start, end in zip(between[::2], between[1::2], strict=True):
        assert not text[start:end].strip()


@pytest.mark.parametrize(
    ("text", "spans", "expected"),
    [
        ("don't, 3.14 ok?", [(0, 3), (3, 5), (5, 6)], ["don't", ",", "3.14", "ok", "?"]),
        ("owner:group x", [(0, 5), (5, 11), (11, 13)], ["owner", ":", "group", "x"]),
        ("我喜欢猫。", [(0, 3), (3, 4), (4, 5)], ["我喜欢", "猫", "。"]),
        ("我喜欢猫。", [(0, 1), (1, 3), (3, 5)], ["我", "喜欢", "猫", "。"]),
        ("在Berlin工作", [(0, 1), (1, 4), (4, 7), (7, 9)], ["在", "Berlin", "工作"]),
        ("コーヒーを飲む", [(0, 2), (2, 4), (4, 5), (5, 7)], ["コーヒー", "を", "飲む"]),
        ("Übe\u0301r 🇩🇪🇫🇷", [(0, 2)], ["Übe\u0301r", "🇩🇪", "🇫🇷"]),
    ],
)
def test_words_are_those_of_unicode_and_pieces_without_spaces(
    text: str, spans: list[Span], expected: list[str]
) -> None:
    assert [text[start:end] for start, end in words(text, spans)] == expected


def test_a_word_of_several_tokens_is_linked_as_one() -> None:
    """Also if they attend to different tokens of the source word, and to tag and end."""
    source, target = "Der Donaudampfer", "The steamer"
    source_spans = [(0, 0), (0, 3), (4, 9), (9, 16), (0, 0)]
    target_spans = [(0, 3), (4, 8), (8, 11)]
    attention = np.array(
        [[0.2, 0.7, 0.05, 0.05, 0.0], [0.5, 0.1, 0.3, 0.0, 0.1], [0.5, 0.0, 0.0, 0.4, 0.1]]
    )
    links = link_words(source, target, source_spans, target_spans, attention.astype(np.float32))
    assert [link[:4] for link in links] == [(0, 3, 0, 3), (4, 16, 4, 11)]
    assert all(link.weight > 0.8 for link in links)


def test_a_source_word_of_two_target_words_has_a_link_to_each() -> None:
    attention = np.array([[0.9, 0.1], [0.1, 0.9], [0.1, 0.9]], np.float32)
    links = link_words("a b", "x y z", [(0, 1), (2, 3)], [(0, 1), (2, 3), (4, 5)], attention)
    assert [link[:4] for link in links] == [(0, 1, 0, 1), (2, 3, 2, 3), (2, 3, 4, 5)]


def spans(text: str) -> list[tuple[int, int]]:
    found, position = [], 0
    for word in text.split():
        start = text.index(word, position)
        position = start + len(word)
        found.append((start, position))
    return found


def moved(best: str, other: str) -> dict[str, set[str]]:
    """For each word of `other` the words of `best` whose links it has, each linked to itself."""
    links = [AlignmentLink(*span, *span, 0.5) for span in spans(best)]
    found: dict[str, set[str]] = {}
    for link in links_of_alternative(best, spans(best), links, other, spans(other)):
        target = other[link.target_start : link.target_end]
        found.setdefault(target, set()).add(best[link.source_start : link.source_end])
    return found


@pytest.mark.parametrize(
    ("best", "other", "expected"),
    [
        ("a b c", "a b c", {"a": {"a"}, "b": {"b"}, "c": {"c"}}),
        ("a b c", "a x c", {"a": {"a"}, "x": {"b"}, "c": {"c"}}),
        ("a b c", "a x y c", {"a": {"a"}, "x": {"b"}, "y": {"b"}, "c": {"c"}}),
        ("a b c d", "a x d", {"a": {"a"}, "x": {"b", "c"}, "d": {"d"}}),
        ("a b", "a b c", {"a": {"a"}, "b": {"b"}}),
        ("a b c", "c", {"c": {"c"}}),
        ("", "a", {}),
        ("a", "", {}),
    ],
)
def test_words_keep_their_links_or_take_those_of_the_words_they_replace(
    best: str, other: str, expected: dict[str, set[str]]
) -> None:
    assert moved(best, other) == expected


@given(st.text("abcd ", max_size=30), st.text("abcd ", max_size=30))
def test_every_link_is_of_a_word_of_the_alternative(best: str, other: str) -> None:
    assert set(moved(best, other)) <= set(other.split())
