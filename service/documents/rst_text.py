"""The text of a paragraph of reStructuredText: its marks are codes, and a translation is
reStructuredText again."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Literal, NamedTuple

import regex

from service.documents.inline import InlineText, joint
from service.documents.rst_marks import MAY_FOLLOW, MAY_PRECEDE, Mark, marks
from service.translation.markup.coded_text import Code, CodedText, TextPart

_STYLES = frozenset({"emphasis", "strong", "sub", "subscript", "sup", "superscript"})
"""Roles whose text is translated."""
_SCRIPTS = frozenset({"sub", "subscript", "sup", "superscript"})
_TITLED = regex.compile(r"(?P<text>.*?)(?P<target>\s*<[^<>]+>)", regex.S)
_TO_TERM = "term"
_TO_CODE = regex.compile(r"[\w.:/*()\[\]-]*+")
"""What a link to code shows."""
_CODE = regex.compile(
    r"code(?:-\w++)?|command|file|kbd|literal|makevar|manpage|math|option|program|raw|regexp|samp"
)
"""Roles with code, in which brackets are no target."""
_SPECIAL = regex.compile(r"[\\`]|[*|](?!\s)|(?<=\w)_(?!\w)")
_ESCAPED = regex.compile(r"\\(?:\s|(.)|\Z)", regex.S)
_GLUE = "\\ "
"""What docutils reads as nothing."""
_SPACES = regex.compile(r"\s++")


class _Piece(NamedTuple):
    """A part of a translation as it is written, and how the pair that it opens ends."""

    written: str
    kind: Literal["text", "mark", "open", "close"] = "text"
    closing: str = ""


class ParagraphsText:
    """The marks of a paragraph, or of the paragraphs of a table, as codes, and the way back."""

    def __init__(self, texts: Sequence[str], linked: Set[str] = frozenset()) -> None:
        """`linked`: the names that links of the file go to."""
        self.inline = InlineText()
        self._linked = linked
        for number, text in enumerate(texts):
            if number:
                self.inline.stop("")
            self._add_paragraph(text)

    def write(self, translation: CodedText) -> list[str]:
        """The translations of the paragraphs with the same marks, each in one line."""
        paragraphs: list[list[TextPart]] = [[]]
        for part in translation.parts:
            if isinstance(part, Code) and part.kind == "stop":
                paragraphs.append([])
            else:
                paragraphs[-1].append(part)
        return [_joined(_flat(self._pieces(parts))).strip() for parts in paragraphs]

    def _add_paragraph(self, text: str) -> None:
        position = 0
        for mark in marks(text):
            self._add_text(text[position : mark.start])
            self._add(text, mark)
            position = mark.end
        self._add_text(text[position:])

    def _pieces(self, parts: Iterable[TextPart]) -> Iterator[_Piece]:
        for part in parts:
            if isinstance(part, str):
                yield _Piece(_escape(part))
                continue
            spelling = self.inline.spellings[part.number]
            if part.kind == "open":
                yield _Piece(spelling.written, "open", spelling.closing)
            elif part.kind == "close":
                yield _Piece(spelling.closing, "close")
            else:
                yield _Piece(spelling.written, "mark")

    def _add_text(self, text: str) -> None:
        """Add text in one line."""
        first, *others = text.split("\n")
        self.inline.add(first)
        for last, line in zip([first, *others], others, strict=False):
            before, after = last.rstrip() or " ", line.lstrip() or " "
            self.inline.add(joint(before, after) + line.lstrip())

    def _add(self, text: str, mark: Mark) -> None:
        written = _SPACES.sub(" ", text[mark.start : mark.end])
        inside = text[slice(*mark.inside)]
        if mark.kind == "escape":
            self.inline.add(_read(written))
        elif mark.kind == "note":
            self.inline.single(written)
        elif mark.kind == "emphasis":
            size = mark.inside.start - mark.start
            self._add_pair(written[:size], inside, written[-size:])
        elif mark.kind == "link":
            self._add_link(written, inside)
        elif mark.kind == "role":
            self._add_role(written, inside, mark)
        else:
            self.inline.word(written)

    def _add_pair(
        self, opening: str, inside: str, closing: str, *, is_script: bool = False
    ) -> None:
        self.inline.open(opening, closing, is_script=is_script)
        self._add_text(_read(inside))
        self.inline.close()

    def _add_link(self, written: str, inside: str) -> None:
        """Add a link. Its text is no name of a target any more, so no other link may need it."""
        titled = _TITLED.fullmatch(inside)
        text, target = (titled["text"], titled["target"]) if titled else (inside, "")
        if not text or "<" in text:
            self.inline.word(written)
        elif written.endswith("__"):
            self._add_pair("`", text, f"{_line(target)}`__")
        elif titled is None:
            self._add_pair("`", text, _by_name(_line(text)))
        elif normalized(_read(text)) not in self._linked:
            self._add_pair("`", text, f"{_line(target)}`__")
        else:
            self.inline.word(written)

    def _add_role(self, written: str, inside: str, mark: Mark) -> None:
        """Add a role: the text of a link with a target is translated, code is not."""
        name = mark.role.rpartition(":")[2]
        opening = f":{mark.role}:`"
        titled = _TITLED.fullmatch(inside)
        if name in _STYLES:
            self._add_pair(opening, inside, "`", is_script=name in _SCRIPTS)
        elif _may_link(name) and titled and not _TO_CODE.fullmatch(titled["text"]):
            self._add_pair(opening, titled["text"], f"{_line(titled['target'])}`")
        elif name == _TO_TERM and not titled:
            self._add_pair(opening, inside, f" <{_line(inside)}>`")
        else:
            self.inline.word(written)


def _may_link(role: str) -> bool:
    return bool(role) and not _CODE.fullmatch(role)


def normalized(name: str) -> str:
    """The name of a target as links compare it."""
    return " ".join(name.lower().split())


def link_names(text: str) -> Iterator[str]:
    """The names that the links of a paragraph go to."""
    for mark in marks(text):
        inside = text[slice(*mark.inside)]
        if mark.kind == "name":
            yield normalized(inside.rstrip("_"))
        elif mark.kind == "link" and not text[: mark.end].endswith("__"):
            titled = _TITLED.fullmatch(inside)
            if titled is None:
                yield normalized(_read(inside))
            elif (target := titled["target"].strip().strip("<>")).endswith("_"):
                yield normalized(_read(target[:-1]))


def _by_name(name: str) -> str:
    """The end of a link to what has this name, and has another text."""
    return f" <{name}_>`__"


def _line(text: str) -> str:
    return _SPACES.sub(" ", text)


def _read(text: str) -> str:
    """The text without its escapes."""
    return _ESCAPED.sub(lambda escape: escape[1] or "", text)


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def _flat(pieces: Iterator[_Piece]) -> Iterator[_Piece]:
    """The pieces with no mark within a pair: a pair ends before it and begins again after it."""
    opened: list[_Piece] = []
    for piece in pieces:
        if piece.kind == "text":
            yield piece
            continue
        if opened:
            yield _Piece(opened[-1].closing, "close")
        if piece.kind == "open":
            opened.append(piece)
        elif piece.kind == "close":
            opened.pop()
        else:
            yield piece
        if opened:
            yield opened[-1]


def _atoms(pieces: Iterator[_Piece]) -> Iterator[_Piece]:
    """The pieces with each pair as one mark, with the spaces at its ends outside."""
    for piece in pieces:
        if piece.kind != "open":
            yield piece
            continue
        inside = "".join(one.written for one in itertools.takewhile(_is_text, pieces))
        text = inside.strip()
        begin, end = inside[: len(inside) - len(inside.lstrip())], inside[len(inside.rstrip()) :]
        yield _Piece(begin)
        if text:
            closing = "`_" if piece.closing == _by_name(text) else piece.closing
            yield _Piece(f"{piece.written}{text}{closing}", "mark")
            yield _Piece(end)


def _is_text(piece: _Piece) -> bool:
    return piece.kind == "text"


def _joined(pieces: Iterator[_Piece]) -> str:
    """The pieces with an escaped space where a mark would not be read beside another piece."""
    atoms = [piece for piece in _atoms(pieces) if piece.written]
    others = (
        f"{_GLUE * _is_unread(before, after)}{after.written}"
        for before, after in itertools.pairwise(atoms)
    )
    return "".join([*(piece.written for piece in atoms[:1]), *others])


def _is_unread(before: _Piece, after: _Piece) -> bool:
    if _is_text(before):
        return not (_is_text(after) or MAY_FOLLOW.match(before.written[-1]))
    return not (_is_text(after) and MAY_PRECEDE.match(after.written))
