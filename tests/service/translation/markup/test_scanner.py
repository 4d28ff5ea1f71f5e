"""Tokens of HTML join to the source and end where the standard ends them; tags are paired, and the
page says what is not translated."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.translation.markup.elements import is_html, keeps_content, pair_tags
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
        ("<![if !supportLists]>o<![endif]>x", ["OTHER <![if !supportLists]>o<![endif]>", "TEXT x"]),
        (
            "<!--[if !supportLists]-->o<b>",
            ["OTHER <!--[if !supportLists]-->", "TEXT o", "START <b>"],
        ),
        ("<![if !vml]>x<![endif]>", ["OTHER <![if !vml]>", "TEXT x", "OTHER <![endif]>"]),
        ("a]]>b", ["TEXT a]]>b"]),
        ("<!DOCTYPE html>x", ["OTHER <!DOCTYPE html>", "TEXT x"]),
        ("<!DOCTYPE a [<!ENTITY b>]>x", ["OTHER <!DOCTYPE a [<!ENTITY b>]>", "TEXT x"]),
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
        ("<br>", False),
        ('<a href="b"/>', True),
        ("<a href=/b/>", False),
        ("<a href='/b/'>", False),
    ],
)
def test_a_slash_within_a_value_does_not_make_a_tag_empty(source: str, is_empty: bool) -> None:
    (token,) = scan(source)
    assert token.kind is Kind.START
    assert token.is_empty is is_empty


def pairs(source: str) -> list[tuple[str, str]]:
    tokens = list(scan(source))
    text = [source[token.start : token.end] for token in tokens]
    return [(text[i], text[k]) for i, k in sorted(pair_tags(tokens).items()) if i < k]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<b>a</b>", [("<b>", "</b>")]),
        ("<B>a</b >", [("<B>", "</b >")]),
        ("<b>a<br>c</b>", [("<b>", "</b>")]),
        ("<b 1><b 2>a</b></b >", [("<b 1>", "</b >"), ("<b 2>", "</b>")]),
        ("<b><i>a</b></i>", [("<b>", "</b>")]),
        ("<p>a<p>b</p>", [("<p>", "</p>")]),
        ("</b><b>", []),
        ("<x/>a</x>", []),
    ],
)
def test_tags_are_paired_without_partial_overlap(
    source: str, expected: list[tuple[str, str]]
) -> None:
    assert pairs(source) == expected


HTML = [
    *("<p>Hi</p>", "Hi <b>you</b>", "one<br>two", "one<BR/>two", "a < b <i>c</i>"),
    *('<img src="a.png">', " <!DOCTYPE html>\n<title>a", "<?xml version='1.0'?><a/>"),
    '<a href="b">c</a>',
]
PLAIN = [
    *("a < b and c > d", "List<String> x = new ArrayList<>();", "use vector<int> or map<a, b>"),
    *("Enter <name> and <source> here", "The tag <b> makes text bold.", "I <3 you"),
    *("x <y and z> w", "AT&amp;T", "<b0>Hi</b0>", "2 <br", ""),
]


@pytest.mark.parametrize("text", [*HTML, *PLAIN])
def test_html_is_recognized_and_plain_text_not_taken_for_it(text: str) -> None:
    assert is_html(text) == (text in HTML)


@pytest.mark.parametrize(
    ("tag", "kept"),
    [
        ("<code>", True),
        ("<PRE class=x>", True),
        ('<p translate="no">', True),
        ("<p translate=no>", True),
        ("<p translate = 'no'>", True),
        ('<p translate="yes">', False),
        ('<p class="a notranslate b">', True),
        ("<p class=notranslate>", True),
        ('<p class="a" title="notranslate">', False),
        ('<p class="notranslated">', False),
        ("<span style='font-family:Wingdings'>", True),
        ('<i style="color:red;font-family: &quot;Wingdings 2&quot;">', True),
        ("""<i style='font-family:"Symbol"'>""", True),
        ("<font size=2 face=Webdings>", True),
        ("<p style='font-family:Symbola'>", False),
        ("<p style='font-family:Arial,Wingdings' title='Symbol'>", False),
        ("<p>", False),
    ],
)
def test_the_page_says_what_is_not_translated(tag: str, kept: bool) -> None:
    (token,) = scan(tag)
    assert keeps_content(tag, token) is kept
