"""Spell the terms of a sentence as target ids, for constrained decoding."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable

from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence, Term, TermForm
from service.engine.interfaces import Tokenizer
from service.errors import InvalidField, shown
from service.translation.glossary import GlossaryEntry
from service.translation.language.segmentation import is_spaced

LEAST_BEAM = 8
"""Hypotheses of a sentence with terms, at least: with fewer, terms are put where they fit badly."""
_BRACKET = "("
Ids = tuple[int, ...]


class TermSpeller:
    """Spells terms for one model and target language; remembers those it has spelled."""

    def __init__(
        self, tokenizer: Tokenizer, target: str, max_target_tokens: int, max_beam_size: int
    ) -> None:
        self._tokenizer, self._is_spaced = tokenizer, is_spaced(target)
        self._max_target_tokens, self._max_beam_size = max_target_tokens, max_beam_size
        self._known: dict[GlossaryEntry, tuple[TermForm, ...]] = {}

    def add(
        self, sentence: SourceSentence, entries: Iterable[GlossaryEntry], *, has_prefix: bool
    ) -> SourceSentence:
        """The sentence with these terms, one for each occurrence. Raises InvalidField if a term
        cannot be spelled, or if all of them are too long.

        `has_prefix`: the translation begins with what was asked for, so no term begins it.
        """
        counts = Counter(self._forms(entry) for entry in entries)
        if not counts:
            return sentence
        if sentence.options.sampling:
            raise InvalidField("glossary does not go with temperature, top_k, top_p and seed")
        terms = tuple(_terms(counts, has_prefix=has_prefix))
        termed = dataclasses.replace(sentence, terms=terms)
        return dataclasses.replace(termed, options=self._options(termed))

    def _options(self, sentence: SourceSentence) -> DecodingOptions:
        """With a beam, and a length limit, that terms fit in."""
        options = sentence.options
        needed = len(sentence.prefix) + sentence.num_term_tokens
        limit = sentence.target_limit(self._max_target_tokens)
        if needed > limit and options.max_length is None:
            limit = min(limit + needed, self._max_target_tokens)
            options = dataclasses.replace(options, max_length=limit)
        if needed > limit:
            raise InvalidField(
                f"glossary: the terms of one sentence take {needed} tokens, at most {limit} fit"
            )
        beam_size = max(options.beam_size, min(LEAST_BEAM, self._max_beam_size))
        return dataclasses.replace(options, beam_size=beam_size)

    def _forms(self, entry: GlossaryEntry) -> tuple[TermForm, ...]:
        if (known := self._known.get(entry)) is None:
            known = self._known[entry] = tuple(self._spelled(entry))
        return known

    def _spelled(self, entry: GlossaryEntry) -> list[TermForm]:
        target = " ".join(entry.target.split())
        capitalised = target if entry.case_sensitive else target[0].upper() + target[1:]
        plain, at_start, bracket, in_bracket = map(
            tuple,
            self._tokenizer.encode_target_batch([target, capitalised, _BRACKET, _BRACKET + target]),
        )
        if not plain or not self._tokenizer.can_write(plain):
            raise InvalidField(f"glossary: the model cannot write the target {shown(target)}")
        inside = in_bracket[len(bracket) :] if in_bracket[: len(bracket)] == bracket else ()
        first = plain if self._is_spaced or not inside else inside
        others = [
            TermForm(at_start, "start"),
            TermForm(inside, "recognised"),
            TermForm(plain, "recognised"),
        ]
        forms = {first: TermForm(first)}
        for form in others:
            if form.ids and self._tokenizer.can_write(form.ids):
                forms.setdefault(form.ids, form)
        return list(forms.values())


def _terms(counts: Counter[tuple[TermForm, ...]], *, has_prefix: bool) -> Iterable[Term]:
    """Terms with the number of times that each must appear, also within the others."""
    for forms, count in counts.items():
        base = forms[0].ids
        inner = sum(
            times * _occurrences(other[0].ids, base)
            for other, times in counts.items()
            if other is not forms
        )
        allowed = [form for form in forms if form.place != "start" or not has_prefix]
        yield Term(tuple(allowed), count + inner)


def _occurrences(ids: Ids, part: Ids) -> int:
    if len(part) > len(ids) or part[0] not in ids:
        return 0
    return sum(ids[i : i + len(part)] == part for i in range(len(ids) - len(part) + 1))
