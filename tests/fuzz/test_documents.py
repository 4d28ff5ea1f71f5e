"""Damaged files, and files that nest without end, are refused or read, in time."""

from __future__ import annotations

import random

import pytest
from hypothesis import settings

from service.errors import DocumentTooLarge, InvalidDocument, UnsupportedFile
from service.translation.documents.formats import parse_file
from tests.fuzz.mutations import mutated, mutated_archive
from tests.service.translation.documents.samples import OPTIONS, SAMPLES, capitals, pdf

ARCHIVES = (".docx", ".pptx", ".xlsx", ".odt", ".odp", ".epub")
FILES = {**SAMPLES, "a.pdf": pdf("Hello world.", "The sea is blue.")}
NO_FILES = (b"", b"\0", b"\xff\xfe\xfd", b"\x80abc", b"PK\x03\x04", b"<" * 99)
ENDLESS = {
    "comments": b'"' * 100_000 + b"<!--" * 100_000,
    "commented": b"<!-- a\\\n" * 50_000 + b"-->" * 50_000,
    "links": b"[" * 50_000 + b"](" * 50_000,
    "emphasis": b"*a_ " * 50_000,
}


def try_document(name: str, content: bytes) -> str:
    """Read a file, and write it with its own texts and with others -> "refused" or "read".

    Any other error than the refusals of the service is raised.
    """
    try:
        parsed = parse_file(content, name, OPTIONS)
        texts = [segment.text for segment in parsed.segments]
        is_own = parsed.write(texts) == content
        parsed.write([capitals(text) for text in texts])
    except (InvalidDocument, DocumentTooLarge, UnsupportedFile):
        return "refused"
    assert is_own or name.endswith(".pdf"), "its own texts do not give the same file"
    return "read"


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_refused_or_read(name: str, fuzz_profile: settings) -> None:
    content, damage = FILES[name], mutated_archive if name.endswith(ARCHIVES) else mutated
    for other in (*(content[: len(content) * part // 20] for part in range(20)), *NO_FILES):
        try_document(name, other)
    count = fuzz_profile.max_examples // (10 if name.endswith(".pdf") else 1)
    for seed in range(2 * count):
        try_document(name, damage(content, random.Random(seed)))


@pytest.mark.parametrize("kind", ENDLESS)
def test_marks_that_nest_or_never_end_are_read_in_time(kind: str) -> None:
    """Each was once read to the end of the text."""
    assert try_document("a.md", ENDLESS[kind]) == "read"
