"""Prepare the texts of a job for one model: take them apart, cut them into sentences, put carriers
in place of what is kept, and tokenise."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import regex

from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from service.engine.interfaces import SourceEncoder, Tokenizer
from service.errors import InvalidField
from service.translation.glossary import GlossaryEntry, GlossaryMatcher
from service.translation.job import ModelJob, TextFormat
from service.translation.language.segmentation import Piece, cut_text, is_spaced
from service.translation.markup.elements import is_html
from service.translation.markup.flow import MARK
from service.translation.markup.inline import text_flow
from service.translation.markup.page import take_apart, visible_text
from service.translation.placeholders import KeptStrings, Span, find_kept
from service.translation.results import Faults
from service.translation.term_spelling import TermSpeller
from service.translation.text.amounts import Amount, find_amounts
from service.translation.text.capitals import in_sentence_case, is_in_capitals
from service.translation.text.carriers import Carriers, carry, most_carriers
from service.translation.text.document import Document, FlowCutter, Sentence
from service.translation.text.unspelled import find_unspelled, is_spellable

_MARK_AFTER = regex.compile(rf"[ \u00a0]?{MARK}")
_CURRENCY = regex.compile(r"\p{Sc}")
_SAMPLE = 2000


class Limits(NamedTuple):
    """The most tokens of a sentence and of its translation, and the widest beam, of one model."""

    source_tokens: int
    target_tokens: int
    beam_size: int


class Preparation:
    """Prepares the texts of one job. One thread at a time may call it."""

    def __init__(self, tokenizer: Tokenizer, limits: Limits, work: ModelJob) -> None:
        self.tokenizer, self.work, self._limits = tokenizer, work, limits
        self._encoder = SourceEncoder(tokenizer, work.source, work.target, limits.source_tokens)
        self._keep = KeptStrings(work.job.keep) if work.job.keep else None

    def require_possible(self) -> None:
        """Raise InvalidField if the prefixes do not fit for any text.

        `prepare` also checks them against the texts.
        """
        self._bounds.require_possible(self.tokenizer.encode_target_batch(self.work.job.prefixes))

    def prepare(self, *, is_streamed: bool = False) -> list[Document]:
        """Take apart and tokenise the texts; raises InvalidField if a prefix does not fit."""
        documents = [self._parse(text) for text in self.work.texts]
        sentences = [sentence for document in documents for sentence in document.sentences]
        for sentence in sentences:
            sentence.carriers = self._carry(sentence.marked)
        sources = [self._encoder.ids(sentence.carried) for sentence in sentences]
        for sentence, ids, prefix in zip(sentences, sources, self._prefixes(sources), strict=True):
            is_aligned = self.work.job.is_aligned or bool(sentence.tags)
            source = SourceSentence(ids, self.work.options, is_streamed, prefix, is_aligned)
            sentence.source = self._with_terms(sentence, source)
        return documents

    def prepare_again(self, sentence: Sentence, faults: Faults) -> bool:
        """Prepare a sentence whose translation has these faults once more: numbers have carriers
        too, and the translation must have every carrier. False if that cannot be done; what a
        stream sends as it comes stays."""
        assert sentence.source is not None
        has_lost, _ = faults
        if sentence.source.is_streamed and not has_lost:
            return False
        carriers = self._carry_amounts(sentence)
        if carriers is None and has_lost:
            carriers = self._carry(sentence.marked)
        if carriers is None:
            return False
        source = dataclasses.replace(
            sentence.source,
            ids=self._encoder.ids(carriers.text),
            options=dataclasses.replace(self.work.options, sampling=False),
            is_streamed=False,
        )
        required = [GlossaryEntry(one, one, case_sensitive=True) for one in carriers.spellings]
        try:
            source = self._with_terms(sentence, source, required)
        except InvalidField:  # the carriers do not fit into max_length
            return False
        options = dataclasses.replace(source.options, n_best=source.options.beam_size)
        sentence.source = dataclasses.replace(source, options=options)
        sentence.carriers = carriers
        return True

    def _parse(self, text: str) -> Document:
        """The text's document. Between a language and itself nothing is translated."""
        work = self.work
        if work.source == work.target:
            return Document([text])
        cutter = FlowCutter(work.source, work.target, self._cut)
        if _is_written_as_html(text, work.job.format):
            return Document(cutter.items(take_apart(text, self._find_kept)))
        joins_lines = work.job.split_sentences is not True
        flow = text_flow(text, self._find_kept, joins_lines, is_spaced(work.source))
        return Document(cutter.items([flow]))

    def _find_kept(self, text: str) -> Sequence[Span]:
        unspelled = find_unspelled(text, self.tokenizer, self.work.source)
        terms = self._matcher.find(text) if self._matcher else ()
        return find_kept(text, self._keep, unspelled, (Span(one.start, one.end) for one in terms))

    def _cut(self, text: str, is_in_caps: bool) -> Sequence[Piece]:
        return cut_text(
            text,
            self.work.source,
            self._limits.source_tokens,
            lambda part: self._count(part, is_in_caps),
            functools.partial(is_spellable, tokenizer=self.tokenizer),
            is_split=self.work.job.split_sentences is not False,
        )

    def _count(self, text: str, is_in_caps: bool) -> int:
        """The source ids of a sentence as the network gets it; more than it takes for a sentence
        with too many marks."""
        if is_in_caps or is_in_capitals(text):
            text = in_sentence_case(text)
        if MARK not in text:
            return self._encoder.count(text)
        num_marks, most = text.count(MARK), most_carriers(text, self.tokenizer.reserved)
        if num_marks > most:
            return self._limits.source_tokens * num_marks // max(most, 1) + 1
        carriers = self._carry(text)
        return self._encoder.count(text if carriers is None else carriers.text)

    def _carry(self, text: str, amounts: Sequence[Amount] = ()) -> Carriers | None:
        return carry(text, self.work.source, self.tokenizer.reserved, amounts)

    def _carry_amounts(self, sentence: Sentence) -> Carriers | None:
        """Carriers also for the numbers; None if these are more than the network tells apart or
        takes, or must not be carried."""
        if not (self.tokenizer.reserved and self.work.mends_numbers):
            return None
        found = find_amounts(sentence.text, self.work.source, self.work.target)
        carriers = self._carry(sentence.marked, list(_with_signs(sentence, found)))
        if carriers is None or self._encoder.count(carriers.text) > self._limits.source_tokens:
            return None
        return carriers

    def _with_terms(
        self, sentence: Sentence, source: SourceSentence, required: Sequence[GlossaryEntry] = ()
    ) -> SourceSentence:
        """The sentence with the terms of the job's glossary that stand in it, and those
        `required`."""
        found = (
            self._matcher.find(sentence.marked, ignores_case=sentence.is_in_capitals)
            if self._matcher
            else ()
        )
        entries = [*(match.entry for match in found), *required]
        if not entries:
            return source
        start = self.tokenizer.target_start(self.work.target)
        return self._speller.add(source, entries, has_prefix=len(source.prefix) > len(start))

    @functools.cached_property
    def _matcher(self) -> GlossaryMatcher | None:
        glossary = self.work.job.glossary
        return glossary.matcher(self.work.source) if glossary else None

    @functools.cached_property
    def _speller(self) -> TermSpeller:
        _, target_tokens, beam_size = self._limits
        return TermSpeller(self.tokenizer, self.work.target, target_tokens, beam_size)

    def _prefixes(self, sources: Sequence[Sequence[int]]) -> Sequence[tuple[int, ...]]:
        """The target ids that each sentence's translation begins with."""
        prefixes = self.work.job.prefixes
        if len(prefixes) > len(sources):
            raise InvalidField(
                f"target_prefix has {len(prefixes)} beginnings for {len(sources)} sentences"
            )
        beginnings = self.tokenizer.encode_target_batch(prefixes)
        self._bounds.require_fitting(beginnings, [len(ids) for ids in sources])
        start = self.tokenizer.target_start(self.work.target)
        without = [tuple(start)] * (len(sources) - len(beginnings))
        return [*((*start, *ids) for ids in beginnings), *without]

    @functools.cached_property
    def _bounds(self) -> _PrefixBounds:
        tags = self.tokenizer.target_start(self.work.target)
        return _PrefixBounds(self.work.options, self._limits.target_tokens, tags)


class _PrefixBounds:
    """The bound on the prefixes of one model's translations, in tokens.

    The bound is the least of `most`, the server's limit, and the options' `max_length`, or without
    that their limit for the source's length. A prefix must have fewer tokens, so that the end
    token fits too; `tags` are the language tokens that the model puts before it.
    """

    def __init__(self, options: DecodingOptions, most: int, tags: Sequence[int]) -> None:
        self._options, self._most, self._num_tags = options, most, len(tags)

    def require_possible(self, beginnings: Sequence[Sequence[int]]) -> None:
        """Raise InvalidField if a prefix does not fit for any source length."""
        limit = min(self._options.max_length or self._most, self._most)
        for place, ids in enumerate(beginnings or [()]):
            self._require(len(ids), limit, _where(place, beginnings))

    def require_fitting(
        self, beginnings: Sequence[Sequence[int]], source_lengths: Sequence[int]
    ) -> None:
        """Raise InvalidField if a prefix does not fit its source.

        `source_lengths` are in tokens, tags included; the last sources may have no prefix.
        """
        for place, length in enumerate(source_lengths):
            limit = min(self._options.target_limit(length), self._most)
            num_tokens = len(beginnings[place]) if place < len(beginnings) else 0
            self._require(num_tokens, limit, _where(place, beginnings))

    def _require(self, num_tokens: int, limit: int, where: str) -> None:
        if self._num_tags + num_tokens < limit:
            return
        if num_tokens == 0:
            raise InvalidField(
                f"max_length must be at least {self._num_tags + 1}, with room for the language tag "
                f"that a translation begins with, got {limit}"
            )
        tag = f" (the language tag takes {self._num_tags})" if self._num_tags else ""
        raise InvalidField(
            f"target_prefix must have less than {self._named(limit)}{tag}, got {num_tokens}{where}"
        )

    def _named(self, limit: int) -> str:
        if limit == self._options.max_length:
            return f"max_length ({limit}) tokens"
        if limit == self._most:
            return f"{limit} tokens"
        return f"{limit} tokens for so short a sentence unless max_length allows more"


def _where(place: int, beginnings: Sequence[Sequence[int]]) -> str:
    return f" for sentence {place + 1}" if len(beginnings) > 1 else ""


def _with_signs(sentence: Sentence, amounts: Iterable[Amount]) -> Iterator[Amount]:
    """The amounts, each with the currency sign beside it, so that the two stay together."""
    text, last = sentence.text, 0
    for start, end, target in amounts:
        after = _MARK_AFTER.match(text, end)
        if start > last and _is_currency(sentence, start - 1):
            start, target = start - 1, MARK + target
        elif after is not None and _is_currency(sentence, after.end() - 1):
            end, target = after.end(), target + after.group()
        yield Amount(start, end, target)
        last = end


def _is_currency(sentence: Sentence, offset: int) -> bool:
    """Whether there is the mark of a kept string that is a currency sign."""
    if sentence.text[offset] != MARK:
        return False
    return _CURRENCY.fullmatch(sentence.kept[sentence.text.count(MARK, 0, offset)].text) is not None


def sample_of(text: str, text_format: TextFormat) -> str:
    """Text to detect the language of: of HTML what a reader sees."""
    return visible_text(text, _SAMPLE) if _is_written_as_html(text, text_format) else text


def _is_written_as_html(text: str, text_format: TextFormat) -> bool:
    """Whether the text is to be read as HTML or XML."""
    return text_format == "html" or (text_format == "auto" and is_html(text))
