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
    ]
    done = translated("a.ftl", FLUENT.replace(b"\n", b"\r\n"))
    assert (
        f"THE FIRST LINE\r\n    AND THE SECOND.\r\n\r\n    ANOTHER {NUMBER} LINE." in done.decode()
    )
    assert done.endswith(b"today = It has { $n ->\r\n   *[other] { $n } files\r\n} today\r\n")
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
