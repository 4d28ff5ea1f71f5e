"""XML that is read as it is parsed, in memory that does not grow with the file."""

from __future__ import annotations

import xml.parsers.expat
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import IO, Generic, TypeVar

from service.errors import InvalidDocument

MAX_TEXT = 10_000
"""Characters of a text that is read."""
_CHUNK, _MAX_TOKEN = 2**16, 2**20
"""Bytes to read at once, and that may wait for the end of a tag."""
_MAX_DEPTH, _MAX_NAMES = 100, 1000
"""Of elements in each other, and names of elements and attributes, which the parser keeps."""
_Found = TypeVar("_Found")


def language_of(attributes: Mapping[str, str]) -> str:
    """That an element of a memory or of terms says it has, or ""."""
    return attributes.get("xml:lang") or attributes.get("lang") or ""


class XmlReader(ABC, Generic[_Found]):
    """Takes a file in chunks. A format derives from it and appends what it finds to `found`.

    Names come without prefixes of namespaces. What declares anything is refused.
    """

    kind = "XML"
    roots: tuple[str, ...] = ()
    """The names that the outermost element may have."""

    def __init__(self) -> None:
        self.found: list[_Found] = []
        self._parser = xml.parsers.expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.SkippedEntityHandler = self._entity
        self._num_bytes = self._depth = self._num_characters = 0
        self._text: list[str] | None = None
        self._ignored_depth = 0

    def read(self, file: IO[bytes]) -> Iterator[_Found]:
        """What is found, while the file is read. Raises InvalidDocument."""
        while chunk := file.read(_CHUNK):
            yield from self._feed(chunk)
        yield from self._feed(b"", is_last=True)

    @abstractmethod
    def open(self, name: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""

    @abstractmethod
    def close(self, name: str) -> None:
        """An element ends."""

    def begin_text(self) -> None:
        """Keep the characters from here on."""
        self._text, self._num_characters, self._ignored_depth = [], 0, 0

    def ignore_element(self) -> None:
        """Keep no characters of the element that begins."""
        self._ignored_depth = self._ignored_depth or self._depth

    def end_text(self) -> str | None:
        """The kept characters; None if they are more than MAX_TEXT."""
        text, self._text = "".join(self._text or ()), None
        return text if self._num_characters <= MAX_TEXT else None

    @property
    def has_text(self) -> bool:
        """Whether characters are kept now."""
        return self._text is not None

    def refused(self, reason: str) -> InvalidDocument:
        return InvalidDocument(f"line {self._parser.CurrentLineNumber}: {reason}")

    def _feed(self, chunk: bytes, *, is_last: bool = False) -> list[_Found]:
        self.found = []
        try:
            self._parser.Parse(chunk, is_last)
        except xml.parsers.expat.ExpatError as error:
            raise InvalidDocument(f"it is no valid XML: {error}") from error
        except (LookupError, ValueError) as error:  # expat asks Python for other encodings
            raise InvalidDocument(f"save it as UTF-8; its encoding is not read: {error}") from error
        self._num_bytes += len(chunk)
        if self._num_bytes - self._parser.CurrentByteIndex > _MAX_TOKEN:
            raise self.refused(f"a tag or comment has more than {_MAX_TOKEN} bytes")
        if len(self._parser.intern) > _MAX_NAMES:
            raise self.refused(f"elements and attributes have more than {_MAX_NAMES} names")
        return self.found

    def _start(self, qualified: str, attributes: Mapping[str, str]) -> None:
        name = qualified.rpartition(":")[2]
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self.refused(f"elements are nested more than {_MAX_DEPTH} deep")
        if self._depth == 1 and name not in self.roots:
            raise self.refused(f"the file must be {self.kind}, got an element {name[:60]!r}")
        self.open(name, attributes)

    def _characters(self, text: str) -> None:
        if self._text is not None and not self._ignored_depth:
            self._num_characters += len(text)
            if self._num_characters <= MAX_TEXT:
                self._text.append(text)

    def _end(self, qualified: str) -> None:
        if self._depth == self._ignored_depth:
            self._ignored_depth = 0
        self._depth -= 1
        self.close(qualified.rpartition(":")[2])

    def _doctype(self, _: str, __: str | None, ___: str | None, has_subset: bool) -> None:
        if has_subset:
            raise self.refused("its document type must not declare anything")

    def _entity(self, name: str, _: bool) -> None:
        raise self.refused(f"the entity {name[:60]!r} is not declared")
