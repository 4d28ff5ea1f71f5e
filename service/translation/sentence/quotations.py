"""Quotation marks of which networks write one kind before, and another behind: „Stop!" sagte er."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from model.text.spans import Span
from service.translation.language.segmentation import is_spaced
from service.translation.markup.flow import MARK
from service.translation.sentence.brackets import closing_place
from service.translation.sentence.replaced import Replacement
from service.translation.sentence.stages import Draft

QUOTATION_MARK = regex.compile('["„“”«»「」『』]')
_PAIRS = frozenset({'""', "„“", "„”", "“”", "»«", "«»", "「」", "『』"})
_END = regex.compile(r"[„“”«»「」『』\"][.。!！?？,，:：;；)）]?\Z")
_AFTER_COLON = regex.compile(
    r"[^:„“”«»「」『』\"‚‘‹›]*+:\s(?P<place>)[^:„“”«»「」『』\"‚‘‹›]++"
    r"(?P<last>[“”«»」』\"])?[.。]?"
)
"""What ends with a quotation of which the first mark is lost."""
_SAYS = regex.compile(
    r"[^„“”«»「」『』\"]*[,:]\s?[„“«»「『\"][^„“”«»「」『』\"]+[„“”«»」』\"][.。]?"
)
_QUOTED = regex.compile(rf"[„“”«»「」『』\"]{MARK}[„“”«»「」『』\"]")
_KEPT = regex.compile(rf"(?P<first>[„“”«»「」『』\"'‘‚])?{MARK}(?P<last>[„“”«»「」『』\"'’‘])?")
_LAST = dict(zip("„“»«\"'‘‚「『", "“”«»\"'’‘」』", strict=True))
"""By a mark, the one that ends what it begins."""
_CLOSING = '“”"»«」』'
_SINGLE = regex.compile(r"(?P<first>(?<![\p{L}\p{N}])['‘‚`](?=\S))|(?<=\S)['’‘](?![\p{L}\p{N}])")
"""One that begins a quotation, and one that ends it or a genitive."""
_FIRST_SINGLE, _LAST_SINGLE = frozenset("'‘‚`"), frozenset("'’‘")
_INCHES = regex.compile(r'\d\s?[”"]')
_FRENCH = frozenset("«»")
"""Networks write them for some words only, such as “good” in German."""
_USUAL = {"de": "„“", "zh": "“”", "zh-Hant": "「」", "en": "“”"}


@dataclass(frozen=True)
class Quotations:
    """The stage of a sentence with quotations: the text as it is, how many marks it has, and a
    pair of those for its translation."""

    text: str
    _count: int
    _usual: str

    def leave(self, draft: Draft) -> Draft:
        """The translation. If it has as many marks, but single or French ones or not in pairs, they
        are the usual ones. The last one is added if only that is missing, and so are the first
        behind a colon and those that a kept string lost. One that is doubled is taken out, and so
        are spaces within a quotation."""
        if draft.text == self.text:
            return draft
        marked = self._marked(draft)
        spaces = [] if any(_spaces(self.text)) else [*_spaces(marked.text)]
        return marked.changed(spaces)

    def _marked(self, draft: Draft) -> Draft:
        draft = self._doubled(draft)
        marks = [*QUOTATION_MARK.finditer(draft.text)]
        if len(marks) < self._count and (lost := [*self._of_kept(draft)]):
            return draft.changed(lost)
        if opened := self._opened(draft):
            return opened
        written = "".join(mark[0] for mark in marks)
        if len(marks) % 2 > self._count % 2:
            return _without_double(draft, marks) or self._closed(draft, written)
        if len(marks) != self._count or self._is_usual(written):
            return draft
        usual = itertools.cycle(self._usual)
        news = [Replacement(mark.start(), mark.end(), next(usual)) for mark in marks]
        return draft.changed(news)

    def _is_usual(self, written: str) -> bool:
        """Whether the target has such marks, in pairs of one kind."""
        has_both = '"' in written and {*written} != {'"'}
        is_foreign = self._usual == _USUAL["de"] and "”" in written and "„" not in written
        is_paired = _are_paired(written) and _FRENCH.isdisjoint(written)
        return is_paired and not (has_both or is_foreign)

    def _doubled(self, draft: Draft) -> Draft:
        """The translation with the usual marks in place of single ones, if those are as many as it
        lacks and the sentence has none."""
        singles = [*_SINGLE.finditer(draft.text)]
        missing = self._count - len(QUOTATION_MARK.findall(draft.text))
        if not singles or len(singles) != missing or _SINGLE.search(self.text):
            return draft
        if [one["first"] is None for one in singles] != [False, True] * (missing // 2):
            return draft
        marks = itertools.cycle(self._usual)
        news = [
            Replacement(one.start(), one.end(), mark)
            for one, mark in zip(singles, marks, strict=False)
        ]
        return draft.changed(news)

    def _of_kept(self, draft: Draft) -> Iterator[Replacement]:
        """The kept strings without one of the marks that they have in the sentence, with both."""
        quoted = {self.text.count(MARK, 0, one.start()) for one in _QUOTED.finditer(self.text)}
        for one, index in zip(_KEPT.finditer(draft.text), draft.order, strict=False):
            if index in quoted and not (one["first"] and one["last"]):
                first = one["first"] or ('"' if one["last"] == '"' else self._usual[0])
                last = one["last"] or _LAST.get(first, self._usual[1])
                yield Replacement(*one.span(), f"{first}{MARK}{last}")

    def _opened(self, draft: Draft) -> Draft | None:
        """The translation with the mark behind its colon that it lost, or with both; None of one
        that does not end with the only quotation."""
        colon = _AFTER_COLON.fullmatch(draft.text)
        if colon is None or not _SAYS.fullmatch(self.text):
            return None
        marks = '""' if colon["last"] == '"' else self._usual
        new = [Replacement(*colon.span("place"), marks[0])]
        if not colon["last"]:
            new.append(Replacement(len(draft.text), len(draft.text), marks[1]))
        return draft.changed(new)

    def _closed(self, draft: Draft, written: str) -> Draft:
        last = next((one for one in _CLOSING if _are_paired(written + one)), "")
        end = _END.search(self.text)
        if not last or not end or _END.search(draft.text):
            return draft
        place = closing_place(self.text[end.start() - 1 : end.start()], draft.text)
        return draft.changed([Replacement(place, place, last)])


@dataclass(frozen=True)
class HalfQuotation:
    """The stage of a sentence with one mark, of a quotation that other sentences begin or end: the
    text as it is, where its mark is, a pair of those for its translation, and the target's own."""

    text: str
    _at: int
    _usual: str
    _own: str

    def leave(self, draft: Draft) -> Draft:
        """The translation with its one mark as the target writes it or the text has it, and with
        that if it is lost at an end."""
        marks = [*QUOTATION_MARK.finditer(draft.text)]
        begins = _begins(self.text, self._at)
        usual, own = (pair[0 if begins else 1] for pair in (self._usual, self._own))
        if draft.text == self.text or len(marks) > 1:
            return draft
        if not marks:
            lost = self._lost(draft.text)
            return draft if lost is None else _with(draft, Replacement(lost.start, lost.end, usual))
        mark = marks[0]
        if mark[0] == own or _begins(draft.text, mark.start()) != begins:
            return draft
        return _with(draft, Replacement(mark.start(), mark.end(), usual))

    def _lost(self, translation: str) -> Span | None:
        """Where the mark of an end belongs, or a single one stands for it."""
        is_single = not _SINGLE.search(self.text)
        if self._at == 0:
            return Span(0, int(is_single and translation[:1] in _FIRST_SINGLE))
        if _END.match(self.text, self._at) is None:
            return None
        place = closing_place(self.text[self._at - 1], translation)
        is_single = is_single and translation[place - 1 : place] in _LAST_SINGLE
        return Span(place - is_single, place)


def _begins(text: str, at: int) -> bool:
    """Whether the mark there begins a quotation."""
    is_before_word = bool(text[at + 1 : at + 2].strip(".,;:!?)]").strip())
    return is_before_word and not text[:at].rstrip("([")[-1:].strip()


def _with(draft: Draft, replacement: Replacement) -> Draft:
    return draft.changed([replacement])


def _spaces(text: str) -> Iterator[Replacement]:
    """Each space behind the first of two marks, and before the second; none beside a straight
    mark that has a letter on its other side, and may be another one's."""
    marks = [*QUOTATION_MARK.finditer(text)]
    if not _are_paired("".join(mark[0] for mark in marks)):
        return
    for first, last in zip(marks[::2], marks[1::2], strict=True):
        inner = text[first.end() : last.start()]
        beside = text[: first.start()][-1:] + text[last.end() : last.end() + 1]
        if first[0] == '"' and any(map(str.isalnum, beside)):
            continue
        if inner.strip() and inner.startswith(" "):
            yield Replacement(first.end(), first.end() + 1, "")
        if inner.strip() and inner.endswith(" "):
            yield Replacement(last.start() - 1, last.start(), "")


def _without_double(draft: Draft, marks: Sequence[regex.Match[str]]) -> Draft | None:
    """The translation without the second of two like marks beside each other; None without."""
    for first, second in itertools.pairwise(marks):
        if first.end() == second.start() and first[0] == second[0]:
            rest = "".join(mark[0] for mark in marks if mark is not second)
            if _are_paired(rest):
                return draft.changed([Replacement(*second.span(), "")])
    return None


def enter_quotations(text: str, target: str) -> Quotations | HalfQuotation | None:
    """The stage of a sentence; None if its marks are neither one nor pairs, or if the target's are
    not known. Straight ones stay so."""
    written = "".join(QUOTATION_MARK.findall(text))
    if target not in _USUAL or not written:
        return None
    usual = '""' if set(written) == {'"'} else _USUAL[target]
    if len(written) == 1 and is_spaced(target) and not _INCHES.search(text):
        return HalfQuotation(text, text.index(written), usual, _USUAL[target])
    return Quotations(text, len(written), usual) if _are_paired(written) else None


def lost_marks(text: str, translation: str, pair: tuple[str, str]) -> int:
    """How many more or fewer marks the translation has than a text with pairs of them, between
    languages with spaces."""
    marks = QUOTATION_MARK.findall(text)
    if not (marks and all(map(is_spaced, pair)) and _are_paired(marks)):
        return 0
    return abs(len(marks) - len(QUOTATION_MARK.findall(translation)))


def _are_paired(marks: Sequence[str]) -> bool:
    pairs = itertools.zip_longest(marks[::2], marks[1::2], fillvalue="")
    return all("".join(pair) in _PAIRS for pair in pairs)
