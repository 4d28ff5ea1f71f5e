"""Time grows as a file does, whatever is repeated in it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from service.errors import DocumentTooLarge, InvalidDocument
from service.translation.documents.formats import parse_file
from tests.service.translation.documents.samples import OPTIONS, A, W, archive, capitals

SMALL = 12_500
_CUE = b"00:00:01,000 --> 00:00:02,000\n"


def _repeated(unit: bytes, head: bytes = b"", tail: bytes = b"") -> Callable[[int], bytes]:
    return lambda size: head + unit * (size // len(unit)) + tail


def _members(main: dict[str, bytes], name: str, content: str) -> Callable[[int], bytes]:
    """An archive with a member for every hundred bytes."""
    more = content.encode()
    return lambda size: archive({**main, **{name.format(n): more for n in range(size // 100)}})


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
    "elements.docx": lambda size: archive({"word/document.xml": _elements(size)}),
    "brackets.md": _repeated(b"["),
    "links.md": _repeated(b"[a]("),
    "stars.md": _repeated(b"*a_"),
    "ticks.md": _repeated(b"`a``"),
    "tags.md": _repeated(b"<a "),
    "quotes.md": _repeated(b">"),
    "images.md": _repeated(b"!["),
    "lists.md": _repeated(b"- "),
    "items.md": _repeated(b"* a\n"),
    "nested.md": _repeated(b"* a\n  * b\n"),
    "cells.md": _repeated(b"|x", b"|a|b|\n|-|-|\n"),
    "lines.txt": _repeated(b"\n"),
    "line.txt": _repeated(b"a"),
    "words.txt": _repeated(b"a "),
    "open.html": _repeated(b"<p>"),
    "deep.html": _repeated(b"<div><b>", tail=b"x"),
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
    "keys.properties": _repeated(b"a\\ b\\\n"),
    "slashes.properties": _repeated(b"\\"),
    "attributes.ts": _repeated(b'a="b" ', b"<TS ", b"/>"),
    "messages.ts": _repeated(
        b"<message><source>a</source><translation/></message>", b"<TS><context>", b"</context></TS>"
    ),
    "units.xlf": _repeated(
        b"<trans-unit><source>a</source></trans-unit>", b"<xliff version='1.2'>", b"</xliff>"
    ),
}


def _elements(size: int) -> bytes:
    return _repeated(b"<w:p/>", f"<w:document {W}>".encode(), b"</w:document>")(size)


def _seconds(name: str, content: bytes) -> float:
    """CPU time of reading the file and writing it twice; the smaller of two."""
    times = []
    for _ in range(2):
        started = time.process_time()
        try:
            parsed = parse_file(content, name, OPTIONS)
            texts = [segment.text for segment in parsed.segments]
            assert parsed.write(texts) == content
            parsed.write([capitals(text) for text in texts])
        except (InvalidDocument, DocumentTooLarge):
            pass
        times.append(time.process_time() - started)
    return min(times)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_four_times_the_size_takes_about_four_times_as_long(name: str) -> None:
    """A quadratic step takes sixteen times as long; what takes no time is not compared."""
    small, large = (_seconds(name, FILES[name](size)) for size in (SMALL, 4 * SMALL))
    assert large <= 9 * max(small, 0.01)
