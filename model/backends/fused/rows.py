"""Small operations on the states of rows (R, D), one kernel each: embed, add and normalise."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor, nn


@triton.jit
def embed(
    tokens,  # (R,)
    positions,  # (R,)
    embeddings,  # (V, width)
    table,  # (positions, width), if HAS_TABLE
    out,  # (R, width), written
    width,
    scale,
    SIZE: tl.constexpr,
    HAS_TABLE: tl.constexpr,
) -> None:
    row, place = tl.program_id(0).to(tl.int64), tl.arange(0, SIZE)
    is_real = place < width
    type_of_states = out.dtype.element_ty
    state = tl.load(embeddings + tl.load(tokens + row) * width + place, mask=is_real, other=0.0)
    state = (state.to(tl.float32) * scale).to(type_of_states)
    if HAS_TABLE:
        position = tl.load(table + tl.load(positions + row) * width + place, mask=is_real)
        state = (state.to(tl.float32) + position.to(tl.float32)).to(type_of_states)
    tl.store(out + row * width + place, state, mask=is_real)


@triton.jit
def add_and_normalise(
    states,  # (R, width)
    added,  # (R, width)
    weight,
    bias,
    sums,  # (R, width), written
    normalised,  # (R, width), written
    width,
    epsilon,
    SIZE: tl.constexpr,
) -> None:
    place = tl.arange(0, SIZE)
    here = tl.program_id(0).to(tl.int64) * width + place
    is_real = place < width
    total = tl.load(states + here, mask=is_real, other=0.0).to(tl.float32)
    total += tl.load(added + here, mask=is_real, other=0.0).to(tl.float32)
    total = total.to(sums.dtype.element_ty)
    tl.store(sums + here, total, mask=is_real)
    total = total.to(tl.float32)
    centred = tl.where(is_real, total - tl.sum(total, 0) / width, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 0) / width + epsilon)
    state = centred * scale * tl.load(weight + place, mask=is_real).to(tl.float32)
    state += tl.load(bias + place, mask=is_real).to(tl.float32)
    tl.store(normalised + here, state.to(normalised.dtype.element_ty), mask=is_real)


def embedded(
    tokens: Tensor, positions: Tensor, embeddings: Tensor, table: Tensor, scale: float
) -> Tensor:
    """Embeddings of tokens (R,) times `scale`, plus the rows `positions` (R,) of the table (P, D),
    unless it is empty -> (R, D)."""
    width = embeddings.size(1)
    out = embeddings.new_empty(tokens.size(0), width)
    embed[(tokens.size(0),)](
        *(tokens, positions, embeddings, table if table.numel() else out, out, width, scale),
        SIZE=triton.next_power_of_2(width),
        HAS_TABLE=table.numel() > 0,
    )
    return out


def added_and_normalised(
    states: Tensor, added: Tensor, norm: nn.LayerNorm
) -> tuple[Tensor, Tensor]:
    """The sum of two (R, D), and its layer norm."""
    sums, normalised = torch.empty_like(states), torch.empty_like(states)
    width = states.size(1)
    add_and_normalise[(states.size(0),)](
        *(states, added, norm.weight, norm.bias, sums, normalised, width, norm.eps),
        SIZE=triton.next_power_of_2(width),
    )
    return sums, normalised
