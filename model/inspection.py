"""The attention of a translation, and its beam search step by step, for people who study them.

The search runs `model.backends.pytorch.search` on the network that the engine also uses, for one sentence
alone.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from model.backends.native import PackedModel
from model.backends.pytorch.search import Search
from model.backends.pytorch.search_state import Status
from model.backends.pytorch.transfer import Transfer
from model.backends.selection import Backend, make_step
from model.checkpoint import StoredModel
from model.decoding.network_interface import (
    BatchRows,
    Capacity,
    Network,
    Precision,
    RowCandidates,
    RowTable,
    StepShape,
)
from model.decoding.search_trace import Fate, SearchTrace, TracedCandidate, TracedStep
from model.decoding.sentence import AttentionTables, SourceSentence
from model.decoding.slot_allocator import FixedSlotAllocator
from model.decoding.slot_options import Features
from model.network.attention_maps import attention_maps
from model.network.transformer import Transformer

_DECIMALS = 4
_MAX_WEIGHTS = 300_000_000
_NUM_LIKELIEST = 8


def is_inspectable(model: StoredModel) -> bool:
    """Whether the network is small enough for a second copy to be loaded."""
    return sum(map(math.prod, model.weights.shapes.values())) <= _MAX_WEIGHTS


def attention_tables(
    model: StoredModel, source: Sequence[int], target: Sequence[int]
) -> AttentionTables:
    """The attention of a translation, by the reference network in float32 on the CPU; source ids
    with tags and eos, target ids without bos.

    The weights are read for this and freed again, because the served ones may be packed in int8.
    Raises CheckpointError if they cannot be read.
    """
    network = dataclasses.replace(model, device=torch.device("cpu")).load()
    inputs = [model.config.bos_id, *target[:-1]]
    return AttentionTables(*map(_rounded, attention_maps(network, source, inputs)))


def _rounded(maps: Tensor) -> list[object]:
    rounded: list[object] = maps.double().round(decimals=_DECIMALS).tolist()
    return rounded


class TracedModel(NamedTuple):
    """A model, and how to compute with it; members as for `make_step`."""

    model: Transformer | StoredModel | PackedModel
    control_ids: Sequence[int]
    byte_ids: Mapping[int, int]
    copied_ids: Mapping[int, int | None]
    precision: Precision
    backend: Backend | None


def on_cpu(model: StoredModel) -> StoredModel:
    """The same model for the CPU, where a trace does not disturb the engine of a GPU."""
    return dataclasses.replace(model, device=torch.device("cpu"))


@torch.inference_mode()
def trace_search(traced: TracedModel, sentence: SourceSentence, max_target: int) -> SearchTrace:
    """Search the translation of `sentence`, of at most `max_target` tokens.

    Uses one core. Raises ValueError if the network gives no finite scores.
    """
    limit = sentence.target_limit(max_target)
    run = _Run(traced, sentence, limit)
    steps = list(run.steps())
    ((best, *_),) = run.search.results([0], [limit], 1).wait()
    ended = [*best.ids, traced.model.config.eos_id] if best.finish_reason == "stop" else best.ids
    return SearchTrace(steps, best.ids, best.score, list(_path(steps, ended)))


def _path(steps: Sequence[TracedStep], tokens: Sequence[int]) -> Iterator[int]:
    """The index of a hypothesis of these tokens among the candidates of each step."""
    parent: int | None = 0
    for step, token in zip(steps, tokens, strict=False):
        index = next(
            index
            for index, candidate in enumerate(step.candidates)
            if (candidate.parent, candidate.token) == (parent, token)
        )
        parent = step.candidates[index].place
        yield index


class _Row(NamedTuple):
    """A live hypothesis after a step: the row it continues, and its last token."""

    parent: int
    token: int


class _Run:
    """The search of one sentence in slot 0."""

    def __init__(self, traced: TracedModel, sentence: SourceSentence, limit: int) -> None:
        model, control_ids, byte_ids, copied_ids, precision, backend = traced
        width = sentence.options.beam_size
        self.num_source, self.limit, self.width = len(sentence.ids), limit, width
        capacity = Capacity(1, width, self.num_source, limit)
        network, search, _ = make_step(
            model, control_ids, capacity, width, precision, backend, byte_ids, copied_ids
        )
        self.network: Network = network
        self.search: Search = search
        self.features = Features.of(sentence)
        network.share_cores(torch.get_num_threads())
        transfer = Transfer(search.length.device)
        network.encode([0], [sentence.ids], transfer)
        search.admit([0], [sentence], [limit], model.config.bos_id, transfer)
        transfer.run()
        self._table = _table(width, self.features, search.length.device)

    def steps(self) -> Iterator[TracedStep]:
        """Step until the search is done."""
        for length in range(1, self.limit + 1):
            yield self._step(length)
            if (status := Status(int(self.search.status[0]))) is not Status.RUNNING:
                break
        if status is Status.FAILED:
            raise ValueError("the network gave no finite scores")

    def _step(self, length: int) -> TracedStep:
        """As `model.backends.pytorch.step.Step`, with a record of the candidates."""
        search, table = self.search, self._table
        self.network.step(*search.frontier(table), table, StepShape(length, self.num_source))
        logits = self.network.logits()
        likeliest = _likeliest(logits, search.forbidden(table, self.features))
        scores = search.live.score[0, : self.width].clone()
        chosen = search.choose(logits, table, length, self.features)
        sources = search.advance(chosen, table, length)
        if self.width > 1:
            self.network.reorder(sources, length)
        rows = self._live_rows(sources)
        candidates = list(_candidates(chosen, scores, rows, search.eos_id))
        alive = [row for row, score in zip(likeliest, scores.tolist(), strict=True) if _is(score)]
        return TracedStep(candidates, alive)

    def _live_rows(self, sources: Tensor) -> list[_Row]:
        last, scores = self.search.last[0, : self.width], self.search.live.score[0, : self.width]
        rows = zip(sources.tolist(), last.tolist(), scores.tolist(), strict=True)
        return [_Row(parent, token) for parent, token, score in rows if _is(score)]


def _table(width: int, features: Features, device: torch.device) -> RowTable:
    allocator = FixedSlotAllocator()
    allocator.add(0, width)
    drawn = [0] if features.has_sampling else []
    return BatchRows(allocator.view([0]), drawn, device).table


def _likeliest(logits: Tensor, is_forbidden: Tensor | None) -> list[list[tuple[int, float]]]:
    probs = logits.float().softmax(-1)
    if is_forbidden is not None:
        probs.masked_fill_(is_forbidden, 0.0)
    values, tokens = probs.topk(min(_NUM_LIKELIEST, logits.size(1)))
    return [
        list(zip(ids, shares, strict=True))
        for ids, shares in zip(tokens.tolist(), values.tolist(), strict=True)
    ]


def _candidates(
    chosen: RowCandidates, scores: Tensor, live: Sequence[_Row], eos_id: int
) -> Iterator[TracedCandidate]:
    """The best 2K candidates of K live hypotheses with these scores (K,), best first, and all of
    `live`: those that the step kept, in their order."""
    own, width = chosen.log_probs, len(scores)
    totals = (scores[:, None] + own).flatten()
    best = totals.topk(min(2 * width, totals.numel())).indices.tolist()
    leaders = set(best[:width])
    kept = [row.parent * own.size(1) + _column(chosen, row) for row in live]
    found = {place: float(totals[place]) for place in [*best, *kept]}
    for place, total in sorted(found.items(), key=lambda item: -item[1]):
        if not _is(total):
            return
        parent, column = divmod(place, own.size(1))
        token = int(chosen.tokens[parent, column])
        is_ended = token == eos_id and place in leaders
        fate = Fate.ENDED if is_ended else Fate.KEPT if place in kept else Fate.DROPPED
        position = kept.index(place) if place in kept else None
        yield TracedCandidate(parent, token, float(own[parent, column]), total, fate, position)


def _column(chosen: RowCandidates, row: _Row) -> int:
    return int(chosen.tokens[row.parent].tolist().index(row.token))


def _is(score: float) -> bool:
    """Whether there is a hypothesis with this score."""
    return score > float("-inf")
