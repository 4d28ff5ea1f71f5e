"""The prefixes of XML's namespaces are the writing program's choice."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
import zipfile

import pytest

from tests.service.documents.samples import SAMPLES, A, W, archive, package, texts_of, translated

FILES = {
    "a.svg": SAMPLES["a.svg"],
    "a.xlf": SAMPLES["a.xlf"],
    "b.xliff": SAMPLES["b.xliff"],
    "a.odt": archive(
        {
            "mimetype": b"application/vnd.oasis.opendocument.text",
            "content.xml": b'<office:text xmlns:office="urn:oasis:names:tc:opendocument:xmlns:'
            b'office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><text:p>The '
            b'<text:span text:style-name="a">sea</text:span> is blue.</text:p></office:text>',
        }
    ),
    "a.docx": package(
        {
            "word/document.xml": f'<w:document {W}><w:body><w:p><w:r><w:rPr><w:b w:val="1"/>'
            "</w:rPr><w:t>The sea</w:t></w:r><w:r><w:t> is blue.</w:t></w:r></w:p></w:body>"
            "</w:document>".encode()
        }
    ),
    "a.pptx": package(
        {
            "ppt/presentation.xml": b"<p/>",
            "ppt/slides/slide1.xml": f'<p:sld {A} xmlns:p="http://schemas.openxmlformats.org/'
            'presentationml/2006/main"><a:p><a:r><a:rPr lang="en-GB"/><a:t>The sea</a:t></a:r>'
            "</a:p></p:sld>".encode(),
        }
    ),
}


def with_other_prefixes(content: bytes) -> bytes:
    """The file as a program writes it that reads XML by Python's ElementTree."""
    if content.startswith(b"<"):
        return ET.tostring(ET.fromstring(content), encoding="utf-8")
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        members = {name: opened.read(name) for name in opened.namelist()}
    return archive(
        {
            name: with_other_prefixes(member) if member.startswith(b"<") else member
            for name, member in members.items()
        }
    )


@pytest.mark.parametrize("name", FILES)
def test_a_file_with_other_prefixes_is_translated_and_keeps_them(name: str) -> None:
    other = with_other_prefixes(FILES[name])
    assert texts_of(name, other) == texts_of(name, FILES[name])
    assert with_other_prefixes(translated(name, other)) == with_other_prefixes(
        translated(name, FILES[name])
    )
    assert b"<ns0:" in _content(translated(name, other))


def _content(written: bytes) -> bytes:
    """All that the members of a file have."""
    if written.startswith(b"<"):
        return written
    with zipfile.ZipFile(io.BytesIO(written)) as opened:
        return b"".join(map(opened.read, opened.namelist()))
