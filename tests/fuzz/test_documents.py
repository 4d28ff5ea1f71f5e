"""Damaged files are refused or read.

DRAGOMAN_FUZZ_MUTATIONS is how many damaged files of each format but PDF are tried.
"""

from __future__ import annotations

import os
import random
import re

import pytest

from service.documents.formats import parse_file
from service.errors import DocumentTooLarge, InvalidDocument, UnsupportedFile
from tests.fuzz.mutations import mutated, mutated_archive
from tests.service.documents.samples import OPTIONS, SAMPLES, capitals, pdf

MUTATIONS = int(os.environ.get("DRAGOMAN_FUZZ_MUTATIONS", "40"))
SEED = int(os.environ.get("DRAGOMAN_FUZZ_SEED", "1"))
NO_FILES = (b"", b"\0", b"\xff\xfe\xfd", b"\x80abc", b"PK\x03\x04", b"<" * 99)
FILES = {**SAMPLES, "a.pdf": pdf("Hello world.", "The sea is blue.")}
"""A sound one of every format."""
ARCHIVES = (".docx", ".pptx", ".xlsx", ".odt", ".odp", ".ods", ".epub")


def try_document(name: str, content: bytes) -> None:
    """Read a file, and write it with its own texts and with others.

    Any other error than the refusals of the service is raised.
    """
    try:
        parsed = parse_file(content, name, OPTIONS)
        texts = [segment.text for segment in parsed.segments]
        is_own = parsed.write(texts) == content
        parsed.write([capitals(text) for text in texts])
    except (InvalidDocument, DocumentTooLarge, UnsupportedFile):
        return
    assert is_own or name.endswith(".pdf"), "its own texts do not give the same file"


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_refused_or_read(name: str) -> None:
    rng, content = random.Random(SEED), FILES[name]
    damage = mutated_archive if name.endswith(ARCHIVES) else mutated
    for part in range(20):
        try_document(name, content[: len(content) * part // 20])
    for digit in ("٣", "\U00010d41"):  # Arabic, and one that is too new for Python
        try_document(name, re.sub(rb"[0-9]", digit.encode(), content))
    for other in NO_FILES:
        try_document(name, other)
    for _ in range(MUTATIONS // 20 if name.endswith(".pdf") else MUTATIONS):
        try_document(name, damage(content, rng))
