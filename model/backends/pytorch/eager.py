"""The network as eager PyTorch operations, for every device and architecture option."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from model.backends.pytorch.cache import MemoryCache, StepRows, make_history
from model.backends.pytorch.recording import Recorder
from model.backends.pytorch.rows import RowTable
from model.backends.pytorch.shortlist_mask import ShortlistMask
from model.backends.pytorch.source_encoder import RecordedEncoder, SourceEncoder, source_table
from model.backends.pytorch.transfer import Transfer, to_device
from model.decoding.decoder import Capacity, StepShape, WholeHypotheses
from model.network.attention_maps import memory_attention
from model.network.config import AttentionHead
from model.network.transformer import Transformer

_ROWS = 8


class EagerNetwork:
    """Runs `Transformer` on the key and value caches with eager PyTorch operations."""

    def __init__(
        self,
        model: Transformer,
        control_ids: Sequence[int],
        capacity: Capacity,
        is_recorded: bool = False,
    ) -> None:
        """`is_recorded`: the operations of a step do not depend on tensor values, so that
        `model.backends.pytorch.cuda_graphs` can record them."""
        self._is_recorded = is_recorded
        self._model, self.config = model.eval(), model.config
        weight = next(model.parameters())
        self.device = weight.device
        self._control_ids = torch.tensor(control_ids, dtype=torch.int64).to(self.device)
        self.rows = make_history(
            model.config, capacity.max_rows, capacity.max_target_tokens, weight
        )
        self._memory = MemoryCache(
            model.config, capacity.max_slots, capacity.max_source_tokens, weight
        )
        self._capacity = capacity
        self._encoder = SourceEncoder(model, self._memory)
        self._mask = model.shortlist and ShortlistMask(
            model.shortlist, capacity.max_slots, model.config.tgt_vocab_size, self.device
        )
        self._logits = torch.empty(0)
        self._has_wide_output = _can_widen(weight)
        self._output_weight = padded(model.output.weight) if self._has_wide_output else weight

    def record_encodings(self, recorder: Recorder | None) -> None:
        """Encode by `RecordedEncoder` from now on. `recorder`: None records nothing."""
        self._encoder = RecordedEncoder(self._model, self._memory, self._capacity, recorder)

    def warm_up(self) -> None:
        """Record encodings, if they are recorded, while no slot is in use."""
        self._encoder.warm_up()

    def clear(self, slots: Sequence[int], rows: Sequence[int], transfer: Transfer) -> None:
        """Forget, when the transfer runs, what earlier sentences left in slots and rows that new
        ones take: NaN of a sentence that overflowed survives a mask, because 0 x NaN is NaN."""
        transfer.add(self.clear_places, np.array(slots, np.int64), np.array(rows, np.int64))

    def clear_places(self, slots: Tensor, rows: Tensor) -> None:
        self._memory.clear(slots)
        self.rows.clear(rows)

    def encode(
        self, slots: Sequence[int], sources: Sequence[Sequence[int]], transfer: Transfer
    ) -> None:
        """Encode sources and cache the decoder's memory in their slots, when the transfer runs."""
        shape = self._encoder.shape_for(len(sources), max(map(len, sources)))
        table = source_table(slots, sources, shape, self._model.config.pad_id)
        transfer.add(self._encoder.encode, table)
        if self._mask:
            self._mask.admit(slots, sources, transfer)

    def step(
        self, tokens: Tensor, positions: Tensor, table: RowTable, shape_of_step: StepShape
    ) -> None:
        """Feed tokens (R,) at positions (R,) to the rows of the table. Clamps positions, because a
        row of an ended search may be at the maximum length."""
        places = positions.clamp_max(shape_of_step.target - 1)
        context = StepRows(self.rows, self._memory, table, places, shape_of_step)
        self._logits = self._output(self._model.step_states(tokens, context))
        self._logits.index_fill_(1, self._control_ids, float("-inf"))
        if self._mask:
            self._mask.apply(self._logits, table.slots)

    def _output(self, states: Tensor) -> Tensor:
        """Logits (R, V) in float32. A half-precision product would round them to a few hundredths,
        and candidates would tie; a GPU can return the float32 sums that it computes anyway."""
        output = self._model.output
        if not self._has_wide_output:
            return output(states).float()
        products = torch.mm(states, self._output_weight.t(), out_dtype=torch.float32)
        logits = products[:, : self.config.tgt_vocab_size]
        return logits if output.bias is None else logits + output.bias

    def logits(self) -> Tensor:
        """The last step's logits (R, V), of control ids and of tokens that are not on a sentence's
        shortlist -inf; the caller may overwrite them."""
        return self._logits

    @torch.inference_mode()
    def attention(
        self, hypotheses: WholeHypotheses[Tensor], heads: Sequence[AttentionHead]
    ) -> Tensor:
        slots, _, tokens, _, longest_source = hypotheses
        starts = tokens.new_full((len(slots), 1), self._model.config.bos_id)
        inputs = torch.cat([starts, tokens[:, :-1]], 1)
        where = to_device(slots, self.device)
        memory = self._memory.read(where, longest_source)
        mask = self._memory.mask(where, longest_source)
        return memory_attention(self._model, inputs, memory, mask, heads).float()

    def reorder(self, sources: Tensor, length: int) -> None:
        """Row i of the last step takes over the first `length` tokens of row sources[i] (R,) of
        that step. Rows that continue themselves are not copied, unless steps are recorded."""
        targets = torch.arange(len(sources), device=self.device)
        if not self._is_recorded:
            is_moved = sources != targets
            targets, sources = targets[is_moved], sources[is_moved]
        self.rows.copy(targets, sources, length)

    def move_rows(self, targets: Tensor, sources: Tensor) -> None:
        self.rows.move(targets, sources)

    def move_slots(self, targets: Tensor, sources: Tensor) -> None:
        self._memory.move(targets, sources)
        if self._mask:
            self._mask.move(targets, sources)


def padded(weight: Tensor) -> Tensor:
    """A matrix (V, D) with rows of zeros up to a multiple of 8, which the fast matrix products of a
    GPU need. The weight becomes a view of it; a second call finds it again."""
    size, width = weight.shape
    n_rows = -(-size // _ROWS) * _ROWS
    if n_rows == size:
        return weight.detach()
    shape, num_bytes = (n_rows, width), n_rows * width * weight.element_size()
    if weight.is_contiguous() and weight.untyped_storage().nbytes() == num_bytes:
        return weight.detach().as_strided(shape, weight.stride(), 0)
    whole = weight.detach().new_zeros(shape)
    whole[:size] = weight.detach()
    weight.data = whole[:size]
    return whole


def _can_widen(weight: Tensor) -> bool:
    """Whether products of this precision can be had in float32 on this device."""
    if weight.dtype == torch.float32 or weight.device.type == "cpu":
        return False
    try:
        one = weight.new_zeros(8, 8)
        torch.mm(one, one, out_dtype=torch.float32)
    except (RuntimeError, TypeError):
        return False
    return True
