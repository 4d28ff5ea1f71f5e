"""DOCX, PPTX, ODT and EPUB: runs are merged, links and fields stay whole."""

from __future__ import annotations

import pytest

from service.errors import InvalidDocument
from tests.service.translation.documents.samples import (
    OPTIONS,
    A,
    W,
    archive,
    member,
    parse_file,
    texts_of,
    translated,
)


def word(*paragraphs: str) -> bytes:
    body = "".join(f"<w:p>{paragraph}</w:p>" for paragraph in paragraphs)
    return archive({"word/document.xml": f"<w:document {W}>{body}</w:document>".encode()})


def run(text: str, properties: str = "") -> str:
    look = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{look}<w:t xml:space="preserve">{text}</w:t></w:r>'


def field(code: str, result: str) -> str:
    def char(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    instruction = f"<w:r><w:instrText>{code}</w:instrText></w:r>"
    return char("begin") + instruction + char("separate") + result + char("end")


@pytest.mark.parametrize(
    ("paragraph", "text"),
    [
        (run("one ") + run("two"), "one two"),
        (run("one ") + run("two", "<w:noProof/>"), "one two"),
        (run("one ") + run("two", "<w:b/>") + run(" three"), 'one <span i="0">two</span> three'),
        (
            run("see ") + f'<w:hyperlink w:anchor="a">{run("this", "<w:u/>")}</w:hyperlink>',
            'see <span i="0"><span i="1">this</span></span>',
        ),
        (run("a ") + "<w:ins>" + run("b") + "</w:ins>", 'a <span i="0">b</span>'),
        (run("a") + "<w:r><w:tab/></w:r>" + run("b"), 'a<br i="0">b'),
        (run("a") + '<w:bookmarkStart w:id="1"/>' + run("b"), 'a<wbr i="0">b'),
    ],
)
def test_runs_become_one_text_and_runs_again(paragraph: str, text: str) -> None:
    content = word(paragraph)
    assert texts_of("a.docx", content) == [text]
    done = translated("a.docx", content)
    assert [one.lower() for one in texts_of("a.docx", done)] == [text.lower()]


def test_headers_and_notes_are_translated_and_styles_are_not() -> None:
    part = f"<w:x {W}><w:p>{run('a')}</w:p></w:x>".encode()
    names = ["document", "header1", "footer2", "footnotes", "endnotes", "comments", "styles"]
    content = archive({f"word/{name}.xml": part for name in names})
    assert len(texts_of("a.docx", content)) == 6
    assert member(translated("a.docx", content), "word/styles.xml") == part


def test_slides_notes_and_diagrams_are_translated() -> None:
    part = f"<x {A}><a:p><a:r><a:t>a</a:t></a:r><a:fld><a:t>1</a:t></a:fld></a:p></x>".encode()
    names = ["slides/slide1", "notesSlides/notesSlide1", "diagrams/data1", "slideMasters/m1"]
    members = {"presentation": b"<p/>", **dict.fromkeys(names, part)}
    content = archive({f"ppt/{name}.xml": one for name, one in members.items()})
    assert texts_of("a.pptx", content) == ['a<wbr i="0">'] * 3


@pytest.mark.parametrize(
    ("paragraph", "texts"),
    [
        ("a <text:span>b</text:span> c", ['a <span i="0">b</span> c']),
        ("a<text:tab/>b", ['a<br i="0">b']),
        ('m<text:span text:style-name="T1">2</text:span>', ['m<sup i="0">2</sup>']),
        ("<![CDATA[a < b]]> &amp; c", ["a &lt; b &amp; c"]),
    ],
)
def test_paragraphs_of_opendocument(paragraph: str, texts: list[str]) -> None:
    style = '<style:style style:name="T1"><style:text-properties style:text-position="super"/>'
    xml = f"<x xmlns:text='t' xmlns:style='s'>{style}</style:style><text:p>{paragraph}</text:p></x>"
    content = archive({"content.xml": xml.encode()})
    assert texts_of("a.odt", content) == texts
    assert len(texts_of("a.odt", translated("a.odt", content))) == len(texts)


def test_a_protected_book_is_refused() -> None:
    members = {
        "META-INF/container.xml": b"<c/>",
        "META-INF/encryption.xml": b"<e URI='a.xhtml'/>",
    }
    with pytest.raises(InvalidDocument, match="protected"):
        parse_file(archive(members), "a.epub", OPTIONS)
