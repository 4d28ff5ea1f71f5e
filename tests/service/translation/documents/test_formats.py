"""What holds for every format: nothing but the segments changes, and no input breaks a parser."""

from __future__ import annotations

import io
import time
import zipfile

import pytest

from service.errors import DocumentTooLarge, InvalidDocument, UnsupportedFile
from service.translation.documents.formats import FORMATS, format_of, parse_file
from tests.service.translation.documents.samples import (
    OPTIONS,
    SAMPLES,
    archive,
    member,
    pdf,
    texts_of,
    translated,
)

TEXTS = [name for name, content in SAMPLES.items() if not content.startswith(b"PK")]
ARCHIVES = [name for name in SAMPLES if name not in TEXTS]


def test_every_format_has_a_sample() -> None:
    suffixes = {"." + name.rpartition(".")[2] for name in SAMPLES}
    parsers = {FORMATS[suffix].parse for suffix in suffixes}
    assert {known.parse for known in FORMATS.values()} - parsers == {FORMATS[".pdf"].parse}


@pytest.mark.parametrize("name", SAMPLES)
def test_without_a_translation_not_a_byte_changes(name: str) -> None:
    parsed = parse_file(SAMPLES[name], name, OPTIONS)
    assert parsed.segments
    assert parsed.write([segment.text for segment in parsed.segments]) == SAMPLES[name]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_translation_can_be_parsed_again(name: str) -> None:
    again = translated(name, SAMPLES[name])
    assert again != SAMPLES[name]
    if name.rpartition(".")[2] not in ("po", "xlf", "xliff", "ts"):  # there nothing is left to do
        assert len(texts_of(name, again)) == len(texts_of(name, SAMPLES[name]))


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_are_read_and_stay(name: str, encoding: str) -> None:
    text = SAMPLES[name].decode().replace('encoding="UTF-8"', "").replace('encoding="utf-8"', "")
    content = text.encode(encoding)
    parsed = parse_file(content, name, OPTIONS)
    assert parsed.write([segment.text for segment in parsed.segments]) == content
    assert translated(name, content).decode(encoding) == translated(name, text.encode()).decode()


GERMAN = "Das Mädchen läuft über die Straße und grüßt den Bäcker.\nEs ist früh.\n"
CHINESE = "今天天气很好，我们去公园散步。\n他说这本书很有意思，值得一读。\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "latin-1"),
        (GERMAN, "utf-16-le"),
        (CHINESE, "gbk"),
        (CHINESE, "utf-16-be"),
        ("caf\u00e9 5 \u20ac\n", "cp1252"),
    ],
)
def test_older_encodings_are_read_and_stay_if_they_can(text: str, encoding: str) -> None:
    content = text.encode(encoding)
    parsed = parse_file(content, "a.txt", OPTIONS)
    assert "".join(segment.text for segment in parsed.segments) == text
    assert parsed.write([segment.text for segment in parsed.segments]) == content
    wide = parsed.write(["\u4e66 \u0434\u0430 \u00fc"])
    written = "utf-8-sig" if encoding in ("latin-1", "cp1252") else encoding
    assert wide.decode("gb18030" if encoding == "gbk" else written) == "\u4e66 \u0434\u0430 \u00fc"


@pytest.mark.parametrize("name", ARCHIVES)
@pytest.mark.parametrize("other", SAMPLES)
def test_another_format_under_the_name_of_an_archive_is_refused(name: str, other: str) -> None:
    if other != name:
        with pytest.raises(InvalidDocument):
            parse_file(SAMPLES[other], name, OPTIONS)


@pytest.mark.parametrize(
    ("name", "other"),
    [("a.doc", ".docx"), ("a.ppt", ".pptx")],
)
def test_a_format_that_is_not_read_names_what_to_save_it_as(name: str, other: str) -> None:
    with pytest.raises(UnsupportedFile, match=f"save '{name}' as {other}"):
        format_of(name)


XML_NAMES = ["a.xlf", "a.ts"]
BOMB = b"<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>%s]><xliff version='1.2'>&j;</xliff>" % b"".join(
    b"<!ENTITY %c '&%c;&%c;&%c;&%c;&%c;&%c;&%c;&%c;&%c;&%c;'>" % (one + 1, *[one] * 10)
    for one in range(ord("a"), ord("j"))
)
EXTERNAL = b"<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><TS><name>&a;</name></TS>"
PARAMETER = b"<!DOCTYPE x [<!ENTITY % a SYSTEM 'file:///etc/passwd'> %a;]><TS/>"


@pytest.mark.parametrize("name", [*XML_NAMES, *ARCHIVES])
@pytest.mark.parametrize("content", [BOMB, EXTERNAL, PARAMETER])
def test_entities_are_never_resolved(name: str, content: bytes) -> None:
    with pytest.raises(InvalidDocument, match="entities"):
        parse_file(_with_xml(name, content), name, OPTIONS)


@pytest.mark.parametrize("name", [*XML_NAMES, *ARCHIVES])
def test_deep_xml_is_refused(name: str) -> None:
    content = b"<a>" * 100_000 + b"</a>" * 100_000
    with pytest.raises(InvalidDocument, match="deeper"):
        parse_file(_with_xml(name, content), name, OPTIONS)


def _with_xml(name: str, content: bytes) -> bytes:
    """The content as a file of this name, in an archive as its text."""
    if name in TEXTS:
        return content
    inner = {
        "a.docx": "word/document.xml",
        "a.pptx": "ppt/slides/slide1.xml",
        "a.xlsx": "xl/sharedStrings.xml",
        "a.odt": "content.xml",
        "a.odp": "content.xml",
        "a.epub": "OEBPS/one page.xhtml",
    }
    with zipfile.ZipFile(io.BytesIO(SAMPLES[name])) as opened:
        members = {one: opened.read(one) for one in opened.namelist()}
    return archive({**members, inner[name]: content})


def test_a_zip_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = archive({"word/document.xml": b" " * 2**26})
    assert len(bomb) < 2**17
    started = time.process_time()
    with pytest.raises(DocumentTooLarge, match="when unpacked"):
        parse_file(bomb, "a.docx", OPTIONS)
    assert time.process_time() - started < 1


def test_a_member_that_lies_about_its_size_is_refused() -> None:
    honest = archive({"word/document.xml": b"<a>" + b" " * 100_000 + b"</a>"})
    lying = honest.replace((100_007).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lying != honest
    with pytest.raises(InvalidDocument):
        parse_file(lying, "a.docx", OPTIONS)


@pytest.mark.parametrize("name", ARCHIVES)
def test_other_members_keep_their_bytes_and_records(name: str) -> None:
    done = translated(name, SAMPLES[name])
    with (
        zipfile.ZipFile(io.BytesIO(SAMPLES[name])) as before,
        zipfile.ZipFile(io.BytesIO(done)) as after,
    ):
        assert before.namelist() == after.namelist()
        for old, new in zip(before.infolist(), after.infolist(), strict=True):
            assert (old.date_time, old.compress_type) == (new.date_time, new.compress_type)
    if name == "a.docx":
        assert member(done, "x.bin") == b"\0"


def test_the_text_of_a_pdf_becomes_a_text() -> None:
    content = pdf("The sea is", "blue.")
    (segment,) = parse_file(content, "a.pdf", OPTIONS).segments
    assert segment.text == "The sea is\nblue."
    assert segment.split_sentences == "nonewlines"
    assert format_of("a.pdf").suffix == ".txt"
    assert translated("a.pdf", content) == b"THE SEA IS\nBLUE.\n"


@pytest.mark.parametrize(
    "content", [b"", b"%PDF-1.4", b"%PDF-1.7\n1 0 obj<</Type/Catalog>>", pdf()]
)
def test_a_pdf_without_text_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidDocument):
        parse_file(content, "a.pdf", OPTIONS)
