"""Fluent: its own parser finds the same messages with translated texts."""

from __future__ import annotations

import pytest
from fluent.syntax import FluentParser, ast
from hypothesis import given, settings
from hypothesis import strategies as st

from service.documents.formats import parse_file
from service.errors import InvalidDocument
from tests.service.documents.samples import FLUENT, OPTIONS, capitals, shown, texts_of, translated

NUMBER = "{ NUMBER($n, minimumFractionDigits: 2) }"


def _texts(content: bytes) -> list[str]:
    """All that is shown of the messages, in order."""
    (message,) = FluentParser(with_spans=False).parse(content.decode()).body
    assert isinstance(message, ast.Message)
    patterns = [message.value, *(attribute.value for attribute in message.attributes)]
    return [_shown(pattern) for pattern in patterns if pattern]


def _shown(pattern: ast.Pattern) -> str:
    parts = []
    for element in pattern.elements:
        inner = element.expression if isinstance(element, ast.Placeable) else None
        parts.append(inner.value if isinstance(inner, ast.StringLiteral) else element.value)
    return "".join(parts)


def test_messages_attributes_and_variants_are_translated() -> None:
    assert texts_of("a.ftl", FLUENT) == [
        "Hello, { $name }!",
        'About { -brand } and <a data-l10n-name="us">us</a>',
        f"The first line\nand the second.\n\nAnother {NUMBER} line.",
        "Open the file",
        "One file",
        "{ $n } files",
        "It has { $n } files today",
    ]
    done = translated("a.ftl", FLUENT.replace(b"\n", b"\r\n"))
    assert (
        f"THE FIRST LINE\r\n    AND THE SECOND.\r\n\r\n    ANOTHER {NUMBER} LINE." in done.decode()
    )
    assert b".accesskey = O\r\n" in done
    before, after = (FluentParser().parse(one.decode()).body for one in (FLUENT, done))
    assert [type(one) for one in after] == [type(one) for one in before]


TEXTS = st.text(st.sampled_from('ab é.*[]{}=#-"\\\n🙂'), min_size=1).map(str.strip).filter(bool)


@pytest.mark.parametrize(
    "content", ["a = b c\n", "a =\n    b c\n", "a =\n  .b = c d\n", "a = b\n  .c = d\n"]
)
@settings(deadline=None, max_examples=60)
@given(text=TEXTS)
def test_any_translation_is_read_as_it_was_meant(content: str, text: str) -> None:
    parsed = parse_file(content.encode(), "a.ftl", OPTIONS)
    done = parsed.write([text] * len(parsed.segments))
    lines = "\n".join(line.strip(" ") for line in text.split("\n"))
    assert _texts(done) == [lines] * len(parsed.segments)


@pytest.mark.parametrize("spaces", ['{ "" }   ', '{"  "}', '{""} { " " }'])
def test_spaces_at_the_beginning_stay(spaces: str) -> None:
    content = f"a = {spaces}b c\n".encode()
    assert texts_of("a.ftl", content) == ["b c"]
    assert translated("a.ftl", content).decode() == f"a = {spaces}B C\n"


def test_placeables_of_a_translation_are_no_text() -> None:
    (segment,) = parse_file(b"a = b { $c } d\n", "a.ftl", OPTIONS).segments
    assert shown(segment.text) == "b { $c } d"
    parsed = parse_file(f"a = b {NUMBER} d\n".encode(), "a.ftl", OPTIONS)
    assert parsed.write([capitals(one.text) for one in parsed.segments]).decode() == (
        f"a = B {NUMBER} D\n"
    )
    parsed = parse_file(b"a = b { $c } d\n", "a.ftl", OPTIONS)
    assert parsed.write(["{ $c } {e}"]) == b'a = { $c } {"{"}e{"}"}\n'


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a = b\n<#if x>\n", 2),
        (b"a = { $b\n", 1),
        (b"# c\na = { $b ->\n  [x] y\n}\n", 2),
    ],
)
def test_what_is_no_fluent_is_refused(content: bytes, line: int) -> None:
    with pytest.raises(InvalidDocument, match=f"Fluent: line {line}"):
        parse_file(content, "a.ftl", OPTIONS)


INNER = "[few] { $o ->\n *[x] a { $p ->\n *[y] b\n }\n [z] c\n } d"


@pytest.mark.parametrize("variants", ["[one] a b\n *[other] c", f"{INNER}\n *[other] e"])
@pytest.mark.parametrize("around", ["{}", "one {}", "{} two", "one\n {} two\n three"])
def test_texts_around_a_selection_become_a_part_of_each_variant(variants: str, around: str) -> None:
    content = f"a =\n {around}\n".format("{ $n ->\n " + variants + "\n }")
    before, after = (
        _choices(one) for one in (content.encode(), translated("a.ftl", content.encode()))
    )
    assert after == [text.upper() for text in before]


SELECTION = "{ $n ->\n *[x] two\n }"
LARGE = "{ $n ->" + "\n [x] a" * 12 + "\n *[y] b\n }"


@pytest.mark.parametrize("text", [f"{SELECTION} and {SELECTION}", f"one {LARGE}"])
def test_texts_with_several_selections_or_a_large_one_stay(text: str) -> None:
    content = f"a = {text}\nb = c\n".encode()
    assert translated("a.ftl", content) == content.replace(b"b = c", b"b = C")


def _choices(content: bytes) -> list[str]:
    """All texts of a message, of which one is chosen."""
    (message,) = FluentParser().parse(content.decode()).body
    assert isinstance(message, ast.Message)
    assert message.value
    return [" ".join(text.split()) for text in _chosen(message.value)]


def _chosen(pattern: ast.Pattern) -> list[str]:
    texts = [""]
    for element in pattern.elements:
        inner = element.expression if isinstance(element, ast.Placeable) else None
        variants = inner.variants if isinstance(inner, ast.SelectExpression) else []
        found = [text for one in variants for text in _chosen(one.value)] or [element.value]
        texts = [before + text for before in texts for text in found]
    return texts
