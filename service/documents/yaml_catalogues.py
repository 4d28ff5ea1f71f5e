"""YAML, such as Rails' catalogues: PyYAML says where the values stand, and only they are written.

Its events expand no alias and make no object.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex
import yaml
from babel import localedata

from service.documents.icu_messages import with_whole_sentences
from service.documents.segments import (
    Edit,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode_unicode,
    invalid,
    is_worded,
)
from service.documents.yaml_spelling import Block, double, is_string, plain, single
from service.translation.markup.choices import find_choices

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STRING = "tag:yaml.org,2002:str"
_PROPERTIES = regex.compile(r"(?:[&!]\S*+\s++)*+")
_DIRECTIVE = regex.compile(r"%[-0^#_]*+[A-Za-z]")
"""A part of a date's format."""
_BLOCK = regex.compile(r"[|>][^\n\r]*+(?:[ \t]*+(?:\r\n|\n|\r))*+(?P<space>\x20*+)")
_SYMBOLS = regex.compile(r"(?<=:[ \t]\[)(?:[ \t]*+:\w++[ \t]*+,?)++(?=[ \t]*+\])")
"""As in `order: [ :year, :month ]`."""
_MOST_SHOWN = 60
_ORDER = ["date", "order"]
"""The keys of Rails' order of year, month and day, which are names of a program."""


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Values that are strings. The only key at the top becomes the target if it is the source."""
    decoded = decode_unicode(content)
    try:
        reader, places = _read(decoded.text)
    except yaml.YAMLError:
        reader, places = _read_without_symbols(decoded.text)
    return TextFile(decoded, places, _language_edits(reader.top_keys, options))


def _read(text: str) -> tuple[YamlReader, list[Place]]:
    """Raises YAMLError."""
    reader = YamlReader(text)
    return reader, list(reader.places())


def _read_without_symbols(text: str) -> tuple[YamlReader, list[Place]]:
    """Without Ruby's symbols in brackets, which only Ruby reads. Raises InvalidDocument."""
    try:
        return _read(_SYMBOLS.sub(lambda found: " " * len(found[0]), text))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise invalid("YAML", _place_of(mark, text) if mark else error) from None


def _place_of(mark: yaml.Mark, text: str) -> str:
    """Which line an error is in, and what stands there."""
    found = text[mark.index :].partition("\n")[0].strip()[:_MOST_SHOWN]
    return f"line {mark.line + 1}, at {found!r}" if found else f"line {mark.line + 1}"


def _language_edits(keys: Sequence[Edit], options: FileOptions) -> Iterator[Edit]:
    """The target in place of the source, if that is the only key."""
    from model.text.tags import nearest  # langcodes takes 25 ms to import

    for start, end, name in keys if len(keys) == 1 else ():
        is_code = options.source == "auto" and localedata.exists(name.replace("-", "_"))
        if is_code or nearest(name.replace("_", "-"), [options.source]):
            yield Edit(start, end, plain(options.target))


@dataclass
class _Level:
    """A mapping or list that is being read, and its last key. `is_key`: it belongs to one."""

    is_mapping: bool
    is_flow: bool
    is_key: bool
    key: str = ""
    has_key: bool = False


class YamlReader:
    """Finds the values of a text. `top_keys`: those of its documents, with their names."""

    def __init__(self, text: str, keys: regex.Pattern[str] | None = None) -> None:
        """`keys`: only values of these count."""
        self._text, self._levels, self._keys = text, list[_Level](), keys
        self._line_end = "\r\n" if "\r\n" in text else "\n"
        self.top_keys: list[Edit] = []

    def places(self) -> Iterator[Place]:
        """Raises YAMLError."""
        for event in yaml.parse(self._text, Loader=_LOADER):
            if isinstance(event, yaml.NodeEvent):
                is_key = self._is_key(event)
                if isinstance(event, yaml.CollectionStartEvent):
                    is_mapping = isinstance(event, yaml.MappingStartEvent)
                    is_flow = event.flow_style or self._is_flow()
                    self._levels.append(_Level(is_mapping, is_flow, is_key))
                elif isinstance(event, yaml.ScalarEvent) and not is_key and self._is_text(event):
                    yield self._place(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._levels.pop()

    def _is_flow(self) -> bool:
        return bool(self._levels) and self._levels[-1].is_flow

    def _is_key(self, event: yaml.NodeEvent) -> bool:
        """Whether a node is, or belongs to, a key of a mapping."""
        if not self._levels:
            return False
        level = self._levels[-1]
        is_key = level.is_mapping and not level.has_key
        level.has_key = is_key
        if is_key:
            level.key = event.value if isinstance(event, yaml.ScalarEvent) else ""
            if len(self._levels) == 1:
                self.top_keys.append(Edit(*self._span(event), level.key))
        return is_key or level.is_key

    def _is_text(self, event: yaml.ScalarEvent) -> bool:
        """Whether a value is a string with words."""
        is_plain, _ = event.implicit
        key = next((level.key for level in reversed(self._levels) if level.is_mapping), "")
        if self._keys is not None and not self._keys.fullmatch(key):
            return False
        names = [level.key for level in self._levels[-3:] if level.is_mapping][-2:]
        if event.tag not in (None, "!", _STRING) or names == _ORDER:
            return False
        if is_plain and not is_string(event.value):
            return False
        return is_worded(_DIRECTIVE.sub("", event.value))

    def _span(self, event: yaml.NodeEvent) -> tuple[int, int]:
        """Where a node stands without its anchor and tag."""
        start, end = (mark.index for mark in (event.start_mark, event.end_mark) if mark)
        properties = _PROPERTIES.match(self._text, start)
        return properties.end() if properties else start, end

    def _place(self, event: yaml.ScalarEvent) -> Place:
        start, end = self._span(event)
        if event.style in ("|", ">"):
            return self._block(event, start, end)
        write = {"'": single, '"': double}.get(event.style or "")
        write = write or functools.partial(plain, is_flow=self._is_flow())
        return Place(start, end, _segment(event.value), write)

    def _block(self, event: yaml.ScalarEvent, start: int, end: int) -> Place:
        """The lines of a block from the first to the last that is not blank."""
        text = event.value.strip("\n").rstrip()
        more = len(text) - len(text.lstrip(" "))
        header = _BLOCK.match(self._text, start, end)
        space = header["space"][more:] if header else ""
        write = Block(space, self._line_end, event.style == ">", more > 0)
        first = header.end() - more if header else start
        last = start + len(self._text[start:end].rstrip())
        return Place(first, last, _segment(text), write)


def _segment(text: str) -> Segment:
    return Segment(with_whole_sentences(text), "text" if find_choices(text) else "auto")
