"""LaTeX: the texts of paragraphs, titles, captions, items, cells and notes are translated, each
into one line. Formulas, code, commands that nobody knows, the preamble but its title, and comments
stay."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import regex

from service.documents.latex_commands import (
    BLOCKS,
    DEFINITIONS,
    ENVIRONMENT_ARGUMENTS,
    INLINE,
    PAIRS,
    SEPARATORS,
    TITLED_ENVIRONMENTS,
    TITLES,
    WITH_SHORT_TEXTS,
)
from service.documents.latex_text import ParagraphText
from service.documents.latex_tokens import TexToken, tokens
from service.documents.latex_tree import Argument, TokenTree
from service.documents.segments import Edit, FileOptions, Place, Segment, TextFile, decode
from service.translation.language.segmentation import is_spaced

_ENCODING = regex.compile(r"(?<=\\usepackage\[)[\w-]++(?=\]\s*+\{inputenc\})")
_BABEL = regex.compile(
    r"\\(?:usepackage|documentclass)\s*+\[(?P<options>[^\[\]]*+)\]\s*+\{(?P<package>[^{}]*+)\}"
)
_LINE = 200
_AFTER_ALONE = regex.compile(r"[^\S\n]*+(?:%[^\n]*+)?(?:\Z|\n[^\S\n]*+[\\\n%}])")
_NAMES_IN_BABEL = {
    "en": ("english", "american", "british", "USenglish", "UKenglish"),
    "de": ("ngerman", "german"),
}


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Raises InvalidDocument."""
    decoded = decode(content, options.source, _encode_wide, _ENCODING)
    reader = _Reader(decoded.text, is_spaced(options.target))
    return TextFile(decoded, reader.places(), _babel_edits(decoded.text, options))


def _encode_wide(text: str) -> bytes:
    """A text that its encoding cannot write, in UTF-8, as it then says itself."""
    return _ENCODING.sub("utf8", text).encode()


def _babel_edits(source: str, options: FileOptions) -> Iterator[Edit]:
    """Have the main language of the document be the target."""
    old, new = (_NAMES_IN_BABEL.get(code, ()) for code in (options.source, options.target))
    for found in _BABEL.finditer(source) if new else ():
        last = regex.search(r"(?:^|[,\s=])(\w++)\s*+$", found["options"])
        if last and last[1] in old:
            start = found.start("options") + last.start(1)
            yield Edit(start, start + len(last[1]), new[0])


class _Reader:
    """Finds the texts between what separates them."""

    def __init__(self, source: str, has_ligatures: bool) -> None:
        """`has_ligatures`: see ParagraphText."""
        self._source, self._has_ligatures = source, has_ligatures
        self._tokens = tokens(source)
        self._tree = TokenTree(source, self._tokens)
        self._places: list[Place] = []

    def places(self) -> list[Place]:
        first, last = self._body()
        self._read_titles(first)
        self._flow(first, last)
        return self._places

    def _body(self) -> tuple[int, int]:
        """The tokens of the document, or of a file that is a part of one."""
        edges = {
            token.kind: place
            for place, token in reversed([*enumerate(self._tokens)])
            if token.name == "document"
        }
        return edges.get("begin", -1) + 1, edges.get("end", len(self._tokens))

    def _read_titles(self, last: int) -> None:
        place = 0
        while place < last:
            token = self._tokens[place]
            if token.kind == "command" and token.name in TITLES:
                for text in self._tree.arguments(place + 1, 1, last):
                    self._flow(*text[:2], is_option=text.is_option)
            place = self._tree.behind(place)

    def _flow(self, first: int, last: int, *, is_option: bool = False) -> None:
        """Read the texts of a range of tokens."""
        begin = place = first
        while place < last:
            separator = self._separator(place, last)
            if separator is None:
                place = self._tree.behind(place)
                continue
            behind, texts = separator
            self._read_paragraph(begin, place, is_option=is_option)
            for text in texts:
                self._flow(*text[:2], is_option=text.is_option)
            begin = place = behind
        self._read_paragraph(begin, last, is_option=is_option)

    def _separator(self, place: int, last: int) -> tuple[int, list[Argument]] | None:
        """What is between two texts: the place behind it, and the texts within it."""
        token = self._tokens[place]
        if token.kind in ("break", "end") or (token.kind == "code" and self._is_display(token)):
            return place + 1, []
        if token.kind == "begin":
            return self._beginning(place, last)
        if token.kind == "sign":
            return self._sign(place)
        if token.kind != "command":
            return None
        return self._command(place, last)

    def _is_display(self, token: TexToken) -> bool:
        return bool(token.name) or self._source.startswith(("$$", "\\["), token.start)

    def _sign(self, place: int) -> tuple[int, list[Argument]] | None:
        if self._tokens[place].name in ("[", "]"):
            return None
        if not self._tree.is_group(place):
            return place + 1, []
        behind = self._tree.behind(place)
        if behind > place + 1 and self._tree.has_separator(place + 1, behind - 1):
            return behind, [Argument(place + 1, behind - 1, is_option=False)]
        return None

    def _beginning(self, place: int, last: int) -> tuple[int, list[Argument]]:
        """An environment: its options may have a title, other arguments only those of some."""
        name = self._tokens[place].name
        known = ENVIRONMENT_ARGUMENTS.get(name)
        found = self._tree.arguments(place + 1, known, last)
        is_titled = name in TITLED_ENVIRONMENTS
        texts = [
            one
            for one in found
            if (is_titled and not one.is_option) or (known is None and self._tree.is_prose(one))
        ]
        return found[-1].last + 1 if found else place + 1, texts

    def _command(self, place: int, last: int) -> tuple[int, list[Argument]] | None:
        name = self._tokens[place].name
        num_before = BLOCKS.get(name, PAIRS.get(name))
        if name in DEFINITIONS:
            found = self._tree.definition(place + 1, last)
        elif name in SEPARATORS:
            num_groups = SEPARATORS[name]
            found = [] if num_groups is None else self._tree.arguments(place + 1, num_groups, last)
        elif num_before is None:
            return self._alone(place, last) if name not in INLINE else None
        else:
            found = self._tree.arguments(place + 1, num_before + 1, last)
        if name in PAIRS and not any(self._tree.has_separator(*one[:2]) for one in found[-1:]):
            return None
        has_short = name.rstrip("*") in WITH_SHORT_TEXTS
        texts = [one for one in found if one.is_option and has_short]
        if num_before is not None:
            texts += [one for one in found[-1:] if not one.is_option]
        return found[-1].last + 1 if found else place + 1, texts

    def _alone(self, place: int, last: int) -> tuple[int, list[Argument]] | None:
        """A command that nobody knows, on lines of its own among others, as settings are."""
        found = self._tree.arguments(place + 1, None, last)
        behind = found[-1].last + 1 if found else place + 1
        is_alone = _AFTER_ALONE.match(self._source, self._tokens[behind - 1].end)
        if not (is_alone and self._begins_alone(self._tokens[place].start)):
            return None
        return behind, [one for one in found if self._tree.is_prose(one)]

    def _begins_alone(self, start: int) -> bool:
        """Whether a line begins there, and nothing that goes on is in the line before."""
        before, _, indent = self._source[max(0, start - _LINE) : start].rpartition("\n")
        line = before.rpartition("\n")[2].strip()
        goes_on = line and not line.startswith("%") and not line.endswith(("]", "}"))
        return not indent.strip() and not goes_on

    def _read_paragraph(self, first: int, last: int, *, is_option: bool) -> None:
        text = ParagraphText(self._tree, self._has_ligatures)
        span = text.read(first, last)
        for note in text.notes:
            self._flow(note.first, note.last)
        if text.inline.has_letters:
            segment = Segment(text.inline.text)
            write = functools.partial(text.write, is_option=is_option)
            self._places.append(Place(span.start, span.end, segment, write))
