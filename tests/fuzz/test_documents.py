"""Damaged files, and files that nest without end, are refused or read, in time."""

from __future__ import annotations

import random
import re

import pytest

from tests.fuzz.document_mutations import ARCHIVES, bombs, damaged, samples, try_document

NO_FILES = (b"", b"\0", b"\xff\xfe\xfd", b"\x80abc", b"PK\x03\x04", b"<" * 99)


@pytest.mark.parametrize("name", samples())
def test_a_damaged_file_is_refused_or_read(name: str) -> None:
    rng, content = random.Random(1), samples()[name]
    cuts = [content[: len(content) * part // 20] for part in range(20)]
    for other in (*cuts, *NO_FILES):
        try_document(name, other)
    for _ in range(2 if name.endswith(".pdf") else 40):
        try_document(name, damaged(name, content, rng))


@pytest.mark.parametrize("name", ["comments.md", "commented.md", "deep2.md", "deep3.md"])
def test_marks_that_nest_or_never_end_are_read_in_time(name: str) -> None:
    """Each was once read to the end of the text."""
    assert try_document(name, dict(bombs())[name]) == "read"


@pytest.mark.parametrize("digit", "٣\U00010d41", ids=["Arabic", "too new for Python"])
@pytest.mark.parametrize("name", [name for name in samples() if not name.endswith(ARCHIVES)])
def test_digits_of_other_scripts_are_no_error(name: str, digit: str) -> None:
    try_document(name, re.sub(rb"[0-9]", digit.encode(), samples()[name]))
