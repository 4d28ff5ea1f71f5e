"""Tags are paired, HTML is recognised, and some elements are not translated."""

from __future__ import annotations

import pytest

from service.translation.markup.elements import inline_names, is_html, keeps_content, pair_tags
from service.translation.markup.scanner import scan


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
        ("<p>", False),
    ],
)
def test_the_page_says_what_is_not_translated(tag: str, kept: bool) -> None:
    (token,) = scan(tag)
    assert keeps_content(tag, token) is kept


def test_an_unknown_element_is_inline_where_it_stands_beside_text() -> None:
    source = "<doc><item>One <g>two</g> three.</item> <item>Four <x/> five.</item></doc>"
    names = inline_names(source, list(scan(source)))
    assert {"g", "x"} <= names
    assert not {"doc", "item"} & names
