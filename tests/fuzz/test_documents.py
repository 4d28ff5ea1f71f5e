"""Damaged files, and files that nest or expand without end, are refused or read, in time.

DRAGOMAN_FUZZ_MUTATIONS is how many damaged files of each format but PDF are tried.
"""

from __future__ import annotations

import os
import random
import re

import pytest

from service.errors import DocumentTooLarge, InvalidDocument, UnsupportedFile
from service.translation.documents.formats import FORMATS, parse_file
from tests.fuzz.mutations import mutated, mutated_archive
from tests.service.translation.documents.samples import OPTIONS, SAMPLES, archive, capitals, pdf

MUTATIONS = int(os.environ.get("DRAGOMAN_FUZZ_MUTATIONS", "40"))
SEED = int(os.environ.get("DRAGOMAN_FUZZ_SEED", "1"))
NO_FILES = (b"", b"\0", b"\xff\xfe\xfd", b"\x80abc", b"PK\x03\x04", b"<" * 99)
FILES = {**SAMPLES, "a.pdf": pdf("Hello world.", "The sea is blue.")}
"""A sound one of every format."""
ARCHIVES = (".docx", ".pptx", ".xlsx", ".odt", ".odp", ".epub")
_LAUGHS = "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' if n else '<!ENTITY l0 "ha">' for n in range(10)
)
BILLION_LAUGHS = f"<?xml version='1.0'?><!DOCTYPE a [{_LAUGHS}]><a>&l9;</a>".encode()
QUADRATIC = b"<!DOCTYPE a [<!ENTITY b '" + b"x" * 50_000 + b"'>]><a>" + b"&b;" * 50_000 + b"</a>"
EXTERNAL = b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>"
DEEP = b"<a>" * 200_000
_MEMBERS = {
    ".docx": "word/document.xml",
    ".pptx": "ppt/slides/slide1.xml",
    ".odt": "content.xml",
    ".odp": "content.xml",
    ".epub": "META-INF/container.xml",
}


def bombs() -> list[tuple[str, bytes]]:
    """Names and contents of files that unpack, expand or nest without end."""
    xml = {"laughs": BILLION_LAUGHS, "quadratic": QUADRATIC, "external": EXTERNAL, "deep": DEEP}
    found = [(f"{kind}{suffix}", content) for suffix in FORMATS for kind, content in xml.items()]
    for suffix, member in _MEMBERS.items():
        found += [(f"{kind}{suffix}", archive({member: content})) for kind, content in xml.items()]
        found.append((f"zeros{suffix}", archive({member: b"\0" * 50_000_000})))
        found.append((f"nested{suffix}", archive({member: archive({member: DEEP})})))
        found.append((f"many{suffix}", archive({f"{n}.xml": b"<a/>" for n in range(12_000)})))
    found += [("deep.json", b"[" * 1_000_000), ("deep.md", b"> " * 100_000 + b"a")]
    found += [("comments.md", b'"' * 100_000 + b"<!--" * 100_000)]
    found += [("commented.md", b"<!-- a\\\n" * 50_000 + b"-->" * 50_000)]
    return [*found, ("deep2.md", b"[" * 50_000 + b"](" * 50_000), ("deep3.md", b"*a_ " * 50_000)]


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
def test_a_damaged_file_is_refused_or_read(name: str) -> None:
    rng, content = random.Random(SEED), FILES[name]
    damage = mutated_archive if name.endswith(ARCHIVES) else mutated
    for part in range(20):
        try_document(name, content[: len(content) * part // 20])
    for other in NO_FILES:
        try_document(name, other)
    for _ in range(MUTATIONS // 20 if name.endswith(".pdf") else MUTATIONS):
        try_document(name, damage(content, rng))


def test_a_file_that_nests_or_expands_without_end_is_refused_or_read() -> None:
    """Each of those that must be read was once read to the end of the text for each mark."""
    outcomes = {name: try_document(name, content) for name, content in bombs()}
    for name in ("comments.md", "commented.md", "deep2.md", "deep3.md"):
        assert outcomes[name] == "read"


@pytest.mark.parametrize("digit", "٣\U00010d41", ids=["Arabic", "too new for Python"])
@pytest.mark.parametrize("name", [name for name in FILES if not name.endswith(ARCHIVES)])
def test_digits_of_other_scripts_are_no_error(name: str, digit: str) -> None:
    try_document(name, re.sub(rb"[0-9]", digit.encode(), FILES[name]))
