"""The decoder's step with fused kernels around PyTorch's matrix products."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from torch import Tensor, nn

from model.backends.fused.attention import Histories, attend_history, attend_memory
from model.backends.fused.rows import added_and_normalised, embedded
from model.backends.joined_projections import self_projection
from model.backends.torch_eager import EagerNetwork
from model.decoding.network_interface import Capacity, RowTable, StepShape
from model.network.layers import Attention
from model.network.transformer import Transformer

_Sublayer = Callable[[Tensor], Tensor]


class _Taken(NamedTuple):
    """The last step: its rows, and their positions (R,)."""

    table: RowTable
    positions: Tensor


class FusedNetwork(EagerNetwork):
    """Reorders a table of ancestors instead of the histories' cache."""

    needs_longest_source = False

    def __init__(
        self,
        model: Transformer,
        control_ids: Sequence[int],
        capacity: Capacity,
        is_recorded: bool = False,
    ) -> None:
        super().__init__(model, control_ids, capacity, is_recorded)
        self._histories = Histories(capacity.max_rows, capacity.max_target_tokens, self.device)
        self._projections = [
            self_projection(layer.self_attention) for layer in model.decoder_layers
        ]
        self._taken: _Taken | None = None

    def clear_places(self, slots: Tensor, rows: Tensor) -> None:
        super().clear_places(slots, rows)
        self._histories.clear(rows)

    def move_rows(self, targets: Tensor, sources: Tensor) -> None:
        super().move_rows(targets, sources)
        self._histories.copy(targets, sources)

    def reorder(self, sources: Tensor, length: int) -> None:
        assert self._taken is not None
        self._histories.follow(sources, self._taken.positions, self._taken.table, length)

    def _states(
        self, tokens: Tensor, places: Tensor, table: RowTable, shape_of_step: StepShape
    ) -> Tensor:
        self._taken = taken = _Taken(table, places)
        self._rows.num_written = max(self._rows.num_written, shape_of_step.target)
        total = state = self._embedded(tokens, places)
        norms = [norm for norm, _ in self._sublayers(taken)]
        is_pre_norm = self._model.config.norm == "pre"
        if is_pre_norm:
            state = norms[0](total)
            norms = [*norms[1:], _layer_norm(self._model.decoder_norm)]
        for (_, sublayer), norm in zip(self._sublayers(taken), norms, strict=True):
            total, state = added_and_normalised(total, sublayer(state), norm)
            total = total if is_pre_norm else state
        return state

    def _embedded(self, tokens: Tensor, positions: Tensor) -> Tensor:
        embedding = self._model.tgt_embedding
        table = embedding.table if embedding.learned is None else embedding.learned.weight
        weight = embedding.tokens.weight
        state: Tensor = embedding.norm(embedded(tokens, positions, weight, table, embedding.scale))
        return state

    def _sublayers(self, taken: _Taken) -> Iterator[tuple[nn.LayerNorm, _Sublayer]]:
        """Each sublayer of the decoder, with its layer norm."""
        for index, layer in enumerate(self._model.decoder_layers):
            yield layer.self_attention_residual.norm, self._self_attention(index, taken)
            yield layer.memory_attention_residual.norm, self._memory_attention(index, taken)
            yield layer.feed_forward_residual.norm, layer.feed_forward

    def _self_attention(self, index: int, taken: _Taken) -> _Sublayer:
        projection = self._projections[index]
        caches = self._rows.keys[index], self._rows.values[index]
        output, slopes = self._attention(index).out_proj, self._model.slopes

        def attend(state: Tensor) -> Tensor:
            projected = projection(state)
            table, positions = taken
            found = attend_history(projected, *caches, positions, table, self._histories, slopes)
            return output(found)

        return attend

    def _memory_attention(self, index: int, taken: _Taken) -> _Sublayer:
        memory, attention = self._memory, self._model.decoder_layers[index].memory_attention
        caches = memory.keys[index], memory.values[index]

        def attend(state: Tensor) -> Tensor:
            queries = attention.q_proj(state)
            return attention.out_proj(attend_memory(queries, *caches, memory.lengths, taken.table))

        return attend

    def _attention(self, index: int) -> Attention:
        return self._model.decoder_layers[index].self_attention


def _layer_norm(module: nn.Module) -> nn.LayerNorm:
    if not isinstance(module, nn.LayerNorm):
        raise TypeError("a pre-norm decoder ends with a layer norm")
    return module
