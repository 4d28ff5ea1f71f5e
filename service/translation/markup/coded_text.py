"""Text with inline codes: the formatting, links, line breaks and code of a document's sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

CodeKind = Literal["open", "close", "single", "stop", "word", "char"]


class Code(NamedTuple):
    """An inline code. Its `number` tells the document which of its codes it is; the two codes of a
    pair share one.

    A pair encloses words, which are a subscript or superscript if it `is_script`. A `single` code
    moves with its neighbours, a `stop` ends a sentence, a `word` is kept and reads as `text`, and a
    `char` is the character `text`, which is written in another way.
    """

    kind: CodeKind
    number: int
    text: str = ""
    is_script: bool = False


TextPart = str | Code


@dataclass(frozen=True)
class CodedText:
    """A text with codes. Pairs are nested, and no string is empty or follows another one. A
    translation has the same codes."""

    parts: tuple[TextPart, ...]

    @classmethod
    def of(cls, parts: Iterable[TextPart]) -> CodedText:
        """The text of any parts."""
        return cls(tuple(merged(parts)))

    def __len__(self) -> int:
        """The number of characters, and of the codes without any."""
        texts = (part if isinstance(part, str) else part.text for part in self.parts)
        return sum(len(text) or 1 for text in texts)

    def read(self) -> str:
        """The text as a reader sees it."""
        return plain_text(self.parts)


Text = str | CodedText


def plain_text(parts: Iterable[TextPart]) -> str:
    """What a reader sees of the parts."""
    return "".join([part if isinstance(part, str) else part.text for part in parts])


def merged(parts: Iterable[TextPart]) -> Iterator[TextPart]:
    """The parts with neighbouring strings as one."""
    strings: list[str] = []
    for part in parts:
        if isinstance(part, str):
            strings.append(part)
            continue
        if text := "".join(strings):
            yield text
        strings.clear()
        yield part
    if text := "".join(strings):
        yield text
