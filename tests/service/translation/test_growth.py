"""Time grows as a text or a file does, whatever is repeated in it."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from service.documents.formats import parse_file
from service.errors import DocumentTooLarge, InvalidDocument
from service.translation.checks.dates import lost_dates
from service.translation.checks.differences import check_sentence
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.glossary import GlossaryEntry, GlossaryMatcher
from service.translation.language.segmentation import cut_text
from service.translation.markup.inline import text_flow
from service.translation.markup.page import take_apart
from service.translation.markup.scanner import scan
from service.translation.placeholders import KeptStrings, find_kept
from service.translation.sentence.abbreviations import enter_abbreviations
from service.translation.sentence.numbers.amounts import find_amounts
from service.translation.sentence.unspelled import find_unspelled
from tests.growth import takes_less
from tests.service.documents.samples import OPTIONS, A, W, archive, capitals, package
from tests.service.translation.sentence.test_carriers import EN_DE

MARKUP = (
    *("<", " < ", "<<?", "<a ", "</a ", '<a b="', "<a b='", "<a b=\"c'", '"', " a=b", "=", "/"),
    *("<!--", "<!-- -", "]]>", "<![CDATA[", "<![CDATA[>", "<!a", "<!a[>", "<?", "<?a>", "</ "),
    *("<script>", "<script/>", "</script", "&amp", "\x00<a\x00", "<b>", " \n"),
)
CODE = (
    *("{", "{{", "}", "{a", "{a,plural,", "{a,plural,}", "%", "%(", "%a", "${", "$a", ":a", ":"),
    *("⟦", "a://", "://", "a@", "@a", "@", "a.", ".", "a.py", "/a", "/", "//", "~", "\\", "C:\\"),
    *("` ", "1.", "1.1", "-", "2024-", "#", "#a", "#1", "_", "a_", "()", "<a", "<a ", "<a=", "&a"),
    *("www.", "http://a)", "http://a(", "A1", "0x", "é@", "aA", " ", "\u4e2d", "x" * 50 + "@"),
    *("`", "[A1", "&#", "y", "yy-", "11-", "aB", "a/", "a:", "1.1.", "25.", "$2", "Aa"),
    *("a\u0301", "\u0301", "a", "a\u0336", "\u0336 ", "a\u0301\u0336"),
)
MARKS = (
    *("{a}", "**", "*a*", "{a}b{/a}", "%s", "_a", "[b]", "{{a}}b"),
    *("[a](", "](", "[a](b.c(", "(", "\\n", "\\na", "a\\", "&a"),
    *("<<a,", "<<a, b", "<<", "`a <", "`a <b>`", "`a`_"),
)
NUMBERS = (
    "one point two ",
    "nineteen hundred and ",
    "五点二亿",
    "一又二分之一",
    "1",
    "1.",
    "1,1",
    "1 ",
    "1:1",
    "一",
    "一千",
    "hundert",
    "1世纪",
    "半",
    "one and a half ",
)
AMOUNTS = ("1", "1.", "1 ", "1 a", "1万", "1,000,", "1 aaaaaaaaaa ", "1-")
SIGNS = ("€ ", "ñ", "ñ ", "a\u0301", "д\nñ ab\n", "❤️", "1\ufe0f", "€\u0301")
UNITS = (
    *("བོད་ཡིག་", "ภาษาไทย", "ភាសាខ្មែរ", "中文没有标点", "क्षि", "a\t", "e\u0301\u0315", "👩‍👩‍👧‍👦"),
    *("a👩‍👩‍👧‍👦", "🇩a", " ", "a   ", ".", "Mr. ", "a.)”", "(a", '"a! ', "a\n", "a\u200b\ufeff"),
    *("𝔘", "a", "你", "。", "\u0301", "a\u200d"),
)
COPIED = ("a", "1 ", "{x} ", "https://", "<a ", "中", "a@b", "../", "``")
KEEP = KeptStrings(["keep", "a"])


def _respell(text: str) -> None:
    for source, target in (("en", "de"), ("de", "en"), ("zh", "en")):
        enter_abbreviations(text, source)
        lost_dates(text, text, (source, target))


WORK: dict[str, tuple[Callable[[str], object], int, tuple[str, ...]]] = {
    "tokens": (lambda text: list(scan(f"<a{text}")), 20_000, MARKUP),
    "page": (
        lambda text: take_apart(f"<a{text}", lambda plain: find_kept(plain, KEEP)),
        3_000,
        (*MARKUP, "a&amp;", "{a, plural, {", "`", "</a><a>", "<code>"),
    ),
    "kept strings": (lambda text: find_kept(f"a {text}x", KEEP), 3_000, CODE),
    "strings of the request": (
        lambda text: find_kept(text, KeptStrings([text[:n] for n in range(1, len(text) // 200)])),
        3_000,
        ("a", "a ", "-", "蓝"),
    ),
    "marks": (text_flow, 3_000, MARKS),
    "numbers": (lambda text: unmatched(find_numbers(text), find_numbers(text)), 4_000, NUMBERS),
    "amounts": (lambda text: list(find_amounts(text, "en", "de")), 8_000, AMOUNTS),
    "words": (
        _respell,
        8_000,
        ("零下", "8折", "为-5", "May 5 ", "5. Juli ", "3 p.m. ", "月5日", "-Nr. "),
    ),
    "signs": (lambda text: list(find_unspelled(text, EN_DE, "en")), 8_000, SIGNS),
    "sentences": (
        lambda text: cut_text(text, "en", 40, lambda part: 3 + len(part.encode())),
        8_000,
        UNITS,
    ),
    "checks": (lambda text: check_sentence(text, text, ("en", "fr")), 3_000, COPIED),
}
"""What is done, the length of the shorter text, and what is repeated in it."""


@pytest.mark.parametrize(
    ("work", "unit"), [(name, unit) for name, (_, _, units) in WORK.items() for unit in units]
)
def test_eight_times_the_text_takes_far_less_than_64_times_as_long(work: str, unit: str) -> None:
    act, length, _ = WORK[work]
    short, long = (unit * (size // len(unit)) for size in (length, 8 * length))
    assert takes_less(lambda: act(long), 30, lambda: act(short), 0.001)


TERMS: dict[str, tuple[list[str], str]] = {
    "a first word": ([f"a b{number} c" for number in range(300)], "a b"),
    "a beginning": ([f"{'a ' * 90}b{number}" for number in range(300)], "a"),
    "beginnings of all lengths": (
        [f"{'a ' * (number % 90)}b{number}" for number in range(300)],
        "a",
    ),
    "all but an end": ([f"{'!' * (number % 180)}{number}" for number in range(300)], "!"),
    "all": (["a " * length for length in range(1, 100)], "a"),
}


@pytest.mark.parametrize("shared", TERMS)
def test_many_terms_of_a_glossary_take_no_longer_than_one(shared: str) -> None:
    terms, repeated = TERMS[shared]
    many, one = (
        GlossaryMatcher([GlossaryEntry(term, "x") for term in some], "en")
        for some in (terms, ["x y z"])
    )
    text = f"{repeated} " * 3000
    assert takes_less(lambda: many.find(text), 10, lambda: one.find(text), 0.001)


SMALL = 12_500
_CUE = b"00:00:01,000 --> 00:00:02,000\n"


def _repeated(unit: bytes, head: bytes = b"", tail: bytes = b"") -> Callable[[int], bytes]:
    return lambda size: head + unit * (size // len(unit)) + tail


def _members(main: dict[str, bytes], name: str, content: str) -> Callable[[int], bytes]:
    """An archive with a member for every hundred bytes."""
    more = content.encode()
    return lambda size: package({**main, **{name.format(n): more for n in range(size // 100)}})


def _book(num_pages: int, num_times: int) -> bytes:
    page = '<item href="{}.xhtml" media-type="application/xhtml+xml"/>'
    items = "".join(map(page.format, range(num_pages))) * num_times
    container = '<container><rootfile full-path="a.opf"/></container>'
    pages = {f"{number}.xhtml": b"<p>a</p>" for number in range(num_pages)}
    package = f"<package>{items}</package>".encode()
    return archive({"META-INF/container.xml": container.encode(), "a.opf": package, **pages})


FILES: dict[str, Callable[[int], bytes]] = {
    "members.docx": _members(
        {"word/document.xml": f"<w:document {W}/>".encode()},
        "word/header{}.xml",
        f"<w:hdr {W}><w:p><w:r><w:t>a</w:t></w:r></w:p></w:hdr>",
    ),
    "members.pptx": _members(
        {"ppt/presentation.xml": b"<a/>"},
        "ppt/slides/slide{}.xml",
        f"<p {A}><a:p><a:r><a:t>a</a:t></a:r></a:p></p>",
    ),
    "members.odt": _members({"content.xml": b"<a/>"}, "{}", "a"),
    "members.epub": lambda size: _book(size // 100, 1),
    "repeated.epub": lambda size: _book(20, size // 100),
    "elements.docx": lambda size: package(
        {"word/document.xml": f"<w:d {W}>{'<w:p/>' * (size // 6)}</w:d>".encode()}
    ),
    "lists.docx": lambda size: package(
        {"word/document.xml": b"<w:d><!--" + b"<w:sdtPr><w:listItem " * (size // 21) + b"--></w:d>"}
    ),
    "formulas.xlsx": lambda size: package(
        {
            "xl/workbook.xml": b"<workbook/>",
            "xl/worksheets/sheet1.xml": b"<s>" + b'<c t="str"><f>"a"</f>' * (size // 21) + b"</s>",
            "xl/worksheets/sheet2.xml": b"<oddHeader>" + b"&amp;&quot;" * (size // 11) + b"</s>",
        }
    ),
    "cells.ods": lambda size: archive(
        {"content.xml": b"<a>" + b"<table:table-cell><text:p>a</text:p>" * (size // 36) + b"</a>"}
    ),
    "brackets.md": _repeated(b"["),
    "links.md": _repeated(b"[a]("),
    "stars.md": _repeated(b"*a_"),
    "ticks.md": _repeated(b"`a``"),
    "comments.md": lambda size: b'"' * size + b"<!--" * (size // 4),
    "commented.md": lambda size: b"<!-- a\\\n" * (size // 8) + b"-->" * (size // 3),
    "targets.md": lambda size: b"[" * size + b"](" * (size // 2),
    "spaced.md": _repeated(b"*a_ "),
    "tags.md": _repeated(b"<a "),
    "quotes.md": _repeated(b">"),
    "lists.md": _repeated(b"- "),
    "notes.md": _repeated(b"[^a]: "),
    "nested.md": _repeated(b"* a\n  * b\n"),
    "cells.md": _repeated(b"|x", b"|a|b|\n|-|-|\n"),
    "lines.txt": _repeated(b"\n"),
    "line.txt": _repeated(b"a"),
    "words.txt": _repeated(b"a "),
    "open.html": _repeated(b"<p>"),
    "deep.html": _repeated(b"<div><b>", tail=b"x"),
    "fields.eml": _repeated(b"From: a\n b\n"),
    "words.eml": _repeated(b" =?utf-8?q?a?=", b"Subject: "),
    "lines.eml": _repeated(b"> a b\n", b"From: a\n\n"),
    "flowed.eml": _repeated(b"a \n", b"Content-Type: text/plain; format=flowed\n\n"),
    "marks.eml": _repeated(b">", b"From: a\n\n", b"a"),
    "parts.eml": _repeated(b"\n--a\n\na", b"Content-Type: multipart/mixed; boundary=a\n"),
    "messages.eml": _repeated(b"Content-Type: message/rfc822\n\n"),
    "parameters.eml": _repeated(b'; a="', b"Content-Type: text/plain", b"\n\na"),
    "cue.srt": _repeated(b"a ", _CUE),
    "cues.srt": _repeated(_CUE + b"a\n\n"),
    "times.srt": _repeated(b"00:00:01,000 --> "),
    "tags.vtt": _repeated(b"<b>", b"WEBVTT\n\n00:01.000 --> 00:02.000\n", b"\n\n"),
    "lines.po": _repeated(b'"a"\n', b'msgid ""\n', b'msgstr ""\n'),
    "messages.po": _repeated(b'msgid "a"\nmsgstr ""\n\n'),
    "slashes.po": _repeated(b"\\\\", b'msgid "', b'"\nmsgstr ""\n'),
    "array.json": _repeated(b"["),
    "strings.json": _repeated(b'"a",', b"[", b'"a"]'),
    "numbers.json": _repeated(b"1,", b"[", b"1]"),
    "number.json": _repeated(b"1"),
    "quote.json": _repeated(b'\\"', b'"'),
    "values.yml": _repeated(b"- &a A text\n"),
    "lines.yml": _repeated(b"  a\n", b"a: >\n"),
    "nested.yml": _repeated(b"[{a: "),
    "entries.strings": _repeated(b'"a" = "b \\n"; /* c */\n'),
    "comments.strings": _repeated(b"/* a "),
    "forms.stringsdict": _repeated(
        b"<key>a</key><string>a b</string>", b"<plist><dict>", b"</dict></plist>"
    ),
    "keys.xcstrings": _repeated(
        b'"a": {"b": {}},', b'{"sourceLanguage": "en", "strings": {', b'"c": {}}}'
    ),
    "messages.ftl": lambda size: _repeated(b"a = b { $c }\n    d\n")(size // 10),
    "placeables.ftl": lambda size: _repeated(b"{ $a } b ", b"a = ", b"\n")(size // 10),
    "keys.properties": _repeated(b"a\\ b\\\n"),
    "slashes.properties": _repeated(b"\\"),
    "values.resx": _repeated(b"<data><value>a</value></data>", b"<root>", b"</root>"),
    "strings.xml": _repeated(b"<string>a\\n<b>b</b></string>", b"<resources>", b"</resources>"),
    "spaces.xml": _repeated(b" \\", b"<resources><string>a", b"</string></resources>"),
    "attributes.ts": _repeated(b'a="b" ', b"<TS ", b"/>"),
    "messages.ts": _repeated(
        b"<message><source>a</source><translation/></message>", b"<TS><context>", b"</context></TS>"
    ),
    "units.xlf": _repeated(
        b"<trans-unit><source>a</source></trans-unit>", b"<xliff version='1.2'>", b"</xliff>"
    ),
    "prefixes.xlf": _repeated(
        b"<a:trans-unit><a:source>a</a:source></a:trans-unit>",
        b"<a:xliff xmlns:a='urn:oasis:names:tc:xliff:document:1.2' version='1.2'>",
        b"</a:xliff>",
    ),
    "codes.xlf": _repeated(
        b"<bx/>&lt;b><ex/>&lt;/a><mrk mtype='seg'/>",
        b"<xliff version='1.2'><trans-unit><source>a",
        b"</source></trans-unit></xliff>",
    ),
}


def _read_and_write(name: str, content: bytes) -> None:
    """Read the file, and write it twice."""
    try:
        parsed = parse_file(content, name, OPTIONS)
        texts = [segment.text for segment in parsed.segments]
        assert parsed.write(texts) == content
        parsed.write([capitals(text) for text in texts])
    except (InvalidDocument, DocumentTooLarge):
        pass


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_four_times_the_size_takes_about_four_times_as_long(name: str) -> None:
    """A quadratic step takes sixteen times as long; what takes no time is not compared."""
    small, large = (FILES[name](size) for size in (SMALL, 4 * SMALL))
    read_large = functools.partial(_read_and_write, name, large)
    assert takes_less(read_large, 9, functools.partial(_read_and_write, name, small), 0.01)
