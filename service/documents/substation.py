"""SubStation Alpha, .ass and .ssa: the text of dialogue is translated as that of other subtitles.

Styles, comments, override blocks such as {\\pos(1,2)} and drawings stay.
"""

from __future__ import annotations

from collections.abc import Iterator

import regex

from service.documents.segments import FileOptions, TextFile, decode, invalid
from service.documents.subtitles import CLOCK, MOST_CHARACTERS, Cue, seconds, subtitle_file
from service.translation.language.segmentation import has_letters

_EVENTS = regex.compile(r"(?<![^\n\r])\[Events\](?:[^\[]|(?<![\n\r])\[)*+", regex.IGNORECASE)
_LINE = regex.compile(r"(?<![^\n\r])(Format|Dialogue):[ \t]*+([^\n\r]*+)", regex.IGNORECASE)
_TIME = regex.compile(rf"\s*+{CLOCK}\s*+")
_BLOCK = r"\{[^{}]*+\}"
_DRAWING = rf"\{{[^{{}}]*?\\p[1-9][^{{}}]*+\}}(?:(?!\{{[^{{}}]*?\\p0)(?:{_BLOCK}|[^{{]|\{{))*+"
_CODE = regex.compile(rf"{_DRAWING}|{_BLOCK}|\\N(?=\\N)")
"""Of several line ends together the last one is a line end."""
_SPACE = regex.compile(r"\\[Nnh]")
_END = regex.compile(r"(?<!\\[Nnh]|\s)(?:\\[Nnh]|\s)++\Z")
_PAIR = regex.compile(r"\{\\([bisu])([01]?)\}")
_READ_CODE = regex.compile(r"\{\\(\d++)\}|</?[bisu] \ue000(\d++)>")
_PLACED = regex.compile(r"\\(?:pos|move|org|k|K)")
_FIELDS = ("layer", "start", "end", "style", "name", "marginl", "marginr", "marginv", "effect")


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Raises InvalidDocument without a section of events."""
    decoded = decode(content, options.source)
    events = _EVENTS.search(decoded.text)
    if events is None:
        raise invalid("ASS", "it has no [Events]")
    spelling = _Spelling()
    cues = list(_cues(decoded.text, *events.span(), spelling))
    return subtitle_file(decoded, cues, options.target, keeps_lines=True, write=spelling.write)


def _cues(source: str, start: int, end: int, spelling: _Spelling) -> Iterator[Cue]:
    """The lines of dialogue with letters. The text is the last field and may have commas."""
    names = [*_FIELDS, "text"]
    for line in _LINE.finditer(source, start, end):
        if line[1].lower() == "format":
            names = [name.strip().lower() for name in line[2].split(",")]
            continue
        *values, written = line[2].split(",", len(names) - 1)
        text = _END.sub("", written, 1) if len(written) <= MOST_CHARACTERS else ""
        fields = dict(zip(names, values, strict=False))
        begins, ends = (_TIME.fullmatch(fields.get(name, "")) for name in ("start", "end"))
        if begins and ends and has_letters(_SPACE.sub(" ", _CODE.sub("", text))):
            where = str(line.start()) if _PLACED.search(text) else ""
            voice = ",".join([fields.get("style", ""), fields.get("name", ""), where])
            position = line.end() - len(written)
            times = seconds(begins.groups()), seconds(ends.groups())
            yield Cue(*times, position, position + len(text), spelling.read(text), voice)


class _Spelling:
    """Spells the text of a line as subtitles with tags, and back."""

    def __init__(self) -> None:
        self._codes: list[str] = []

    def read(self, text: str) -> str:
        """With line ends, and a tag or a number for each override block or drawing."""
        text = _CODE.sub(self._read_code, text)
        return text.replace("\\N", "\n").replace("\\n", " ").replace("\\h", "\u00a0")

    def write(self, text: str) -> str:
        written = text.replace("\n", "\\N").replace("\u00a0", "\\h")
        return _READ_CODE.sub(lambda match: self._codes[int(match[1] or match[2])], written)

    def _read_code(self, match: regex.Match[str]) -> str:
        number = len(self._codes)
        self._codes.append(match.group())
        if pair := _PAIR.fullmatch(match.group()):
            return f"<{'' if pair[2] == '1' else '/'}{pair[1]} \ue000{number}>"
        return f"{{\\{number}}}"
