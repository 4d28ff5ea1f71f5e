"""The search step of `model.decoding.search` as one kernel: a program extends one slot.

It does what `Search.advance` does without terms, in the same order. Among candidates of equal score
the first one wins; entries that score -inf hold any hypothesis.
"""

from __future__ import annotations

import triton
import triton.language as tl

NEVER = tl.constexpr(float("-inf"))
LOOP_SPAN = tl.constexpr(24)
LONGEST_LOOP = tl.constexpr(6)
_LOOP_BLOCK = tl.constexpr(32)


@triton.jit
def _best_of(scores, places, COUNT: tl.constexpr, SIZE: tl.constexpr):
    """The COUNT best of a vector, best first, in SIZE places: scores and places. `places` is an
    arange."""
    ranks = tl.arange(0, SIZE)
    best = tl.full([SIZE], NEVER, tl.float32)
    chosen = tl.zeros([SIZE], tl.int32)
    for rank in range(COUNT):
        top, place = tl.max(scores, 0, return_indices=True)
        best = tl.where(ranks == rank, top, best)
        chosen = tl.where(ranks == rank, place, chosen)
        scores = tl.where(places == place, NEVER, scores)
    return best, chosen


@triton.jit
def _merged(finished, ended, WIDTH: tl.constexpr, BEAMS: tl.constexpr, C: tl.constexpr):
    """The WIDTH best of finished hypotheses (BEAMS,) and ended candidates (C,): scores, places, and
    whether each is a candidate."""
    beams, places = tl.arange(0, BEAMS), tl.arange(0, C)
    best = tl.full([BEAMS], NEVER, tl.float32)
    chosen = tl.zeros([BEAMS], tl.int32)
    is_new = tl.zeros([BEAMS], tl.int32)
    for rank in range(WIDTH):
        old, old_place = tl.max(finished, 0, return_indices=True)
        new, new_place = tl.max(ended, 0, return_indices=True)
        takes_new = (new > old).to(tl.int32)
        is_rank = beams == rank
        best = tl.where(is_rank, tl.where(takes_new == 1, new, old), best)
        chosen = tl.where(is_rank, tl.where(takes_new == 1, new_place, old_place), chosen)
        is_new = tl.where(is_rank, takes_new, is_new)
        finished = tl.where((beams == old_place) & (takes_new == 0), NEVER, finished)
        ended = tl.where((places == new_place) & (takes_new == 1), NEVER, ended)
    return best, chosen, is_new != 0


@triton.jit
def _picked(values, places, chosen):
    """values[chosen]: values and places (C,), chosen (K,) -> (K,)."""
    is_chosen = chosen[:, None] == places[None, :]
    return tl.sum(tl.where(is_chosen, values[None, :], 0), 1)


@triton.jit
def _penalty(length, alpha, is_wu):
    """`Search._penalty` of one slot."""
    tokens = length.to(tl.float32)
    base = tl.where(is_wu, (5.0 + tokens) / 6.0, tokens)
    return tl.where(alpha == 1.0, base, tl.exp(alpha * tl.log(base)))


@triton.jit
def _is_looping(history, length, place, last):
    """Whether the last LOOP_SPAN of `length` tokens repeat a short sequence. `history`: pointer to
    the tokens, of which the one at `place` is `last`."""
    at = tl.arange(0, _LOOP_BLOCK)
    found = length < 0
    for period in tl.static_range(1, LONGEST_LOOP + 1):
        late = tl.maximum(length - LOOP_SPAN + at, 0)
        early = tl.maximum(late - period, 0)
        is_pair = (at >= period) & (at < LOOP_SPAN)
        ours = tl.where(late == place, last, tl.load(history + late, mask=is_pair, other=0))
        theirs = tl.where(early == place, last, tl.load(history + early, mask=is_pair, other=0))
        found |= tl.sum((is_pair & (ours != theirs)).to(tl.int32), 0) == 0
    return found


@triton.jit
def advance(
    log_probs,  # (R, n_own)
    tokens,
    is_failed,  # (R,)
    by_slot,  # (N, WIDTH)
    row_slots,  # (R,)
    row_beams,
    sources,  # (R,), written: the row that each row continues
    integers,  # the tables of `SlotOptions`
    numbers,
    flags,
    live_tokens,  # the tables of `Hypotheses`: (S, max_beam, max_length) and (S, max_beam)
    live_log_probs,
    live_score,
    finished_tokens,
    finished_log_probs,
    finished_score,
    finished_length,
    last_tokens,  # (S, max_beam)
    spelling,
    lengths,  # (S,)
    statuses,
    stuck,
    spelled,  # the tables of `Utf8Tables`, if HAS_UTF8
    next_state,
    max_beam,
    max_length,
    n_columns,  # tokens of the longest hypothesis after this step
    n_own: tl.constexpr,
    eos_id: tl.constexpr,
    WIDTH: tl.constexpr,
    COUNT: tl.constexpr,  # candidates of a slot
    BEAMS: tl.constexpr,  # WIDTH, COUNT and n_own as powers of two
    CANDIDATES: tl.constexpr,
    OWN: tl.constexpr,
    COLUMNS: tl.constexpr,
    HAS_UTF8: tl.constexpr,
    NOTICES_LOOPS: tl.constexpr,
) -> None:
    slot = tl.program_id(0).to(tl.int64)
    beams, places = tl.arange(0, BEAMS), tl.arange(0, CANDIDATES)
    own_places, flat_places = tl.arange(0, OWN), tl.arange(0, BEAMS * OWN)
    is_beam = beams < WIDTH
    tables = slot * max_beam
    histories = tables * max_length
    beam_size, n_best = tl.load(integers + slot * 8), tl.load(integers + slot * 8 + 1)
    limit, lookahead = tl.load(integers + slot * 8 + 2), tl.load(integers + slot * 8 + 3)
    num_given = tl.load(integers + slot * 8 + 7)
    alpha = tl.load(numbers + slot * 4)
    is_wu, is_cut = tl.load(flags + slot * 3 + 1) != 0, tl.load(flags + slot * 3 + 2) != 0
    status, before = tl.load(statuses + slot), tl.load(lengths + slot)
    was_stuck = tl.load(stuck + slot) != 0
    is_running = status == 0
    length = before + is_running.to(tl.int64)
    place = tl.minimum(before, n_columns - 1)

    # The best 2K extensions of the live hypotheses.
    row = tl.load(by_slot + slot * WIDTH + beams, mask=is_beam, other=0)
    has_failed = tl.max(tl.load(is_failed + row, mask=is_beam, other=0).to(tl.int32), 0) > 0
    is_own = is_beam[:, None] & (own_places < n_own)[None, :]
    own = tl.load(log_probs + row[:, None] * n_own + own_places[None, :], mask=is_own, other=NEVER)
    scores = tl.load(live_score + tables + beams, mask=is_beam, other=NEVER)
    totals = scores[:, None] + own
    totals = tl.where(totals == totals, totals, NEVER)  # not NaN
    total, index = _best_of(tl.reshape(totals, [BEAMS * OWN]), flat_places, COUNT, CANDIDATES)
    parent = tl.minimum(index // OWN, WIDTH - 1)
    rank = tl.minimum(index % OWN, n_own - 1)
    candidate = tl.load(by_slot + slot * WIDTH + parent) * n_own + rank
    token, log_prob = tl.load(tokens + candidate), tl.load(log_probs + candidate)

    # Those that end, among the finished ones.
    is_best = places < beam_size
    is_ending = is_best & (total > NEVER) & (token == eos_id)
    finished = tl.load(finished_score + tables + beams, mask=is_beam, other=NEVER)
    has_ended = (tl.max(is_ending.to(tl.int32), 0) > 0) | (tl.max(finished, 0) > NEVER)
    is_over = (length >= limit) | was_stuck
    is_ending |= is_best & is_over & ((has_ended == 0) | is_cut)
    is_ending &= is_running
    ended = tl.where(is_ending, total / _penalty(length, alpha, is_wu), NEVER)
    finished, kept, is_new = _merged(finished, ended, WIDTH, BEAMS, CANDIDATES)
    finished = tl.where(beams < n_best, finished, NEVER)
    old = tl.minimum(kept, WIDTH - 1)
    end_length = tl.load(finished_length + tables + old)
    end_length = tl.where(is_new, length, end_length)
    end_parent, end_token = _picked(parent, places, kept), _picked(token, places, kept)
    end_log_prob = _picked(log_prob, places, kept)

    # The others live on.
    live, chosen = _best_of(tl.where(token == eos_id, NEVER, total), places, WIDTH, BEAMS)
    live = tl.where(beams < beam_size, live, NEVER)
    live_parent, live_token = _picked(parent, places, chosen), _picked(token, places, chosen)
    live_own = _picked(log_prob, places, chosen)
    first_parent = tl.sum(tl.where(beams == 0, live_parent, 0), 0)
    first_token = tl.sum(tl.where(beams == 0, live_token, 0), 0)
    state = tl.zeros([BEAMS], tl.int64)
    if HAS_UTF8:
        before_token = tl.load(spelling + tables + live_parent)
        state = tl.load(next_state + before_token * 257 + tl.load(spelled + live_token))

    # Whether this was the last step.
    worst = tl.sum(tl.where(beams == tl.minimum(tl.maximum(n_best, 1), WIDTH) - 1, finished, 0), 0)
    first_finished = tl.max(tl.where(beams == 0, finished, NEVER), 0)
    first_live = tl.max(tl.where(beams == 0, live, NEVER), 0)
    bound = first_live / _penalty(tl.minimum(length + lookahead, limit), alpha, is_wu)
    is_done = (worst >= bound) | ((beam_size == 1) & (first_finished > NEVER))
    is_done |= (length >= limit) | was_stuck
    ended_status = tl.where(has_failed, 2, is_done.to(tl.int32)).to(tl.int64)
    is_stuck = was_stuck
    if NOTICES_LOOPS:
        history = live_tokens + histories + first_parent * max_length
        is_looping = _is_looping(history, length, place, first_token)
        is_stuck = is_looping & (length - num_given >= LOOP_SPAN)
    continued = tl.load(by_slot + slot * WIDTH + live_parent)
    is_mine = is_beam & (tl.load(row_slots + row) == slot) & (tl.load(row_beams + row) == beams)

    # Every thread has read the state: write it.
    tl.debug_barrier()
    tl.store(sources + row, continued, mask=is_mine)
    tl.store(lengths + slot, length)
    tl.store(statuses + slot, tl.where(is_running, ended_status, status))
    tl.store(stuck + slot, is_stuck)
    tl.store(live_score + tables + beams, live, mask=is_beam)
    tl.store(last_tokens + tables + beams, live_token, mask=is_beam)
    tl.store(finished_score + tables + beams, finished, mask=is_beam)
    tl.store(finished_length + tables + beams, end_length, mask=is_beam)
    if HAS_UTF8:
        tl.store(spelling + tables + beams, state, mask=is_beam)

    # Histories: each column is read by all threads, then written.
    to = histories + beams[:, None] * max_length
    from_live = histories + live_parent[:, None] * max_length
    from_ended = histories + end_parent[:, None] * max_length
    from_old = histories + old[:, None] * max_length
    for start in range(0, n_columns, COLUMNS):
        column = (start + tl.arange(0, COLUMNS))[None, :]
        is_real = is_beam[:, None] & (column < n_columns)
        is_place = column == place
        ends_anew = is_real & is_new[:, None]
        stays = is_real & (is_new[:, None] == 0)
        new_ids = tl.load(live_tokens + from_live + column, mask=is_real, other=0)
        new_numbers = tl.load(live_log_probs + from_live + column, mask=is_real, other=0)
        end_ids = tl.load(live_tokens + from_ended + column, mask=ends_anew, other=0)
        end_numbers = tl.load(live_log_probs + from_ended + column, mask=ends_anew, other=0)
        old_ids = tl.load(finished_tokens + from_old + column, mask=stays, other=0)
        old_numbers = tl.load(finished_log_probs + from_old + column, mask=stays, other=0)
        new_ids = tl.where(is_place, live_token[:, None], new_ids)
        new_numbers = tl.where(is_place, live_own[:, None], new_numbers)
        end_ids = tl.where(is_place, end_token[:, None], end_ids)
        end_numbers = tl.where(is_place, end_log_prob[:, None], end_numbers)
        tl.debug_barrier()
        tl.store(live_tokens + to + column, new_ids, mask=is_real)
        tl.store(live_log_probs + to + column, new_numbers, mask=is_real)
        tl.store(finished_tokens + to + column, end_ids, mask=ends_anew)
        tl.store(finished_log_probs + to + column, end_numbers, mask=ends_anew)
        tl.store(finished_tokens + to + column, old_ids, mask=stays)
        tl.store(finished_log_probs + to + column, old_numbers, mask=stays)
        tl.debug_barrier()
