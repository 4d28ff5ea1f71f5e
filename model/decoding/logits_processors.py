"""What a request may forbid or force, and the guard against a model caught in a loop.

Most work on the logits of live hypotheses, row by row. R rows, L longest history, V vocabulary.
history (R, L) holds the tokens so far and `filler` after them, a token whose logit is -inf anyway.
"""

from __future__ import annotations

import torch
from torch import Tensor

_NEVER = float("-inf")
LOOP_SPAN = 24
LONGEST_LOOP = 6


def penalise_repetition(logits: Tensor, history: Tensor, penalty: Tensor) -> Tensor:
    """Make tokens of the history less likely (Keskar et al. 2019, section 4.1).

    Their positive logits are divided by penalty (R,), negative ones multiplied; 1 changes nothing.
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
    """Where is_forced (R,), token (R,) is certain, even if it is one that is never generated."""
    only = torch.full_like(logits, _NEVER).scatter(1, token[:, None], 0.0)
    return torch.where(is_forced[:, None], only, logits)


def is_looping(tail: Tensor) -> Tensor:
    """Whether tail (R, LOOP_SPAN) only repeats LONGEST_LOOP tokens or fewer -> (R,)."""
    loops = [
        (tail[:, period:] == tail[:, :-period]).all(1) for period in range(1, LONGEST_LOOP + 1)
    ]
    return torch.stack(loops).any(0)
