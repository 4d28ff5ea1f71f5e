"""Paragraphs of Office Open XML: runs of one look are merged, and looks become pairs of codes.

Word and PowerPoint cut sentences into runs at every change of spelling mark, language or editing
session. Here a run counts only if it looks otherwise than its neighbours.
"""

from __future__ import annotations

import html
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import regex

from service.documents.inline import InlineText, escape_markup
from service.documents.segments import Place
from service.documents.xml_text import GAPS, LINE_ENDS, InlineContent, XmlText
from service.translation.language.segmentation import has_letters
from service.translation.markup.coded_text import CodedText
from service.translation.markup.elements import SIGN_FONTS

_CHART_NAMES = frozenset(
    {
        *("c:strcache", "c:strlit", "c:multilvlstrcache", "c:tx", "c15:dlblrangecache"),
        *("cx:strdim", "cx:txdata"),
    }
)
_CHART_VALUES = frozenset({"c:v", "cx:pt", "cx:v"})
_DRAWING_PARAGRAPH = frozenset({"a:p"})
_SCRIPT = regex.compile(r"vertAlign\s++(?:w:)?val=[\"']su[bp]|\sbaseline=[\"']-?[1-9]")
_ON_SPACES = regex.compile(
    r"""
    <(?:w:)?(?:d?strike|u|highlight|bdr)\b(?![^<>]*\s(?:w:)?val=["'](?:none|0|false|off|nil)\b)
    |<w:rStyle\b|<w:shd\b(?![^<>]*\sw:fill=["']auto)|<a:highlight\b|\s(?:u|strike)=["'](?!no)
    """,
    regex.X,
)
"""Looks that spaces show, too."""
_SIGNS = regex.compile(
    rf"""(?:\sw:ascii|<a:latin\stypeface|<(?:x:)?rFont\sval)=["']{SIGN_FONTS}""",
    regex.IGNORECASE,
)
_EMPTY = regex.compile(r"<[\w:]++\s*+(?:/>|>\s*+</[\w:]++>)")


@dataclass(frozen=True)
class RunNames:
    """The names of a run and of its text as written; `unseen` matches what in a run's properties
    does not change its look; `mark` gives properties the target's language."""

    run: str
    text: str
    unseen: regex.Pattern[str]
    mark: Callable[[str], str] = str


DRAWING = RunNames(
    "a:r",
    "a:t",
    regex.compile(
        r"""\s(?:(?:lang|altLang|dirty|err|noProof|smtClean)=["'][\w-]*+["']|baseline=["']0["'])"""
    ),
)


class RunPart(NamedTuple):
    """A part of a paragraph: the text of a run, a code, which may read as a word, or a tag of a
    pair such as a link.

    `written`: the escaped text, or how the code or tag is written; `properties`: the text's, as
    written; `closing`: how the pair that `open` begins is ended; `text`: what a word reads as.
    """

    kind: Literal["text", "word", "single", "stop", "open", "close"]
    written: str = ""
    properties: str = ""
    closing: str = ""
    text: str = ""


class _Paragraph:
    """The parts of a paragraph as one text, and the way back to runs."""

    def __init__(self, parts: Iterable[RunPart], names: RunNames) -> None:
        self._names = names
        self._looks: dict[str, str] = {}
        parts = list(self._merged(map(self._kept, parts)))
        self._base = self._most_common(parts)
        self._current = self._base
        self._turns: dict[int, str] = {}
        self.inline = InlineText(escape_markup)
        for part in parts:
            self._add(part)
        self._turn_to(self._base)

    def write(self, translation: CodedText) -> str:
        """The translation as runs."""
        written: list[str] = []
        properties = [self._looks.get(self._base, "")]
        for part in self.inline.spelled(translation):
            if isinstance(part, str):
                written.append(self._run(part, properties[-1]))
            elif part.number not in self._turns:
                written.append(self.inline.code(part))
            elif part.kind == "open":
                properties.append(self._turns[part.number])
            else:
                properties.pop()
        return "".join(written)

    def _kept(self, part: RunPart) -> RunPart:
        """Letters of a font with signs as a word."""
        is_sign = part.kind == "text" and _SIGNS.search(part.properties) is not None
        if not is_sign or not has_letters(part.written):
            return part
        run = _run(part.written, part.properties, self._names)
        return RunPart("word", run, text=html.unescape(part.written))

    def _most_common(self, parts: Iterable[RunPart]) -> str:
        """The look of most characters, if possible one that spaces between pairs do not show."""
        sizes: Counter[str] = Counter()
        for part in parts:
            if part.kind == "text":
                sizes[self._look(part)] += len(part.written)
        return max(sizes, key=lambda look: (not _ON_SPACES.search(look), sizes[look]), default="")

    def _look(self, part: RunPart) -> str:
        """The properties that show; remembers how they are first written."""
        look = self._names.unseen.sub("", part.properties)
        look = "" if _EMPTY.fullmatch(look) else look
        self._looks.setdefault(look, part.properties)
        return look

    def _merged(self, parts: Iterable[RunPart]) -> Iterator[RunPart]:
        """Neighbouring texts of one look as one."""

        def look(part: RunPart) -> str | None:
            return self._look(part) if part.kind == "text" else None

        for shared, group in itertools.groupby(parts, look):
            first, *others = group
            if shared is None:
                yield from (first, *others)
            else:
                written = (part.written for part in (first, *others))
                yield first._replace(written="".join(written))

    def _add(self, part: RunPart) -> None:
        if part.kind in ("open", "close", "stop"):
            self._turn_to(self._base)
        match part.kind:
            case "text":
                self._add_text(part)
            case "open":
                self.inline.open(part.written, part.closing)
            case "close":
                self.inline.close()
            case "word":
                self.inline.element(part.written, part.text)
            case "single":
                self.inline.single(part.written)
            case "stop":
                self.inline.stop(part.written)

    def _add_text(self, part: RunPart) -> None:
        """Add text with its gaps. Cells and comments have line breaks, DrawingML has `a:br`."""
        gaps = GAPS if self._names.run in ("a:r", "w:r") else LINE_ENDS
        for number, text in enumerate(gaps.split(part.written)):
            if number % 2:
                self._add(RunPart("stop", _run(text, part.properties, self._names)))
            elif text:
                self._turn_to(self._look(part))
                self.inline.add_markup(text)

    def _turn_to(self, look: str) -> None:
        """End the pair of the current look, and begin that of the next one."""
        if look == self._current:
            return
        if self._current != self._base:
            self.inline.close()
        self._current = look
        if look != self._base:
            is_script = _SCRIPT.search(look) is not None
            self._turns[self.inline.open("", "", is_script=is_script)] = self._looks[look]

    def _run(self, text: str, properties: str) -> str:
        return _run(text, self._names.mark(properties), self._names)


def _run(text: str, properties: str, names: RunNames) -> str:
    run, name = names.run, names.text
    space = ' xml:space="preserve"' if run != "a:r" and text != text.strip() else ""
    return f"<{run}>{properties}<{name}{space}>{text}</{name}></{run}>"


def paragraph_places(
    xml: XmlText, elements: Sequence[int], parts: Iterable[RunPart], names: RunNames
) -> Iterator[Place]:
    """The place of neighbouring elements that have these parts."""
    paragraph = _Paragraph(parts, names)
    if paragraph.inline.has_letters:
        last = xml.end_of(elements[-1])
        yield xml.place(elements[0], last, paragraph.inline, paragraph.write)


def drawing_places(
    names: RunNames, xml: XmlText, is_kept: Callable[[str], bool] = lambda _: False
) -> Iterator[Place]:
    """Paragraphs, which do not nest, and names in charts but for those that it keeps."""
    values = {one for name in xml.starts(_CHART_NAMES) for one in xml.inside(name, _CHART_VALUES)}
    for value in sorted(values):
        if not is_kept(xml.text(value)):
            yield from InlineContent(xml).places(value)
    for index in xml.starts(_DRAWING_PARAGRAPH):
        heads = ("a:ppr", "a:endpararpr")
        inner = [child for child in xml.children(index) if xml.tokens[child].name not in heads]
        yield from run_places(xml, inner, names)


def run_places(xml: XmlText, elements: Sequence[int], names: RunNames) -> Iterator[Place]:
    """The place of neighbouring runs, and codes between them."""
    parts = (part for element in elements for part in _run_parts(xml, element, names))
    yield from paragraph_places(xml, elements, parts, names)


def _run_parts(xml: XmlText, index: int, names: RunNames) -> Iterator[RunPart]:
    """The parts of a run, of a text without one, or a code."""
    prefix = names.run.removesuffix("r")
    name = xml.tokens[index].name.removeprefix(prefix)
    if name == "t":
        yield RunPart("text", xml.text(index))
        return
    if name != "r":
        yield RunPart("stop" if name == "br" else "single", xml.element(index))
        return
    properties = ""
    for child in xml.children(index):
        name = xml.tokens[child].name.removeprefix(prefix)
        if name == "rpr":
            properties = xml.element(child)
        elif name == "t":
            yield RunPart("text", xml.text(child), properties)
