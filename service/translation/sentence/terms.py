"""Put the terms of a glossary into a translation, in place of the words that the alignment links
to them.

A search that must write the terms was measured against this on dev: its translations had fewer of
them (0.93 of 346, here 0.97) and a lower BLEU, and at times it repeated itself.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from model.text.spans import Span
from service.translation.alignment import AlignmentLink
from service.translation.glossary import GlossaryEntry, GlossaryMatcher, Match
from service.translation.markup.flow import MARK
from service.translation.markup.placement import Placement
from service.translation.sentence.carriers import moved_links
from service.translation.sentence.replaced import Replaced, Replacement
from service.translation.sentence.stages import Draft

_WORDS = regex.compile(r"[\p{L}\p{N}](?:.*[\p{L}\p{M}\p{N}])?", regex.DOTALL)
_ROOM = regex.compile(rf"[^{MARK}]+")
_LETTER = regex.compile(r"\p{L}")
_WORD = regex.compile(rf"[\p{{L}}\p{{N}}{MARK}]")
_END_MARKS = ".!?。！？"
_NOWHERE = Span(0, 0)
_SENTENCES_AT_ONCE = 8


class Terms(NamedTuple):
    """The stage of the terms of a glossary, which the network reads as they are; `begin`: where the
    translation goes on after what it must begin with."""

    text: str
    terms: Sequence[Match]
    language: str
    begin: int = 0

    def leave(self, draft: Draft) -> Draft:
        """The translation with the terms' own translations."""
        placed = place_terms(self.text, self.terms, draft, self.language, self.begin)
        return placed._replace(lost=lacks(self.terms, placed.text, self.language))


def place_terms(
    source: str, terms: Sequence[Match], draft: Draft, language: str, begin: int = 0
) -> Draft:
    """The translation in this language with the terms of a sentence. Text before `begin` stays,
    and so does a term's inflected form."""
    if not terms:
        return draft
    spans = _linked(source, terms, draft, begin)
    missing = {*_missing(terms, spans, draft.text, language), *_in_small(spans, draft.text)}
    placed = sorted((spans[match], match) for match in missing if match in spans)
    replacements = [Replacement(*span, _cased(match, draft.text, span)) for span, match in placed]
    replaced = Replaced(draft.text, replacements)
    links = list(moved_links(draft.links, Replaced(source, []), replaced))
    for (_, match), (start, _, new) in zip(placed, replacements, strict=True):
        at = replaced.offset(start)
        links.append(AlignmentLink(match.start, match.end, at, at + len(new), 1.0))
    return draft._replace(text=replaced.text, links=links)


def spelled(match: Match) -> str:
    """The term's translation, in one line."""
    return " ".join(match.entry.target.split())


def lacks(terms: Sequence[Match], text: str, language: str) -> list[GlossaryEntry]:
    """The entries of the terms whose translations the text has less often, as words."""
    return [match.entry for match in _missing(terms, {}, text, language)]


def _linked(source: str, terms: Sequence[Match], draft: Draft, begin: int) -> dict[Match, Span]:
    """Where the translation has the words that the terms are linked to, without kept strings."""
    placement = Placement(source, draft.text, draft.links)
    sources = {Span(match.start, match.end): match for match in terms}
    rooms = [Span(*room.span()) for room in _ROOM.finditer(draft.text, begin)]
    found = {}
    for part, span in placement.spans(sources, rooms).items():
        if words := _WORDS.search(draft.text, *span):
            found[sources[part]] = Span(*words.span())
    return dict(_with_signs(found, draft.text, begin))


def _with_signs(spans: dict[Match, Span], text: str, begin: int) -> Iterator[tuple[Match, Span]]:
    """The words with the signs beside them that their terms have there too, as in C++ and Inc.; the
    mark that ends the sentence stays."""
    for match, (start, end) in sorted(spans.items(), key=lambda item: item[1]):
        before, after = _signs(match.entry.source.strip())
        if start - len(before) >= begin and text.startswith(before, start - len(before)):
            start -= len(before)
        at = end + text[end : end + 1].isspace()
        if after and text.startswith(after, at):
            rest = at + len(after)
            end = rest if after[-1] not in _END_MARKS or _WORD.search(text, rest) else end
        yield match, Span(start, end)
        begin = end


def _signs(term: str) -> tuple[str, str]:
    """What a term has before its words and after them."""
    words = _WORDS.search(term)
    return (term[: words.start()], term[words.end() :].strip()) if words else ("", "")


def _missing(
    terms: Sequence[Match], spans: dict[Match, Span], text: str, language: str
) -> Iterator[Match]:
    """The terms that have no translation of their own in the text: at their linked words, or
    anywhere else."""
    if not terms:
        return
    own: dict[GlossaryEntry, list[Match]] = {}
    for match in terms:
        own.setdefault(match.entry, []).append(match)
    wanted = {entry: _wanted(entry) for entry in own}
    has = _targets(tuple(wanted.values()), language).find_each(text)
    for entry, matches in own.items():
        found = has.get(wanted[entry], ())
        covered = {place for span in found for place in range(*span)}
        others = [one for one in matches if covered.isdisjoint(range(*spans.get(one, _NOWHERE)))]
        num_there = len(matches) - len(others)
        yield from others[max(0, len(found) - num_there) :]


def _wanted(entry: GlossaryEntry) -> GlossaryEntry:
    """The entry's translation as a term."""
    return GlossaryEntry(entry.target, entry.target, entry.case_sensitive)


@functools.lru_cache(_SENTENCES_AT_ONCE)
def _targets(entries: tuple[GlossaryEntry, ...], language: str) -> GlossaryMatcher:
    """Finds the translations of a sentence's terms in all of its drafts."""
    return GlossaryMatcher(entries, language)


def _in_small(spans: dict[Match, Span], text: str) -> Iterator[Match]:
    """The terms that the text has in small letters, though the entry has capitals."""
    for match, (start, end) in spans.items():
        target = spelled(match)
        if target != target.lower() == text[start:end]:
            yield match


def _cased(match: Match, text: str, span: Span) -> str:
    """The term's translation, which a sentence may begin with."""
    target = spelled(match)
    if match.entry.case_sensitive or _LETTER.search(text, 0, span.start):
        return target
    return target[0].upper() + target[1:]
