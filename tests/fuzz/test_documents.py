"""Damaged files, and files that unpack or expand without end, are refused or read, in time."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.document_mutations import bombs, damaged, samples, try_document

ARCHIVE_BOMBS = [(name, content) for name, content in bombs() if len(content) < 200_000]


@pytest.mark.parametrize("name", samples())
def test_a_damaged_file_is_refused_or_read(name: str) -> None:
    rng, content = random.Random(1), samples()[name]
    for _ in range(2 if name.endswith(".pdf") else 15):
        try_document(name, damaged(name, content, rng))


@pytest.mark.parametrize("name", ["comments.md", "commented.md", "deep2.md", "deep3.md"])
def test_marks_that_nest_or_never_end_are_read_in_time(name: str) -> None:
    """Each was once read to the end of the text."""
    assert try_document(name, dict(bombs())[name]) == "read"


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".odt", ".epub", ".xliff", ".ts"])
def test_a_bomb_is_refused(suffix: str) -> None:
    for name, content in ARCHIVE_BOMBS:
        if name.endswith(suffix) and name.startswith(("laughs", "external", "zeros")):
            assert try_document(name, content) == "refused", name
