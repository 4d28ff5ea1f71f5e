"""The text of one block of Markdown, with its emphasis, links and HTML as codes.

markdown-it tells no offsets within a block, so this reads what a translation has to carry through.
Marks that do not pair are text, as in CommonMark.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import regex
from markdown_it.common.utils import normalizeReference

from service.translation.documents.inline import InlineText, joint

_TARGET = (
    r"""\((?:\s*+(?:<[^<>\n\0]*+>|(?:[^\s()\\\0]++|\\.|\((?:[^\s()\\\0]|\\.)*+\))*+)"""
    r"""(?:\s++(?:"(?:[^"\\\0]|\\.)*+"|'(?:[^'\\\0]|\\.)*+'|\((?:[^()\\\0]|\\.)*+\)))?\s*+)\)"""
)
_MOST_LABEL_CHARACTERS = 999
"""As in CommonMark."""
_LABEL = r"\[[^\[\]\0]{0,500}+\]"
_PARTS = (
    r"(?P<code>(?<!`)(?P<ticks>`++)(?:[^`\0]++|(?!(?P=ticks)(?!`))`++)*+(?P=ticks))"
    r"|(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<link><(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\0]*+|[\w.+-]++@[\w.-]++)>)"
    r"|(?P<tag><(?:/?[A-Za-z][\w-]*+(?:\s[^<>\0]*+)?/?{comment})>)|(?P<comment><!--)"
    r"|(?P<entity>&(?:[A-Za-z]\w{1,31}|\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6});)"
    rf"|(?P<image>!{_LABEL}(?:{_TARGET}|{_LABEL})|\[\^[^\]\s\0]++\])"
    rf"|(?P<open>\[)|(?P<close>\](?P<target>{_TARGET}|{_LABEL})?+)"
    r"|(?P<mark>\*++|_++|~~)"
    r"|(?P<break>\0)"
)
_PART = regex.compile(_PARTS.replace("{comment}", ""), regex.DOTALL)
_WITH_COMMENT = regex.compile(
    _PARTS.replace("{comment}", r"|!--(?:[^-\0]|-(?!->))*+--"), regex.DOTALL
)
_NAME = regex.compile(r"<(/?)([A-Za-z][\w-]*+)")
_VOID = frozenset({"br", "hr", "img", "input", "wbr", "source", "area", "col", "embed"})
_NUMBERED = regex.compile(r"(\d{1,9})(?=[.)](?:\s|$))")
_MARKED = regex.compile(r"(?=[-+*](?:\s|$)|#{1,6}(?:\s|$)|[>=]|~~~|```)")
_ESCAPE = regex.compile(r"&#(\d{2,3});")
_REFERENCE = regex.compile(r"&#x(26|3c|3e);")
_CODES = {"&amp;": "&#x26;", "&lt;": "&#x3c;", "&gt;": "&#x3e;"}
_NAMES = {code[3:-1]: name for name, code in _CODES.items()}
_HARD_BREAK = regex.compile(r"(?:\\|[ ]{2,})\Z")


class MarkdownText:
    """The lines of one block as one segment, and the way back to Markdown."""

    def __init__(
        self, source: str, lines: Sequence[tuple[int, int]], labels: Collection[str]
    ) -> None:
        """`lines`: where they stand in the source; `labels`: of the links that it defines."""
        self.inline = InlineText()
        text, breaks = _joined(source, lines)
        parts = list(_parts(text))
        pairs = _Pairs(text, parts, labels).found
        position, remaining = 0, iter(breaks)
        for number, part in enumerate(parts):
            self._add_text(text[position : part.start()])
            self._add_part(part, number, pairs, remaining)
            position = part.end()
        self._add_text(text[position:])

    def write(self, translation: str) -> str:
        """The translation as Markdown. Its beginning is not a mark of a block."""
        written = "".join(
            _unescaped(event.written) if event.kind == "text" else event.written
            for event in self.inline.events(translation)
        )
        written = _NUMBERED.sub(r"\1\\", written) if _NUMBERED.match(written) else written
        return "\\" + written if _MARKED.match(written) else written

    def _add_part(
        self,
        part: regex.Match[str],
        number: int,
        pairs: dict[int, tuple[int, str]],
        breaks: Iterator[str],
    ) -> None:
        kind, written = part.lastgroup, part.group()
        if number in pairs:
            partner, closing = pairs[number]
            if partner > number:
                self.inline.open(written, closing)
            else:
                self.inline.close()
        elif part["break"]:
            self.inline.stop(next(breaks))
        elif part["code"] or part["link"]:
            self.inline.word(written, html.escape(written, quote=False))
        elif part["escape"]:
            self.inline.add(f"&#{ord(written[1])};")
        elif part["entity"]:
            self.inline.add(_CODES.get(written, written))
        elif part["tag"] or part["image"]:
            is_break = part["tag"] and written[1:3].lower() == "br"
            _ = self.inline.stop(written) if is_break else self.inline.single(written)
        else:
            assert kind
            self._add_text(written)

    def _add_text(self, text: str) -> None:
        self.inline.add(html.escape(text, quote=False))


class _Pairs:
    """Finds which marks belong together. Linear time: what is passed over is never looked at
    again."""

    def __init__(
        self, text: str, parts: Sequence[regex.Match[str]], labels: Collection[str]
    ) -> None:
        self._text, self._parts, self._labels = text, parts, labels
        self._opened: list[tuple[str, int]] = []
        self._counts: Counter[str] = Counter()
        self.found: dict[int, tuple[int, str]] = {}
        """Each paired part's partner, and how the pair is closed."""
        for number, part in enumerate(parts):
            if part["mark"]:
                self._mark(number, part)
            elif part["open"]:
                self._open("[", number)
            elif part["close"]:
                self._bracket(number, part)
            elif part["tag"]:
                self._tag(number, part.group())

    def _open(self, key: str, number: int) -> None:
        self._opened.append((key, number))
        self._counts[key] += 1

    def _close(self, key: str) -> int | None:
        """The last part that opened `key`; those after it are text."""
        if not self._counts[key]:
            return None
        while True:
            opened, number = self._opened.pop()
            self._counts[opened] -= 1
            if opened == key:
                return number

    def _pair(self, start: int, end: int, closing: str) -> None:
        self.found[start], self.found[end] = (end, closing), (start, closing)

    def _mark(self, number: int, part: regex.Match[str]) -> None:
        mark = part.group()
        before = self._text[part.start() - 1 : part.start()] or " "
        after = self._text[part.end() : part.end() + 1] or " "
        is_inside_word = mark[0] == "_" and before.isalnum() and after.isalnum()
        if is_inside_word:
            return
        if not before.isspace() and (start := self._close(mark)) is not None:
            self._pair(start, number, mark)
        elif not (after.isspace() or after == "\0"):
            self._open(mark, number)

    def _bracket(self, number: int, part: regex.Match[str]) -> None:
        start = self._close("[")
        if start is None:
            return
        target = part["target"] or ""
        label = target[1:-1] or self._own_label(self._parts[start].end(), part.start())
        if target.startswith("("):
            self._pair(start, number, part.group())
        elif normalizeReference(label) in self._labels:
            self._pair(start, number, f"][{label}]")

    def _own_label(self, start: int, end: int) -> str:
        """What stands between brackets, if it can be a label: nested brackets would be read again
        and again."""
        return self._text[start:end] if end - start <= _MOST_LABEL_CHARACTERS else ""

    def _tag(self, number: int, tag: str) -> None:
        name = _NAME.match(tag)
        if name is None or name[2].lower() in _VOID or tag.endswith("/>"):
            return
        key = f"<{name[2].lower()}"
        if not name[1]:
            self._open(key, number)
        elif (start := self._close(key)) is not None:
            self._pair(start, number, tag)


class _Places:
    """Where a string stands in a text. To be asked in order: the text is read once."""

    def __init__(self, text: str, wanted: str) -> None:
        self._text, self._wanted, self._found = text, wanted, -1

    def next(self, position: int) -> int:
        """The first place from `position` on; the text's length if there is none."""
        if self._found < position:
            found = self._text.find(self._wanted, position)
            self._found = found if found >= 0 else len(self._text)
        return self._found


def _parts(text: str) -> Iterator[regex.Match[str]]:
    """The parts that are more than text. A comment is read only if it ends before a line's hard
    break: many that do not end would each be read to the end of the text."""
    ends, breaks, position = _Places(text, "-->"), _Places(text, "\0"), 0
    while (part := _PART.search(text, position)) is not None:
        if part["comment"] and ends.next(part.end()) < breaks.next(part.end()):
            part = _WITH_COMMENT.match(text, part.start()) or part
        yield part
        position = part.end()


def _joined(source: str, lines: Sequence[tuple[int, int]]) -> tuple[str, list[str]]:
    """The lines as one, with a zero character for each hard break, and how these are written."""
    parts, breaks = [], []
    for (start, end), (following, _) in zip(lines, [*lines[1:], (0, 0)], strict=True):
        line, between = source[start:end], source[end:following] if following else ""
        ending = between.partition("\n")[0].rstrip("\r")
        if following and _HARD_BREAK.search(line + ending):
            is_escaped = line.endswith("\\")
            parts += [line[:-1] if is_escaped else line, "\0"]
            breaks.append(("\\" if is_escaped else "") + between)
        else:
            parts += [line, joint(line, source[following : following + 1]) if following else ""]
    return "".join(parts), breaks


def _unescaped(text: str) -> str:
    """Text as Markdown writes it, from text as HTML writes it."""
    text = _ESCAPE.sub(lambda match: "\\" + chr(int(match[1])), text)
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return _REFERENCE.sub(lambda match: _NAMES[match[1]], text)
