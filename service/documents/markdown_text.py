"""The text of a Markdown block: its marks are codes, and a translation is Markdown again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import regex

from model.text.spans import Span
from service.documents.inline import InlineText, joint
from service.documents.markdown_emphasis import MarkOrText, emphasis, escaped, settled
from service.documents.markdown_extensions import SHOWN
from service.documents.markdown_parser import MarkdownParser
from service.documents.segments import inner
from service.translation.markup.coded_text import CodedText, TextPart
from service.translation.markup.elements import (
    WORDS_IN_SENTENCES,
    is_between,
    is_block,
    pair_tags,
)
from service.translation.markup.scanner import Kind
from service.translation.markup.scanner import Token as Mark

BlockKind = Literal["paragraph", "heading", "cell", "attribute"]
"""A heading after number signs, and a title, begin no other block."""
_NUMBERED = regex.compile(r"(\d{1,9})(?=[.)](?:\s|$))")
_MARKED = regex.compile(r"(?=[-+*](?:\s|$)|#{1,6}(?:\s|$)|>|===|~~~|```++[^`]*+\Z|:::|!!!)")
_ESCAPED = regex.compile(r"\\([!-/:-@\[-`{-~])")
_ALONE = regex.compile(
    r"(?P<marks>\*{2,3}|_{2,3})(?:[^*_\\]++|\\.)++(?P=marks)[:：]?"
    r"|!\[[^\[\]\n]*+\]\([^()\n]*+\)(?:\{[^{}\n]*+\})?|\|\s.*+"
)
"""A line that is a title in bold, a picture, or one of Pandoc's blocks of lines."""
_PICTURE = regex.compile(r"(!\[)([^\[\]|\\`*_<&]*+)(\](?:\(|\[[^\]]).*+)")
"""A picture whose description has no marks."""
_WORDS = frozenset(
    {"code_inline", "math_inline", "math_inline_double", "link_close"}
    | {"wikilink", "icon", "keys", "formula", "include", "template", "role", "label", "kept"}
)
_EMPHASES = frozenset(f"{tag} of Markdown" for tag in ("em", "strong", "s", "mark"))
_SHORTCUT = regex.compile(r"\](?:\[\])?(?=\{|<!--|$)")
_FORMULA = "math_inline_double"
_BREAKS = frozenset({"softbreak", "hardbreak"})
_SPACES = _BREAKS | {"space"}
_UNCOUNTED = frozenset({"", "text_special", "softbreak", "attributes", "comment", "space"})
_NEAR = 40
"""How many characters tell whether a tag is in the middle of a sentence."""
_TAG, _IN_LINE = "\0", regex.compile(r"[^\n]")
"""What stands for each character of a tag, and such a character."""


class BlockText:
    """The marks of one block as codes, and the way back to Markdown."""

    def __init__(
        self,
        text: str,
        parser: MarkdownParser,
        breaks: Sequence[str],
        kind: BlockKind,
        locate: Callable[[Span], Sequence[Span]],
    ) -> None:
        """`breaks`: what the source has between its lines; `locate`: finds where the lines of a
        part of the text stand in the source, or nothing."""
        self.inline, self._text, self._kind = InlineText(), text, kind
        self._parser, self._breaks, self._line = parser, breaks, 0
        self._ends: dict[int, tuple[MarkOrText, MarkOrText]] = {}
        self._values: set[int] = set()
        self._locate, self.notes = locate, list[Span]()
        marks = _with_attributes(parser.marks(text))
        self._partners = pair_tags(marks)
        self._lines_of_tags = {*_lines_of_tags(text, marks)}
        position = 0
        for number, mark in enumerate(marks):
            before = text[position : mark.start]
            self.inline.add(before.rstrip(" ") if text[mark.start] == "\n" else before)
            self._add(marks, number)
            self._line += text.count("\n", mark.start, mark.end)
            position = mark.end
        self.inline.add(text[position:])

    def write(self, translation: CodedText) -> str:
        """The translation as Markdown with the same marks. Its beginning is not a mark of a
        block."""
        written = self._with_marks(list(self._pieces(translation)))
        written = written.lstrip(" ")
        if self._kind == "cell":
            return written.replace("|", "\\|")
        if self._kind == "attribute":
            return written.replace('"', "'")
        if self._kind == "heading":
            return written
        return _begun(written)

    def _with_marks(self, pieces: Sequence[MarkOrText]) -> str:
        """The pieces as they are, or with their texts escaped if a parser finds other marks."""
        pieces = settled(pieces)
        names = sorted(piece.name for piece in pieces if piece.name not in _UNCOUNTED)
        written = "".join(piece.written for piece in pieces)
        if self._names(written) == names:
            return written
        other = "".join(piece.written for piece in escaped(pieces))
        return other if self._names(other) == names else written

    def _names(self, written: str) -> list[str]:
        marks = self._parser.marks(written, is_strict=True)
        return sorted(mark.name for mark in marks if mark.name not in _UNCOUNTED)

    def _pieces(self, translation: CodedText) -> Iterator[MarkOrText]:
        """The parts as they are written, with no quotation marks that end an attribute, and no line
        that begins as a block does."""
        is_value, begins = False, False
        for part in translation.parts:
            if not isinstance(part, str):
                is_value = part.number in self._values
            elif is_value:
                part = part.replace('"', "'")
            elif begins:
                part = _begun(part.lstrip(" "))
            piece = self._piece(part)
            begins = piece.name in _BREAKS
            yield piece

    def _piece(self, part: TextPart) -> MarkOrText:
        if isinstance(part, str):
            return MarkOrText(part)
        ends = self._ends.get(part.number)
        return ends[part.kind == "close"] if ends else MarkOrText(self.inline.code(part), "code")

    def _add(self, marks: Sequence[Mark], number: int) -> None:
        mark, partner = marks[number], self._partners.get(number)
        written = self._written(mark)
        if mark.kind is not Kind.OTHER and is_block(mark.name) and not self._is_word(marks, number):
            self._add_stop(written, mark.name)
        elif partner is not None and partner > number:
            self._open(written, mark, marks[partner])
        elif partner is not None:
            self.inline.close()
            if marks[number + 1 : number + 2] and _is_beside(mark, marks[number + 1]):
                self.inline.stop("")
        elif mark.kind is not Kind.OTHER:
            self._add_piece(self.inline.single, MarkOrText(written, "code", mark.name))
        elif mark.name == "text_special" and (escape := _ESCAPED.fullmatch(written)):
            self.inline.char(escape[1], written)
        elif mark.name == "text_special":
            self.inline.add_markup(written)
        elif mark.name == "softbreak":
            self._add_break(mark)
        elif mark.name == "space":
            self._add_space(mark)
        elif mark.name == "note" and (lines := self._locate(_inside(mark))):
            self.notes.append(_inside(mark))
            self._add_code(f"^{inner(lines[0].start - 1, lines[-1].end)}]", mark.name)
        elif mark.name == "footnote" and self._text[mark.start - 1 : mark.start].strip():
            self._add_piece(self.inline.single, MarkOrText(written, "note", mark.name))
        elif mark.name == "image" and self._is_alone(mark):
            self._add_picture(written)
        else:
            self._add_code(written, mark.name)

    def _is_word(self, marks: Sequence[Mark], number: int) -> bool:
        """Whether a tag is of an element in the middle of a sentence."""
        numbers = sorted((number, self._partners.get(number, number)))
        begin, end = (marks[one] for one in numbers)
        if begin.name not in WORDS_IN_SENTENCES:
            return False
        before = self._text[max(0, begin.start - _NEAR) : begin.start]
        return is_between(before, self._text[end.end : end.end + _NEAR])

    def _written(self, mark: Mark) -> str:
        """A mark in one line; the lines of a formula stay."""
        first, *others = self._text[mark.start : mark.end].split("\n")
        between = [" "] * len(others)
        if mark.name == _FORMULA:
            between = list(self._breaks[self._line :][: len(others)])
        return first + "".join(map("".join, zip(between, others, strict=True)))

    def _is_alone(self, mark: Mark) -> bool:
        """Whether nothing else stands in the lines of a mark."""
        around = self._text[mark.start - 1 : mark.start], self._text[mark.end : mark.end + 1]
        return all(char in ("", "\n") for char in around)

    def _add_picture(self, written: str) -> None:
        """Add a picture, whose description and attributes are sentences of their own."""
        found = _PICTURE.fullmatch(written)
        if found is None:
            self._add_code(written, "image")
            return
        begin, description, rest = found.groups()
        self._add_stop(begin, "")
        self.inline.add(description)
        position = 0
        for value in SHOWN.finditer(rest):
            self._values.add(len(self.inline.spellings))
            self._add_stop(rest[position : value.start("title")], "")
            self.inline.add(value["title"])
            position = value.end("title")
        self._add_stop(rest[position:], "image")

    def _add_stop(self, written: str, name: str) -> None:
        self._add_piece(self.inline.stop, MarkOrText(written, "code", name))

    def _add_break(self, mark: Mark) -> None:
        """Add a line end: after a title or a picture one that stays, and beside lines of tags."""
        begin = self._text.rfind("\n", 0, mark.start) + 1
        line = self._text[begin : mark.start].rstrip(" ")
        is_beside_tags = not self._lines_of_tags.isdisjoint((self._line, self._line + 1))
        if is_beside_tags or _ALONE.fullmatch(line):
            self._add_code("", mark.name)
        else:
            self.inline.add(joint(line[-1:], self._text[mark.end : mark.end + 1]))

    def _add_space(self, mark: Mark) -> None:
        """Add a space of another kind, which reads as a space, with the spaces around."""
        start, end = (" " * (self._text[at : at + 1] == " ") for at in (mark.start - 1, mark.end))
        self.inline.add(" ")
        written = f"{start}{self._text[mark.start : mark.end]}{end}"
        self._add_piece(self.inline.single, MarkOrText(written, "space"))

    def _add_code(self, written: str, name: str) -> None:
        if name in _BREAKS:
            self._add_stop(written.strip() + self._breaks[self._line], name)
        else:
            add = self.inline.word if name in _WORDS else self.inline.single
            self._add_piece(add, MarkOrText(written, "code", name))

    def _add_piece(self, add: Callable[[str], None], piece: MarkOrText) -> None:
        self._ends[len(self.inline.spellings)] = (piece, piece)
        add(piece.written)

    def _open(self, written: str, opening: Mark, closing: Mark) -> None:
        end = self._closing(opening, closing)
        number = self.inline.open(written, end, is_script=opening.name in ("sub", "sup"))
        if opening.name in _EMPHASES:
            inner = self._text[opening.end : closing.start]
            self._ends[number] = emphasis(written, inner, end, opening.name)
        else:
            name = opening.name
            self._ends[number] = MarkOrText(written, "code", name), MarkOrText(end, "code", name)

    def _closing(self, opening: Mark, closing: Mark) -> str:
        """How a pair ends. A link by its own text needs a label, for its text is translated."""
        written = self._text[closing.start : closing.end].replace("\n", " ")
        if opening.name != "[]" or not (shortcut := _SHORTCUT.match(written)):
            return written
        label = self._text[opening.end : closing.start]
        return f"][{' '.join(label.split())}]{written[shortcut.end() :]}"


def _begun(written: str) -> str:
    """The beginning of a line as a text, not as a mark of a block."""
    written = _NUMBERED.sub(r"\1\\", written) if _NUMBERED.match(written) else written
    return "\\" + written if _MARKED.match(written) else written


def _inside(note: Mark) -> Span:
    """The text of `^[a note]`, which is a place of its own."""
    return Span(note.start + len("^["), note.end - len("]"))


def _lines_of_tags(text: str, marks: Sequence[Mark]) -> Iterator[int]:
    """The lines with nothing but tags of HTML or JSX, comments and formulas."""
    parts, position = [], 0
    for mark in marks:
        is_tag = mark.kind is not Kind.OTHER or mark.name in ("", "comment")
        if (is_tag and text[mark.start] in "<{") or mark.name == _FORMULA:
            inside = _IN_LINE.sub(_TAG, text[mark.start : mark.end])
            parts += [text[position : mark.start], inside]
            position = mark.end
    for number, line in enumerate("".join([*parts, text[position:]]).split("\n")):
        if _TAG in line and not line.strip(f"{_TAG} \t"):
            yield number


def _is_beside(ending: Mark, following: Mark) -> bool:
    """Whether an element begins where another of its kind ends, such as the two texts of which
    Vue's pages show one, or what is deleted and inserted."""
    is_start = following.kind is Kind.START and following.start == ending.end
    names = {ending.name, following.name}
    return is_start and (len(names) == 1 or names == {"del", "ins"})


def _with_attributes(marks: Sequence[Mark]) -> list[Mark]:
    """Attributes and comments directly behind a mark as a part of it, unless that is space."""
    done: list[Mark] = []
    for mark in marks:
        is_behind = done and done[-1].end == mark.start and done[-1].name not in _SPACES
        is_added = mark.kind is Kind.OTHER and mark.name in ("attributes", "comment")
        if is_added and is_behind:
            done[-1] = done[-1]._replace(end=mark.end)
        else:
            done.append(mark)
    return done
