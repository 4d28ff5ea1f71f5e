"""The inline marks of AsciiDoc, found as Asciidoctor finds them, but from left to right.

Grammar: https://docs.asciidoctor.org/asciidoc/latest/text/
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import regex

from model.text.spans import Span

MarkKind = Literal["pair", "code", "link", "address", "note", "image", "single", "char", "word"]

CHARACTERS = {
    "startsb": "[",
    "endsb": "]",
    "vbar": "|",
    "caret": "^",
    "asterisk": "*",
    "tilde": "~",
    "plus": "+",
    "backslash": "\\",
    "backtick": "`",
    "nbsp": "\u00a0",
    "deg": "°",
    "zwsp": "\u200b",
    "quot": '"',
    "apos": "'",
    "lsquo": "‘",
    "rsquo": "’",
    "ldquo": "“",
    "rdquo": "”",
    "wj": "\u2060",
    "brvbar": "¦",
    "amp": "&",
    "lt": "<",
    "gt": ">",
}
"""Attributes that are characters."""
_WITHOUT_TEXT = frozenset({"blank", "empty", "sp"})
_ADDRESS = r"(?:https?|file|ftp|irc)://(?:[^\s\[\]<>]|<[^\s\[\]<>]*+>)*(?<![.,])"
_ANY = r"""
    (?P<escape>\\)
    |(?P<quote>["']`|`["'])
    |(?P<attrs>\[[^\[\]\n]++\])?(?P<mark>\+\+\+|\$\$|\*\*?|__?|``?|\#\#?|\+\+?|\^|~)"""
_ANY_COMPATIBLE = r"""
    (?P<escape>\\)
    |(?P<quote>``(?!`)|'')
    |(?P<attrs>\[[^\[\]\n]++\])?(?P<mark>\+\+\+|\$\$|\*\*?|__?|`|\#\#?|\+\+?|\^|~|'(?=\S))"""
_OTHERS = rf"""
    |\{{(?P<name>\w[\w-]*+)\}}
    |\{{(?P<set>(?:set|counter2?):[^{{}}\n]++)\}}
    |(?P<entity>&(?:[a-zA-Z]{{2,31}}+\d{{0,2}}+|\#\d{{2,5}}+|\#x[\da-fA-F]{{2,4}}+);)
    |(?P<xref><<)(?=[\w\#/.:{{])
    |(?P<anchor>\[\[[\p{{Alpha}}_:][\w\-:.]*+(?:,\ *+[^\[\]\n]++)?\]\])
    |(?P<hidden>\(\(\()
    |(?P<index>\(\()
    |(?:(?<![^\s>()\[\];"'])|(?<=<)|\G)(?P<address>{_ADDRESS})
    |(?P<macro>footnote(?:ref)?|image|icon|indexterm2?|kbd|btn|menu|pass|stem|latexmath|asciimath
        |anchor|link|mailto|xref|(?<![\w-])[a-zA-Z][a-zA-Z\d_-]*+):(?:(?!:)|(?<=xref:))
    |(?<![\w.%+@-])(?P<email>\w[\w.%+-]*+@\w[\w.-]*\.[a-zA-Z]{{2,5}})\b
    """
_STARTS = {
    False: regex.compile(_ANY + _OTHERS, regex.X),
    True: regex.compile(_ANY_COMPATIBLE + _OTHERS, regex.X),
}
"""How marks begin, by whether they are those of AsciiDoc before Asciidoctor."""
_BEFORE = r"(?<![\w;:}<>&])"
_OLD_CODE = "old"
"""The backtick of AsciiDoc before Asciidoctor."""
_CONSTRAINED = {
    **{mark: regex.compile(rf"(?<=\S)\{mark}(?!\w)") for mark in "*_#+'"},
    "`": regex.compile(r"(?<=\S)`(?![\w\"'`])"),
    _OLD_CODE: regex.compile(r"(?<=\S)`(?![\w`])"),
}
_MAY_BEGIN = {
    **dict.fromkeys("*_#+'", regex.compile(_BEFORE)),
    "`": regex.compile(r"(?<![\w;:}<>&\"'`])"),
    _OLD_CODE: regex.compile(r"(?<![\w`])"),
}
_SCRIPT = regex.compile(r"[^\s^~]++")
_CODE = frozenset({"`", "``", "+", "++", "+++", "$$"})
_CLOSED = regex.compile(r"(?<!\\)\]")
_BOUND = regex.compile(r"[\s\[]|\Z")
_QUOTES = {'"`': "“", '`"': "”", "'`": "‘", "`'": "’", "``": "“", "''": "”"}
_CLOSING = {'"`': '`"', "'`": "`'", "``": "''"}
_OPENING = {
    False: regex.compile(r"(?<=\w):[^\s\[\]:]*+\[|\[(?=[.#]\w)"),
    True: regex.compile(r"\["),
}
"""Brackets within brackets, by whether these are those of a note."""
_SPACED, _LONGEST_TARGET = frozenset({"menu", "xref"}), 200
"""What may have spaces before its brackets."""
_MOST_BRACKETS = 20
_PATH = regex.compile(r"(?:[\w/.#?&=%~+\\-]|:(?=[\d/])|\{[\w-]{1,40}\}){0,200}+")
_AFTER_ROLE = regex.compile(r"[*_`#^~]")
_SINGLES = frozenset({"anchor", "indexterm", "footnoteref"})
_LINKS = frozenset({"link", "mailto", "xref", "indexterm2"})


class AdocMark(NamedTuple):
    """A mark and the text in it. `written`: the mark before and after this text; a `char` is this
    character."""

    kind: MarkKind
    start: int
    end: int
    inside: Span
    written: str = ""
    attributes: str = ""


class AdocMarks:
    """The marks of a part of a text, in order, without those in others. Linear time."""

    def __init__(
        self, text: str, span: Span, *, is_compatible: bool, addresses: Mapping[str, bool]
    ) -> None:
        """`is_compatible`: as AsciiDoc was before Asciidoctor, with `+code+` and 'emphasis'.
        `addresses`: attributes that are some, and whether they have brackets, too."""
        self._text, self._span, self._start = text, span, _STARTS[is_compatible]
        self._is_compatible, self._addresses = is_compatible, addresses
        self._missing: set[str] = set()
        self._closing: set[str] = set()
        self._bound = Span(0, 0)

    def __iter__(self) -> Iterator[AdocMark]:
        position = self._span.start
        while start := self._start.search(self._text, position, self._span.end):
            found = self._mark(start)
            if found:
                yield found
            position = found.end if found else self._behind(start)

    def _behind(self, start: regex.Match[str]) -> int:
        """Where to go on after what begins no mark."""
        if start["attrs"] or start["quote"]:
            return start.start() + 1
        return start.end() if start["macro"] is None else start.end() - 1

    def _mark(self, start: regex.Match[str]) -> AdocMark | None:
        if start["escape"]:
            return self._escape(start)
        if start["mark"]:
            return self._quoted(start)
        if start["quote"]:
            return self._quotation(start)
        if start["macro"]:
            return self._macro(start)
        if start["address"]:
            return self._address(start)
        if start["xref"]:
            return self._xref(start)
        if start["index"]:
            return self._paired("link", start, "))", self._text.startswith("(((", start.start()))
        return self._other(start)

    def _other(self, start: regex.Match[str]) -> AdocMark | None:
        span = start.span()
        if start["hidden"]:
            return self._paired("single", start, ")))")
        if start["anchor"] or start["name"] in _WITHOUT_TEXT:
            return AdocMark("single", *span, Span(*span))
        if start["name"] in CHARACTERS:
            return AdocMark("char", *span, Span(*span), CHARACTERS[start["name"]])
        if start["email"]:
            return AdocMark("address", *span, Span(*span))
        if start["name"] and (found := self._named_address(start)):
            return found
        if start["entity"] and len(char := html.unescape(start["entity"])) == 1:
            return AdocMark("char", *span, Span(*span), char)
        return AdocMark("word", *span, Span(*span))

    def _quotation(self, start: regex.Match[str]) -> AdocMark | None:
        """A quotation mark whose other one is there, or an apostrophe."""
        quote, span = start["quote"], start.span()
        if closing := _CLOSING.get(quote):
            if self._find(closing, start.end()) < 0:
                return None
            self._closing.add(closing)
        elif quote in self._closing:
            self._closing.remove(quote)
        else:
            code = self._constrained(span[0], "`", span[0] + 1) if quote[0] == "`" else Span(0, 0)
            if code.end > code.start:
                return AdocMark("code", span[0], code.end + 1, code, "`")
            if quote != "`'":
                return None
        return AdocMark("char", *span, Span(*span), _QUOTES[quote])

    def _escape(self, start: regex.Match[str]) -> AdocMark | None:
        """What stands for itself because of a backslash."""
        escaped = self._start.match(self._text, start.end(), self._span.end)
        if escaped is None or escaped["escape"]:
            return None
        inside = Span(start.end(), start.end() + len(escaped["mark"] or ""))
        found = self._mark(escaped)
        if escaped["mark"] and found:
            return AdocMark("char", start.start(), inside.end, inside, escaped["mark"])
        return (
            AdocMark("word", start.start(), found.end, Span(start.start(), found.end))
            if found
            else None
        )

    def _paired(
        self, kind: MarkKind, start: regex.Match[str], closing: str, is_none: bool = False
    ) -> AdocMark | None:
        """What ends with `closing`."""
        end = -1 if is_none else self._find(closing, start.end())
        if end < 0:
            return None
        inside = Span(start.end(), end)
        return AdocMark(kind, start.start(), end + len(closing), inside, start.group())

    def _find(self, closing: str, position: int) -> int:
        """Where this begins at or behind the position, or -1."""
        if closing in self._missing:
            return -1
        end = self._text.find(closing, position, self._span.end)
        if end < 0:
            self._missing.add(closing)
        return end

    def _quoted(self, start: regex.Match[str]) -> AdocMark | None:
        mark, attributes = start["mark"], start["attrs"] or ""
        if mark in ("^", "~"):
            content = _SCRIPT.match(self._text, start.end(), self._span.end)
            end = content.end() if content else 0
            is_closed = end and self._text.startswith(mark, end) and end < self._span.end
            inside = Span(start.end(), end)
        elif len(mark) > 1:
            end = self._find(mark, start.end() + 1)
            is_closed, inside = end > 0, Span(start.end(), end)
        else:
            inside = self._constrained(start.start(), mark, start.end())
            is_closed = inside.end > inside.start
        if not is_closed:
            return None
        kind: MarkKind = "code" if mark in _CODE else "pair"
        return AdocMark(kind, start.start(), inside.end + len(mark), inside, mark, attributes)

    def _constrained(self, start: int, mark: str, begin: int) -> Span:
        """What is between two marks that stand at no letters."""
        mark = _OLD_CODE if mark == "`" and self._is_compatible else mark
        is_mark = _MAY_BEGIN[mark].match(self._text, start) and begin < self._span.end
        if mark in self._missing or not is_mark or self._text[begin].isspace():
            return Span(begin, begin)
        end = _CONSTRAINED[mark].search(self._text, begin + 1, self._span.end + 1)
        if end is None or end.end() > self._span.end:
            self._missing.add(mark)
            return Span(begin, begin)
        return Span(begin, end.start())

    def _xref(self, start: regex.Match[str]) -> AdocMark | None:
        found = self._paired("word", start, ">>")
        if found is None:
            return None
        comma = self._text.find(",", *found.inside)
        if comma < 0:
            return found
        while self._text[comma + 1].isspace():
            comma += 1
        opening = self._text[start.start() : comma + 1]
        return AdocMark("link", found.start, found.end, Span(comma + 1, found.inside.end), opening)

    def _address(self, start: regex.Match[str]) -> AdocMark | None:
        if self._text.startswith("[", start.end()) and start.end() < self._span.end:
            return self._bracketed("link", start.start(), start.end())
        address = start["address"].rstrip(");:!?")
        end = start.start() + len(address)
        return AdocMark("address", start.start(), end, Span(start.start(), end))

    def _named_address(self, start: regex.Match[str]) -> AdocMark | None:
        """A link whose address begins with an attribute."""
        path = _PATH.match(self._text, start.end(), self._span.end)
        end = path.end() if path else start.end()
        if self._text.startswith("[", end) and end < self._span.end:
            found = self._bracketed("link", start.start(), end)
            if found and not _AFTER_ROLE.match(self._text, found.end):
                return found
        if start["name"] not in self._addresses:
            return None
        end = start.end() + len(self._text[start.end() : end].rstrip(".:?"))
        span = Span(start.start(), end)
        return AdocMark("address", *span, span, attributes="[" * self._addresses[start["name"]])

    def _macro(self, start: regex.Match[str]) -> AdocMark | None:
        if start.end() >= self._bound.end:
            bound = _BOUND.search(self._text, start.end(), self._span.end)
            self._bound = Span(start.end(), bound.start() if bound else self._span.end)
        name, bracket = start["macro"], self._bound.end
        if name in _SPACED and not self._text.startswith("[", bracket):
            bracket = self._find("[", start.end())
            if "\n" in self._text[start.end() : bracket][:_LONGEST_TARGET]:
                return None
        if bracket < 0 or not self._text.startswith("[", bracket) or bracket >= self._span.end:
            return None
        kind: MarkKind = "word"
        if name in _LINKS:
            kind = "link"
        elif name in ("footnote", "image"):
            kind = "note" if name == "footnote" else "image"
        elif name in _SINGLES:
            kind = "single"
        return self._bracketed(kind, start.start(), bracket)

    def _bracketed(self, kind: MarkKind, start: int, bracket: int) -> AdocMark | None:
        """What has its text in the brackets that begin there, with those of marks in it."""
        if "]" in self._missing:
            return None
        depth, position = 1, bracket + 1
        opening = _OPENING[kind == "note"]
        for _ in range(_MOST_BRACKETS if kind in ("link", "note") else 1):
            end = _CLOSED.search(self._text, position, self._span.end)
            if end is None:
                break
            if kind in ("link", "note"):
                depth += len(opening.findall(self._text, position, end.start()))
            depth -= 1
            position = end.end()
            if not depth:
                inside = Span(bracket + 1, position - 1)
                return AdocMark(kind, start, position, inside, self._text[start : bracket + 1])
        if position == bracket + 1:
            self._missing.add("]")
        return None
