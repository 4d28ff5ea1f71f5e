"""Tokens of HTML join to the source and end where the standard ends them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.translation.markup.scanner import Kind, scan

MARKUP = st.lists(
    st.sampled_from(
        [
            *("<", ">", "/", "=", '"', "'", "!", "-", "--", "?", "[", "]", "]]>", "&", ";"),
            *(" ", "\n"),
            *("<!--", "-->", "<![CDATA[", "<!doctype", "<?xml", "?>", "</", "<a", "<b>", "</b>"),
            *("<script>", "</script", "<style", "href=", "a", "é", "你", "\x00", "\ufffd", "<br/>"),
        ]
    ),
    max_size=40,
).map("".join)


def pieces(source: str) -> list[tuple[str, str]]:
    return [(token.kind.name, source[token.start : token.end]) for token in scan(source)]


@settings(deadline=None, max_examples=500)
@given(st.one_of(MARKUP, st.text(max_size=60)))
def test_the_joined_tokens_are_the_source(source: str) -> None:
    tokens = list(scan(source))
    assert "".join(source[token.start : token.end] for token in tokens) == source
    assert all(token.start < token.end for token in tokens)
    for token in tokens:
        if token.kind in (Kind.START, Kind.END):
            assert source[token.start] == "<"
            assert source[token.end - 1] == ">"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a<b>c</b>", ["TEXT a", "START <b>", "TEXT c", "END </b>"]),
        ('<a title="1 > 0">x', ['START <a title="1 > 0">', "TEXT x"]),
        ("<p it's>x", ["START <p it's>", "TEXT x"]),
        ('<a href="open>x</a>', ['START <a href="open>', "TEXT x", "END </a>"]),
        ("a < b", ["TEXT a ", "TEXT <", "TEXT  b"]),
        ("<div <b>x", ["OTHER <div ", "START <b>", "TEXT x"]),
        ("<a href", ["OTHER <a href"]),
        ("<https://a.b/c<", ["OTHER <https://a.b/c<"]),
        ("<b < dog> x", ["START <b < dog>", "TEXT  x"]),
        ("<b <<<c>", ["OTHER <b <<", "START <c>"]),
        ("<b <!", ["OTHER <b <!"]),
        ("<b <!c>x", ["OTHER <b ", "OTHER <!c>", "TEXT x"]),
        ("<b <!--", ["OTHER <b ", "OTHER <!--"]),
        ("<!-- <b> -->x", ["OTHER <!-- <b> -->", "TEXT x"]),
        ("<!-- a <!-- b --> c -->", ["OTHER <!-- a <!-- b -->", "TEXT  c -->"]),
        ("<!-->x", ["OTHER <!-->", "TEXT x"]),
        ("<!-- open <b>", ["OTHER <!-- open <b>"]),
        ("<![CDATA[<b>]]>x", ["OTHER <![CDATA[<b>]]>", "TEXT x"]),
        ("a]]>b", ["TEXT a]]>b"]),
        ("<!DOCTYPE html>x", ["OTHER <!DOCTYPE html>", "TEXT x"]),
        (
            '<!DOCTYPE a [<!ENTITY b "c">]>x',
            ['OTHER <!DOCTYPE a [<!ENTITY b "c">]>', "TEXT x"],
        ),
        ('<?xml version="1.0"?>x', ['OTHER <?xml version="1.0"?>', "TEXT x"]),
        ("</>x", ["OTHER </>", "TEXT x"]),
        ("<script>a<b>c</SCRIPT >x", ["START <script>", "RAW a<b>c", "END </SCRIPT >", "TEXT x"]),
        ("<script>a</scripts>", ["START <script>", "RAW a</scripts>"]),
        ("<script/>x", ["START <script/>", "TEXT x"]),
        ("\x00<b\x00>", ["TEXT \x00", "START <b\x00>"]),
    ],
)
def test_tokens_end_where_the_html_standard_ends_them(source: str, expected: list[str]) -> None:
    assert [f"{kind} {text}" for kind, text in pieces(source)] == expected


@pytest.mark.parametrize(
    ("source", "is_empty"),
    [
        ("<br/>", True),
        ("<br />", True),
        ("<br>", False),
        ('<a href="b"/>', True),
        ("<a href=/b/>", False),
        ("<a href='/b/'>", False),
        ("<a b=c />", True),
    ],
)
def test_a_slash_within_a_value_does_not_make_a_tag_empty(source: str, is_empty: bool) -> None:
    (token,) = scan(source)
    assert token.kind is Kind.START
    assert token.is_empty is is_empty
