"""Labels: attributes that people read, such as alternative texts.

Their tags also stand inside the codes of a paragraph, so they are replaced in what is written.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import regex

from service.documents.segments import (
    DecodedText,
    Edit,
    Place,
    Segment,
    TextFile,
)
from service.translation.language.segmentation import has_letters
from service.translation.markup.coded_text import Text

_LINE_BREAK = regex.compile(r"\r\n|[\t\n\r]")
_EXCEL_LINE_BREAK = regex.compile(r"_x000[dD]_(?:_x000[aA]_)?|_x000[aA]_")
_PLACEHOLDER = regex.compile(r"%\d")
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)


class Labels(NamedTuple):
    """Attributes of some tags. `limits`: the most characters that an attribute may have."""

    tag: regex.Pattern[str]
    attribute: regex.Pattern[str]
    limits: Mapping[str, int]

    def find(self, source: str) -> Iterator[regex.Match[str]]:
        """The attributes of all tags, by name and value."""
        for tag in self.tag.finditer(source):
            yield from self.attribute.finditer(source, *tag.span())

    def replace(self, source: str, values: Mapping[str, str]) -> str:
        """The source with other values."""

        def written(match: regex.Match[str]) -> str:
            value = values.get(match["value"], match["value"])
            is_short = len(html.unescape(value)) <= self.limits.get(match["name"], len(value))
            return f"{match['head']}{value if is_short else match['value']}{match['tail']}"

        return self.tag.sub(lambda tag: self.attribute.sub(written, tag.group()), source)


def labels(tags: str, names: str, limits: Mapping[str, int] | None = None) -> Labels:
    """Of expressions for the names of tags and attributes."""
    return Labels(
        regex.compile(rf'<(?:{tags})\s(?:[^<>"]++|"[^"<]*+")*+>'),
        regex.compile(rf'(?P<head>\s(?P<name>{names})\s*+=\s*+")(?P<value>[^"]*+)(?P<tail>")'),
        limits or {},
    )


class LabelledText(TextFile):
    """A text with labels. Each value is translated once."""

    def __init__(
        self,
        decoded: DecodedText,
        places: Iterable[Place],
        edits: Iterable[Edit],
        known: Labels,
        finish: Callable[[str], str] = str,
    ) -> None:
        """`finish`: changes what is written, whatever is translated."""
        super().__init__(decoded, places, edits)
        self._labels, self._finish = known, finish
        found = {match["value"]: _read(match) for match in known.find(decoded.text)}
        self._values = {value: text for value, text in found.items() if has_letters(text)}
        self.segments += map(Segment, self._values.values())

    def _rewritten(self, translations: Sequence[Text]) -> str:
        own = len(translations) - len(self._values)
        values = {
            value: str(new).translate(_ESCAPES)
            for (value, text), new in zip(self._values.items(), translations[own:], strict=True)
            if new != text and _placeholders(str(new)) == _placeholders(value)
        }
        written = super()._rewritten(translations[:own])
        return self._finish(self._labels.replace(written, values) if values else written)


def _placeholders(value: str) -> list[str]:
    """What stands for numbers, which a translation must have, too."""
    return sorted(_PLACEHOLDER.findall(value))


def _read(label: regex.Match[str]) -> str:
    """The value that is written so: XML reads a line break in an attribute as a space, and Excel
    has codes of its own for line breaks."""
    is_content = label["head"].startswith(">")
    value = label["value"] if is_content else _LINE_BREAK.sub(" ", label["value"])
    return _EXCEL_LINE_BREAK.sub("\n", html.unescape(value))
