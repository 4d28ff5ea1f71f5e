"""The files that are translated in the soak."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.soak.cases import Sentences
from tests.service.translation.documents.samples import SAMPLES, pdf

_LINES_OF_A_LONG_FILE = 80


@dataclass(frozen=True)
class Document:
    """A file with its languages, and its translation."""

    name: str
    content: bytes
    source: str
    target: str
    expected: bytes = b""


def make_documents(sentences: Sentences) -> list[Document]:
    """A small file of every format, and long ones of two."""
    small = {**SAMPLES, "a.pdf": pdf("Where is the library?", "The sea is blue.")}
    lines = sentences["zh"][:_LINES_OF_A_LONG_FILE]
    items = [f"- {line}" for line in sentences["en"][:_LINES_OF_A_LONG_FILE]]
    return [
        *(Document(name, content, "en", "de") for name, content in small.items()),
        Document("long.txt", "\n".join(lines).encode(), "zh", "en"),
        Document("long.md", "\n".join(["# A list", "", *items, ""]).encode(), "en", "zh"),
    ]
