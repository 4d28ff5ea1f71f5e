"""The parts of a page join to its source, and its flows are the running text."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.translation.markup.flow import MARK, Flow
from service.translation.markup.page import take_apart
from service.translation.placeholders import KeptStrings, find_kept
from tests.service.translation.markup.test_scanner import HOSTILE, MARKUP

PAGES = st.lists(
    st.sampled_from(
        [
            *("<p>", "</p>", "<b>", "</b>", "<i>", "</i>", "<a href='x'>", "</a>", "<br>"),
            *("<code>", "</code>", "<span translate=no>", "</span>", "<pre>", "</pre>"),
            *("<x1>", "</x1>", "<p title=Hi>", "<img alt='c d'>", "<!-- a -->"),
            *("&amp;", "&nbsp;", "&#65;", "&foo;", "&#0;", "&", "  \n", MARK, "\ufffd"),
            *("<sub>", "</sub>", "<sup>", "</sup>", "H", "2", "st", "+"),
            *("{name}", "https://a.b/c", "%s", " ", ".", "word", "Hello", "你好", "😀"),
        ]
    ),
    max_size=30,
).map("".join)


def spelled(parts: Sequence[str | Flow]) -> str:
    """The parts as the source has them."""
    written = []
    for part in parts:
        if isinstance(part, str):
            written.append(part)
            continue
        position = 0
        for tag in part.tags:
            written += [part.spell(position, tag.offset), spelled(tag.written)]
            position = tag.offset
        written.append(part.spell(position, len(part.text)))
    return "".join(written)


@settings(deadline=None, max_examples=400)
@given(st.one_of(PAGES, MARKUP, st.text(max_size=40)))
@example("<Q>0<</Q><Q>0")
def test_the_parts_spell_the_page(source: str) -> None:
    found = spelled(take_apart(source))
    assert found.replace('"', "") == source.replace('"', "")
    if "title=" not in source and "alt=" not in source:
        assert found == source


def texts(source: str, keep: Sequence[str] = ()) -> list[str]:
    """What is to be translated: flows and attributes, with marks."""
    found = []
    for part in take_apart(source, functools.partial(find_kept, keep=KeptStrings(keep))):
        if isinstance(part, Flow):
            found += [part.text] if part.text.strip() else []
            found += [p.text for tag in part.tags for p in tag.written if isinstance(p, Flow)]
    return found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<p>One <b>two</b>.</p><p>Three.</p>", ["One two.", "Three."]),
        ("<ul><li>A b<li>C d</ul>", ["A b", "C d"]),
        ("Fish &amp; chips &lt;b&gt;", [f"Fish & chips {MARK}"]),
        ("Use <code></code> here", ["Use here"]),
        ("<style>p {}</style><pre>Keep\n  me</pre>Hi", ["Hi"]),
        ('<div class="notranslate"><p>Keep</p></div>Hi', ["Hi"]),
        ('<img alt="A red car" src="a.png">', ["A red car"]),
        ("<input placeholder=Name>", ["Name"]),
        ("<a>One</a>\n<a>Two</a>\n<a>Three</a> end", ["One", "Two", "Three end"]),
        ("<a>One</a> | <a>Two</a> · <a>Three</a>", ["One |", "Two ·", "Three"]),
        ("<a>A</a>, <a>B</a>, <a>C</a> and", ["A, B, C and"]),
        ('<img data-alt="No" alt="">', []),
        ("<b>un</b><i>seen</i>", ["unseen"]),
        ("Hello &#0; you", [f"Hello {MARK} you"]),
        ("<title>My page</title><h1>Big</h1>", ["My page", "Big"]),
        ('<meta property="og:title" content="My page"><meta name=author content=Bob>', ["My page"]),
        ("<doc><item>One <g>two</g>.</item><item>Three.</item></doc>", ["One two.", "Three."]),
        ("<svg><text>Hi</text></svg> there", [f"{MARK} there"]),
        ("a<sub>ij</sub>, <i>x</i><sup>n+1</sup> log<sub>2</sub>", [f"{MARK}, {MARK} {MARK}"]),
        ("a word<sup>1</sup> and.<sup><a>[2]</a></sup> Then", ["a word and. Then"]),
    ],
)
def test_flows_are_what_a_reader_sees_as_running_text(source: str, expected: list[str]) -> None:
    assert [text.strip() for text in texts(source)] == expected


def test_strings_to_keep_are_marked_across_entities() -> None:
    (flow,) = take_apart(
        "See R&amp;D at https://a.b/?x=1&amp;y=2 now",
        functools.partial(find_kept, keep=KeptStrings(["R&D"])),
    )
    assert isinstance(flow, Flow)
    assert flow.text == f"See {MARK} at {MARK} now"
    assert [kept.written for kept in flow.kept] == ["R&amp;D", "https://a.b/?x=1&amp;y=2"]
    assert [kept.text for kept in flow.kept] == ["R&D", "https://a.b/?x=1&y=2"]


def test_tags_within_a_kept_string_stay_where_they_are() -> None:
    (flow,) = take_apart("{n, plural, one {<b>#</b> file} other {# files}} here")
    assert isinstance(flow, Flow)
    assert flow.text == f"{MARK} here"
    assert flow.kept[0].written == "{n, plural, one {<b>#</b> file} other {# files}}"
    assert not flow.tags


@pytest.mark.parametrize("unit", [*HOSTILE.values(), "{a, plural, {", "</a><a>"])
def test_the_time_is_linear_on_hostile_pages(unit: str) -> None:
    def seconds(length: int) -> float:
        source = "<a" + unit * (length // len(unit))
        took = []
        for _ in range(3):
            began = time.process_time()
            take_apart(source, functools.partial(find_kept, keep=KeptStrings(["keep", "a"])))
            took.append(time.process_time() - began)
        return max(min(took), 1e-3)

    assert seconds(24_000) / seconds(3_000) < 30
