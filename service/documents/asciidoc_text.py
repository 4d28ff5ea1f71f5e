"""The text of a paragraph of AsciiDoc: its marks are codes, and a translation is AsciiDoc again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

import regex

from model.text.spans import Span
from service.documents.asciidoc_marks import AdocMark, AdocMarks
from service.documents.asciidoc_pieces import OWN, AdocPiece, Joined, kept, spaced
from service.documents.inline import InlineText, joint
from service.documents.segments import inner, is_worded
from service.translation.language.segmentation import has_letters
from service.translation.markup.coded_text import CodedText

_BREAK = regex.compile(r"(?P<hard>(?<=\S)[ \t]++\+)?[ \t]*+\r?\n[ \t]*+")
_SPACES = regex.compile(r"(?<![ ]\+)(?<!\s)[^\S\n]*+\n\s*+")
"""What joins two lines, but no break that stays."""
LABEL = regex.compile(
    r"""\s*+(?:"(?P<text>(?:[^"\\]|\\.)++)"|(?P<text>[^\s",=][^",=]*+))(?=,|\Z)"""
)
"""The alternative text of a picture."""
_PARTED = regex.compile(
    r'(?:"(?P<text>(?:[^"\\]|\\.)++)"|(?P<text>[^",=]++))(?P<tail>,.*+)?', regex.S
)
_SCRIPTED = regex.compile(r"\^[^\s^]++\^|~[^\s~]++~")
_MOST_NESTED = 10
_REFERENCES = {sign: f"&#{ord(sign)};" for sign in ']=,"!'} | {"|": "{vbar}"}


class AdocText:
    """The marks of a paragraph as codes, and the way back."""

    def __init__(
        self,
        source: str,
        span: Span,
        *,
        is_compatible: bool = False,
        has_lines: bool = False,
        escaped: str = "",
        anchors: Mapping[str, str] | None = None,
        addresses: Mapping[str, bool] | None = None,
    ) -> None:
        """`has_lines`: each line stays one. `escaped`: the signs that end the text. `anchors`: of
        headings that links name by their text. For the others see Marks."""
        self.inline = InlineText()
        self.notes: list[Span] = []
        self.labels: list[Span] = []
        self._source, self._is_compatible, self._has_lines = source, is_compatible, has_lines
        self._escaped, self._anchors, self._addresses = escaped, anchors or {}, addresses or {}
        self._marks: dict[int, AdocMark] = {}
        self._add_all(span, 0)

    def write(self, translation: CodedText) -> str:
        """The translation with the same marks, in one line but for breaks that stay."""
        pieces = list(kept(self._pieces(translation)))
        joined = Joined(pieces, is_compatible=self._is_compatible)
        if not self._is_read(joined.written, joined.spans):
            joined = Joined([*spaced(pieces)], is_compatible=self._is_compatible)
        return joined.written.strip()

    def _is_read(self, written: str, spans: Set[tuple[int, int]]) -> bool:
        """Whether the marks at these places are all that are found in what is written."""
        marks = _flat(written, Span(0, len(written)), self._is_compatible)
        is_scripted = all(found.span() in spans for found in _SCRIPTED.finditer(written))
        return is_scripted and all(span in spans or OWN.fullmatch(written, *span) for span in marks)

    def _add_all(self, span: Span, depth: int, escaped: str = "") -> None:
        position = span.start
        if depth < _MOST_NESTED:
            marks = AdocMarks(
                self._source,
                span,
                is_compatible=self._is_compatible,
                addresses=self._addresses,
            )
            for mark in marks:
                self._add_text(position, mark.start, escaped)
                self._add(mark, depth)
                position = mark.end
        self._add_text(position, span.end, escaped)

    def _add_text(self, start: int, end: int, escaped: str) -> None:
        position = start
        for line in _BREAK.finditer(self._source, start, end):
            self._add_line(position, line.start(), escaped)
            before = self._source[max(position, line.start() - 1) : line.start()]
            after = self._source[line.end() : min(end, line.end() + 1)]
            if line["hard"] or self._has_lines:
                self.inline.stop(line.group())
            else:
                self.inline.add(joint(before or " ", after or " "))
            position = line.end()
        self._add_line(position, end, escaped)

    def _add_line(self, start: int, end: int, escaped: str) -> None:
        text = self._source[start:end]
        for sign in self._escaped + escaped:
            text = text.replace(f"\\{sign}", sign)
        self.inline.add(text)

    def _add(self, mark: AdocMark, depth: int) -> None:
        written = _SPACES.sub(" ", self._source[mark.start : mark.end])
        if mark.kind == "pair":
            self._marks[self.inline.open("", "", is_script=mark.written in "^~")] = mark
            self._add_all(mark.inside, depth + 1)
            self.inline.close()
        elif mark.kind == "link":
            self._add_link(mark, written, depth)
        elif mark.kind == "note":
            self._add_note(mark)
        elif mark.kind == "image":
            self._add_image(mark)
        elif mark.kind == "char":
            self._add_char(mark, written)
        elif mark.kind == "single":
            self.inline.single(written)
        else:
            self._add_whole(mark, self._with_anchor(written))

    def _add_char(self, mark: AdocMark, written: str) -> None:
        if written[0] in "{&":
            self.inline.char(mark.written, written)
        else:
            self.inline.add(mark.written)

    def _with_anchor(self, written: str) -> str:
        """A link with the anchor of what it names by its text."""
        if not written.startswith("<<"):
            return written
        name, sign, text = written[2:].removesuffix(">>").partition(",")
        anchor = self._anchors.get(name, name)
        return f"<<{anchor}{sign}{text}>>" if written.endswith(">>") else f"<<{anchor}{sign}{text}"

    def _add_link(self, mark: AdocMark, written: str, depth: int) -> None:
        """A link. Its brackets may have attributes behind the text."""
        start, end = mark.inside
        opening, closing = mark.written, self._source[end : mark.end]
        escaped = "]=" if closing == "]" else ""
        text = self._source[start:end]
        is_mail = mark.written.startswith("mailto:")
        has_parts = ("=" in text and "[" not in text) or (is_mail and "," in text)
        if closing == "]" and has_parts and not self._is_compatible:
            parted = _PARTED.fullmatch(text)
            if parted is None or parted["text"] is None:
                self._add_whole(mark, written)
                return
            start, end = start + parted.start("text"), start + parted.end("text")
            opening, closing = self._source[mark.start : start], self._source[end : mark.end]
            escaped = ']"' if opening.endswith('"') else ']=,"'
        elif text.endswith("^") and closing == "]":
            end, closing = end - 1, "^]"
        if not has_letters(self._source[start:end]):
            self._add_whole(mark, written)
            return
        self._open_link(
            mark, self._with_anchor(_SPACES.sub(" ", opening)), _SPACES.sub(" ", closing), escaped
        )
        self._add_all(Span(start, end), depth + 1, escaped)
        self.inline.close()

    def _add_whole(self, mark: AdocMark, written: str) -> None:
        self._marks[len(self.inline.spellings)] = mark
        self.inline.word(written)

    def _open_link(self, mark: AdocMark, opening: str, closing: str, escaped: str) -> None:
        number = self.inline.open(opening, closing)
        self._marks[number] = mark._replace(attributes=escaped)

    def _add_note(self, mark: AdocMark) -> None:
        """A note, whose text is a place of its own."""
        if has_letters(self._source[slice(*mark.inside)]):
            self.notes.append(mark.inside)
            start, end = mark.inside
            self.inline.single(f"{mark.written[:-1]}{inner(start - 1, end)}]")
        else:
            self.inline.single(self._source[mark.start : mark.end])

    def _add_image(self, mark: AdocMark) -> None:
        label = LABEL.match(self._source, *mark.inside)
        if label is None or not is_worded(label["text"]):
            self.inline.single(self._source[mark.start : mark.end])
            return
        span = Span(*label.span("text"))
        self.labels.append(span)
        before, behind = (
            self._source[mark.start : span.start - 1],
            self._source[span.end : mark.end],
        )
        self.inline.single(f"{before}{inner(span.start - 1, span.end)}{behind}")

    def _pieces(self, translation: CodedText) -> Iterator[AdocPiece]:
        escaped = [self._escaped]
        for part in translation.parts:
            if isinstance(part, str):
                yield AdocPiece("text", _written(part, "".join(escaped)))
                continue
            spelling, mark = self.inline.spellings[part.number], self._marks.get(part.number)
            if part.kind == "open":
                signs = (
                    " "
                    if part.is_script
                    else mark.attributes
                    if mark and mark.kind == "link"
                    else ""
                )
                escaped.append(signs)
                yield AdocPiece("open", spelling.written, part.number, mark)
            elif part.kind == "close":
                escaped.pop()
                yield AdocPiece("close", spelling.closing, part.number, mark)
            else:
                yield AdocPiece("code", spelling.written, part.number, mark)


def _written(text: str, escaped: str) -> str:
    """A text without the signs that end what it is in."""
    written = _SPACES.sub(" ", text)
    for sign in escaped:
        written = written.replace(sign, "{nbsp}" if sign == " " else _REFERENCES.get(sign, sign))
    return written


def _flat(text: str, span: Span, is_compatible: bool, depth: int = 0) -> Iterator[tuple[int, int]]:
    """Where the marks of a text stand, with those in others."""
    for mark in AdocMarks(text, span, is_compatible=is_compatible, addresses={}):
        yield mark.start, mark.end
        if mark.kind in ("pair", "link") and depth < _MOST_NESTED:
            yield from _flat(text, mark.inside, is_compatible, depth + 1)
