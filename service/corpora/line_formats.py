"""Formats with one text a line: plain text, JSON and tab-separated values."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import NamedTuple

from service.corpora.translations import Translation
from service.errors import shown

_LINE_BREAKS, _CELL_BREAKS = re.compile(r"[\r\n]+"), re.compile(r"[\t\r\n]+")
_NO_FIELD = object()
_KINDS: dict[type, str] = {
    bool: "a boolean",
    float: "a number",
    list: "a list",
    dict: "an object",
}


class CorpusError(ValueError):
    """The whole corpus cannot be translated as it was asked."""


class AddedColumns(NamedTuple):
    """The names of what is added to a record: its translation, and more if it is wanted."""

    translation: str = "translation"
    has_score: bool = False
    has_checks: bool = False

    @property
    def error(self) -> str:
        return f"{self.translation}_error"

    @property
    def score(self) -> str:
        return f"{self.translation}_score"

    @property
    def checks(self) -> str:
        return f"{self.translation}_checks"

    @property
    def extra(self) -> list[str]:
        """Those of what was asked for beside the translation."""
        return [*[self.score] * self.has_score, *[self.checks] * self.has_checks]

    def require_new(self, names: Collection[str]) -> None:
        """Raise CorpusError if a record has one of them already."""
        for name in (self.translation, self.error, *self.extra):
            if name in names:
                raise CorpusError(f"the corpus has {name!r} already; --into names another field")


class Record(NamedTuple):
    """A line without its end, or what is kept of it. `text`: what to translate, or None; `error`:
    why that could not be read; `fixed`: what is written whatever the translation."""

    line: bytes
    text: str | None = None
    error: str = ""
    fixed: bytes | None = None


class LineFormat(ABC):
    """Reads a text from a line, and writes a line with its translation."""

    _nothing = b""
    """A record without content."""

    def unread(self, error: str) -> Record:
        """A line of which nothing is kept, and why."""
        return Record(self._nothing, error=error)

    def read(self, line: bytes) -> Record:
        """A line that has no text is a record with an error. Raises CorpusError."""
        try:
            return Record(line, self._text(line))
        except CorpusError:
            raise
        except UnicodeError as error:
            return Record(line, error=f"it is not UTF-8: {error}")
        except ValueError as error:
            return Record(line, error=str(error))

    @abstractmethod
    def _text(self, line: bytes) -> str | None:
        """None if the record has no text, rightly. Raises ValueError."""

    @abstractmethod
    def write(self, record: Record, translation: Translation) -> bytes:
        """The line to write, without its end."""

    @abstractmethod
    def is_of(self, record: Record, written: bytes) -> bool:
        """Whether a written line may be that of the record, with the fields to add."""

    @abstractmethod
    def has_failed(self, record: Record, written: bytes) -> bool:
        """Whether a line that is of the record says that it could not be translated."""


class PlainLines(LineFormat):
    """A line is a text. The line of one that failed is empty."""

    def _text(self, line: bytes) -> str:
        return line.decode()

    def write(self, record: Record, translation: Translation) -> bytes:
        return _LINE_BREAKS.sub(" ", translation.text or "").encode()

    def is_of(self, record: Record, written: bytes) -> bool:
        return True

    def has_failed(self, record: Record, written: bytes) -> bool:
        return not written and bool(record.error or record.text)


class JsonLines(LineFormat):
    """A line is a JSON object with the text in a field, its own or one within. It is kept byte for
    byte, and the fields of the translation come last. Of a line that is no object nothing is kept.
    """

    _nothing = b"{}"

    def __init__(self, field: str, columns: AddedColumns) -> None:
        self._field, self._columns = field, columns

    def read(self, line: bytes) -> Record:
        if not line.strip():
            return Record(line, fixed=line)
        record = super().read(line)
        if record.error:
            try:
                _json_object(line)
            except ValueError:
                return self.unread(record.error)
        return record

    def _text(self, line: bytes) -> str | None:
        found = _json_object(line)
        self._columns.require_new(found)
        text = _value(found, self._field)
        if text is None:
            return None
        if text is _NO_FIELD:
            names = shown([*found])
            raise ValueError(f"it has no text in the field {self._field!r}; it has {names}")
        if not isinstance(text, str):
            kind = _KINDS[type(text)]
            raise ValueError(f"it has no text in the field {self._field!r}, but {kind}")
        text.encode()  # half of a pair of surrogates is no text
        return text

    def write(self, record: Record, translation: Translation) -> bytes:
        columns = self._columns
        added: dict[str, object] = {columns.translation: translation.text}
        if translation.error:
            added[columns.error] = translation.error
        if columns.has_score:
            added[columns.score] = translation.score
        if columns.has_checks:
            added[columns.checks] = translation.checks
        return _open_object(record.line) + json.dumps(added, ensure_ascii=False)[1:].encode()

    def is_of(self, record: Record, written: bytes) -> bool:
        names = self._added(record, written) - {self._columns.error}
        return names == {self._columns.translation, *self._columns.extra}

    def has_failed(self, record: Record, written: bytes) -> bool:
        return self._columns.error in self._added(record, written)

    def _added(self, record: Record, written: bytes) -> set[str]:
        """The fields of a written line behind those of the record."""
        kept = _open_object(record.line)
        if not written.startswith(kept):
            return set()
        try:
            return {*_json_object(b"{" + written[len(kept) :])}
        except ValueError:
            return set()


class TabbedLines(LineFormat):
    """A line is cells between tabs, without quotes. The cells of the translation come last, and are
    empty if it failed."""

    def __init__(self, column: str, columns: AddedColumns) -> None:
        """`column`: its number from 1, or its name in the first line. Raises CorpusError."""
        self._name, self._columns = column, columns
        self._place = int(column) - 1 if column.isdecimal() else None
        if self._place == -1:
            raise CorpusError("the columns are numbered from 1, got 0")

    def skip_header(self, line: bytes) -> None:
        """The first line of the file, for a shard that does not begin with it. Raises
        CorpusError."""
        if self._place is None:
            self._find_column(line)

    def _find_column(self, line: bytes) -> None:
        names = line.decode(errors="replace").split("\t")
        if self._name not in names:
            shown = ", ".join(map(repr, names))
            raise CorpusError(f"the first line has no column {self._name!r}, it has {shown}")
        self._columns.require_new(names)
        self._place = names.index(self._name)

    def read(self, line: bytes) -> Record:
        if self._place is None:
            self._find_column(line)
            added = [self._columns.translation, *self._columns.extra]
            return Record(line, fixed=b"\t".join([line, *(name.encode() for name in added)]))
        return super().read(line)

    def _text(self, line: bytes) -> str:
        assert self._place is not None
        cells = line.split(b"\t")
        if len(cells) <= self._place:
            raise ValueError(f"it has {len(cells)} columns, and no column {self._place + 1}")
        return cells[self._place].decode()

    def write(self, record: Record, translation: Translation) -> bytes:
        added = [_CELL_BREAKS.sub(" ", translation.text or "")]
        if self._columns.has_score:
            added.append("" if translation.score is None else str(translation.score))
        if self._columns.has_checks:
            added.append(",".join(translation.checks))
        return b"\t".join([record.line, *(cell.encode() for cell in added)])

    def is_of(self, record: Record, written: bytes) -> bool:
        num_cells = record.line.count(b"\t") + 1 + len(self._columns.extra)
        return written.startswith(record.line + b"\t") and written.count(b"\t") == num_cells

    def has_failed(self, record: Record, written: bytes) -> bool:
        translation = written[len(record.line) + 1 :].split(b"\t")[0]
        return not translation and bool(record.error or record.text)


def _json_object(line: bytes) -> dict[str, object]:
    """Raises ValueError."""
    try:
        text = line.decode("utf-8-sig")  # else it may be any Unicode encoding
        found = json.loads(text, parse_int=float)  # int refuses more than 4,300 digits
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error}") from error
    except RecursionError as error:
        raise ValueError("its JSON is nested too deep") from error
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found


def _value(found: dict[str, object], field: str) -> object:
    """What an object has in a field, or, without one of that name, where its parts between dots
    lead; `_NO_FIELD` if nowhere."""
    value: object = found
    for name in [field] if field in found else field.split("."):
        if value is not None:
            value = value.get(name, _NO_FIELD) if isinstance(value, dict) else _NO_FIELD
    return value


def _open_object(line: bytes) -> bytes:
    """A JSON object without its end, ready for more fields."""
    fields = line.rstrip().removesuffix(b"}").rstrip()
    return fields if fields.endswith(b"{") else fields + b", "
