"""The texts with inline codes, such as runs and links, of a document, and how its codes are
written."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import regex

from service.translation.language.segmentation import has_letters
from service.translation.markup.coded_text import Code, CodedText, CodeKind, TextPart, merged
from service.translation.markup.page import read_runs

_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u3000-\u303f\uff00-\uff65]"
)

_WORD = regex.compile(r"\w")


def joint(before: str, after: str) -> str:
    """What joins two lines of one sentence: nothing between letters of scripts without spaces."""
    is_unspaced = _UNSPACED.match(before[-1:]) and _UNSPACED.match(after[:1])
    return "" if is_unspaced else " "


def escape_markup(text: str) -> str:
    """The text as XML and WebVTT write it, with `>` as itself where it may be."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("]]>", "]]&gt;")


class Spelling(NamedTuple):
    """What a code, or the two ends of a pair, are written as; whether a word is an element."""

    written: str
    closing: str = ""
    is_element: bool = False


class InlineText:
    """Collects the texts and codes of one segment in order."""

    def __init__(self, escape: Callable[[str], str] = str) -> None:
        """`escape`: spells a text as the document does."""
        self._escape = escape
        self._parts: list[TextPart] = []
        self._opened: list[int] = []
        self._chars: dict[str, Code] = {}
        self._end = ""
        self.spellings: list[Spelling] = []
        self.has_letters = False

    @property
    def text(self) -> CodedText:
        return CodedText.of(self._parts)

    @property
    def ends_with_word(self) -> bool:
        """Whether the text that was added ends without a space."""
        return bool(self._end.strip())

    def add(self, text: str) -> None:
        """Add text as it reads."""
        self._parts.append(text)
        self._end = text[-1:] or self._end
        self.has_letters = self.has_letters or has_letters(text)

    def add_markup(self, written: str) -> None:
        """Add text in which characters may be spelled as references."""
        if "&" not in written:
            self.add(written)
            return
        for run in read_runs(written):
            if run.is_space or run.read == run.written:
                self.add(run.written)
            elif run.read is None:
                self.word(run.written)
            else:
                self.char(run.read, run.written)

    def open(self, written: str, closing: str, *, is_script: bool = False) -> int:
        """Begin a pair -> its number. `is_script`: its text is a subscript or superscript."""
        code = self._new("open", Spelling(written, closing), is_script=is_script)
        self._opened.append(code.number)
        return code.number

    def close(self) -> None:
        """End the last pair that was begun."""
        self._parts.append(Code("close", self._opened.pop()))

    def single(self, written: str) -> None:
        """Add a code that the alignment places."""
        self._new("single", Spelling(written))

    def stop(self, written: str) -> None:
        """Add a code between two sentences."""
        self._new("stop", Spelling(written))
        self._end = ""

    def word(self, written: str) -> None:
        """Add a code that reads as a word of the sentence."""
        self._new("word", Spelling(written), written)

    def element(self, written: str, text: str) -> None:
        """Add an element that reads as these words of the sentence."""
        self._new("word", Spelling(written, is_element=True), text)

    def char(self, char: str, written: str) -> None:
        """Add a character that is written in another way than as itself."""
        if known := self._chars.get(written):
            self._parts.append(known)
        else:
            self._chars[written] = self._new("char", Spelling(written), char)
        self._end = char[-1:]
        self.has_letters = self.has_letters or has_letters(char)

    def _new(
        self, kind: CodeKind, spelling: Spelling, text: str = "", *, is_script: bool = False
    ) -> Code:
        code = Code(kind, len(self.spellings), text, is_script)
        self.spellings.append(spelling)
        self._parts.append(code)
        return code

    def spelled(self, translation: CodedText) -> Iterator[TextPart]:
        """The texts of a translation as the document writes them, and the codes between."""
        return merged(map(self._spelled, translation.parts))

    def _spelled(self, part: TextPart) -> TextPart:
        if isinstance(part, str):
            return self._escape(part)
        spelling = self.spellings[part.number]
        return spelling.written if part.text and not spelling.is_element else part

    def write(self, translation: CodedText) -> str:
        """The translation as the document writes it."""
        return "".join(
            part if isinstance(part, str) else self.code(part) for part in self.spelled(translation)
        )

    def write_alike(self, beginning: str, translation: CodedText) -> str:
        """As `write`. If all words were in pairs, those that a translation has outside get the pair
        that most words were in, of those whose tags have this beginning. Numbers are words."""
        common = self._most_common(beginning)
        written, depth = [], 0
        for part in self.spelled(translation):
            text = part if isinstance(part, str) else self.code(part)
            if isinstance(part, Code):
                depth += {"open": 1, "close": -1}.get(part.kind, 0) * self._is_element(part)
            elif common and not depth and _WORD.search(html.unescape(text)):
                text = f"{common.written}{text}{common.closing}"
            written.append(text)
        return "".join(written)

    def _most_common(self, beginning: str) -> Spelling | None:
        """The outer pair of most words; None if there are words outside."""
        sizes: Counter[Spelling] = Counter()
        opened: list[Spelling] = []
        for part in self._parts:
            if isinstance(part, Code):
                if part.kind == "open" and self._is_element(part):
                    opened.append(self.spellings[part.number])
                elif part.kind == "close" and self._is_element(part):
                    opened.pop()
            elif opened:
                sizes[opened[0]] += len(part)
            elif _WORD.search(part):
                return None
        pairs = (pair for pair, _ in sizes.most_common())
        return next((pair for pair in pairs if pair.written.startswith(beginning)), None)

    def _is_element(self, code: Code) -> bool:
        """Whether the two codes of a pair are the tags of one element."""
        return not self.spellings[code.number].written.endswith("/>")

    def code(self, code: Code) -> str:
        """A code as the document writes it."""
        spelling = self.spellings[code.number]
        return spelling.closing if code.kind == "close" else spelling.written
