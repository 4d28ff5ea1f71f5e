"""Notes, comments and boxes within a sentence: they do not cut it, and their texts are translated
by themselves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
import regex

from service.documents.formats import parse_file
from tests.service.documents.samples import (
    OPTIONS,
    W,
    archive,
    coded,
    member,
    package,
    texts_of,
    translated,
)

WORD, OPEN = ("a.docx", "word/document.xml"), ("a.odt", "content.xml")
NAMES = "xmlns:text='t' xmlns:draw='d' xmlns:office='o' xmlns:mc='m'"
TEXTS = ["it <0/><1>was <2/></1>all", "note <0/>", "inner", "last"]
"""The first has a box in a link, too."""
AT_ENDS = ["<0/>it<1><2/>was</1>", "<0/>note", "inner", "last"]
INNER = [
    (WORD, "<w:r><w:pict><w:p>{}</w:p></w:pict></w:r>"),
    (
        WORD,
        "<w:r><mc:AlternateContent><w:txbxContent><w:p>{}</w:p></w:txbxContent></mc:AlternateContent></w:r>",
    ),
    (WORD, "<w:del><w:r><w:object><w:p>{}</w:p></w:object></w:r></w:del>"),
    (OPEN, "<text:note><text:note-citation>1</text:note-citation><text:p>{}</text:p></text:note>"),
    (OPEN, "<office:annotation><text:p>{}</text:p></office:annotation>"),
    (OPEN, "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"),
]


@pytest.mark.parametrize("shown", [TEXTS, AT_ENDS])
@pytest.mark.parametrize(("kind", "box"), INNER)
def test_notes_and_boxes_cut_no_sentence_and_are_translated_by_themselves(
    kind: tuple[str, str], box: str, shown: Sequence[str]
) -> None:
    """Whichever of the texts change."""
    name, part = kind
    content = _document(kind, box, shown)
    parsed = parse_file(content, name, OPTIONS)
    assert texts_of(name, content) == shown
    for chosen in itertools.product([str.lower, str.upper], repeat=len(shown)):
        texts = [change(text) for change, text in zip(chosen, shown, strict=True)]
        written = parsed.write([*map(coded, texts)])
        assert member(written, part) == member(_document(kind, box, texts), part)


def test_a_box_goes_where_its_words_go() -> None:
    content = _document(OPEN, INNER[-1][1], TEXTS)
    texts = ["all <1>was <2/></1><0/>it", "note <0/>", "INNER", "last"]
    written = parse_file(content, "a.odt", OPTIONS).write([*map(coded, texts)])
    done = member(written, "content.xml").decode()
    assert done.index("was ") < done.index("last") < done.index("note ") < done.index("INNER")


def test_what_looks_like_the_place_of_a_box_is_text() -> None:
    for value in (r"a\u00000 9\u0000", r"a\u00002 3\u0000", r"a\u00009 99\u0000"):
        done = translated("a.properties", f"b={value}\nc=d\n".encode())
        assert done.startswith(b"b=A")
        assert done.endswith(b"\nc=D\n")


def _document(kind: tuple[str, str], box: str, texts: Sequence[str]) -> bytes:
    """A paragraph that is written as these texts are shown."""
    name, part = kind
    is_word = name == "a.docx"
    link = ("<w:ins>", "</w:ins>") if is_word else ("<text:a>", "</text:a>")
    paragraph = "w:p" if is_word else "text:p"

    def runs(text: str) -> str:
        space = ' xml:space="preserve"' if text != text.strip() else ""
        return f"<w:r><w:t{space}>{text}</w:t></w:r>" if is_word and text else text

    def spelled(text: str, codes: Sequence[str]) -> str:
        parts = regex.split(r"<[^<>]*>", text)
        return "".join(itertools.chain(*zip(map(runs, parts), [*codes, ""], strict=True)))

    outer, note, inner, last = texts
    first = box.format(spelled(note, [box.format(runs(inner))]))
    body = spelled(outer, [first, link[0], box.format(runs(last)), link[1]])
    xml = f"<x {W} {NAMES}><{paragraph}>{body}</{paragraph}></x>".encode()
    return package({part: xml}) if is_word else archive({part: xml})
