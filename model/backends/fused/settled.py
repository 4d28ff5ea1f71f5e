"""What a stream may show, as one kernel: the tokens that all hypotheses of a slot begin with."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from model.decoding.hypotheses import Hypotheses

NEVER = tl.constexpr(float("-inf"))
_COLUMNS = 32


@triton.jit
def settle(
    live_tokens,  # the tables of `Hypotheses`: (S, max_beam, max_length) and (S, max_beam)
    live_score,
    finished_tokens,
    finished_score,
    lengths,  # (S,)
    settled,  # (N,), written: tokens that all hypotheses share
    tokens,  # (N, n_columns), written: those of the best live hypothesis
    max_beam,
    max_length,
    n_columns,
    WIDTH: tl.constexpr,
    BEAMS: tl.constexpr,
    COLUMNS: tl.constexpr,
) -> None:
    slot = tl.program_id(0).to(tl.int64)
    beams = tl.arange(0, BEAMS)
    is_beam = beams < WIDTH
    first = slot * max_beam
    score = tl.load(live_score + first + beams, mask=is_beam, other=NEVER)
    is_live = is_beam & (score != NEVER)
    score = tl.load(finished_score + first + beams, mask=is_beam, other=NEVER)
    is_finished = is_beam & (score != NEVER)
    shared = tl.load(lengths + slot)
    histories = (first + beams[:, None]) * max_length
    for start in range(0, n_columns, COLUMNS):
        column = start + tl.arange(0, COLUMNS)
        is_real = column < n_columns
        best = tl.load(live_tokens + first * max_length + column, mask=is_real, other=0)
        tl.store(tokens + slot * n_columns + column, best, mask=is_real)
        at = histories + column[None, :]
        is_read = is_live[:, None] & is_real[None, :]
        other = tl.load(live_tokens + at, mask=is_read, other=0)
        differs = (is_read & (other != best[None, :])).to(tl.int32)
        is_read = is_finished[:, None] & is_real[None, :]
        other = tl.load(finished_tokens + at, mask=is_read, other=0)
        differs += (is_read & (other != best[None, :])).to(tl.int32)
        place = tl.where(tl.sum(differs, 0) > 0, column, n_columns)
        shared = tl.minimum(shared, tl.min(place, 0).to(tl.int64))
    tl.store(settled + slot, shared)


def settled_tokens(
    live: Hypotheses, finished: Hypotheses, lengths: Tensor, n_slots: int, width: int, columns: int
) -> tuple[Tensor, Tensor]:
    """As `Search.streamed`, for the first `n_slots` slots, their first `width` hypotheses and
    `columns` tokens."""
    settled, tokens = lengths.new_empty(n_slots), lengths.new_empty(n_slots, columns)
    max_beam, max_length = live.tokens.shape[1:]
    settle[(n_slots,)](
        *(live.tokens, live.score, finished.tokens, finished.score, lengths, settled, tokens),
        *(max_beam, max_length, columns),
        WIDTH=width,
        BEAMS=triton.next_power_of_2(width),
        COLUMNS=_COLUMNS,
    )
    return settled, tokens
