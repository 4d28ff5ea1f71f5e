"""The attention of a translation, and its beam search step by step, for people who study them.

The search is the engine's, for one sentence alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from model.backends.cores import num_cores
from model.backends.native import PackedModel
from model.backends.selection import Backend, make_decoder
from model.checkpoint import StoredNetwork
from model.decoding.decoder import BatchRows, Capacity, Precision, StepRecord, StepShape
from model.decoding.search_rules import Status
from model.decoding.search_trace import Fate, SearchCandidate, SearchStep, SearchTrace
from model.decoding.sentence import AttentionTables, SourceSentence
from model.decoding.slot_allocator import FixedSlotAllocator
from model.decoding.slot_options import Features
from model.network.config import default_heads
from model.network.numpy_network import attention_maps

if TYPE_CHECKING:
    from model.network.transformer import Transformer

_DECIMALS = 4
_MAX_WEIGHTS = 300_000_000
_NUM_LIKELIEST = 8
PiecesOf = Callable[[Sequence[int]], Sequence[str]]
"""The text of each target id."""


def is_inspectable(model: StoredNetwork) -> bool:
    """Whether the network is small enough to be computed again."""
    return sum(map(math.prod, model.weights.shapes.values())) <= _MAX_WEIGHTS


def attention_tables(
    model: StoredNetwork, source: Sequence[int], target: Sequence[int]
) -> AttentionTables:
    """The attention of a translation in float32 on the CPU; source ids with tags and eos, target
    ids without bos.

    The weights are read for this one by one, because the served ones may be packed in int8.
    Raises CheckpointError if they cannot be read.
    """
    inputs = [model.config.bos_id, *target[:-1]]
    maps = attention_maps(model.config, model.weights, source, inputs)
    return AttentionTables(*map(_rounded, maps))


def _rounded(maps: NDArray[np.float32]) -> list[object]:
    rounded: list[object] = maps.astype(np.float64).round(_DECIMALS).tolist()
    return rounded


class TracedModel(NamedTuple):
    """A model, and how to compute with it; members as for `make_decoder`."""

    model: Transformer | StoredNetwork | PackedModel
    control_ids: Sequence[int]
    byte_ids: Mapping[int, int]
    copied_ids: Mapping[int, int | None]
    precision: Precision
    backend: Backend | None
    pieces: PiecesOf


def trace_search(traced: TracedModel, sentence: SourceSentence, max_target: int) -> SearchTrace:
    """Search the translation of `sentence`, of at most `max_target` tokens.

    Uses one core. Raises ValueError if the network gives no finite scores.
    """
    model, control_ids, byte_ids, copied_ids, precision, backend, pieces = traced
    limit, width = sentence.target_limit(max_target), sentence.options.beam_size
    decoder = make_decoder(
        *(model, control_ids, Capacity(1, width, len(sentence.ids), limit), width, precision),
        *(backend, byte_ids, copied_ids, default_heads(model.config)),
    )
    decoder.share_cores(num_cores())
    features, members = Features.of(sentence), _members(sentence)
    ids: list[list[int]] = []
    steps: list[SearchStep] = []
    with decoder.in_use():
        decoder.admit([0], [range(width)], [sentence], [limit])
        while len(steps) < limit and decoder.status(0) is Status.RUNNING:
            shape = StepShape(len(steps) + 1, len(sentence.ids))
            record = decoder.traced(members, shape, features)
            own_ids, step = _traced_step(record, model.config.eos_id, pieces)
            ids.append(own_ids)
            steps.append(step)
        if decoder.status(0) is Status.FAILED:
            raise ValueError("the network gave no finite scores")
        ((best, *_),) = decoder.results([0], [limit], 1).wait()
    ended = [*best.ids, model.config.eos_id] if best.finish_reason == "stop" else best.ids
    return SearchTrace(steps, best.ids, best.score, list(_path(steps, ids, ended)))


def _path(
    steps: Sequence[SearchStep], ids: Sequence[Sequence[int]], tokens: Sequence[int]
) -> Iterator[int]:
    """The index of a hypothesis of these tokens among the candidates of each step, whose tokens
    have these ids."""
    parent: int | None = 0
    for step, own_ids, token in zip(steps, ids, tokens, strict=False):
        index = next(
            index
            for index, (candidate, own_id) in enumerate(zip(step.candidates, own_ids, strict=True))
            if (candidate.parent, own_id) == (parent, token)
        )
        parent = step.candidates[index].place
        yield index


def _members(sentence: SourceSentence) -> BatchRows:
    allocator = FixedSlotAllocator()
    allocator.add(0, sentence.options.beam_size)
    return BatchRows(allocator.view([0]), [0] if sentence.options.sampling else [])


def _traced_step(record: StepRecord, eos_id: int, pieces: PiecesOf) -> tuple[list[int], SearchStep]:
    """The ids of the candidates' tokens, and the step."""
    rows = _likeliest(record.logits, record.is_forbidden, pieces)
    alive = [row for row, score in zip(rows, record.scores, strict=True) if _is_alive(score)]
    found = list(_candidates(record, eos_id, pieces))
    return [token for token, _ in found], SearchStep([one for _, one in found], alive)


def _likeliest(
    logits: NDArray[np.float32], is_forbidden: NDArray[np.bool_] | None, pieces: PiecesOf
) -> list[list[tuple[str, float]]]:
    probs = np.exp(logits - logits.max(1, keepdims=True))
    probs /= probs.sum(1, keepdims=True)
    if is_forbidden is not None:
        probs[is_forbidden] = 0.0
    tokens = (-probs).argsort(axis=1, kind="stable")[:, :_NUM_LIKELIEST]
    values = np.take_along_axis(probs, tokens, 1)
    return [
        [(text, round(share, _DECIMALS)) for text, share in zip(pieces(ids), shares, strict=True)]
        for ids, shares in zip(tokens.tolist(), values.tolist(), strict=True)
    ]


def _candidates(
    step: StepRecord, eos_id: int, pieces: PiecesOf
) -> Iterator[tuple[int, SearchCandidate]]:
    """The best 2K candidates of K live hypotheses, best first, and all that the step kept, in
    their order; each with the id of its token."""
    own, width = step.log_probs, len(step.scores)
    totals = (step.scores[:, None] + own).ravel()
    best = (-totals).argsort(kind="stable")[: 2 * width].tolist()
    leaders = set(best[:width])
    live = zip(step.sources.tolist(), step.last.tolist(), step.kept.tolist(), strict=True)
    kept = [
        parent * own.shape[1] + step.tokens[parent].tolist().index(token)
        for parent, token, score in live
        if _is_alive(score)
    ]
    found = {place: float(totals[place]) for place in [*best, *kept]}
    for place, whole in sorted(found.items(), key=lambda item: -item[1]):
        if not _is_alive(whole):
            return
        parent, column = divmod(place, own.shape[1])
        token = int(step.tokens[parent, column])
        (text,) = pieces([token])
        log_prob = round(float(own[parent, column]), _DECIMALS)
        is_ended = token == eos_id and place in leaders
        fate = Fate.ENDED if is_ended else Fate.KEPT if place in kept else Fate.DROPPED
        position = kept.index(place) if place in kept else None
        total = round(whole, _DECIMALS)
        yield token, SearchCandidate(parent, text, log_prob, total, fate, position)


def _is_alive(score: float) -> bool:
    """Whether there is a hypothesis with this score."""
    return score > float("-inf")
