"""The schedule against the paper's formula, the loss against one written out by hand."""

from __future__ import annotations

import pytest
import torch

from model.network.config import ModelConfig
from model.network.transformer import Transformer, initialise
from model.training.optimisation import (
    learning_rate,
    summed_loss,
)
from model.training.recipe import TrainingTable


@pytest.mark.parametrize("step", [1, 399, 4000, 4001, 100_000])
def test_the_rate_is_equation_3_of_the_paper(step: int) -> None:
    table = TrainingTable(max_steps=100_000, warmup_steps=4000)
    expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
    assert learning_rate(step, 512, table) == pytest.approx(expected)


def test_the_cooldown_falls_in_a_straight_line_to_nothing() -> None:
    plain = TrainingTable(max_steps=1000, warmup_steps=10)
    cooled = TrainingTable(max_steps=1000, warmup_steps=10, cooldown_steps=200)
    shares = {s: learning_rate(s, 64, cooled) / learning_rate(s, 64, plain) for s in range(1, 1001)}
    assert [shares[step] for step in (1, 800, 801)] == [1.0, 1.0, 1.0]
    assert [shares[step] for step in (901, 951, 1000)] == pytest.approx([0.5, 0.25, 0.005])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_the_smoothed_cross_entropy_of_real_tokens(
    tiny_config: ModelConfig, smoothing: float
) -> None:
    """Each target takes 1 - e of the mass, and the e is spread over all V words."""
    torch.manual_seed(0)
    model = Transformer(tiny_config)
    initialise(model, "xavier")
    src = torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]])
    tgt_in = torch.tensor([[2, 9, 10, 11], [2, 12, 0, 0]])
    tgt_out = torch.tensor([[9, 10, 11, 3], [12, 3, 0, 0]])
    loss, tokens = summed_loss(model, src, tgt_in, tgt_out, smoothing)
    log_probs = model(src, tgt_in).log_softmax(-1)
    expected = 0.0
    for row, column in [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]:
        at = log_probs[row, column]
        target = int(tgt_out[row, column])
        expected -= (1 - smoothing) * at[target].item() + smoothing * at.mean().item()
    assert tokens == 6
    assert loss.item() == pytest.approx(expected, rel=1e-5)
