"""Emphasis in Markdown: whatever a translation is, CommonMark reads its marks."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from service.translation.markup.coded_text import CodedText
from tests.service.documents.samples import OPTIONS, coded, parse_file, shown

READER = MarkdownIt("commonmark").enable("strikethrough")
UNITS = [
    *("a *b c* d", "**b *c d* e** f", "x _y_ z", "__v__ w", "~~g~~ h", "~~**a**~~ b"),
    *("***q*** r", "_**s** t_ u", "_**z**_ y", "[e *f*](u) i", "**[e](u)** k", "`co de` l"),
]
TEXTS = st.text("abcü这很重要。，：（）“”„–- .,:!?()'\"%+", min_size=1, max_size=6).filter(
    str.strip
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(UNITS), min_size=1, max_size=4), st.data())
def test_a_reader_finds_the_marks_of_the_source(units: list[str], data: st.DataObject) -> None:
    source = " ".join(units)
    parsed = parse_file(source.encode(), "a.md", OPTIONS)
    text = parsed.segments[0].text
    assert isinstance(text, CodedText)
    parts = [data.draw(TEXTS) if isinstance(part, str) else part for part in text.parts]
    written = parsed.write([CodedText.of(parts)]).decode()
    assert marks(written) == marks(source), written


def marks(text: str) -> Counter[str]:
    tokens = READER.parseInline(text)[0].children or []
    return Counter(token.type for token in tokens if token.type not in ("text", "softbreak"))


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("**Note:** This", "<0>注：</0>这", "**注**：这"),
        ("is _very_ good", "很<0>非常</0>好", "很*非常*好"),
        ("is _very_ good", "ist <0>sehr</0> gut", "ist _sehr_ gut"),
        ("the **Settings** page", "die <0>Einstellungen-</0>Seite", "die **Einstellungen**-Seite"),
        ("click **OK**, then", "auf <0>OK,</0> dann", "auf **OK**, dann"),
        ("**Note:** This", "<0>Hinweis:</0> Das", "**Hinweis:** Das"),
        ("a **[link](u)** b", "这<0><1>链接</1></0>的", "这 **[链接](u)** 的"),
        ("a **(b)** c", "这<0>（好）</0>的", "这 **（好）** 的"),
        ("(**a**) b", "(<0>c) </0>d", "(**c**) d"),
        ("a (**b**)", "a <0>(c</0>)", "a (**c**)"),
        ("a **b** c", "a <0>c (d)</0>", "a **c (d)**"),
        ("a **b** c", "a <0> b </0> c", "a  **b**  c"),
        ("a **b** *c*", "<0>甲</0><1>乙</1>", "**甲** *乙*"),
        ("a **b** c", "a <0></0> c", "a  c"),
        ("_{.s}_ b", "c <0></0>", "c "),
        ("*a*{.s}*b*", "<0>c</0><1|><2>d</2>", "*c*{.s} *d*"),
        ("2 * 3 * 4 is", "2*3*4 ist", "2\\*3\\*4 ist"),
        ("wow! [a](u) b", "a!<0>b</0>", "a\\![b](u)"),
        ("**a\u00a0:** b", "<0><1/>: a</0> b", "\u00a0: **a** b"),
        ("*a&nbsp;!* b", "<0>a! <1/></0> b", "*a!*&nbsp;b"),
    ],
)
def test_what_touches_a_mark(source: str, translation: str, expected: str) -> None:
    parsed = parse_file(source.encode(), "a.md", OPTIONS)
    assert parsed.write([coded(translation)]).decode() == expected


def test_spans_of_code_stay_two() -> None:
    parsed = parse_file(b"`a` or `b` is", "a.md", OPTIONS)
    (text,) = (segment.text for segment in parsed.segments)
    assert isinstance(text, CodedText)
    codes = [part for part in text.parts if not isinstance(part, str)]
    assert parsed.write([CodedText.of([*codes, "是"])]).decode() == "`a` `b`是"


def test_chinese_emphasis_that_commonmark_shows_is_read_as_emphasis() -> None:
    parsed = parse_file("**注：**这很**“重要”**的。".encode(), "a.md", OPTIONS)
    assert [shown(one.text) for one in parsed.segments] == ["<0>注：</0>这很<1>“重要”</1>的。"]
    translation = coded("<0>Note:</0> This is <1>“important”</1>.")
    assert parsed.write([translation]).decode() == "**Note:** This is **“important”**."
