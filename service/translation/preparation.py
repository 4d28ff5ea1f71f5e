"""Prepare texts for the engine: take them apart, cut them into sentences and tokenise these."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from model.decoding.sentence import SourceSentence
from service.engine.interfaces import SourceEncoder, Tokenizer
from service.errors import InvalidField
from service.translation.job import ModelJob
from service.translation.prefix import PrefixBounds
from service.translation.term_spelling import TermSpeller
from service.translation.text.carriers import CarriedText
from service.translation.text.document import Document, MarkedSentence
from service.translation.text.parsing import Parser
from service.translation.text.reading import PlannedSentence, parts_of

_MOST_PARTS = 8
"""Between numbers; more cost too much of the engine's time."""


@dataclass(frozen=True)
class PreparedTexts:
    """A job's texts, taken apart; their sentences in the same order; and what the engine gets: one
    or more for each sentence, in order."""

    documents: Sequence[Document]
    planned: Sequence[PlannedSentence]
    sentences: Sequence[SourceSentence]

    @property
    def parts(self) -> list[Sequence[object]]:
        """All of which there is one for each sentence."""
        units = [document.sentences for document in self.documents]
        return [self.documents, *units, self.planned, self.sentences]


class Preparation:
    """Prepares the texts of one model. It has no state, so that any thread may call it."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        max_source_tokens: int,
        max_target_tokens: int,
        max_beam_size: int,
    ) -> None:
        self._tokenizer = tokenizer
        self._max_source_tokens = max_source_tokens
        self._max_target_tokens = max_target_tokens
        self._max_beam_size = max_beam_size

    def require_possible(self, work: ModelJob) -> None:
        """Raise InvalidField if the prefixes do not fit for any text.

        `prepare` also checks them against the texts.
        """
        beginnings = self._tokenizer.encode_target_batch(work.prefixes)
        self._bounds(work).require_possible(beginnings)

    def prepare(self, work: ModelJob, *, is_streamed: bool = False) -> PreparedTexts:
        """Take apart and tokenise the texts; raises InvalidField if a prefix does not fit."""
        encoder = self._encoder(work)
        parser = Parser(self._tokenizer, work, encoder, self._max_source_tokens)
        documents = [parser.parse(text) for text in work.texts]
        marked = itertools.chain.from_iterable(document.sentences for document in documents)
        planned = [_planned(parser, sentence) for sentence in marked]
        sentences = self.tokenised(work, planned, encoder, is_streamed=is_streamed)
        return PreparedTexts(documents, planned, sentences)

    def prepare_parts(
        self, work: ModelJob, lost: Iterable[MarkedSentence], *, is_streamed: bool = False
    ) -> PreparedTexts:
        """Sentences that lost a kept string, to be translated in parts."""
        encoder = self._encoder(work)
        parser = Parser(self._tokenizer, work, encoder, self._max_source_tokens)
        planned = [_in_parts(parser, sentence) for sentence in lost]
        work = dataclasses.replace(work, prefixes=())
        sentences = self.tokenised(work, planned, encoder, is_streamed=is_streamed)
        return PreparedTexts([], planned, sentences)

    def carries_amounts(self, work: ModelJob) -> bool:
        """Whether sentences whose numbers were lost can be translated again."""
        return bool(self._tokenizer.reserved) and not (work.prefixes or work.inspection)

    def prepare_amounts(
        self, work: ModelJob, wrong: Iterable[MarkedSentence], *, is_in_parts: bool
    ) -> PreparedTexts:
        """Sentences whose numbers were lost, to be translated with carriers for them, or in parts;
        without those for which that cannot be done."""
        encoder = self._encoder(work)
        parser = Parser(self._tokenizer, work, encoder, self._max_source_tokens)
        plan = _between_amounts if is_in_parts else _with_amounts
        planned = [one for sentence in wrong if (one := plan(parser, sentence)) is not None]
        sentences = self.tokenised(work, planned, encoder, is_streamed=False)
        return PreparedTexts([], planned, sentences)

    def _encoder(self, work: ModelJob) -> SourceEncoder:
        return SourceEncoder(self._tokenizer, work.source, work.target, self._max_source_tokens)

    def tokenised(
        self,
        work: ModelJob,
        planned: Iterable[PlannedSentence],
        encoder: SourceEncoder,
        *,
        is_streamed: bool,
    ) -> list[SourceSentence]:
        """A sentence for the network from every text that these carry; raises InvalidField if a
        prefix does not fit."""
        texts = [(one, carried) for one in planned for carried in one.texts]
        sources = [encoder.ids(carried.text) for _, carried in texts]
        prefixes = self._prefixes(work, sources)
        sentences = [
            SourceSentence(
                ids,
                work.options,
                is_streamed,
                prefix,
                is_aligned=work.is_aligned or bool(one.sentence.tags),
            )
            for (one, _), ids, prefix in zip(texts, sources, prefixes, strict=True)
        ]
        return self._with_terms(work, texts, sentences) if work.glossary else sentences

    def _with_terms(
        self,
        work: ModelJob,
        texts: Sequence[tuple[PlannedSentence, CarriedText]],
        sentences: Sequence[SourceSentence],
    ) -> list[SourceSentence]:
        """The sentences with the terms of the job's glossary that stand in their texts."""
        assert work.glossary is not None
        matcher = work.glossary.matcher(work.source)
        speller = TermSpeller(
            self._tokenizer, work.target, self._max_target_tokens, self._max_beam_size
        )
        termed = []
        for number, ((one, carried), sentence) in enumerate(zip(texts, sentences, strict=True)):
            found = matcher.find(carried.marked, ignores_case=one.sentence.is_in_capitals)
            entries = [match.entry for match in found]
            has_prefix = number < len(work.prefixes) and bool(work.prefixes[number])
            termed.append(speller.add(sentence, entries, has_prefix=has_prefix))
        return termed

    def _prefixes(
        self, work: ModelJob, sources: Sequence[Sequence[int]]
    ) -> Sequence[tuple[int, ...]]:
        """The target ids that each sentence's translation begins with."""
        if len(work.prefixes) > len(sources):
            raise InvalidField(
                f"target_prefix has {len(work.prefixes)} beginnings for {len(sources)} sentences"
            )
        beginnings = self._tokenizer.encode_target_batch(work.prefixes)
        self._bounds(work).require_fitting(beginnings, [len(ids) for ids in sources])
        start = self._tokenizer.target_start(work.target)
        without = [tuple(start)] * (len(sources) - len(beginnings))
        return [*((*start, *ids) for ids in beginnings), *without]

    def _bounds(self, work: ModelJob) -> PrefixBounds:
        tags = self._tokenizer.target_start(work.target)
        return PrefixBounds(work.options, self._max_target_tokens, tags)


def _planned(parser: Parser, sentence: MarkedSentence) -> PlannedSentence:
    carried = parser.carry(sentence, sentence.text)
    if carried is None:
        return _in_parts(parser, sentence)
    return PlannedSentence(sentence, [carried])


def _with_amounts(parser: Parser, sentence: MarkedSentence) -> PlannedSentence | None:
    carried = parser.carry_amounts(sentence)
    return None if carried is None else PlannedSentence(sentence, [carried])


def _between_amounts(parser: Parser, sentence: MarkedSentence) -> PlannedSentence | None:
    amounts = parser.amounts(sentence)
    parts = [parser.carry(sentence, part) for part in parts_of(sentence, amounts)]
    carried = [one for one in parts if one is not None]
    if not amounts or not 0 < len(carried) <= _MOST_PARTS:
        return None
    return PlannedSentence(sentence, carried, is_in_parts=True, amounts=amounts)


def _in_parts(parser: Parser, sentence: MarkedSentence) -> PlannedSentence:
    carried = [parser.carry(sentence, part) for part in parts_of(sentence)]
    return PlannedSentence(sentence, [one for one in carried if one is not None], is_in_parts=True)
