"""Sampling: the truncated distribution, and streams that depend on the seed alone."""

from __future__ import annotations

import pytest
import torch

from model.backends.pytorch.sampling import gumbel_at, sample
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from tests.model.network.reference import EOS, greedy, run_to_end, tiny_model, tiny_runner

LOGITS = torch.tensor([2.0, 0.5, 1.5, -1.0, 1.0, 0.0, -2.0, 0.7])
DRAWS = 40_000
# 99.9 % points of the chi-square distribution by degrees of freedom (standard tables)
CHI_SQUARE_999 = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52, 6: 22.46, 7: 24.32}


def draw(temperature: float, top_k: int, top_p: float, *, is_one_seed: bool) -> torch.Tensor:
    """Many steps of one seed, or one step of many."""
    seeds, steps = torch.full((DRAWS,), 7), torch.arange(DRAWS)
    if not is_one_seed:
        seeds, steps = steps, seeds
    return sample(
        LOGITS.expand(DRAWS, -1),
        torch.full((DRAWS,), temperature),
        torch.full((DRAWS,), top_k),
        torch.full((DRAWS,), top_p),
        gumbel_at(seeds, steps, len(LOGITS)),
    )


def truncated(temperature: float, top_k: int, top_p: float) -> dict[int, float]:
    """The distribution by its definition, in plain Python."""
    weights = (LOGITS.double() / temperature).exp().tolist()
    ranked = sorted(range(len(weights)), key=lambda i: -weights[i])[: top_k or None]
    mass = sum(weights[i] for i in ranked)
    kept, reached = [], 0.0
    for token in ranked:
        kept.append(token)
        reached += weights[token] / mass
        if reached >= top_p:
            break
    total = sum(weights[i] for i in kept)
    return {token: weights[token] / total for token in kept}


@pytest.mark.parametrize("is_one_seed", [True, False])
@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"),
    [(1.0, 0, 1.0), (0.5, 0, 1.0), (2.0, 3, 1.0), (1.0, 0, 0.6), (1.3, 6, 0.9), (1.0, 2, 0.99)],
)
def test_frequencies_match_the_truncated_distribution(
    temperature: float, top_k: int, top_p: float, is_one_seed: bool
) -> None:
    drawn = draw(temperature, top_k, top_p, is_one_seed=is_one_seed)
    counts = torch.bincount(drawn, minlength=8).tolist()
    expected = truncated(temperature, top_k, top_p)
    assert {token for token, count in enumerate(counts) if count} == set(expected)
    statistic = sum((counts[t] - p * DRAWS) ** 2 / (p * DRAWS) for t, p in expected.items())
    assert statistic < CHI_SQUARE_999[len(expected) - 1]


@pytest.mark.parametrize("seed", range(3))
def test_a_nucleus_of_no_mass_is_greedy_search(seed: int) -> None:
    model = tiny_model(seed=seed)
    options = DecodingOptions(beam_size=1, sampling=True, top_p=0.0, seed=9, max_length=20)
    result = run_to_end(tiny_runner(model), [SourceSentence([5, 7, 9, EOS], options)])[0]
    assert result.hypotheses[0].ids == greedy(model, [5, 7, 9, EOS], 20)
