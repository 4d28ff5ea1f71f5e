"""Take a text apart for one model: its format, its flows, and sentences that the model takes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence

import regex

from service.engine.interfaces import SourceEncoder, Tokenizer
from service.translation.job import ModelJob, TextFormat
from service.translation.language.segmentation import Piece, cut_text, is_spaced
from service.translation.markup.elements import is_html
from service.translation.markup.flow import MARK
from service.translation.markup.inline import text_flow
from service.translation.markup.page import take_apart, visible_text
from service.translation.placeholders import KeptStrings, Span, find_kept
from service.translation.text.amounts import Amount, find_amounts
from service.translation.text.capitals import in_sentence_case, is_in_capitals
from service.translation.text.carriers import CarriedText, carry, longest_spelling
from service.translation.text.document import Document, FlowCutter, MarkedSentence
from service.translation.text.unspelled import find_unspelled, is_spellable

_MARK_AFTER = regex.compile(rf"[ \u00a0]?{MARK}")
_CURRENCY = regex.compile(r"\p{Sc}")
_SAMPLE = 2000


class Parser:
    """Takes the texts of a job apart. It counts tokens with the job's `encoder`."""

    def __init__(
        self, tokenizer: Tokenizer, work: ModelJob, encoder: SourceEncoder, max_tokens: int
    ) -> None:
        self._tokenizer, self._work = tokenizer, work
        self._encoder, self._max_tokens = encoder, max_tokens

    def parse(self, text: str) -> Document:
        """The text's document. Between a language and itself nothing is translated."""
        if self._work.source == self._work.target:
            return Document([text])
        cutter = FlowCutter(self._work.source, self._work.target, self._cut)
        if is_written_as_html(text, self._work.format):
            return Document(cutter.items(take_apart(text, self._find_kept)))
        joins_lines = self._work.split_sentences is not True
        flow = text_flow(text, self._find_kept, joins_lines, is_spaced(self._work.source))
        return Document(cutter.items([flow]))

    def carry(self, sentence: MarkedSentence, text: str) -> CarriedText | None:
        """A text of the sentence for the network; None if it has too many kept strings."""
        if sentence.is_in_capitals:
            text = in_sentence_case(text)
        return carry(text, self._work.source, self._tokenizer.reserved)

    def amounts(self, sentence: MarkedSentence) -> Sequence[Amount]:
        """The numbers of the sentence that can be carried."""
        found = find_amounts(sentence.text, self._work.source, self._work.target)
        return list(_with_signs(sentence, found))

    def carry_amounts(self, sentence: MarkedSentence) -> CarriedText | None:
        """The sentence's text with carriers for its numbers, too; None if it has none, or more than
        the network tells apart or takes."""
        text = in_sentence_case(sentence.text) if sentence.is_in_capitals else sentence.text
        amounts = self.amounts(sentence)
        if not amounts:
            return None
        carried = carry(text, self._work.source, self._tokenizer.reserved, amounts)
        if carried is None or self._encoder.count(carried.text) > self._max_tokens:
            return None
        return carried

    def _find_kept(self, text: str) -> Sequence[Span]:
        unspelled = find_unspelled(text, self._tokenizer, self._work.source)
        return find_kept(text, self._keep, unspelled, self._terms(text))

    def _terms(self, text: str) -> Iterator[Span]:
        """Where terms of the job's glossary stand."""
        if self._work.glossary is not None:
            for match in self._work.glossary.matcher(self._work.source).find(text):
                yield Span(match.start, match.end)

    @functools.cached_property
    def _keep(self) -> KeptStrings | None:
        return KeptStrings(self._work.keep) if self._work.keep else None

    def _cut(self, text: str, is_in_caps: bool) -> Sequence[Piece]:
        def count(part: str) -> int:
            return self._count(part, is_in_caps)

        return cut_text(
            text,
            self._work.source,
            self._max_tokens,
            count,
            functools.partial(is_spellable, tokenizer=self._tokenizer),
            is_split=self._work.split_sentences is not False,
        )

    def _count(self, text: str, is_in_caps: bool) -> int:
        """The source ids of a sentence, as the network will get it."""
        if is_in_caps or is_in_capitals(text):
            text = in_sentence_case(text)
        carried = carry(text, self._work.source, self._tokenizer.reserved)
        if carried is None:
            spelling = longest_spelling(self._tokenizer.reserved)
            return self._encoder.count(text.replace(MARK, spelling))
        return self._encoder.count(carried.text)


def _with_signs(sentence: MarkedSentence, amounts: Iterable[Amount]) -> Iterator[Amount]:
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


def _is_currency(sentence: MarkedSentence, offset: int) -> bool:
    """Whether there is the mark of a kept string that is a currency sign."""
    if sentence.text[offset] != MARK:
        return False
    return _CURRENCY.fullmatch(sentence.kept[sentence.text.count(MARK, 0, offset)].text) is not None


def sample_of(text: str, text_format: TextFormat) -> str:
    """Text to detect the language of: of HTML what a reader sees."""
    return visible_text(text, _SAMPLE) if is_written_as_html(text, text_format) else text


def is_written_as_html(text: str, text_format: TextFormat) -> bool:
    """Whether the text is to be read as HTML or XML."""
    return text_format == "html" or (text_format == "auto" and is_html(text))
