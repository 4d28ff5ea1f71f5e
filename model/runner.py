"""The seam between the network and whoever drives it: admit sentences, step, release.

Plain Python goes in and comes out; tensors, device and precision stay behind this door.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from model.checkpoint import StoredModel
from model.layout import Layout, Part
from model.network import Precision, Room, RowCandidates, RowTable
from model.placement import make_network, make_search
from model.search import Status
from model.sentence import Finished, Hypothesis, SourceSentence, StepResult
from model.slots import Features
from model.transformer import Transformer

_MAX_ENCODE_TOKENS = 8192


@dataclass
class _Running:
    """What the host must know of one running sentence."""

    source: SourceSentence
    first_step: int
    num_streamed: int = 0


class _Members(NamedTuple):
    """What follows from who is running, computed anew only when that changes."""

    table: RowTable
    features: Features
    streamed: list[int]


class Runner:
    """Decodes up to `max_slots` sentences at once, with `max_rows` hypotheses between them."""

    def __init__(
        self,
        model: Transformer | StoredModel,
        control_ids: Sequence[int],
        *,
        max_slots: int,
        max_rows: int,
        max_source_tokens: int,
        max_target_tokens: int,
        max_beam_size: int = 16,
        precision: Precision = "float32",
        is_eager: bool = False,
    ) -> None:
        """A model on disk is read once, weight by weight where our own CPU code computes.
        `is_eager`: PyTorch computes, even where our own CPU code could."""
        config = model.config
        self.max_slots, self.max_rows = max_slots, max_rows
        self.max_source_tokens = min(max_source_tokens, config.max_positions)
        self.max_target_tokens = min(max_target_tokens, config.max_positions)
        self.max_beam_size = min(max_beam_size, max_rows)
        self._config = config
        self._device = model.device
        room = Room(max_slots, max_rows, self.max_source_tokens, self.max_target_tokens)
        self._network = make_network(model, control_ids, room, precision, is_eager)
        self._search = make_search(
            self._network, room, self.max_beam_size, config.eos_id, control_ids[0]
        )
        self._layout = Layout()
        self._running: dict[int, _Running] = {}
        self._handles = itertools.count()
        self._num_steps = 0
        self._members: _Members | None = None

    @property
    def num_running(self) -> int:
        return len(self._running)

    @property
    def num_free_slots(self) -> int:
        return self.max_slots - self._layout.num_slots

    @property
    def num_free_rows(self) -> int:
        return self.max_rows - self._layout.num_rows

    @torch.inference_mode()
    def admit(self, sentences: Sequence[SourceSentence]) -> list[int]:
        """Encode sentences, project their memory and start their searches -> handles.

        A sentence takes one slot and beam_size rows. Raises ValueError, and admits none, if one
        is empty or too long or there is no room.
        """
        self._check_room(sentences)
        handles = [next(self._handles) for _ in sentences]
        for handle, sentence in zip(handles, sentences, strict=True):
            slot = self._layout.add(handle, sentence.options.beam_size)
            self._network.reserve(slot, self._layout.rows[slot])
            self._running[handle] = _Running(sentence, self._num_steps)
        self._members = None
        try:
            for batch in _by_length(list(zip(handles, sentences, strict=True))):
                self._encode(batch)
        except BaseException:
            for handle in handles:
                self.release(handle)
            raise
        return handles

    @property
    def can_leave_out(self) -> bool:
        """Whether a step of some of the sentences costs less than one of all: not on a GPU."""
        return self._network.can_leave_out

    @torch.inference_mode()
    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        """Give the hypotheses of these running sentences their next token, or those of all.

        Raises ValueError if some are left out where none `can_leave_out`.
        """
        if not self._running:
            return StepResult([], {})
        members = self._describe(handles) if handles is not None else self._everyone()
        table, length = members.table, min(self._longest() + 1, self.max_target_tokens)
        self._network.step(*self._search.frontier(table), table, length)
        sources = self._search.advance(self._candidates(members, length), table, length)
        if table.by_slot.size(1) > 1:
            self._network.reorder(sources, length)
        self._num_steps += 1
        streamed = self._stream(members, length)
        return StepResult(self._collect(), streamed)

    def release(self, handle: int) -> None:
        """Abandon a running sentence; KeyError if it is not running."""
        slot = self._layout.slot(handle)
        rows = self._layout.rows[slot]
        longest = self._longest()
        moves = self._layout.remove(handle)
        del self._running[handle]
        self._members = None
        self._network.release(slot, rows, moves, longest)
        if moves.slot:
            self._search.move(*moves.slot)

    def _check_room(self, sentences: Sequence[SourceSentence]) -> None:
        for sentence in sentences:
            if not 1 <= len(sentence.ids) <= self.max_source_tokens:
                raise ValueError(
                    f"a sentence must have 1 to {self.max_source_tokens} source tokens, "
                    f"got {len(sentence.ids)}"
                )
            if sentence.options.beam_size > self.max_beam_size:
                raise ValueError(
                    f"beam_size must be at most {self.max_beam_size}, "
                    f"got {sentence.options.beam_size}"
                )
            if len(sentence.prefix) >= self.max_target_tokens:
                raise ValueError(
                    f"a target prefix must have less than {self.max_target_tokens} tokens, "
                    f"got {len(sentence.prefix)}"
                )
        num_rows = sum(sentence.options.beam_size for sentence in sentences)
        if len(sentences) > self.num_free_slots or num_rows > self.num_free_rows:
            raise ValueError(
                f"no room for {len(sentences)} sentences with {num_rows} hypotheses: "
                f"{self.num_free_slots} slots and {self.num_free_rows} rows are free"
            )

    def _encode(self, batch: list[tuple[int, SourceSentence]]) -> None:
        slots = [self._layout.slot(handle) for handle, _ in batch]
        sentences = [sentence for _, sentence in batch]
        self._network.encode(slots, [sentence.ids for sentence in sentences])
        limits = [
            min(sentence.options.target_limit(len(sentence.ids)), self.max_target_tokens)
            for sentence in sentences
        ]
        where = torch.tensor(slots, device=self._device)
        self._search.admit(where, sentences, limits, self._config.bos_id)

    def _everyone(self) -> _Members:
        if self._members is None:
            self._members = self._members_of(self._layout.handles, self._layout.whole())
        return self._members

    def _describe(self, handles: Sequence[int]) -> _Members:
        if len(handles) == len(self._running):
            return self._everyone()
        if not self.can_leave_out:
            raise ValueError("on this device a step is of all running sentences")
        return self._members_of(handles, self._layout.part([self._layout.slot(h) for h in handles]))

    def _members_of(self, handles: Sequence[int], part: Part) -> _Members:
        slots, beams = torch.tensor(part.owners, device=self._device).unbind(1)
        members = torch.tensor([self._layout.slot(h) for h in handles], device=self._device)
        rows = torch.tensor(part.rows, device=self._device)
        by_slot = torch.tensor(part.table, device=self._device)
        sources = [self._running[handle].source for handle in handles]
        return _Members(
            RowTable(by_slot, slots, beams, members, rows),
            features=Features.of(sources),
            streamed=[h for h, s in zip(handles, sources, strict=True) if s.is_streamed],
        )

    def _candidates(self, members: _Members, length: int) -> RowCandidates:
        features, table = members.features, members.table
        if features.needs_logits:
            return self._search.choose(self._network.logits(), table, length, features)
        return self._network.rank(2 * table.by_slot.size(1))

    def _longest(self) -> int:
        """Tokens that the longest running hypothesis may have: those of the oldest sentence if no
        step left it out."""
        first = next(iter(self._running.values()), None)
        return min(self._num_steps - first.first_step, self.max_target_tokens) if first else 0

    def _stream(self, members: _Members, length: int) -> dict[int, list[int]]:
        """Newly settled tokens of the sentences that are streamed."""
        if not members.streamed:
            return {}
        width = members.table.by_slot.size(1)
        stable = self._search.stable_lengths(self._layout.num_slots, width, length).tolist()
        streamed: dict[int, list[int]] = {}
        for handle in members.streamed:
            state, slot = self._running[handle], self._layout.slot(handle)
            if stable[slot] > state.num_streamed:
                tokens = self._search.live.tokens[slot, 0, state.num_streamed : stable[slot]]
                streamed[handle] = tokens.tolist()
                state.num_streamed = stable[slot]
        return streamed

    def _collect(self) -> list[Finished]:
        """Take out the sentences that are done or failed."""
        status = self._search.status[: self._layout.num_slots].tolist()
        ended = [
            (handle, Status(code))
            for handle, code in zip(self._layout.handles, status, strict=True)
            if code != Status.RUNNING
        ]
        return [self._take_out(handle, status) for handle, status in ended]

    def _take_out(self, handle: int, status: Status) -> Finished:
        if status is Status.FAILED:
            self.release(handle)
            return Finished(handle, [], "the model gave no finite scores for this sentence")
        hypotheses = list(self._hypotheses(self._layout.slot(handle)))
        self.release(handle)
        return Finished(handle, hypotheses)

    def _hypotheses(self, slot: int) -> Iterator[Hypothesis]:
        finished = self._search.finished
        lengths = finished.length[slot].tolist()
        for rank, score in enumerate(finished.score[slot].tolist()):
            if score == float("-inf"):
                return
            tokens = finished.tokens[slot, rank, : lengths[rank]].tolist()
            log_probs = finished.log_probs[slot, rank, : lengths[rank]].tolist()
            if tokens[-1] == self._search.eos_id:
                yield Hypothesis(tokens[:-1], log_probs, score, "stop")
            else:
                is_limit = len(tokens) == self._search.options.limit[slot]
                yield Hypothesis(tokens, log_probs, score, "length" if is_limit else "repetition")


def _by_length(
    batch: list[tuple[int, SourceSentence]],
) -> Iterator[list[tuple[int, SourceSentence]]]:
    """Cut into batches of similar length, so that little is padding."""
    batch = sorted(batch, key=lambda item: len(item[1].ids))
    start = 0
    for end in range(1, len(batch) + 1):
        is_last = end == len(batch)
        if is_last or (end + 1 - start) * len(batch[end][1].ids) > _MAX_ENCODE_TOKENS:
            yield batch[start:end]
            start = end
