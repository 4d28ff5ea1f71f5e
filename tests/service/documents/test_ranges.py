"""Bookmarks, comments and the like: their two ends stay around the same words."""

from __future__ import annotations

import pytest
import regex

from service.documents.formats import parse_file
from tests.service.documents.samples import OPTIONS, W, archive, coded, member, package, texts_of

WORD = "a.docx", "word/document.xml", "w:p"
OPEN = "a.odt", "content.xml", "text:p"
SPELLINGS = [
    (WORD, '<w:bookmarkStart w:id="{0}" w:name="n"/>', '<w:bookmarkEnd w:id="{0}"/>'),
    (WORD, '<w:commentRangeStart w:id="{0}"/>', '<w:commentRangeEnd w:id="{0}"/>'),
    (WORD, '<w:permStart w:id="{0}" w:edGrp="everyone"/>', '<w:permEnd w:id="{0}"/>'),
    (OPEN, '<text:bookmark-start text:name="{0}"/>', '<text:bookmark-end text:name="{0}"/>'),
    (
        OPEN,
        '<text:reference-mark-start text:name="{0}"/>',
        '<text:reference-mark-end text:name="{0}"/>',
    ),
    (
        OPEN,
        '<text:alphabetical-index-mark-start text:id="{0}"/>',
        '<text:alphabetical-index-mark-end text:id="{0}"/>',
    ),
]
LINKS = {"w:p": ("<w:hyperlink>", "</w:hyperlink>"), "text:p": ("<text:a>", "</text:a>")}


@pytest.mark.parametrize(("kind", "start", "end"), SPELLINGS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a [1b c]1 d", "a <0>b c</0> d"),
        ("[1a b]1", "<0>a b</0>"),
        ("[1a [2b]2 c]1 [3d]3", "<0>a <1>b</1> c</0> <2>d</2>"),
        ("a{b [1c]1 d}", "a<0>b <1>c</1> d</0>"),
        ("[1a [2b]1 c]2", "<0>a <1/>b</0> c<2/>"),
        ("[1a {b]1 c}", "<0/>a <1>b<2/> c</1>"),
        ("a]1 b [2c", "a<0/> b <1/>c"),
        ("[1a[2]1]2", "<0>a<1/></0><2/>"),
    ],
)
def test_the_ends_of_a_range_are_a_pair_unless_it_cuts_another_one(
    kind: tuple[str, str, str], start: str, end: str, text: str, expected: str
) -> None:
    assert texts_of(kind[0], _document(kind, start, end, text)) == [expected]


@pytest.mark.parametrize(("kind", "start", "end"), SPELLINGS)
def test_a_range_goes_where_its_words_go(kind: tuple[str, str, str], start: str, end: str) -> None:
    content = _document(kind, start, end, "if we [1save it]1 now")
    written = parse_file(content, kind[0], OPTIONS).write([coded("wenn jetzt <0>es sichern</0>")])
    done = regex.sub(r"</?w:[rt]\b[^<>]*>", "", member(written, kind[1]).decode())
    assert f"wenn jetzt {start.format(1)}es sichern{end.format(1)}<" in done


def _document(kind: tuple[str, str, str], start: str, end: str, text: str) -> bytes:
    """A paragraph with ranges, `[1` to `]1`, and links, `{` to `}`."""
    name, part, paragraph = kind
    runs = '<w:r><w:t xml:space="preserve">{}</w:t></w:r>' if name == "a.docx" else "{}"
    tags = dict(zip("{}", LINKS[paragraph], strict=True))

    def written(match: regex.Match[str]) -> str:
        if match[2]:
            return (start if match[1] == "[" else end).format(match[2])
        return tags.get(match[0]) or runs.format(match[0])

    inner = regex.sub(r"([\[\]])(\d)|[{}]|[^\[\]{}]+", written, text)
    xml = f"<x {W} xmlns:text='t'><{paragraph}>{inner}</{paragraph}></x>".encode()
    return package({part: xml}) if name == "a.docx" else archive({part: xml})
