"""Attention of one new position per row: to its history or to its sentence's memory.

A program computes one head of one row. It reads exactly the positions that the row has, so nothing
that an earlier sentence left is read.

A history is not copied when a beam is reordered: ancestors (max_rows, max_length) says which
beam's row of the same sentence holds each position (docs/decisions/0004-ancestor-table.md).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from model.decoding.network_interface import RowTable

NEVER = tl.constexpr(float("-inf"))
_BLOCK = 32


@triton.jit
def attend(
    queries,  # (R, query_stride): heads of head_size; of a history: keys and values follow
    keys,  # one layer: (rows or slots, heads, max_length, head_size)
    values,
    out,  # (R, heads * head_size), written
    counts,  # (R,): the new position, or (slots,): tokens of the source
    row_slots,  # (R,)
    by_slot,  # (N, width)
    ancestors,  # (max_rows, max_length)
    slopes,  # (heads,), if HAS_SLOPES
    query_stride,
    max_length,
    width,
    scale,
    head_size: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
    IS_HISTORY: tl.constexpr,
    HAS_SLOPES: tl.constexpr,
) -> None:
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    n_heads = tl.num_programs(1)
    slot = tl.load(row_slots + row)
    place = tl.arange(0, SIZE)
    is_real = place < head_size
    own = queries + row * query_stride + head * head_size + place
    query = tl.load(own, mask=is_real, other=0.0).to(tl.float32) * scale
    highest = tl.full([], NEVER, tl.float32)
    total = tl.full([], 0.0, tl.float32)
    context = tl.zeros([SIZE], tl.float32)
    if IS_HISTORY:
        size = n_heads * head_size
        key, value = tl.load(own + size, mask=is_real), tl.load(own + 2 * size, mask=is_real)
        count = tl.load(counts + row)
        here = ((row * n_heads + head) * max_length + count) * head_size + place
        tl.store(keys + here, key, mask=is_real)
        tl.store(values + here, value, mask=is_real)
        highest = tl.sum(tl.where(is_real, query * key.to(tl.float32), 0.0), 0)
        total += 1.0
        context = tl.where(is_real, value.to(tl.float32), 0.0)
    else:
        count = tl.load(counts + slot)
    for start in range(0, count, BLOCK):
        position = start + tl.arange(0, BLOCK)
        is_position = position < count
        store = tl.zeros([BLOCK], tl.int64) + slot
        if IS_HISTORY:
            beam = tl.load(ancestors + row * max_length + position, mask=is_position, other=0)
            beam = tl.minimum(beam, width - 1)
            store = tl.load(by_slot + slot * width + beam, mask=is_position, other=0)
        first = ((store * n_heads + head) * max_length + position) * head_size
        at = first[:, None] + place[None, :]
        is_read = is_position[:, None] & is_real[None, :]
        block = tl.load(keys + at, mask=is_read, other=0.0).to(tl.float32)
        score = tl.sum(block * query[None, :], 1)
        if HAS_SLOPES:
            score -= tl.load(slopes + head).to(tl.float32) * (count - position).to(tl.float32)
        score = tl.where(is_position, score, NEVER)
        top = tl.maximum(highest, tl.max(score, 0))
        weight, rest = tl.exp(score - top), tl.exp(highest - top)
        block = tl.load(values + at, mask=is_read, other=0.0).to(tl.float32)
        context = context * rest + tl.sum(block * weight[:, None], 0)
        total = total * rest + tl.sum(weight, 0)
        highest = top
    context = context / total
    result = out + (row * n_heads + head) * head_size + place
    tl.store(result, context.to(out.dtype.element_ty), mask=is_real)


@triton.jit
def follow(
    ancestors,  # (max_rows, max_length)
    sources,  # (R,): the row that each row continues
    positions,  # (R,): the position of the step
    row_slots,
    row_beams,
    by_slot,  # (N, WIDTH)
    max_length,
    n_columns,
    WIDTH: tl.constexpr,
    BEAMS: tl.constexpr,
    COLUMNS: tl.constexpr,
) -> None:
    slot = tl.program_id(0).to(tl.int64)
    beams = tl.arange(0, BEAMS)
    is_beam = beams < WIDTH
    row = tl.load(by_slot + slot * WIDTH + beams, mask=is_beam, other=0)
    is_mine = is_beam & (tl.load(row_slots + row) == slot) & (tl.load(row_beams + row) == beams)
    source = tl.load(sources + row, mask=is_mine, other=0)
    beam = tl.load(row_beams + source)
    position = tl.load(positions + row)
    for start in range(0, n_columns, COLUMNS):
        column = (start + tl.arange(0, COLUMNS))[None, :]
        is_read = is_mine[:, None] & (column < n_columns)
        old = tl.load(ancestors + source[:, None] * max_length + column, mask=is_read, other=0)
        new = tl.where(column == position[:, None], beam[:, None].to(tl.int32), old)
        tl.debug_barrier()  # every thread has read the column
        tl.store(ancestors + row[:, None] * max_length + column, new, mask=is_read)
        tl.debug_barrier()


class Histories:
    """Which row holds each position of each hypothesis: ancestors (max_rows, max_length)."""

    def __init__(self, n_rows: int, max_length: int, device: torch.device) -> None:
        self.ancestors = torch.zeros(n_rows, max_length, dtype=torch.int32, device=device)

    def clear(self, rows: Tensor) -> None:
        """Each position of rows (n,) is their own: the first beam's."""
        self.ancestors.index_fill_(0, rows, 0)

    def copy(self, targets: Tensor, sources: Tensor) -> None:
        """Copy rows `sources` (n,) to rows `targets` (n,). Reads all sources before it writes."""
        self.ancestors[targets] = self.ancestors[sources]

    def follow(self, sources: Tensor, positions: Tensor, table: RowTable, length: int) -> None:
        """Row i continues row sources[i]; both (R,), and the step was at positions (R,)."""
        n_slots, width = table.by_slot.shape
        follow[(n_slots,)](
            *(self.ancestors, sources, positions, table.slots, table.beams, table.by_slot),
            *(self.ancestors.size(1), length),
            WIDTH=width,
            BEAMS=triton.next_power_of_2(width),
            COLUMNS=_BLOCK,
        )


def attend_history(
    projected: Tensor,
    keys: Tensor,
    values: Tensor,
    positions: Tensor,
    table: RowTable,
    histories: Histories,
    slopes: Tensor,
) -> Tensor:
    """Store the new keys and values, and attend to the history -> (R, D).

    projected (R, 3 D): queries, keys and values; keys and values: a layer's cache (max_rows, H,
    max_length, E); slopes: of ALiBi (H,), or empty."""
    n_heads, max_length, head_size = keys.shape[1:]
    out = projected.new_empty(projected.size(0), n_heads * head_size)
    attend[(projected.size(0), n_heads)](
        *(projected, keys, values, out, positions, table.slots, table.by_slot),
        *(histories.ancestors, slopes if slopes.numel() else out),
        *(projected.stride(0), max_length, table.by_slot.size(1), head_size**-0.5),
        head_size=head_size,
        SIZE=triton.next_power_of_2(head_size),
        BLOCK=_BLOCK,
        IS_HISTORY=True,
        HAS_SLOPES=slopes.numel() > 0,
    )
    return out


def attend_memory(
    queries: Tensor, keys: Tensor, values: Tensor, lengths: Tensor, table: RowTable
) -> Tensor:
    """Attend to the memory of each row's sentence: queries (R, D), keys and values of a layer
    (max_slots, H, max_length, E), lengths (max_slots,) -> (R, D)."""
    n_heads, max_length, head_size = keys.shape[1:]
    out = torch.empty_like(queries)
    attend[(queries.size(0), n_heads)](
        *(queries, keys, values, out, lengths, table.slots, table.by_slot, table.by_slot, out),
        *(queries.stride(0), max_length, 0, head_size**-0.5),
        head_size=head_size,
        SIZE=triton.next_power_of_2(head_size),
        BLOCK=_BLOCK,
        IS_HISTORY=False,
        HAS_SLOPES=False,
    )
    return out
