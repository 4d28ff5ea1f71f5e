"""The first sheet of a workbook (XLSX) as rows of texts."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO, TypeVar

import regex

from service.documents.packages import Package
from service.errors import DocumentTooLarge, InvalidDocument
from service.stores.rows import Row
from service.stores.xml_reader import MAX_TEXT, XmlReader

_MAIN = r"(?:spreadsheetml|ms-excel)\.[\w.]*main"
_STRINGS = r"spreadsheetml\.sharedStrings"
_MOST_BYTES = 16 * 2**20
"""Of a part when unpacked."""
_MOST_COLUMNS = 256
"""Those behind are not read."""
_COLUMN = regex.compile(r"([A-Z]{1,3})\d+")
_NUMBER = regex.compile(r"\d{1,9}")
_RETURN = regex.compile(r"_x000[dD]_")
"""How Excel spells it."""
_Found = TypeVar("_Found")


def read_sheet(file: BinaryIO) -> Iterator[Row]:
    """The rows of the first sheet, while it is unpacked. Raises InvalidDocument or
    DocumentTooLarge."""
    package = Package(file.read(), "an XLSX", _MAIN)
    sheet = _first_sheet(package)
    strings: list[str | None] = []
    for name in package.parts(_STRINGS):
        strings.extend(_read(package, name, _StringReader()))
    yield from _read(package, sheet, _SheetReader(strings))


def _read(package: Package, name: str, reader: XmlReader[_Found]) -> Iterator[_Found]:
    """What is found in a part, while it is unpacked."""
    if (num_bytes := package.num_bytes(name)) > _MOST_BYTES:
        raise DocumentTooLarge(
            f"{name} has {num_bytes} bytes when unpacked, at most {_MOST_BYTES} are allowed"
        )
    try:
        yield from reader.read(package.opened(name))
    except InvalidDocument as error:
        raise InvalidDocument(f"{name}: {error}") from None


def _first_sheet(package: Package) -> str:
    """The name of its part."""
    main = package.parts(_MAIN)[0]
    folder, name = posixpath.split(main)
    relations = posixpath.join(folder, "_rels", f"{name}.rels")
    package.require(relations)
    linked = _read(package, relations, _ElementReader("Relationships", "Relationship"))
    targets = {link.get("Id"): link.get("Target", "") for link in linked}
    for sheet in _read(package, main, _ElementReader("workbook", "sheet")):
        target = posixpath.join("/", folder, targets.get(sheet.get("id"), ""))
        if (part := posixpath.normpath(target)[1:]) in package.names:
            return part
    raise InvalidDocument("the file is not an XLSX file: it has no sheet")


class _ElementReader(XmlReader[dict[str, str]]):
    """The attributes of the elements of one name."""

    def __init__(self, root: str, name: str) -> None:
        super().__init__()
        self.roots, self._name = (root,), name

    def open(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == self._name:
            local = {key.rpartition(":")[2]: value for key, value in attributes.items()}
            self.found.append(local)

    def close(self, name: str) -> None:
        pass


class _StringReader(XmlReader[str | None]):
    """The shared texts of cells; None is too long."""

    kind, roots = "a table of shared texts", ("sst",)

    def open(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "si":
            self.begin_text()
        elif name == "rPh":  # how a text is read
            self.ignore_element()

    def close(self, name: str) -> None:
        if name == "si":
            self.found.append(_cleaned(self.end_text()))


class _SheetReader(XmlReader[Row]):
    kind, roots = "a worksheet", ("worksheet",)

    def __init__(self, strings: Sequence[str | None]) -> None:
        super().__init__()
        self._strings = strings
        self._number = self._place = 0
        self._type = ""
        self._cells: list[str] = []

    def open(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "row":
            self._number = _whole(attributes.get("r")) or self._number + 1
            self._cells, self._place = [], 0
        elif name == "c":
            self._type = attributes.get("t", "")
            if column := _COLUMN.fullmatch(attributes.get("r", "")):
                self._place = _number_of(column[1])
        elif name in ("v", "is"):
            self.begin_text()
        elif name == "rPh":
            self.ignore_element()

    def close(self, name: str) -> None:
        if name in ("v", "is"):
            self._take(self.end_text())
        elif name == "c":
            self._place += 1
        elif name == "row":
            self.found.append((self._number, self._cells))

    def _take(self, text: str | None) -> None:
        if self._place >= _MOST_COLUMNS:
            return
        cell = self._shared(text) if self._type == "s" else _cleaned(text)
        if cell is None:
            raise self.refused(f"a cell has more than {MAX_TEXT} characters")
        self._cells += [""] * (self._place + 1 - len(self._cells))
        self._cells[self._place] = cell

    def _shared(self, written: str | None) -> str | None:
        number = _whole(written)
        if number is None or number >= len(self._strings):
            raise self.refused(f"there is no shared text {(written or '')[:20]!r}")
        return self._strings[number]


def _cleaned(text: str | None) -> str | None:
    return None if text is None else _RETURN.sub("", text).strip()


def _whole(written: str | None) -> int | None:
    """A whole number."""
    return int(written) if written and _NUMBER.fullmatch(written) else None


def _number_of(column: str) -> int:
    """Of A 0."""
    number = 0
    for letter in column:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1
