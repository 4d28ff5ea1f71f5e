"""Prepare the texts of a job for one model: take them apart, cut them into sentences, and let these
enter their stages."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from model.decoding.sentence_limits import SentenceLimits
from model.text.normalisation import normalise
from model.text.spans import Span
from service.translation.checks.formal_numerals import in_usual
from service.translation.checks.spelled_out import has_spoken_numbers
from service.translation.job import ModelJob, TextFormat
from service.translation.language.already import frequent_words, is_in_target
from service.translation.language.chinese import (
    HAN_RUN,
    SIMPLIFIED,
    is_chinese,
    to_simplified,
    to_traditional,
)
from service.translation.language.line_marks import NUMERAL
from service.translation.language.segmentation import (
    Piece,
    cut_text,
    has_break,
    is_numeral,
    is_one_sentence,
    is_spaced,
    sentences_of,
    spaced_gap,
)
from service.translation.language.widths import FULL_WIDTH, in_half_width
from service.translation.markup.coded_flow import coded_flows
from service.translation.markup.coded_text import CodedText, Text, TextPart
from service.translation.markup.elements import is_html
from service.translation.markup.flow import MARK, Flow
from service.translation.markup.inline import has_marks, text_flow
from service.translation.markup.page import take_apart, visible_text
from service.translation.placeholders import KeptStrings, find_kept, has_kept
from service.translation.prefixes import Prefixes
from service.translation.second_translation import SecondTranslation
from service.translation.sentence.abbreviations import LONE
from service.translation.sentence.capitals import in_sentence_case, is_in_capitals
from service.translation.sentence.carriers import most_carriers
from service.translation.sentence.emphasis import is_acronym
from service.translation.sentence.entering import Entrance, Entry
from service.translation.sentence.named import may_name
from service.translation.sentence.odd_words import has_odd_words
from service.translation.sentence.ordinals import enter_ordinals
from service.translation.sentence.parsed_text import FlowCutter, Item, ParsedText, Sentence
from service.translation.sentence.rare_capitals import without_rare_capitals
from service.translation.sentence.shares import enter_shares
from service.translation.sentence.umlauts import enter_umlauts
from service.translation.sentence.unspelled import find_unspelled, is_spellable
from service.translation.sentence_encoder import SentenceEncoder
from service.translation.text_work import raise_if_unwanted

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer

_SAMPLE = 2000
_QUOTATION_MARK = re.compile('["“„»«]')
_QUOTATION = re.compile(r'["“„»«]([^"“”„»«\n]{3,200})["“”»«]')
_MOST_PLAIN = 500
"""Characters of a text that is looked at as one sentence first."""
_DAY = r"(?:Mon?|Tues?|Wed|Thu(?:rs?)?|Fri?|Sat?|Sun|[DM]i|(?<=[bmnst] )[DS]o)\b"
_SMALL = "[a-zß-öø-ÿ]++(?:'[a-z]++)?"
_WORD = rf"(?:{_SMALL}|(?!{_DAY})(?:[A-ZÀ-ÖØ-Þ]{_SMALL}|[A-Z]))"
_CLOSED_DAY = "(?:[DFMS][aior] (?:geschlossen|Ruhetag|zu)|[FMSTW][a-z]{2,4} [Cc]losed)\\b"
_COMMA = r",(?<!\bMon,|\bTue,|\bWed,|\bThu,|\bFri,|\bSat,|\bSun,)(?<!\b[DM][io],|\bFr,|\bS[ao],)"
"""Behind no short name of a day."""
USUAL = re.compile(
    rf"(?!{_CLOSED_DAY}|(?=\w{{1,14}}\.\Z)(?:{LONE})\.){_WORD}(?:(?:{_COMMA})? {_WORD})*+[.!?]?"
)
_USUAL_CHINESE = re.compile(rf"(?!{NUMERAL}、)[一-鿿]++(?:[，、][一-鿿]++)*+[。！？]?")
"""As half of all sentences and nearly all of talk are: words with no other marks than commas, and
one at the end, but for an abbreviation alone. For them, one look answers what `_is_bare_sentence`
asks."""


class Preparation:
    """Prepares the texts of one job. One thread at a time may call it."""

    def __init__(self, tokenizer: Tokenizer, limits: SentenceLimits, work: ModelJob) -> None:
        self.tokenizer, self.work, self._limits = tokenizer, work, limits
        self._encoder = SentenceEncoder(
            tokenizer, work.source, work.target, limits.max_source_tokens
        )
        is_chinese_source = work.source == SIMPLIFIED
        self._usual = _USUAL_CHINESE if is_chinese_source else USUAL
        self._may_be_odd = has_odd_words if is_chinese_source else has_spoken_numbers
        """Whether a usual sentence may need a stage."""
        self._is_translated = is_in_target(work.source, work.target)
        self._target_words = frequent_words(work.source, work.target)
        self._keeps_han = self._is_translated is is_chinese
        self._keep_strings = [*map(normalise, work.job.keep)]
        self._keep = KeptStrings(self._keep_strings) if work.job.keep else None
        glossary = work.job.glossary
        self._matcher = glossary.matcher(work.source) if glossary else None
        self._entrance = Entrance(tokenizer, self._encoder, self._matcher, work)
        self._prefixes = self._given_prefixes()
        self._known_bare: dict[str, bool] = {}
        """By text."""

    @functools.cached_property
    def second_translation(self) -> SecondTranslation:
        """How its sentences enter once more."""
        return SecondTranslation(
            self._entrance, self._encoder, self.work, self._limits, self._prefixes
        )

    def require_possible(self) -> None:
        """Raise InvalidField if the prefixes do not fit for any text.

        `prepare` also checks them against the texts.
        """
        if self._prefixes:
            self._prefixes.require_possible()

    def prepare(self) -> tuple[list[ParsedText], list[Entry]]:
        """Take apart and tokenise the texts -> each taken apart, and the entries of all sentences.
        Raises InvalidField if a prefix does not fit."""
        parsed_texts = [self._parse(text) for text in self.work.texts]
        sentences = [sentence for parsed in parsed_texts for sentence in parsed.sentences]
        prefixes = self._prefixes
        if prefixes is None:
            return parsed_texts, [self._entrance.enter(sentence, ()) for sentence in sentences]
        prefixes.require_few(len(sentences))
        entries = [self._begun(one, prefixes, number) for number, one in enumerate(sentences)]
        prefixes.require_room((len(entry.source.ids), entry.source.prefix) for entry in entries)
        return parsed_texts, entries

    def _begun(self, sentence: Sentence, prefixes: Prefixes, number: int) -> Entry:
        """A sentence that enters with its prefix, whose kept strings get carriers, too."""
        entry = self._entrance.enter(sentence, prefixes.of(number, sentence))
        if (carriers := entry.carriers) is None:
            return entry
        source = dataclasses.replace(entry.source, prefix=prefixes.of(number, sentence, carriers))
        return structs.replace(entry, source=source)

    def _given_prefixes(self) -> Prefixes | None:
        """None: no translation has a required beginning."""
        start = tuple(self.tokenizer.target_start(self.work.target))
        if not (start or self.work.job.prefixes):
            return None
        return Prefixes(self.tokenizer, self.work, start, self._limits.max_target_tokens)

    def _parse(self, text: Text) -> ParsedText:
        """The text taken apart. Between a language and itself nothing is translated."""
        raise_if_unwanted()
        work = self.work
        if work.source == work.target:
            parts = text.parts if isinstance(text, CodedText) else [text]
            return ParsedText(parts if work.source != SIMPLIFIED else map(self._in_script, parts))
        if isinstance(text, CodedText):
            return ParsedText(self._cutter.items(coded_flows(text, self._find_kept)))
        if work.job.format != "text" and _is_written_as_html(text, work.job.format):
            is_auto = work.job.format == "auto"
            page = take_apart(text, self._find_kept, work.job.target, has_paragraphs=is_auto)
            return ParsedText(self._cutter.items(page))
        text = self.tokenizer.visible(text)
        is_as_written = self._is_as_written(text)
        if is_as_written and (whole := self._whole(text)) is not None:
            return ParsedText([whole])
        joins_lines = work.job.split_sentences is not True
        if is_as_written and not joins_lines:
            if several := self._several(text):
                return ParsedText(several)
            if self._is_bare(text):
                return ParsedText(self._cutter.items([Flow(text)]))
        flow = text_flow(text, self._find_kept, joins_lines, is_spaced(work.source))
        return ParsedText(self._cutter.items([flow]))

    def _whole(self, text: str) -> Sentence | None:
        """The text as one sentence that fits, without anything that is kept or marked; None of
        texts for which this is not sure."""
        source = self.work.source
        if not self._target_words.isdisjoint(text.split()):
            return None
        is_usual = self._usual.fullmatch(text) is not None and not self._may_be_odd(text, source)
        if not (is_usual or self._is_bare_sentence(text)):
            return None
        has_stage = not is_usual and has_odd_words(text, source)
        has_stage = has_stage or may_name(text, source)
        if has_stage or (source == "de" and enter_umlauts(text, self.tokenizer, "de")):
            return Sentence(text) if self._fits_with_stages(text) else None
        if len(self._encoder.ids(text)) > self._limits.max_source_tokens:
            return None
        pair = source, self.work.target
        has_numbers = not is_usual and (enter_ordinals(text, pair) or enter_shares(text, pair))
        return Sentence(text, is_plain=not (self.work.is_traditional or has_numbers))

    def _is_as_written(self, text: str) -> bool:
        """Whether a text is short, and the network reads its characters as they are."""
        return not (
            len(text) > _MOST_PLAIN
            or normalise(text) != text
            or self._keep is not None
            or self.work.reads_traditional
            or (self.work.source == SIMPLIFIED and to_simplified(text) != text)
            or self.tokenizer.count_unspelled(text)
        )

    def _several(self, text: str) -> list[Item]:
        """The text as several such sentences, and one space or nothing behind each; empty for
        texts for which this is not sure."""
        source, target = self.work.source, self.work.target
        space = " " if is_spaced(source) else ""
        texts = [piece.removesuffix(space) for piece in sentences_of(text, source)]
        if len(texts) < 2 or space.join(texts) != text or any(map(is_numeral, texts)):
            return []
        is_usual = all(map(self._usual.fullmatch, texts))
        if not is_usual and (has_break(text) or not self._is_bare(text)):
            return []
        gap = spaced_gap(space, source, target)
        items: list[Item] = []
        for part in texts:
            if (sentence := self._whole(part)) is None:
                return []
            items += [gap, sentence] if items else [sentence]
        return items

    def _is_bare_sentence(self, text: str) -> bool:
        """Whether the text is one sentence without anything that is kept or marked."""
        return self._is_bare(text) and is_one_sentence(text, self.work.source)

    def _is_bare(self, text: str) -> bool:
        """Whether nothing of the text is kept or marked, and it is not in capitals."""
        if (known := self._known_bare.get(text)) is None:
            known = self._known_bare[text] = self._looks_bare(text)
        return known

    def _looks_bare(self, text: str) -> bool:
        source = self.work.source
        return (
            not has_kept(text)
            and not has_marks(text)
            and not FULL_WIDTH.search(text)
            and not (self._keeps_han and HAN_RUN.search(text))
            and not (self._is_translated and self._is_translated(text))
            and next(self._quoted(text), None) is None
            and next(find_unspelled(text, self.tokenizer, source), None) is None
            and not is_in_capitals(text)
        )

    def _fits_with_stages(self, text: str) -> bool:
        """Whether a sentence that is translated has few enough tokens behind its last stages."""
        return (
            self._is_translatable(text)
            and self._entrance.count(text) <= self._limits.max_source_tokens
        )

    def _is_translatable(self, part: str) -> bool:
        """Whether the network knows the letters, and the target does not have them already."""
        if self._is_translated and self._is_translated(part):
            return False
        pair = self.work.source, self.work.target
        if is_acronym(part.strip(), pair, self._entrance.count_pieces):
            return False
        return is_spellable(self._read(part), self.tokenizer)

    def _quoted(self, text: str) -> Iterator[Span]:
        """The quotations that are in the target language already."""
        if self._is_translated and _QUOTATION_MARK.search(text):
            for quotation in _QUOTATION.finditer(text):
                if self._is_translated(quotation[1]):
                    yield Span(*quotation.span(1))

    def _read(self, text: str) -> str:
        """The text in the characters that the network reads, of the same length."""
        text = in_half_width(text)
        if self.work.source == SIMPLIFIED:
            return in_usual(to_simplified(text))
        return without_rare_capitals(text, self.tokenizer, self.work.source)

    def _in_script(self, part: TextPart) -> TextPart:
        """A part of a Chinese text in the characters of the target."""
        if not isinstance(part, str):
            return part
        return to_traditional(part) if self.work.is_traditional else to_simplified(part)

    @property
    def _cutter(self) -> FlowCutter:
        return FlowCutter(self.work.source, self.work.target, self._cut, self._keep_strings)

    def _find_kept(self, text: str) -> Sequence[Span]:
        raise_if_unwanted()
        others = [*find_unspelled(self._read(text), self.tokenizer, self.work.source)]
        if self._keeps_han and not is_chinese(text):
            others += (Span(*match.span()) for match in HAN_RUN.finditer(text))
        others += self._quoted(text)
        terms = self._matcher.find(text) if self._matcher else ()
        return find_kept(
            in_half_width(text), self._keep, others, (Span(one.start, one.end) for one in terms)
        )

    def _cut(self, text: str, is_in_caps: bool) -> Sequence[Piece]:
        return cut_text(
            in_half_width(text),
            self.work.source,
            self._limits.max_source_tokens,
            lambda part: self._count(part, is_in_caps),
            self._is_translatable,
            is_split=self.work.job.split_sentences is not False,
        )

    def _count(self, text: str, is_in_caps: bool) -> int:
        """The source ids of a sentence as the network gets it; more than it takes for a sentence
        with too many marks."""
        raise_if_unwanted()
        if is_in_caps or is_in_capitals(text):
            text = in_sentence_case(text)
        num_marks = text.count(MARK)
        if num_marks and num_marks > (most := most_carriers(text, self.tokenizer.reserved)):
            return self._limits.max_source_tokens * num_marks // max(most, 1) + 1
        return self._entrance.count(text)


def sample_of(text: Text, text_format: TextFormat) -> str:
    """Text to detect the language of: of HTML and text with codes what a reader sees."""
    if isinstance(text, CodedText):
        return text.read()
    return visible_text(text, _SAMPLE) if _is_written_as_html(text, text_format) else text


def _is_written_as_html(text: str, text_format: TextFormat) -> bool:
    """Whether the text is to be read as HTML or XML."""
    return text_format == "html" or (text_format == "auto" and is_html(text))
