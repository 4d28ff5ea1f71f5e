"""The text of a paragraph of LaTeX: its commands are codes, and a translation is LaTeX again."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

import regex

from model.text.spans import Span
from service.documents.inline import InlineText, joint
from service.documents.latex_commands import (
    ACCENTS,
    CHARACTERS,
    DECLARATIONS,
    MARKS,
    NOTES,
    PAIRS,
    READINGS,
    SCRIPTS,
    WORDS,
)
from service.documents.latex_tree import Argument, TokenTree
from service.documents.segments import inner
from service.translation.markup.coded_text import CodedText

_LINES = regex.compile(r"[^\S\n]*+\n\s*+")
_LIGATURES = {"---": "—", "--": "–", "``": "“", "''": "”", ",,": "„", "`": "‘", "~": "\u00a0"}
_LIGATURE = regex.compile("|".join(map(regex.escape, _LIGATURES)))
_SPELLINGS = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "{}$&#_%"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\textasciigrave{}",
    "\x03": "{}",
    "\u00a0": "~",
    "\u202f": r"\,",
}
_JOINED = regex.compile(r"[-–—](?=[-–—])|['’”](?=['’”])|[,„‚](?=[,„‚])|[“‘](?=[“‘])")
_DOUBLED = regex.compile(r"([-',])(?=\1)")
"""What TeX would join to a dash or a quotation mark; \\x03 parts them."""
_TYPOGRAPHY = {
    "—": "---",
    "–": "--",
    "…": r"\ldots{}",
    "“": "``",
    "”": "''",
    "„": ",,",
    "‘": "`",
    "’": "'",
    "‚": ",",
}
_WITHOUT_LIGATURES = str.maketrans(_SPELLINGS)
_WITH_LIGATURES = str.maketrans({**_SPELLINGS, **_TYPOGRAPHY})
_LETTERS = frozenset("ßæÆœŒåÅøØłŁıȷ")
_BARE = regex.compile(r"\\[A-Za-z@]++\*?\Z")
_BEFORE_SPACE, _BEFORE_OTHERS = "\x01", "\x02"
"""What ends a command without arguments, which takes the spaces behind it."""
_END_OF_COMMAND = regex.compile(r"(?P<end>[\x01\x02])(?=(?P<letter>[\p{L}@])?(?P<space>\s)?)")


class ParagraphText:
    """The commands of a paragraph as codes, and the way back."""

    def __init__(self, tree: TokenTree, has_ligatures: bool) -> None:
        """`has_ligatures`: whether dashes and quotation marks are written as those of TeX."""
        self._tree, self._tokens = tree, tree.tokens
        self._spellings = _WITH_LIGATURES if has_ligatures else _WITHOUT_LIGATURES
        self._joined = _JOINED if has_ligatures else _DOUBLED
        self.inline = InlineText(self._spell)
        self.notes: list[Argument] = []
        """The texts beside this one, such as footnotes."""

    def read(self, first: int, last: int) -> Span:
        """Read the tokens, without what is around their words, whose span this is."""
        around = [*self._items(first, last)]
        words = [place for place, item in enumerate(around) if not self._is_around(*item)]
        if not words:
            self._keep_notes(around)
            return Span(0, 0)
        self._keep_notes([*around[: words[0]], *around[words[-1] + 1 :]])
        items = around[words[0] : words[-1] + 1]
        start, end = self._tokens[items[0][0]].start, self._tokens[items[-1][1] - 1].end
        source = self._tree.source
        while source[start].isspace():
            start += 1
        while source[end - 1].isspace():
            end -= 1
        self._add_all(items, Span(start, end))
        return Span(start, end)

    def write(self, translation: CodedText, *, is_option: bool) -> str:
        """The translation, which begins no option, and ends none, if it stands in one."""
        written = _END_OF_COMMAND.sub(_ending, self.inline.write(translation))
        if is_option and ("[" in written or "]" in written):
            return f"{{{written}}}"
        return f"{{{written[0]}}}{written[1:]}" if written.startswith("[") else written

    def _spell(self, text: str) -> str:
        return self._joined.sub("\\g<0>\x03", text).translate(self._spellings)

    def _items(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The ranges of tokens that are one thing: a command with arguments, a group, a text."""
        while first < last:
            behind = self._behind(first, last)
            yield first, behind
            first = behind

    def _behind(self, place: int, last: int) -> int:
        token = self._tokens[place]
        if token.kind != "command":
            return self._tree.behind(place)
        if token.name in CHARACTERS or token.name in READINGS:
            return place + 1 + 2 * self._has_empty_group(place + 1, last)
        arguments = self._arguments(place, last)
        return arguments[-1].last + 1 if arguments else place + 1

    def _arguments(self, place: int, last: int) -> list[Argument]:
        name = self._tokens[place].name
        num_groups = PAIRS[name] + 1 if name in PAIRS else 1 if name in NOTES else None
        return self._tree.arguments(place + 1, num_groups, last)

    def _has_empty_group(self, place: int, last: int) -> bool:
        return (
            place + 1 < last
            and self._tree.is_group(place)
            and self._tree.behind(place) == place + 2
        )

    def _is_around(self, first: int, last: int) -> bool:
        """Whether an item is no word of a text."""
        token = self._tokens[first]
        if token.kind == "command":
            return token.name in DECLARATIONS or token.name in MARKS or token.name in NOTES
        return token.kind == "comment" or not self._tree.text(first, last).strip()

    def _keep_notes(self, items: Iterable[tuple[int, int]]) -> None:
        for first, last in items:
            if self._tokens[first].kind == "command" and self._tokens[first].name in NOTES:
                found = self._arguments(first, last)[-1:]
                self.notes += [one for one in found if not one.is_option]

    def _add_all(self, items: list[tuple[int, int]], span: Span) -> None:
        gobbles = False
        for first, last in items:
            token = self._tokens[first]
            if token.kind == "text":
                text = self._tree.source[max(token.start, span.start) : min(token.end, span.end)]
                self._add_text(text.lstrip() if gobbles else text)
            elif token.kind == "command":
                self._add_command(first, last)
            else:
                self._add_other(first, last)
            gobbles = last == first + 1 and token.name in CHARACTERS and token.name.isalpha()

    def _add_inside(self, first: int, last: int, num_spaces: int = 0) -> None:
        """Add the tokens of a group, without the spaces that it begins with."""
        if first < last:
            span = Span(self._tokens[first].start + num_spaces, self._tokens[last - 1].end)
            self._add_all([*self._items(first, last)], span)

    def _add_text(self, text: str) -> None:
        """Add text in one line."""
        read = _LIGATURE.sub(lambda found: _LIGATURES[found.group()], text)
        position = 0
        for line in _LINES.finditer(read):
            self.inline.add(read[position : line.start()])
            before, after = (
                read[max(0, line.start() - 1) : line.start()],
                read[line.end() : line.end() + 1],
            )
            self.inline.add(joint(before or " ", after or " "))
            position = line.end()
        self.inline.add(read[position:])

    def _add_other(self, first: int, last: int) -> None:
        token = self._tokens[first]
        written = self._tree.text(first, last)
        if token.kind == "comment":
            if written.strip("% \t\n"):
                self.inline.single(written if written.endswith("\n") else f"{written.rstrip()}\n")
        elif token.kind == "accent":
            self.inline.add(_accented(written))
        elif token.kind == "sign" and token.name == "{":
            self._add_group(first, last)
        elif token.kind == "code":
            self.inline.word(written)
        else:
            self.inline.add(written)

    def _add_group(self, first: int, last: int) -> None:
        """Add a group: a pair, which begins with what changes its text."""
        begin, end = first + 1, last - 1
        if begin > end:
            return
        while begin < end and self._is_declaration(begin):
            begin = self._behind(begin, end)
        opening, text = self._tree.text(first, begin), self._tree.text(begin, end)
        is_changed = begin > first + 1
        spaces = len(text) - len(text.lstrip()) if is_changed else 0
        self.inline.open(f"{opening.rstrip()} " if is_changed else opening, "}")
        self._add_inside(begin, end, spaces)
        self.inline.close()

    def _is_declaration(self, place: int) -> bool:
        token = self._tokens[place]
        is_space = not self._tree.source[token.start : token.end].strip()
        return is_space or (token.kind == "command" and token.name in DECLARATIONS)

    def _add_command(self, first: int, last: int) -> None:
        name = self._tokens[first].name
        written = self._tree.text(first, last)
        if name in CHARACTERS:
            self._add_character(name, written, last)
        elif name in READINGS:
            self.inline.element(self._ended(written, last), READINGS[name])
        elif name in MARKS or name in DECLARATIONS:
            self.inline.single(self._ended(written, last))
        else:
            self._add_known(first, last, name)

    def _add_character(self, name: str, written: str, last: int) -> None:
        char = CHARACTERS[name]
        is_plain = char in _LETTERS or not name.isalpha() or ord(char[:1] or " ") > 0x2000
        if is_plain or char in "\\~^`<>|":
            self.inline.add(char)
        else:
            self.inline.char(char, self._ended(written, last))

    def _ended(self, command: str, last: int) -> str:
        """A command with its end, if that must be told."""
        if not _BARE.search(command):
            return command
        behind = self._tokens[last].start if last < len(self._tokens) else len(self._tree.source)
        is_before_space = self._tree.source[behind : behind + 1].isspace()
        return command + (_BEFORE_SPACE if is_before_space else _BEFORE_OTHERS)

    def _add_known(self, first: int, last: int, name: str) -> None:
        arguments = self._arguments(first, last)
        inside = next((one for one in reversed(arguments) if not one.is_option), None)
        if inside is None:
            self.inline.word(self._ended(self._tree.text(first, last), last))
        elif name in NOTES:
            self.notes.append(inside)
            self._add_note(first, last, inside)
        elif name in PAIRS or (name not in WORDS and self._tree.is_prose(inside)):
            opening, closing = (
                self._tree.text(first, inside.first),
                self._tree.text(inside.last, last),
            )
            self.inline.open(opening, closing, is_script=name in SCRIPTS)
            self._add_inside(inside.first, inside.last)
            self.inline.close()
        else:
            self.inline.word(self._tree.text(first, last))

    def _add_note(self, first: int, last: int, inside: Argument) -> None:
        opening = self._tree.text(first, inside.first - 1)
        braces = self._tokens[inside.first - 1].start, self._tokens[inside.last].end
        self.inline.single(f"{opening}{inner(*braces)}")


def _ending(found: regex.Match[str]) -> str:
    """What keeps a command apart from what follows it."""
    takes_space = found["space"] and found["end"] == _BEFORE_OTHERS
    return "{}" if found["letter"] or takes_space else ""


def _accented(written: str) -> str:
    """The letter that an accent makes."""
    name = written[1]
    letter = written[2:].strip("{} \t\n\\")
    return unicodedata.normalize("NFC", letter + ACCENTS[name]) if letter else name
