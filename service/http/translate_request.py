"""The body of POST /translate: LibreTranslate's fields and our extensions."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from model.decoding.options import BOUNDS
from service.engine.ticket import Ticket
from service.errors import InvalidField
from service.http.request_fields import (
    NO_SPACE,
    GlossaryField,
    LanguageCode,
    PreferredLanguages,
    RequestModel,
    Texts,
    listed,
)
from service.translation.glossary import MAX_TERMS, Glossary
from service.translation.job import Inspection, SplitSentences, TextFormat, TranslationJob
from service.translation.options import SAMPLING_OPTIONS

_OPTIONS = (
    *SAMPLING_OPTIONS,
    "length_penalty",
    "max_length",
    "repetition_penalty",
    "no_repeat_ngram_size",
)
_OTHER_CODES = {"zt": "zh-Hant", "pb": "pt-BR"}
"""LibreTranslate's codes that are no codes of BCP 47."""
_MAX_KEY_CHARACTERS = 512
_MAX_NAME_CHARACTERS = 255
_MAX_KEPT, _MAX_KEPT_CHARACTERS = 100, 200
_USUAL_LENGTH = 32
"""Tokens that the translation of a short sentence has at most without `max_length`."""
_ENDLESS = 4
"""How many times the tokens of a usual translation it has at most."""
_TERM_CHARACTERS = 5
"""Characters whose translation is as much work as reading a term."""
_INSPECTION_CHARACTERS = 250
"""Characters whose translation is as much work as looking into the network."""


_Kept = Annotated[str, Field(min_length=1, max_length=_MAX_KEPT_CHARACTERS, pattern=NO_SPACE)]


def _option(name: str, description: str) -> Any:
    """A field for an option of `DecodingOptions`, with its bounds; absent by default."""
    bounds = BOUNDS[name]
    return Field(None, ge=bounds.low, le=bounds.high, description=description)


class TranslateRequest(RequestModel):
    """A translation request.

    Any of temperature, top_k, top_p and seed selects sampling. Otherwise the request uses beam
    search with the model's defaults.
    """

    spelled_in_json = frozenset({"alternatives"})  # which LibreTranslate's clients spell

    q: Texts = Field(description="A text, or a list of texts.")
    source: LanguageCode = Field(description='Language code of the text, or "auto" to detect it.')
    target: LanguageCode = Field(description="Language code to translate into.")
    preferred_languages: PreferredLanguages = None
    format: TextFormat = Field(
        "text",
        description='"text", "html" (also XML), or "auto": html if the text has HTML elements.',
    )
    keep: Literal[""] | _Kept | Annotated[list[_Kept], Field(max_length=_MAX_KEPT)] | None = Field(
        None,
        description=f"Strings that must stay: at most {_MAX_KEPT}, of at most "
        f"{_MAX_KEPT_CHARACTERS} characters each.",
    )
    split_sentences: SplitSentences = Field(
        True,
        description="Where sentences end. true: at their marks and at line breaks. "
        '"nonewlines": at their marks only. false: with their paragraph.',
        json_schema_extra={"enum": [True, False, "nonewlines"]},
    )
    glossary: GlossaryField = Field(
        None,
        description=f"At most {MAX_TERMS} terms that the translation must contain, or the name "
        "of a stored glossary.",
    )
    alternatives: int = Field(
        0, ge=0, le=15, description="How many other translations to return, at most."
    )
    api_key: str | None = Field(
        None,
        max_length=_MAX_KEY_CHARACTERS,
        description="An API key; ignored if the server has none.",
    )
    secret: str | None = Field(
        None,
        max_length=_MAX_KEY_CHARACTERS,
        description="LibreTranslate's; ignored.",
    )
    beam_size: int | None = _option("beam_size", "Hypotheses to keep; 1 is greedy.")
    length_penalty: float | None = _option("length_penalty", "Above 1 prefers longer translations.")
    temperature: float | None = _option("temperature", "Sampling: 1 is neutral.")
    top_k: int | None = _option("top_k", "Sampling: only the k likeliest tokens; 0: all.")
    top_p: float | None = _option(
        "top_p", "Sampling: only the likeliest tokens with this total probability."
    )
    seed: int | None = _option("seed", "Sampling: same seed, same translation; 0 by default.")
    max_length: int | None = _option("max_length", "Longest translation of a sentence, in tokens.")
    repetition_penalty: float | None = _option(
        "repetition_penalty", "Above 1 makes used tokens less likely."
    )
    no_repeat_ngram_size: int | None = _option(
        "no_repeat_ngram_size", "Forbid that a sequence of this many tokens repeats; 0: allow."
    )
    target_prefix: Texts | None = Field(
        None,
        description="Beginning of the translation, or a list of those of the first sentences; "
        "shorter than max_length.",
    )
    deadline_ms: int | None = Field(
        None, ge=1, le=3_600_000, description="Give up after this many milliseconds."
    )
    details: bool | Inspection = Field(
        False,
        description="true adds each sentence's tokens, scores, word alignment and checks; for one "
        'sentence "attention" adds the attention of every head and "search" the beam search.',
        json_schema_extra={"enum": [True, False, *get_args(Inspection)]},
    )
    model: str | None = Field(
        None,
        max_length=_MAX_NAME_CHARACTERS,
        description="Name of a served model; by default the first that has the pair.",
    )

    @property
    def texts(self) -> list[str]:
        return listed(self.q)

    @property
    def pair(self) -> tuple[str, str]:
        """Source and target, without LibreTranslate's own codes."""
        source, target = self.source, self.target
        return _OTHER_CODES.get(source, source), _OTHER_CODES.get(target, target)

    @property
    def prefixes(self) -> list[str]:
        """Target prefixes of the first sentences. Raises InvalidField if q is a list."""
        if self.target_prefix is not None and isinstance(self.q, list):
            raise InvalidField("target_prefix goes with one text, but q is a list")
        return listed(self.target_prefix)

    def weighted(
        self,
        num_characters: int,
        default_beam_size: int,
        max_target_tokens: int,
        stored: Glossary | None = None,
    ) -> float:
        """So many characters of a usual request are as much work as this one may be at most.
        `stored`: the glossary that it names."""
        num_hypotheses = max(self.beam_size or 1, self.alternatives + 1)
        weight = max(1.0, num_hypotheses / default_beam_size)
        if self.max_length is not None:
            weight *= max(1.0, min(self.max_length, max_target_tokens) / _USUAL_LENGTH)
        if self._may_not_end:
            weight *= _ENDLESS
        more = sum(map(len, self.prefixes))
        more += 0 if isinstance(self.details, bool) else _INSPECTION_CHARACTERS
        if isinstance(self.glossary, Glossary):
            stored = self.glossary
            more += _TERM_CHARACTERS * len(stored.entries)
        return (num_characters + more) * weight * (stored.growth if stored else 1.0)

    @property
    def _may_not_end(self) -> bool:
        """Whether its options keep translations from ending before their longest length."""
        values = (self.temperature, self.repetition_penalty, self.length_penalty)
        return any((value or 0) > 1 for value in values) or bool(self.no_repeat_ngram_size)

    def job(
        self,
        default_deadline_seconds: float | None,
        client: str,
        stored: Glossary | None = None,
    ) -> TranslationJob:
        """The request of a client as a job that starts now, with this deadline if it has none.
        `stored`: the glossary that it names. Raises InvalidField."""
        deadline_ms, (source, target) = self.deadline_ms, self.pair
        allowed_seconds = deadline_ms / 1000 if deadline_ms else default_deadline_seconds
        return TranslationJob(
            texts=self.texts,
            source=source,
            target=target,
            beam_size=self.beam_size,
            alternatives=self.alternatives,
            options={
                name: value for name in _OPTIONS if (value := getattr(self, name)) is not None
            },
            prefixes=self.prefixes,
            model=self.model,
            is_aligned=bool(self.details),
            inspection=None if isinstance(self.details, bool) else self.details,
            is_checked=bool(self.details),
            format=self.format,
            keep=listed(self.keep),
            preferred_languages=listed(self.preferred_languages),
            split_sentences=self.split_sentences,
            glossary=self.glossary if isinstance(self.glossary, Glossary) else stored,
            ticket=Ticket.issued(client, allowed_seconds),
        )
