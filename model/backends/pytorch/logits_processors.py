"""Logits processors that penalise, forbid or force tokens, and the detector of repetition loops.

Most functions take the logits of live hypotheses. R rows, L longest history, V vocabulary.
history (R, L) holds the tokens so far, padded with `filler`, a token whose logit is always -inf.
"""

from __future__ import annotations

import torch
from torch import Tensor

from model.decoding.search_rules import LONGEST_LOOP

_NEVER = float("-inf")


def penalise_repetition(logits: Tensor, history: Tensor, penalty: Tensor) -> Tensor:
    """Make tokens of the history less likely (Keskar et al. 2019, section 4.1).

    Divides their positive logits by penalty (R,) and multiplies negative ones; 1 changes nothing.
    """
    seen = logits.gather(1, history)
    factor = penalty[:, None]
    return logits.scatter(1, history, torch.where(seen > 0, seen / factor, seen * factor))


def forbid_repeated_ngrams(
    logits: Tensor, history: Tensor, length: Tensor, size: Tensor, max_size: int, filler: int
) -> Tensor:
    """Forbid tokens that would complete an n-gram of the history (Paulus et al. 2018, 2.5).

    length (R,): tokens of each history; size (R,): n, 0 forbids nothing; max_size: the largest n.
    """
    place = torch.arange(history.size(1), device=history.device)
    in_reach = (place >= size[:, None] - 1) & (place < length[:, None])
    completes = in_reach & (size > 0)[:, None]
    for back in range(1, max_size):
        recent = history.gather(1, (length - back).clamp(0, history.size(1) - 1)[:, None])
        completes &= (back >= size)[:, None] | (history.roll(back, dims=1) == recent)
    return logits.scatter(1, history.where(completes, filler), _NEVER)


def force(logits: Tensor, token: Tensor, is_forced: Tensor) -> Tensor:
    """Make token (R,) certain where is_forced (R,), even if its logit was -inf."""
    only = torch.full_like(logits, _NEVER).scatter(1, token[:, None], 0.0)
    return torch.where(is_forced[:, None], only, logits)


def is_looping(tail: Tensor) -> Tensor:
    """Whether tail (R, LOOP_SPAN) repeats a sequence of at most LONGEST_LOOP tokens -> (R,)."""
    loops = [
        (tail[:, period:] == tail[:, :-period]).all(1) for period in range(1, LONGEST_LOOP + 1)
    ]
    return torch.stack(loops).any(0)
