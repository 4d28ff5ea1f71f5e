"""Take a page apart: what stays as it is, and flows of text to translate."""

from __future__ import annotations

import bisect
import html
import html.entities
from collections.abc import Iterator
from typing import NamedTuple

import regex

from service.translation.markup.elements import (
    READINGS,
    TEXTS_IN_SENTENCES,
    WORDS_IN_SENTENCES,
    inline_names,
    is_between,
    is_in,
    is_known,
    keeps_content,
    keeps_itself,
    list_links,
    pair_tags,
    translated_again,
)
from service.translation.markup.flow import CONTENT_ESCAPES, FindKept, Flow, FlowBuilder
from service.translation.markup.notes import LONGEST_SYMBOL, MOST_TAGS, is_marker, is_note
from service.translation.markup.scanner import Kind, Token, scan
from service.translation.markup.text_attributes import text_attributes
from service.translation.placeholders import find_kept
from service.translation.signatures import found_below

_ATTRIBUTE_ESCAPES = {**CONTENT_ESCAPES, '"': "&quot;"}
_SINGLE_QUOTED_ESCAPES = {**CONTENT_ESCAPES, "'": "&#39;"}
_HAS_LETTER = regex.compile(r"\p{L}")
_HAS_WORD = regex.compile(r"(?V1)[^\s\p{Extended_Pictographic}\uFE0F\u200D]|[0-9]")
_NOTE = regex.compile(r"<sup[\s>]|noteref", regex.IGNORECASE)
_ICONS = frozenset({"i", "img", "span", "svg"})
"""HTML's inline elements that may stand for a word although they have no text."""
_MOST_INSIDE, _MOST_READ = 12, 40
"""The most tokens of an element in a sentence, and characters that are read of what follows."""
_SYMBOL = regex.compile(r"\s*+(?:[#§¶†‡*^]|[\p{So}\p{Sm}--[<>=+]]){1,3}\uFE0F?\s*+", regex.V1)
_LEGACY = "|".join(sorted((n for n in html.entities.html5 if n[-1] != ";"), key=len, reverse=True))
"""Names of references that need no semicolon. HTML reads them in attributes only if no letter,
digit or equals sign follows. Here this holds for text, too: the address ?a=1&copy=2 stays."""
_BETWEEN_PARAGRAPHS = regex.compile(
    r"```[^`]++```(*SKIP)(*FAIL)|\n[ \t\r]*+\n\s*+|\n(?=[ \t]*+(?:[-*+•]|\#{1,6}|\d{1,2}[.)])[ \t])"
)
"""A blank line, or the end of a line before an item or a heading, outside of code."""
_PARTS = regex.compile(
    r"(?P<space>[ \t\n\f\r]++)"
    r"|&(?:\#[0-9]{1,7}+;?|\#[xX][0-9a-fA-F]{1,6}+;?|[A-Za-z][A-Za-z0-9]{1,31}+;"
    rf"|(?:{_LEGACY})(?![A-Za-z0-9=]))"
    r"|[^& \t\n\f\r]++(?: [^& \t\n\f\r]++)*+"
    r"|&"
)


def take_apart(
    source: str,
    find: FindKept = find_kept,
    target: str | None = None,
    *,
    has_paragraphs: bool = False,
) -> list[str | Flow]:
    """The page's parts in order: strings to keep as they are, and flows. Linear time.

    The parts, spelled with their tags, are the source. `target`: what is marked as in this language
    stays as it is; `has_paragraphs`: blank lines and items end one, as in a plain text.
    """
    return _Page(source, find, target, has_paragraphs).parts()


def visible_text(source: str, most: int) -> str:
    """The beginning of what a reader sees, in about `most` characters, to detect the language."""
    texts: list[str] = []
    missing = most
    for token in scan(source):
        if token.kind is Kind.TEXT:
            text = source[token.start : min(token.end, token.start + missing)]
            texts.append(text)
            missing -= len(text.strip())
        if missing <= 0:
            break
    return html.unescape(" ".join(texts))


class _Page:
    """One page and how far it is taken apart."""

    def __init__(
        self, source: str, find: FindKept, target: str | None, has_paragraphs: bool
    ) -> None:
        self._source, self._find, self._target = source, find, target
        self._has_paragraphs = has_paragraphs
        self._tokens = list(scan(source))
        self._partners = pair_tags(self._tokens)
        self._list_links = list_links(source, self._tokens, self._partners)
        self._inline = inline_names(source, self._tokens)
        self._in_sentence: set[int] = set()
        self._again = translated_again(source, self._tokens)
        self._ends: list[tuple[int, bool]] = []
        self._parts: list[str | Flow] = []
        self._flow, self._find_below = FlowBuilder(CONTENT_ESCAPES, find), find

    def parts(self) -> list[str | Flow]:
        index = 0
        while index < len(self._tokens):
            index = self._handle(index)
        self._end_flow()
        return self._parts

    def _handle(self, index: int) -> int:
        """Handle one token, or a whole element that is kept; return the index after it."""
        token = self._tokens[index]
        if self._again and self._stays(index):
            self._end_flow()
            self._keep_string(self._written(token))
        elif token.kind is Kind.TEXT:
            self._add_paragraphs(self._written(token))
        elif token.kind is Kind.OTHER:
            self._flow.add_tag((self._written(token),), index, None)
        elif token.kind is Kind.START and (end := self._symbol_until(index)):
            rest = self._source[token.end : self._tokens[end - 1].end]
            self._flow.add_tag((*self._tag_parts(token), rest), index, None, is_note=True)
            return end
        elif token.kind is Kind.START and token.name in READINGS:
            return self._add_reading(index)
        elif token.kind is Kind.START and (end := self._kept_until(index)):
            self._keep_element(index, end)
            return end
        elif token.kind is Kind.START and (end := self._empty_until(index)):
            self._add_empty(index, end)
            return end
        else:
            self._add_tag(index)
        return index + 1

    def _stays(self, index: int) -> bool:
        """Whether a token is of an element that stays but for others inside, and not in those."""
        while self._ends and self._ends[-1][0] <= index:
            self._ends.pop()
        stays = bool(self._ends) and self._ends[-1][1]
        end, following = self._partners.get(index, index), bisect.bisect(self._again, index)
        if stays and self._again[following - 1 : following] == [index] and end > index:
            self._ends.append((end, False))
        elif not stays and keeps_itself(self._source, self._tokens[index]):
            stays = following < len(self._again) and self._again[following] < end
            self._ends += [(end, True)] if stays else []
        return stays

    def _written(self, token: Token) -> str:
        return self._source[token.start : token.end]

    def _kept_until(self, index: int) -> int | None:
        """The index after an element that stays as it is; None for any other."""
        token = self._tokens[index]
        is_translated = self._target is not None and is_in(self._source, token, self._target)
        if not is_translated and not keeps_content(self._source, token):
            return None
        if (partner := self._partners.get(index)) is not None:
            return partner + 1
        has_raw = any(token.kind is Kind.RAW for token in self._tokens[index + 1 : index + 2])
        return index + 2 if has_raw else index + 1

    def _symbol_until(self, index: int) -> int | None:
        """The index after a link whose text is only a symbol, such as `#` or `¶`, or after the
        number of a note; None for any other."""
        partner, name = self._partners.get(index), self._tokens[index].name
        if name not in self._inline or partner is None or partner > index + MOST_TAGS:
            return None
        inner = [t for t in self._tokens[index + 1 : partner] if t.kind is Kind.TEXT]
        if sum(token.end - token.start for token in inner) > LONGEST_SYMBOL:
            return None
        text = html.unescape("".join(map(self._written, inner)))
        is_symbol = name == "a" and _SYMBOL.fullmatch(text)
        return partner + 1 if is_symbol or self._is_note(index, partner, text) else None

    def _is_note(self, start: int, end: int, text: str) -> bool:
        """Whether the text of an element is the number of a note or another marker."""
        if _NOTE.search(self._source, self._tokens[start].start, self._tokens[end].end):
            return is_note(text, self._flow.end)
        following = self._tokens[end + 1 : end + 2]
        after = "".join(self._written(t) for t in following if t.kind is Kind.TEXT)
        return self._tokens[start].name != "sub" and is_marker(text, self._flow.end, after)

    def _keep_element(self, start: int, end: int) -> None:
        """Keep tokens[start:end]: as a word of the text if the element is inline and has text."""
        written = self._source[self._tokens[start].start : self._tokens[end - 1].end]
        if not (self._tokens[start].name in self._inline or self._is_in_sentence(start)):
            self._end_flow()
            self._keep_string(written)
            return
        inner = [self._written(t) for t in self._tokens[start:end] if t.kind is Kind.TEXT]
        read = "".join(run.read or run.written for text in inner for run in read_runs(text))
        if has_word(read):
            self._flow.add_kept(written, read)
        elif read.strip():
            self._flow.add_tag((written,), start, None)
        else:
            self._add_empty(start, end)

    def _is_in_sentence(self, index: int) -> bool:
        """Whether an element that may stand in a sentence is in the middle of one."""
        end = self._partners.get(index, index) + 1
        may_be = self._tokens[index].name in WORDS_IN_SENTENCES and end <= index + _MOST_INSIDE
        return may_be and is_between(self._flow.end, self._text_after(end))

    def _encloses_words(self, index: int) -> bool:
        """Whether a tag begins an element in a sentence that has words of it."""
        token, partner = self._tokens[index], self._partners.get(index, index)
        if token.name not in TEXTS_IN_SENTENCES or not self._is_in_sentence(index):
            return False
        inner = self._tokens[index + 1 : partner]
        has_words = any(t.kind is Kind.TEXT and not self._is_space(t) for t in inner)
        tags = (t for t in inner if t.kind in (Kind.START, Kind.END))
        return has_words and all(tag.name in self._inline for tag in tags)

    def _add_reading(self, index: int) -> int:
        """Add how a word is read, with the end of the word's element if that follows; return the
        index after it."""
        end = index
        while end < len(self._tokens) and self._tokens[end].name in READINGS:
            end = self._partners.get(end, end) + 1
            is_open = self._tokens[end - 1].kind is Kind.START
            end += is_open and any(t.kind is Kind.TEXT for t in self._tokens[end : end + 1])
        ruby = self._partners.get(end)
        has_end = ruby is not None and ruby < index and self._tokens[ruby].name == "ruby"
        last = end + has_end
        written = self._source[self._tokens[index].start : self._tokens[last - 1].end]
        self._flow.add_tag((written,), end if has_end else index, ruby if has_end else None)
        return last

    def _empty_until(self, index: int) -> int | None:
        """The index after an element in the text without a text of its own, also in attributes;
        None for any other."""
        tag, end = self._tokens[index], self._partners.get(index, index) + 1
        inner = self._tokens[index + 1 : end - 1] if end <= index + _MOST_INSIDE else []
        if tag.name in self._inline and end <= index + 3:
            is_empty = all(map(self._is_space, inner))
        elif self._is_in_sentence(index):
            is_empty = not any(map(self._has_text, inner))
        else:
            return None
        return end if is_empty and len(self._tag_parts(tag)) == 1 else None

    def _is_space(self, token: Token) -> bool:
        return token.kind is Kind.TEXT and self._written(token).isspace()

    def _has_text(self, token: Token) -> bool:
        """Whether a token has text, or attributes with text."""
        is_text = token.kind is Kind.TEXT and not self._is_space(token)
        return is_text or len(self._tag_parts(token)) > 1

    def _add_empty(self, start: int, end: int) -> None:
        """Add an element without text: as a word if it stands in the place of one."""
        written = self._source[self._tokens[start].start : self._tokens[end - 1].end]
        name = self._tokens[start].name
        is_unknown = not is_known(name)
        is_icon = is_unknown or name in _ICONS or name in WORDS_IN_SENTENCES
        if is_icon and self._flow.takes_word(self._text_after(end)[:1], at_end=is_unknown):
            self._flow.add_kept(written, "")
        else:
            self._flow.add_tag((written,), start, None)

    def _text_after(self, index: int) -> str:
        """The beginning of the flow's text from this token on."""
        texts: list[str] = []
        for token in self._tokens[index : index + MOST_TAGS]:
            if token.kind is Kind.TEXT:
                text = self._source[token.start : min(token.end, token.start + _MOST_READ)]
                texts += (run.read or run.written for run in read_runs(text))
            elif token.kind is not Kind.OTHER and token.name not in self._inline:
                break
        return "".join(texts)

    def _add_tag(self, index: int) -> None:
        token = self._tokens[index]
        parts = self._tag_parts(token)
        if self._encloses_words(index):
            self._in_sentence |= {index, self._partners[index]}
        if token.name in self._inline or index in self._in_sentence:
            if self._begins_link(index):
                self._end_flow()
            self._flow.add_tag(parts, index, self._partners.get(index))
            return
        self._end_flow()
        for part in parts:
            if isinstance(part, str):
                self._keep_string(part)
            else:
                self._parts.append(part)

    def _begins_link(self, index: int) -> bool:
        """Whether a link follows another without a space, or in a list: they are items, not one
        word or sentence."""
        if index in self._list_links:
            return True
        if index == 0 or self._tokens[index].name != "a":
            return False
        before = self._tokens[index - 1]
        return before.kind is Kind.END and before.name == "a"

    def _tag_parts(self, tag: Token) -> tuple[str | Flow, ...]:
        """A tag's string, with a flow for each attribute that has text."""
        written = self._written(tag)
        if tag.kind is not Kind.START or keeps_itself(self._source, tag):
            return (written,)
        parts: list[str | Flow] = []
        position = 0
        for start, end, quote in text_attributes(written, tag.name):
            value = written[start:end]
            if _HAS_LETTER.search(value):
                parts.append(written[position:start] + ("" if quote else '"'))
                parts.append(_attribute_flow(value, quote or '"', self._find))
                parts.append("" if quote else '"')
                position = end
        return (*parts, written[position:]) if parts else (written,)

    def _add_paragraphs(self, text: str) -> None:
        position = 0
        for match in _BETWEEN_PARAGRAPHS.finditer(text) if self._has_paragraphs else ():
            self._add_text(text[position : match.start()])
            self._end_flow()
            self._keep_string(match.group())
            position = match.end()
        self._add_text(text[position:])

    def _add_text(self, text: str) -> None:
        for run in read_runs(text):
            if run.is_space:
                self._flow.add_space(run.written)
            else:
                _add_run(self._flow, run.written, run.read)

    def _keep_string(self, written: str) -> None:
        if self._parts and isinstance(last := self._parts[-1], str) and len(last) < 4096:
            self._parts[-1] = last + written
        else:
            self._parts.append(written)

    def _end_flow(self) -> None:
        if not self._flow.is_empty:
            flow = self._flow.build()
            self._parts.append(flow)
            if flow.text.strip():
                self._find_below = found_below(flow.text, self._find)
            self._flow = FlowBuilder(CONTENT_ESCAPES, self._find_below)


def has_word(text: str) -> bool:
    """Whether a string to keep reads as a word; an icon or emoji does not."""
    return _HAS_WORD.search(text) is not None


def _add_run(flow: FlowBuilder, written: str, read: str | None) -> None:
    if read is None:
        flow.add_kept(written, written)
    else:
        flow.add_written(read, written)


def _attribute_flow(value: str, quote: str, find: FindKept) -> Flow:
    flow = FlowBuilder(_ATTRIBUTE_ESCAPES if quote == '"' else _SINGLE_QUOTED_ESCAPES, find)
    for run in read_runs(value):
        _add_run(flow, run.written, run.read)
    return flow.build()


class Run(NamedTuple):
    """A part of the source's text. `read` is what it means: the text itself, one character, one
    space, or None for a reference that stands for nothing known."""

    written: str
    read: str | None
    is_space: bool = False


def read_runs(text: str) -> Iterator[Run]:
    """Cut text between tags at character references and white space; joined, the written parts are
    the text."""
    for match in _PARTS.finditer(text):
        written = match.group()
        if match.lastgroup == "space":
            yield Run(written, " ", is_space=True)
        elif written.startswith("&") and len(written) > 1:
            yield Run(written, _meaning(written))
        else:
            yield Run(written, written)


def _meaning(reference: str) -> str | None:
    """The character, if it is a single one that text may have."""
    read = html.unescape(reference)
    is_usable = len(read) == 1 and read != "\ufffd" and (read.isprintable() or read.isspace())
    return read if is_usable or read in ("\u00ad", "\u200b", "\u200c", "\u200d") else None
