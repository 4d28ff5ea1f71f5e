"""PDF: lines become paragraphs with whole words, and only passwords of users are asked for."""

from __future__ import annotations

import io

import pytest
from pypdf import PdfWriter

from service.documents.formats import format_of, parse_file
from service.errors import InvalidDocument
from tests.service.documents.samples import OPTIONS, pdf, texts_of, translated


def test_the_text_of_a_pdf_becomes_a_text() -> None:
    content = pdf("The sea is", "blue.")
    (segment,) = parse_file(content, "a.pdf", OPTIONS).segments
    assert segment.text == "The sea is\nblue."
    assert segment.split_sentences == "nonewlines"
    assert format_of("a.pdf").suffix == ".txt"
    assert translated("a.pdf", content) == b"THE SEA IS\nBLUE.\n"
    assert texts_of("a.pdf", pdf("a", "b", "", "c")) == ["a\nb", "c"]


def test_headings_and_items_of_a_pdf_are_paragraphs() -> None:
    lines = [
        "A title) Tj /F1 12 Tf T* (The sea is",
        "blue and) Tj 0 -30 Td (Next",
        "- one",
        "- two",
    ]
    texts = texts_of("a.pdf", pdf(*lines).replace(b"/F1 12 Tf 14", b"/F1 20 Tf 14"))
    assert texts == ["A title", "The sea is\nblue and", "Next", "- one", "- two"]


@pytest.mark.parametrize(("glyph", "bullet"), [("bullet", "•"), ("uniF0B7", "•"), ("uni25CF", "●")])
def test_items_begin_with_any_bullet(glyph: str, bullet: str) -> None:
    encoding = f"/Helvetica /Encoding << /Differences [64 /{glyph}] >>"
    content = pdf("We need", "@ bread", "@ water").replace(b"/Helvetica", encoding.encode())
    assert texts_of("a.pdf", content) == ["We need", f"{bullet} bread", f"{bullet} water"]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["for every-", "body here"], "for everybody here"),
        (["a well-", "known one"], "a well-known one"),
        (["a non-stop run, non-", "stop"], "a non-stop run, non-stop"),
        (
            ["one long-dead, one dead-", "line and a dead-line"],
            "one long-dead, one dead-line and a dead-line",
        ),
        (["state-of-the-", "art things"], "state-of-the-art things"),
        (["Nord-", "Ostsee"], "Nord-Ostsee"),
        (["Haus-", "und Hof"], "Haus-\nund Hof"),
        (["pages 1-", "2 and -", "on"], "pages 1-\n2 and -\non"),
    ],
)
def test_words_that_are_cut_at_the_ends_of_lines_of_a_pdf_are_whole(
    lines: list[str], text: str
) -> None:
    assert texts_of("a.pdf", pdf(*lines)) == [text]


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_a_pdf_is_read_without_the_password_of_its_owner_but_not_without_that_of_users(
    algorithm: str,
) -> None:
    for user, is_read in (("", True), ("secret", False)):
        writer, written = PdfWriter(io.BytesIO(pdf("The sea"))), io.BytesIO()
        writer.encrypt(user, "owner", algorithm=algorithm)
        writer.write(written)
        if is_read:
            assert texts_of("a.pdf", written.getvalue()) == ["The sea"]
        else:
            with pytest.raises(InvalidDocument, match="needs a password"):
                parse_file(written.getvalue(), "a.pdf", OPTIONS)
