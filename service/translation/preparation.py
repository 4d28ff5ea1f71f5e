"""Prepare texts for the engine: cut them into sentences and tokenise these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from model.decoding.sentence import SourceSentence
from service.engine.interfaces import SourceEncoder, Tokenizer
from service.errors import InvalidField
from service.translation.job import ModelJob
from service.translation.prefix import PrefixBounds
from service.translation.segmentation import Document, Piece, cut_text


@dataclass(frozen=True)
class PreparedTexts:
    """A job's texts, cut, and their sentences in the same order for the engine."""

    documents: Sequence[Document]
    sentences: Sequence[SourceSentence]


class Preparation:
    """Prepares the texts of one model. It has no state, so that any thread may call it."""

    def __init__(
        self, tokenizer: Tokenizer, max_source_tokens: int, max_target_tokens: int
    ) -> None:
        self._tokenizer = tokenizer
        self._max_source_tokens = max_source_tokens
        self._max_target_tokens = max_target_tokens

    def require_possible(self, work: ModelJob) -> None:
        """Raise InvalidField if the prefixes do not fit for any text.

        `prepare` also checks them against the texts.
        """
        beginnings = self._tokenizer.encode_target_batch(work.prefixes)
        self._bounds(work).require_possible(beginnings)

    def prepare(self, work: ModelJob, *, is_streamed: bool = False) -> PreparedTexts:
        """Cut and tokenise the texts; raises InvalidField if a prefix does not fit."""
        encoder = SourceEncoder(self._tokenizer, work.source, work.target, self._max_source_tokens)
        documents = [self._cut(text, work, encoder) for text in work.texts]
        sources = [encoder.ids(text) for document in documents for text in document.sentences]
        prefixes = self._prefixes(work, sources)
        sentences = [
            SourceSentence(ids, work.options, is_streamed, prefix, work.is_aligned)
            for ids, prefix in zip(sources, prefixes, strict=True)
        ]
        return PreparedTexts(documents, sentences)

    def _cut(self, text: str, work: ModelJob, encoder: SourceEncoder) -> Document:
        if work.source == work.target:
            return Document([Piece(text, is_sentence=False)], work.source)
        return cut_text(text, work.source, self._max_source_tokens, encoder.count)

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
