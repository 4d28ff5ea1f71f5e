"""What front ends and engines tell each other, as MessagePack: ids in, ids out, never text."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
import numpy as np
from prometheus_client import Metric
from prometheus_client.samples import Sample

from model.decoding.options import DecodingOptions
from model.decoding.sentence import FinishReason, Hypothesis, SourceSentence
from service.engine.admission import Crowd
from service.engine.sentence_task import CancelReason, SentenceOutcome
from service.errors import (
    Draining,
    InvalidField,
    NotReady,
    Overloaded,
    ServiceError,
    TranslationFailed,
)

_MOST_OPTIONS = 256
_option_values = attrgetter(*(field.name for field in fields(DecodingOptions)))
_ERRORS: dict[str, type[ServiceError]] = {
    kind.code: kind for kind in (Draining, InvalidField, NotReady, Overloaded, TranslationFailed)
}

SentenceFields = tuple[int, list[int], list[int], bool, bool, bool]
"""The index of its options, source ids, prefix, and whether it is streamed, aligned and cut."""
HypothesisFields = tuple[list[int], list[float], float, FinishReason, tuple[int, bytes] | None]
"""Ids, log-probabilities, score, finish reason, and attention: its columns and float32 values."""
ErrorFields = tuple[str, str]
"""The code and the message of an error."""
OutcomeFields = tuple[int, int, list[HypothesisFields], float, float, float, float, int]
"""The request, the index of the sentence, and the fields of its outcome without an error."""

FamilyFields = tuple[str, str, str, str, list[tuple[str, dict[str, str], float]]]
"""A metric: its name, documentation, type and unit; name, labels and value of each sample."""


class Submit(msgspec.Struct, array_like=True, tag="submit"):
    """A part of a request, for one engine. `model`: its name, or the key under which the front end
    has it loaded; `first`: the index of its first sentence among those of the request that this
    engine gets; `rest`: as of `SentenceEngine.submit`; `asks_for_room`: whether it is to be told as
    accepted. The ticket's deadline stays with the front end."""

    request: int
    model: str
    first: int
    options: list[list[Any]]
    sentences: list[SentenceFields]
    arrived: float
    expected_work: int
    client: str
    is_admitted: bool
    rest: tuple[int, int] | None
    asks_for_room: bool


class Cancel(msgspec.Struct, array_like=True, tag="cancel"):
    """Compute nothing more for a request."""

    request: int
    reason: CancelReason


class Ask(msgspec.Struct, array_like=True, tag="ask"):
    """A question. Nobody wants the answer to one without a number."""

    number: int | None
    question: str
    arguments: list[Any] = []


class ModelSizes(NamedTuple):
    """What an engine takes: the widest beam, the most target tokens; and its model's bytes in
    memory."""

    max_beam_size: int
    max_target_tokens: int
    num_bytes: int


class ModelFiles(NamedTuple):
    """A version of a model of a store, which an engine process loads."""

    name: str
    path: str
    version: str


class LoadAnswer(NamedTuple):
    """The sizes of a model that is in memory, None of several; or why it cannot be loaded:
    `is_damage` if its files are wrong."""

    sizes: ModelSizes | None
    failure: str = ""
    is_damage: bool = False


class Hello(msgspec.Struct, array_like=True, tag="hello"):
    """An engine process is there: the models that it has from its start, by name."""

    models: dict[str, ModelSizes]


class State(msgspec.Struct, array_like=True, tag="state"):
    """The models, by name or key, whose engine accepts new work, those that the front end must let
    go, because others need their memory, and those for which many sentences wait."""

    ready: list[str]
    wanted_back: list[str] = []
    crowds: dict[str, Crowd] = {}


class Outputs(msgspec.Struct, array_like=True, tag="outputs"):
    """All that one iteration of an engine's event loop has for a front end: requests that are
    accepted or refused, newly settled ids, outcomes and errors of sentences."""

    accepted: list[int] = []
    refused: list[tuple[int, ErrorFields]] = []
    ids: list[tuple[int, int, list[int]]] = []
    outcomes: list[OutcomeFields] = []
    errors: list[tuple[int, int, ErrorFields]] = []


class Answer(msgspec.Struct, array_like=True, tag="answer"):
    number: int
    value: msgspec.Raw


def sentence_fields(
    sentences: Sequence[SourceSentence],
) -> tuple[list[list[Any]], list[SentenceFields]]:
    """The different options of the sentences, and the sentences."""
    places: dict[DecodingOptions, int] = {}
    told: list[SentenceFields] = [
        (
            places.setdefault(one.options, len(places)),
            list(one.ids),
            list(one.prefix),
            one.is_streamed,
            one.is_aligned,
            one.is_cut,
        )
        for one in sentences
    ]
    return [list(_option_values(options)) for options in places], told


def sentences_of(submit: Submit) -> list[SourceSentence]:
    options = [_options_of(*values) for values in submit.options]
    return [
        SourceSentence(ids, options[place], is_streamed, prefix, is_aligned, is_cut)
        for place, ids, prefix, is_streamed, is_aligned, is_cut in submit.sentences
    ]


@functools.lru_cache(_MOST_OPTIONS)
def _options_of(*values: Any) -> DecodingOptions:
    """Made once, because it checks every value."""
    return DecodingOptions(*values)


def outcome_fields(request: int, index: int, outcome: SentenceOutcome) -> OutcomeFields:
    hypotheses, _, arrived, admitted, encoded, ended, work = outcome
    told = [_hypothesis_fields(one) for one in hypotheses]
    return request, index, told, arrived, admitted, encoded, ended, work


def outcome_of(told: OutcomeFields) -> SentenceOutcome:
    _, _, hypotheses, arrived, admitted, encoded, ended, work = told
    found = [_hypothesis_of(one) for one in hypotheses]
    return SentenceOutcome(found, None, arrived, admitted, encoded, ended, work)


def _hypothesis_fields(one: Hypothesis) -> HypothesisFields:
    attention = None
    if one.attention is not None:
        attention = one.attention.shape[1], one.attention.tobytes()
    return one.ids, one.log_probs, one.score, one.finish_reason, attention


def _hypothesis_of(told: HypothesisFields) -> Hypothesis:
    ids, log_probs, score, finish_reason, packed = told
    attention = None
    if packed is not None:
        num_columns, values = packed
        attention = np.frombuffer(values, np.float32).reshape(-1, num_columns)
    return Hypothesis(ids, log_probs, score, finish_reason, attention)


def error_fields(error: ServiceError) -> ErrorFields:
    return error.code, str(error)


def error_of(told: ErrorFields) -> ServiceError:
    code, message = told
    return _ERRORS[code](message)


def families_fields(families: Iterable[Metric]) -> list[FamilyFields]:
    return [
        (
            family.name,
            family.documentation,
            family.type,
            family.unit,
            [(one.name, one.labels, one.value) for one in family.samples],
        )
        for family in families
    ]


def family_of(told: FamilyFields) -> Metric:
    name, documentation, kind, unit, samples = told
    family = Metric(name, documentation, kind, unit)
    family.samples = [Sample(*one) for one in samples]
    return family
