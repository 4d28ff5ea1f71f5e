"""Draw tokens from truncated distributions, with one random stream per sentence.

A draw depends on the sentence's seed and position alone, never on its neighbours in the batch.
"""

from __future__ import annotations

import torch
from torch import Tensor

_GOLDEN_GAMMA = 0x9E3779B97F4A7C15 - 2**64
_MIX_1 = 0xBF58476D1CE4E5B9 - 2**64
_MIX_2 = 0x94D049BB133111EB - 2**64


def sample(
    logits: Tensor, temperature: Tensor, top_k: Tensor, top_p: Tensor, uniform: Tensor
) -> Tensor:
    """Draw one token per row: first the `top_k` likeliest (0: all), of these the nucleus.

    The nucleus (Holtzman et al. 2020, section 3.1) is the smallest set of likeliest tokens whose
    mass reaches `top_p`. logits (R, V); temperature, top_k, top_p, uniform (R,), the last in
    [0, 1) -> token ids (R,), by inversion of the cumulative distribution.
    """
    probs, ids = (logits / temperature[:, None]).softmax(-1).sort(-1, descending=True)
    ranks = torch.arange(probs.size(1), device=probs.device)
    limits = torch.where(top_k > 0, top_k, probs.size(1))
    probs = probs.masked_fill(ranks >= limits[:, None], 0.0)
    probs = probs / probs.sum(-1, keepdim=True)
    mass_before = probs.cumsum(-1) - probs
    is_outside = (mass_before >= top_p[:, None]) & (ranks > 0)
    cumulative = probs.masked_fill(is_outside, 0.0).cumsum(-1)
    threshold = uniform[:, None] * cumulative[:, -1:]
    last_kept = (~is_outside & (probs > 0)).sum(-1, keepdim=True).clamp_min(1) - 1
    choice = torch.searchsorted(cumulative, threshold, right=True).minimum(last_kept)
    return ids.gather(-1, choice).squeeze(-1)


def uniform_at(seeds: Tensor, positions: Tensor) -> Tensor:
    """Uniform numbers in [0, 1) for seeds (R,) and positions (R,), both int64 -> (R,) float32.

    Counter-based: SplitMix64 (Steele, Lea and Flood 2014) of the mixed seed advanced by the
    position; the top 24 bits become the number.
    """
    mixed = _mix(_mix(seeds) + positions * _GOLDEN_GAMMA)
    return _shift_right(mixed, 40).to(torch.float32) * 2.0**-24


def _mix(z: Tensor) -> Tensor:
    z = z + _GOLDEN_GAMMA
    z = (z ^ _shift_right(z, 30)) * _MIX_1
    z = (z ^ _shift_right(z, 27)) * _MIX_2
    return z ^ _shift_right(z, 31)


def _shift_right(z: Tensor, bits: int) -> Tensor:
    """Logical shift of int64, which torch shifts arithmetically."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)
