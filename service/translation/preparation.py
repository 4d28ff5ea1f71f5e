"""Prepare the texts of a job for one model: take them apart, cut them into sentences, put carriers
in place of what is kept, and tokenise."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import regex

from model.decoding.sentence import SourceSentence
from model.text.spans import Span
from service.engine.interfaces import SentenceEncoder
from service.errors import InvalidField, shown
from service.translation.glossary import GlossaryMatcher
from service.translation.job import ModelJob, TextFormat
from service.translation.language.segmentation import Piece, cut_text, is_spaced
from service.translation.markup.elements import is_html
from service.translation.markup.flow import MARK
from service.translation.markup.inline import text_flow
from service.translation.markup.page import take_apart, visible_text
from service.translation.placeholders import KeptStrings, find_kept
from service.translation.results import Faults
from service.translation.sentence.amounts import Amount, find_amounts
from service.translation.sentence.capitals import in_sentence_case, is_in_capitals, is_title
from service.translation.sentence.carriers import Carriers, carry, most_carriers
from service.translation.sentence.document import Document, FlowCutter, Sentence
from service.translation.sentence.terms import spelled
from service.translation.sentence.unspelled import find_unspelled, is_spellable
from service.translation.text_work import go_on

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer

_MARK_AFTER = regex.compile(rf"[ \u00a0]?{MARK}")
_CURRENCY = regex.compile(r"\p{Sc}")
_SAMPLE = 2000
_UNLIMITED = 10**9
_NOUNS_IN_CAPITALS = frozenset({"de"})
_LEAST_BEAM = 8
"""The smallest beam of a second translation. The hypothesis with the fewest faults counts."""


class ModelLimits(NamedTuple):
    """The most tokens of a sentence and of its translation, and the widest beam, of one model."""

    source_tokens: int
    target_tokens: int
    beam_size: int


class Preparation:
    """Prepares the texts of one job. One thread at a time may call it."""

    def __init__(self, tokenizer: Tokenizer, limits: ModelLimits, work: ModelJob) -> None:
        self.tokenizer, self.work, self._limits = tokenizer, work, limits
        self._encoder = SentenceEncoder(tokenizer, work.source, work.target, limits.source_tokens)
        self._keep = KeptStrings(work.job.keep) if work.job.keep else None

    def require_possible(self) -> None:
        """Raise InvalidField if the prefixes do not fit for any text.

        `prepare` also checks them against the texts.
        """
        beginnings = self._beginnings()
        self._require_room(beginnings, [_UNLIMITED] * max(1, len(beginnings)))

    def prepare(self, *, is_streamed: bool = False) -> list[Document]:
        """Take apart and tokenise the texts; raises InvalidField if a prefix does not fit."""
        documents = [self._parse(text) for text in self.work.texts]
        sentences = [sentence for document in documents for sentence in document.sentences]
        for sentence in sentences:
            go_on()
            sentence.is_title = self._asks_titles_again and is_title(sentence.text)
            sentence.carriers = self._carry(sentence.marked)
            if self._matcher:
                is_in_caps = sentence.is_in_capitals
                sentence.terms = self._matcher.find(sentence.marked, ignores_case=is_in_caps)
        sources = list(map(self._ids, sentences))
        is_asked = self.work.job.is_aligned or self.work.job.is_checked
        for sentence, ids, prefix in zip(sentences, sources, self._prefixes(sources), strict=True):
            is_aligned = is_asked or bool(sentence.tags or sentence.terms)
            options = self.work.options
            sentence.source = SourceSentence(ids, options, is_streamed, prefix, is_aligned)
        return documents

    def prepare_again(self, sentence: Sentence, faults: Faults) -> bool:
        """Prepare a sentence whose translation has these faults once more: numbers and terms have
        carriers too, and a title without faults is in small letters. False if that cannot be done;
        what a stream sends as it comes stays."""
        assert sentence.source is not None
        has_lost, _ = faults
        if sentence.is_title and not any(faults):
            sentence.asked_in_lower_case = True
            ids = self._encoder.ids(sentence.carried)
            sentence.source = dataclasses.replace(sentence.source, ids=ids, is_streamed=False)
            return True
        if sentence.source.is_streamed and sentence.is_plain:
            return False
        carriers = self._carry_amounts(sentence)
        if carriers is None and has_lost:
            carriers = self._carry(sentence.marked)
        if carriers is None:
            return False
        beam_size = max(self.work.options.beam_size, min(_LEAST_BEAM, self._limits.beam_size))
        sentence.source = dataclasses.replace(
            sentence.source,
            ids=self._encoder.ids(carriers.text),
            options=dataclasses.replace(
                self.work.options, sampling=False, beam_size=beam_size, n_best=beam_size
            ),
            is_streamed=False,
        )
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

    def _ids(self, sentence: Sentence) -> list[int]:
        go_on()
        return self._encoder.ids(sentence.carried)

    def _find_kept(self, text: str) -> Sequence[Span]:
        go_on()
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
        go_on()
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

    @functools.cached_property
    def _asks_titles_again(self) -> bool:
        """Capitals say nothing of a single word, unless nouns have them."""
        work = self.work
        return (
            work.can_repeat and not work.options.sampling and work.source not in _NOUNS_IN_CAPITALS
        )

    def _carry_amounts(self, sentence: Sentence) -> Carriers | None:
        """Carriers also for the numbers and terms; None if these are more than the network tells
        apart or takes, or must not be carried."""
        if not (self.tokenizer.reserved and self.work.can_repeat):
            return None
        terms = [Amount(one.start, one.end, spelled(one)) for one in sentence.terms]
        found = find_amounts(sentence.text, self.work.source, self.work.target)
        numbers = (n for n in _with_signs(sentence, found) if not _overlaps(n, terms))
        carriers = self._carry(sentence.marked, sorted([*terms, *numbers]))
        if carriers is None or self._encoder.count(carriers.text) > self._limits.source_tokens:
            return None
        return carriers

    @functools.cached_property
    def _matcher(self) -> GlossaryMatcher | None:
        glossary = self.work.job.glossary
        return glossary.matcher(self.work.source) if glossary else None

    def _prefixes(self, sources: Sequence[Sequence[int]]) -> Sequence[tuple[int, ...]]:
        """The target ids that each sentence's translation begins with."""
        prefixes = self.work.job.prefixes
        if len(prefixes) > len(sources):
            raise InvalidField(
                f"target_prefix has {len(prefixes)} beginnings for {len(sources)} sentences"
            )
        beginnings = self._beginnings()
        self._require_room(beginnings, [len(ids) for ids in sources])
        start = self.tokenizer.target_start(self.work.target)
        without = [tuple(start)] * (len(sources) - len(beginnings))
        return [*((*start, *ids) for ids in beginnings), *without]

    def _beginnings(self) -> list[list[int]]:
        """The prefixes' ids. Raises InvalidField for a prefix with a mark."""
        for prefix in self.work.job.prefixes:
            if MARK in prefix:
                raise InvalidField(f"target_prefix must not have U+FFFC, got {shown(prefix)}")
        return self.tokenizer.encode_target_batch(self.work.job.prefixes)

    def _require_room(
        self, beginnings: Sequence[Sequence[int]], source_lengths: Iterable[int]
    ) -> None:
        """Raise InvalidField unless each prefix has fewer tokens than its translation may have, so
        that the end token fits too. Lengths are in tokens; the last sources may have no prefix."""
        options, most = self.work.options, self._limits.target_tokens
        bounds = {
            most: f"{most} tokens",
            options.max_length: f"max_length ({options.max_length}) tokens",
        }
        num_tags = len(self.tokenizer.target_start(self.work.target))
        for place, length in enumerate(source_lengths):
            limit = min(options.target_limit(length), most)
            num_tokens = len(beginnings[place]) if place < len(beginnings) else 0
            if num_tags + num_tokens >= limit:
                where = f" for sentence {place + 1}" if num_tokens and len(beginnings) > 1 else ""
                raise InvalidField(_no_room(num_tokens, limit, num_tags, bounds) + where)


def _no_room(num_tokens: int, limit: int, num_tags: int, bounds: Mapping[int | None, str]) -> str:
    """Says that a prefix does not fit. `bounds`: the names of the limits that do not depend on the
    source; `num_tags`: the language tokens that the model puts before the prefix."""
    if num_tokens == 0:
        return (
            f"max_length must be at least {num_tags + 1}, with room for the language tag that a "
            f"translation begins with, got {limit}"
        )
    short = f"{limit} tokens for so short a sentence unless max_length allows more"
    tag = f" (the language tag takes {num_tags})" if num_tags else ""
    return f"target_prefix must have less than {bounds.get(limit, short)}{tag}, got {num_tokens}"


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


def _overlaps(amount: Amount, others: Iterable[Amount]) -> bool:
    return any(other.start < amount.end and amount.start < other.end for other in others)


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
