"""Draw tokens from truncated distributions, with one random stream per sentence.

The noise depends only on the seed and the position, not on the rest of the batch.
"""

from __future__ import annotations

import torch
from torch import Tensor

_GOLDEN_GAMMA = 0x9E3779B97F4A7C15 - 2**64
_MIX_1 = 0xBF58476D1CE4E5B9 - 2**64
_MIX_2 = 0x94D049BB133111EB - 2**64


def sample(
    logits: Tensor, temperature: Tensor, top_k: Tensor, top_p: Tensor, noise: Tensor
) -> Tensor:
    """Draw one token per row from the nucleus `top_p` of the `top_k` likeliest (0: all).

    logits (R, V); temperature, top_k, top_p (R,); noise (R, V) from `gumbel_at` -> ids (R,).
    The argmax after adding Gumbel noise is a draw from the distribution (Maddison et al. 2014,
    section 2). Rounding errors change it far more rarely than a draw by inverting the cumulative
    distribution, so the composition of the batch does not change the draw.
    """
    scaled = logits / temperature[:, None]
    is_kept = _nucleus(scaled, top_k, top_p)
    return (scaled + noise).masked_fill(~is_kept, float("-inf")).argmax(-1)


def _nucleus(logits: Tensor, top_k: Tensor, top_p: Tensor) -> Tensor:
    """Mask of the tokens to draw from: logits (R, V), top_k and top_p (R,) -> (R, V).

    The nucleus (Holtzman et al. 2020, section 3.1) is the smallest set of likeliest tokens whose
    mass reaches `top_p`; it has at least one token.
    """
    probs, ids = logits.softmax(-1).sort(-1, descending=True)
    ranks = torch.arange(probs.size(1), device=probs.device)
    limits = torch.where(top_k > 0, top_k, probs.size(1))
    probs = probs.masked_fill(ranks >= limits[:, None], 0.0)
    probs = probs / probs.sum(-1, keepdim=True)
    mass_before = probs.cumsum(-1) - probs
    is_inside = (mass_before < top_p[:, None]) & (probs > 0) | (ranks == 0)
    return torch.zeros_like(is_inside).scatter(1, ids, is_inside)


def gumbel_at(seeds: Tensor, positions: Tensor, n_tokens: int) -> Tensor:
    """Gumbel noise -log(-log(u)) for seeds (R,) and positions (R,), both int64 -> (R, V)."""
    return -torch.log(-torch.log(uniform_at(seeds, positions, n_tokens)))


def uniform_at(seeds: Tensor, positions: Tensor, n_tokens: int) -> Tensor:
    """Uniform numbers in (0, 1) for seeds (R,) and positions (R,), both int64 -> (R, V) float32.

    Counter-based: SplitMix64 (Steele, Lea and Flood 2014) of the mixed seed and position, advanced
    by the token id. The top 23 bits give the number, which excludes 0 and 1.
    """
    streams = _mix(_mix(seeds) + positions * _GOLDEN_GAMMA)
    tokens = torch.arange(n_tokens, device=seeds.device)
    mixed = _mix(streams[:, None] + tokens * _GOLDEN_GAMMA)
    return (_shift_right(mixed, 41).to(torch.float32) + 0.5) * 2.0**-23


def _mix(z: Tensor) -> Tensor:
    z = z + _GOLDEN_GAMMA
    z = (z ^ _shift_right(z, 30)) * _MIX_1
    z = (z ^ _shift_right(z, 27)) * _MIX_2
    return z ^ _shift_right(z, 31)


def _shift_right(z: Tensor, bits: int) -> Tensor:
    """Logical shift of int64, which torch shifts arithmetically."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)
