"""The likeliest next words after the beginning of a translation.

The first search finds the likeliest next tokens. Each of them begins a search of its own, all in
one batch, whose best result has the word that the token begins, and completes the translation.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import math
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from model.decoding.options import DecodingOptions
from model.decoding.sentence import Hypothesis, SourceSentence
from model.text.words import words
from service.engine.sentence_engine import SentenceEngine
from service.engine.sentence_task import SentenceOutcome
from service.engine.ticket import Ticket
from service.errors import ServiceError
from service.translation.assembly import fault_counter
from service.translation.checks.number_words import HAS_NUMBERS
from service.translation.job import ModelJob
from service.translation.language.chinese import to_traditional
from service.translation.language.segmentation import cut_text, is_spaced
from service.translation.placeholders import occurs
from service.translation.preparation import Preparation
from service.translation.sentence.capitals import in_capitals
from service.translation.sentence.entering import Entry
from service.translation.sentence.parsed_text import ParsedText, Sentence
from service.translation.sentence.stages import Draft, leave
from service.translation.text_work import text_work

if TYPE_CHECKING:
    from model.text.tokenizer import Tokenizer

MAX_WORDS = 10
_SPARE_TOKENS = 3
"""Tokens that are completed beyond those asked for, because several may begin the same word."""
_UNLIMITED = 10**9
_BEGUN = re.compile(r"(?<![^\s(\"'„“»«])[^\W\d_]+$")
"""Letters at the end that may be the beginning of a word."""
_LEAST_WHOLE = 0.1
"""The probability of a word among those that begin with it, with which it may be meant."""
_END_MARKS = ".!?。！？…"
_CLOSING = "\"'”’»)」』】）"


@dataclass(frozen=True)
class NextWord:
    """`text` as it is appended to the prefix, its probability, and the best translation with it."""

    text: str
    probability: float
    translation: str


@dataclass(frozen=True)
class NextWords:
    """The likeliest words first; `end`: the probability that the sentence ends after the prefix;
    `sentence`: the number, from 0, of the sentence of q that the prefix has reached."""

    words: list[NextWord]
    end: float
    sentence: int


class _Place(NamedTuple):
    """The sentence that a prefix reaches: its number; what is before, and of its translation."""

    number: int
    before: str
    part: str


class _Start(NamedTuple):
    """A likely next token: the sentence that goes on with it, and its log-probability."""

    sentence: SourceSentence
    log_prob: float


@dataclass(frozen=True)
class NextWordFinder:
    """Finds next words with one model. `translate` translates the sentences that follow."""

    engine: SentenceEngine
    tokenizer: Tokenizer
    preparation: Callable[[ModelJob], Preparation]
    translate: Callable[[ModelJob], Coroutine[Any, Any, Sequence[str]]]

    async def find(self, work: ModelJob, prefix: str, count: int) -> NextWords:
        """The `count` likeliest words after `prefix`, of the job's only text, or ends of the word
        that it ends inside. Raises InvalidField for a prefix that is too long."""
        begun = _BEGUN.search(prefix)
        if begun is not None and is_spaced(work.target):
            found = await self._after(work, prefix[: begun.start()], MAX_WORDS)
            if ends := _ends_of(begun[0], found.words):
                return NextWords(ends[:count], 0.0, found.sentence)
            job = dataclasses.replace(work.job, ticket=work.job.ticket.admitted())
            work = dataclasses.replace(work, job=job)
        return await self._after(work, prefix, count)

    async def _after(self, work: ModelJob, prefix: str, count: int) -> NextWords:
        """The words after `prefix` as the network goes on: it was taught other pieces than those
        of a word's beginning, and knows few words by these."""
        prepare = functools.partial(self._prepare, work, prefix)
        size = len(work.texts[0]) + len(prefix)
        parsed, entries, place = await text_work(size, prepare, work.job.ticket)
        if not parsed.sentences:
            return NextWords([], 1.0, 0)
        first, *again = entries
        end, starts = await self._starts(first.source, count, work.job.ticket)
        later = [one.read() for one in parsed.sentences[place.number + 1 :]]
        job = dataclasses.replace(work.job, prefixes=(), ticket=work.job.ticket.admitted())
        following = self.translate(dataclasses.replace(work, job=job, texts=later))
        outcomes, translations = await self._completed(starts, job.ticket, following)
        gaps = parsed.gaps[place.number + 1 :]
        rest = "".join(a + b for a, b in zip(gaps, [*translations, ""], strict=True))
        spelling = _Spelling(parsed.sentences[place.number], first, prefix, place, rest, work)
        searches = [_Search(spelling, end, starts, [one.hypotheses for one in outcomes])]
        for entry in again if any(self._faults(searches[0])) else ():
            own = spelling._replace(entry=entry)
            searches.append(await self._search(own, count, job.ticket))
        best = min(searches, key=self._faults)
        found = [self._word(start, hypothesis, best.spelling) for start, hypothesis in best.found]
        likeliest = _distinct(found)
        if best.spelling.begun:
            whole = best.spelling.completed(likeliest, best.end)
            return NextWords([whole], 0.0, place.number)
        return NextWords(likeliest[:count], best.end, place.number)

    async def _search(self, spelling: _Spelling, count: int, ticket: Ticket) -> _Search:
        """The likely next tokens after another entry, and their translations."""
        end, starts = await self._starts(spelling.entry.source, count, ticket)
        outcomes = await self._searched([start.sentence for start in starts], ticket)
        return _Search(spelling, end, starts, [one.hypotheses for one in outcomes])

    def _faults(self, search: _Search) -> list[float]:
        """The faults of each translation that a search found, the likeliest first."""
        sentence, entry, *_, work = search.spelling
        texts = [self.tokenizer.decode(hypothesis.ids) for _, hypothesis in search.found]
        drafts = [leave(entry.stages, Draft(text)) for text in texts]
        return [*map(fault_counter(sentence, work), drafts)] or [math.inf]

    def _prepare(self, work: ModelJob, prefix: str) -> tuple[ParsedText, Sequence[Entry], _Place]:
        """The text, where the prefix ends, and how this sentence enters first, and once more."""
        (parsed,), entries = self.preparation(work).prepare()
        place = _locate(prefix, work.target, len(parsed.sentences))
        if not parsed.sentences:
            return parsed, entries, place
        part = place.part.rstrip()
        job = dataclasses.replace(work.job, prefixes=[*[""] * place.number, part])
        preparation = self.preparation(dataclasses.replace(work, job=job))
        (parsed,), entries = preparation.prepare()
        first = entries[place.number]
        return parsed, [first, *_again(preparation, parsed, first, place.number, part)], place

    async def _starts(
        self, sentence: SourceSentence, count: int, ticket: Ticket
    ) -> tuple[float, list[_Start]]:
        """The probability of the end, and the likeliest next tokens."""
        beam_size = min(count + 1 + _SPARE_TOKENS, self.engine.max_beam_size)
        length = len(sentence.prefix)
        options = dataclasses.replace(
            DecodingOptions(), beam_size=beam_size, n_best=beam_size, max_length=length + 1
        )
        search = dataclasses.replace(sentence, options=options, is_cut=True)
        (outcome,) = await self._searched([search], ticket)
        end, starts = 0.0, []
        for hypothesis in outcome.hypotheses:
            if hypothesis.finish_reason == "stop":
                end = math.exp(hypothesis.log_probs[-1])
            elif length + 1 < sentence.target_limit(self.engine.max_target_tokens):
                longer = dataclasses.replace(sentence, prefix=tuple(hypothesis.ids))
                starts.append(_Start(longer, hypothesis.log_probs[-1]))
        return end, starts[: count + _SPARE_TOKENS]

    async def _completed(
        self,
        starts: Sequence[_Start],
        ticket: Ticket,
        following: Coroutine[Any, Any, Sequence[str]],
    ) -> tuple[Sequence[SentenceOutcome], Sequence[str]]:
        """The best translations with these starts, and what follows; the first failure ends both.
        Raises a ServiceError."""
        sentences = [start.sentence for start in starts]
        try:
            async with asyncio.TaskGroup() as group:
                later = group.create_task(following)
                outcomes = await self._searched(sentences, ticket)
        except* ServiceError as failed:
            error = failed.exceptions[0]
        else:
            return outcomes, later.result()
        raise error

    async def _searched(
        self, sentences: Sequence[SourceSentence], ticket: Ticket
    ) -> Sequence[SentenceOutcome]:
        """Raises a ServiceError of a sentence."""
        outcomes = await self.engine.translate(sentences, ticket)
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
        return outcomes

    def _word(self, start: _Start, best: Hypothesis, spelling: _Spelling) -> NextWord | None:
        """The word that the token begins; None if the translation ends before one."""
        length = len(start.sentence.prefix) - 1
        base = len(self.tokenizer.decode(best.ids[:length]))
        text = self.tokenizer.decode(best.ids)[base:]
        spans = [(a - base, b - base) for a, b in self.tokenizer.target_spans(best.ids)[length:]]
        found = words(text, [span for span in spans if span[0] >= 0])
        is_joined = not text.startswith(" ") and found and text[0].isalnum()
        if not found or (is_joined and spelling.needs_space):
            return None
        end = spelling.word_end(text, found[0].end)
        own = [
            log_prob
            for (first, last), log_prob in zip(spans, best.log_probs[length:], strict=False)
            if first < end and last > 0
        ]
        probability = math.exp(min(0.0, start.log_prob + sum(own)))
        return spelling.word(text[:end], probability, text)


class _Spelling(NamedTuple):
    """Writes what the network continues as the reader sees it."""

    sentence: Sentence
    entry: Entry
    prefix: str
    place: _Place
    rest: str
    work: ModelJob

    @property
    def carried(self) -> list[tuple[str, str]]:
        """The kept strings and numbers, each with its carrier."""
        carriers = self.entry.carriers
        return [*zip(carriers.shown, carriers.spellings, strict=True)] if carriers else []

    @property
    def begun(self) -> str:
        """The rest of the kept string that the prefix ends inside, or ""."""
        carriers = self.entry.carriers
        return carriers.completion(self.place.part.rstrip()) if carriers else ""

    @property
    def needs_space(self) -> bool:
        """Whether the prefix ends with the space before a new word."""
        return is_spaced(self.work.target) and bool(self.place.part.strip()) and self.is_apart

    @property
    def is_apart(self) -> bool:
        """Whether no space is missing before the next word."""
        return self.prefix != self.prefix.rstrip() or not self.place.part

    def word_end(self, text: str, end: int) -> int:
        """Where the first word ends, of which `words` say that it ends at `end`: a carrier is one
        word."""
        found = [(at, carrier) for _, carrier in self.carried if (at := text.find(carrier)) >= 0]
        start, carrier = min(found, default=(end, ""))
        return start + len(carrier) if start < end else end

    def word(self, text: str, probability: float, continuation: str) -> NextWord:
        word, whole = self._written(text), self._written(continuation)
        return NextWord(word, probability, self.prefix + self.begun + whole + self.rest)

    def completed(self, following: Sequence[NextWord], end: float) -> NextWord:
        """The rest of the kept string, before the likeliest of what may follow it."""
        goes_on = following and following[0].probability >= end
        whole = self.prefix + self.begun + self.rest
        return NextWord(self.begun, 1.0, following[0].translation if goes_on else whole)

    def _written(self, text: str) -> str:
        if self.sentence.is_in_capitals:
            text = in_capitals(text)
        text = to_traditional(text) if self.work.is_traditional else text
        for kept, carrier in self.carried:
            text = text.replace(carrier, kept)
        return text.removeprefix(" ") if self.is_apart else text


class _Search(NamedTuple):
    """The likely next tokens after an entry, and for each the translations that go on with it."""

    spelling: _Spelling
    end: float
    starts: Sequence[_Start]
    hypotheses: Sequence[Sequence[Hypothesis]]

    @property
    def found(self) -> list[tuple[_Start, Hypothesis]]:
        """The next tokens that have a translation, each with its best."""
        pairs = zip(self.starts, self.hypotheses, strict=True)
        return [(start, found[0]) for start, found in pairs if found]


def _again(
    preparation: Preparation, parsed: ParsedText, first: Entry, number: int, part: str
) -> Iterator[Entry]:
    """How the sentence of this number enters with carriers for its numbers, if it can: not if its
    translation begins with a number or kept string that gets none."""
    sentence = parsed.sentences[number]
    again = preparation.second_translation.entry(number, sentence, first, faults=1)
    if again is None or again.carriers is None:
        return
    left = again.carriers.carried(part)
    for spelling in again.carriers.spellings:
        left = left.replace(spelling, "")
    if not (HAS_NUMBERS.search(left) or any(occurs(kept.text, left) for kept in sentence.kept)):
        source = dataclasses.replace(again.source, options=first.source.options)
        yield structs.replace(again, source=source)


def _locate(prefix: str, language: str, num_sentences: int) -> _Place:
    """The sentence that the prefix reaches: the one after those whose translation it completes."""
    starts, position, last = [], 0, ""
    for piece in cut_text(prefix, language, _UNLIMITED, len):
        if piece.is_sentence:
            starts.append(position)
        last = piece.text if piece.is_sentence else last
        position += len(piece.text)
    is_complete = last.rstrip(_CLOSING).endswith(tuple(_END_MARKS))
    number = min(len(starts) - (not is_complete), num_sentences - 1)
    number = max(number, 0)
    start = starts[number] if number < len(starts) else len(prefix) if number else 0
    return _Place(number, prefix[:start], prefix[start:])


def _ends_of(begun: str, words: Sequence[NextWord]) -> list[NextWord]:
    """The rests of the words that begin so; none if it is likely to be one of them itself."""
    own = [word for word in words if word.text.startswith(begun)]
    total = sum(word.probability for word in own) or 1.0
    ends = [
        NextWord(word.text.removeprefix(begun), word.probability / total, word.translation)
        for word in own
    ]
    is_whole = any(not end.text and end.probability > _LEAST_WHOLE for end in ends)
    return [] if is_whole else [end for end in ends if end.text]


def _distinct(found: Sequence[NextWord | None]) -> list[NextWord]:
    """Words once each, with the sum of the probabilities and the likeliest translation."""
    merged: dict[str, NextWord] = {}
    for word in found:
        if word is None:
            continue
        known = merged.get(word.text)
        if known is None:
            merged[word.text] = word
        else:
            likelier = max(known, word, key=lambda one: one.probability)
            total = min(1.0, known.probability + word.probability)
            merged[word.text] = dataclasses.replace(likelier, probability=total)
    return sorted(merged.values(), key=lambda word: -word.probability)
