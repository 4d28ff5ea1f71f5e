"""The likeliest tokens of each row in one pass over its logits, and a second one over what is left.

A program of the first kernel takes a part of a row's logits: the sum of exponentials and the
part's likeliest tokens. A program of the second takes a row's parts together. Forced tokens and
tokens that would break UTF-8 are dealt with on the way, as `Search.choose` does.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from model.decoding.network_interface import RowCandidates, RowTable

NEVER = tl.constexpr(float("-inf"))
_PART = 1024
_MOST_PARTS = 64


class Limits(NamedTuple):
    """What may limit a row's next token: the search's tables, read for the features that are used.

    Tables are those of `Search` and `SlotOptions`; is_forbidden is that of `Utf8Tables`, or None.
    """

    prefix: Tensor
    lengths: Tensor
    integers: Tensor
    spelling: Tensor
    is_forbidden: Tensor | None


@triton.jit
def _select(scores, tokens, COUNT: tl.constexpr, SIZE: tl.constexpr):
    """The COUNT highest scores, best first, and their tokens, in SIZE places; among equals the
    first. One that scores -inf is any token."""
    ranks, places = tl.arange(0, SIZE), tl.arange(0, scores.shape[0])
    best = tl.full([SIZE], NEVER, tl.float32)
    chosen = tl.zeros([SIZE], tl.int32)
    for rank in range(COUNT):
        top, place = tl.max(scores, 0, return_indices=True)
        token = tl.sum(tl.where(places == place, tokens, 0), 0)
        best = tl.where(ranks == rank, top, best)
        chosen = tl.where(ranks == rank, tl.where(top == NEVER, 0, token), chosen)
        scores = tl.where(places == place, NEVER, scores)
    return best, chosen


@triton.jit
def rank_parts(
    logits,  # (R, vocab_size)
    row_slots,  # (R,)
    row_beams,
    prefix,  # (S, max_length)
    lengths,  # (S,)
    integers,  # (S, 8)
    spelling,  # (S, max_beam)
    is_forbidden,  # (states, vocab_size)
    highest,  # (R, parts), written: the highest logit
    sums,  # (R, parts), written: the sum of exponentials, relative to it
    scores,  # (R, parts, COUNT), written: the likeliest tokens' logits
    tokens,  # (R, parts, COUNT), written
    vocab_size,
    max_length,
    max_beam,
    COUNT: tl.constexpr,
    SIZE: tl.constexpr,
    PART: tl.constexpr,
    HAS_PREFIX: tl.constexpr,
    HAS_FORBIDDEN: tl.constexpr,
) -> None:
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    token = part * PART + tl.arange(0, PART)
    is_token = token < vocab_size
    score = tl.load(logits + row * vocab_size + token, mask=is_token, other=NEVER).to(tl.float32)
    slot = tl.load(row_slots + row)
    is_free = slot >= 0
    if HAS_PREFIX:
        length = tl.load(lengths + slot)
        is_free = length >= tl.load(integers + slot * 8 + 7)
        only = tl.load(prefix + slot * max_length + tl.minimum(length, max_length - 1))
        score = tl.where(is_free, score, tl.where(token == only, 0.0, NEVER))
    is_number = tl.sum((score != score).to(tl.int32), 0) == 0
    top = tl.max(score, 0)
    base = tl.where(top == NEVER, 0.0, top)
    total = tl.sum(tl.exp(score - base), 0)
    place = row * tl.num_programs(1) + part
    tl.store(highest + place, top)
    tl.store(sums + place, tl.where(is_number, total, float("nan")))
    if HAS_FORBIDDEN:
        state = tl.load(spelling + slot * max_beam + tl.load(row_beams + row))
        no = tl.load(is_forbidden + state * vocab_size + token, mask=is_token, other=0) != 0
        score = tl.where(no & is_free, NEVER, score)
    score = tl.where(score == score, score, NEVER)
    best, chosen = _select(score, token, COUNT, SIZE)
    ranks = tl.arange(0, SIZE)
    tl.store(scores + place * COUNT + ranks, best, mask=ranks < COUNT)
    tl.store(tokens + place * COUNT + ranks, chosen, mask=ranks < COUNT)


@triton.jit
def merge_parts(
    highest,
    sums,
    scores,
    tokens,
    log_probs,  # (R, COUNT), written
    candidates,  # (R, COUNT), written
    is_failed,  # (R,), written
    n_parts,
    COUNT: tl.constexpr,
    SIZE: tl.constexpr,
    PARTS: tl.constexpr,
    ENTRIES: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    parts, entries, ranks = tl.arange(0, PARTS), tl.arange(0, ENTRIES), tl.arange(0, SIZE)
    is_part, is_entry = parts < n_parts, entries < n_parts * COUNT
    tops = tl.load(highest + row * n_parts + parts, mask=is_part, other=NEVER)
    total = tl.load(sums + row * n_parts + parts, mask=is_part, other=0.0)
    top = tl.max(tops, 0)
    weight = tl.where(tops == NEVER, 0.0, tl.exp(tops - top))
    normaliser = top + tl.log(tl.sum(total * weight, 0))
    first = row * n_parts * COUNT
    score = tl.load(scores + first + entries, mask=is_entry, other=NEVER)
    token = tl.load(tokens + first + entries, mask=is_entry, other=0)
    best, chosen = _select(score, token, COUNT, SIZE)
    is_finite = (normaliser > NEVER) & (normaliser < float("inf"))
    tl.store(log_probs + row * COUNT + ranks, best - normaliser, mask=ranks < COUNT)
    tl.store(candidates + row * COUNT + ranks, chosen.to(tl.int64), mask=ranks < COUNT)
    tl.store(is_failed + row, is_finite == 0)


def ranked(
    logits: Tensor, count: int, rows: RowTable, limits: Limits, *, has_prefix: bool
) -> RowCandidates:
    """The `count` likeliest tokens of logits (R, V). The normaliser includes tokens that would
    break UTF-8, as in `likeliest`."""
    n_rows, vocab_size = logits.shape
    count = min(count, vocab_size)
    part = max(_PART, triton.next_power_of_2(triton.cdiv(vocab_size, _MOST_PARTS)))
    n_parts = triton.cdiv(vocab_size, part)
    size = triton.next_power_of_2(count)
    highest, sums = logits.new_empty(2, n_rows, n_parts, dtype=torch.float32).unbind()
    scores = logits.new_empty(n_rows, n_parts, count, dtype=torch.float32)
    tokens = logits.new_empty(n_rows, n_parts, count, dtype=torch.int32)
    *tables, is_forbidden = limits
    rank_parts[(n_rows, n_parts)](
        *(logits, rows.slots, rows.beams, *tables),
        logits if is_forbidden is None else is_forbidden,
        *(highest, sums, scores, tokens),
        *(vocab_size, limits.prefix.size(1), limits.spelling.size(1)),
        COUNT=count,
        SIZE=size,
        PART=part,
        HAS_PREFIX=has_prefix,
        HAS_FORBIDDEN=is_forbidden is not None,
    )
    log_probs = logits.new_empty(n_rows, count, dtype=torch.float32)
    candidates = logits.new_empty(n_rows, count, dtype=torch.int64)
    is_failed = logits.new_empty(n_rows, dtype=torch.bool)
    merge_parts[(n_rows,)](
        *(highest, sums, scores, tokens, log_probs, candidates, is_failed, n_parts),
        COUNT=count,
        SIZE=size,
        PARTS=triton.next_power_of_2(n_parts),
        ENTRIES=triton.next_power_of_2(n_parts * count),
    )
    return RowCandidates(log_probs, candidates, is_failed)
