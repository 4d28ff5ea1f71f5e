"""The schedule against the paper's formula, the loss against one written out by hand."""

from __future__ import annotations

import pytest
import torch

from model.network.config import ModelConfig
from model.network.transformer import Transformer, initialise
from model.training.optimisation import (
    learning_rate,
    sampled_share,
    summed_loss,
    with_own_tokens,
)
from model.training.recipe import TrainingTable


@pytest.mark.parametrize("step", [1, 399, 4000, 4001, 100_000])
def test_the_rate_is_equation_3_of_the_paper(step: int) -> None:
    table = TrainingTable(max_steps=100_000, warmup_steps=4000)
    expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
    assert learning_rate(step, 512, table) == pytest.approx(expected)


def test_the_rate_is_highest_where_warm_up_ends() -> None:
    table = TrainingTable(max_steps=100, warmup_steps=30)
    rates = {step: learning_rate(step, 64, table) for step in range(1, 101)}
    assert max(rates, key=rates.__getitem__) == 30


def test_the_rate_factor_scales_every_rate() -> None:
    plain, doubled = TrainingTable(max_steps=9), TrainingTable(max_steps=9, rate_factor=2.0)
    assert learning_rate(5, 64, doubled) == 2 * learning_rate(5, 64, plain)


def test_no_warm_up_means_falling_from_the_first_step() -> None:
    table = TrainingTable(max_steps=9, warmup_steps=0)
    assert learning_rate(4, 64, table) == pytest.approx(learning_rate(1, 64, table) / 2)


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


def test_padding_a_batch_does_not_change_its_loss(tiny_config: ModelConfig) -> None:
    torch.manual_seed(0)
    model = Transformer(tiny_config)
    ids = (torch.tensor([[5, 6, 3]]), torch.tensor([[2, 9, 10]]), torch.tensor([[9, 10, 3]]))
    padded = tuple(torch.nn.functional.pad(t, (0, 4)) for t in ids)
    loss, tokens = summed_loss(model, *ids, 0.1)
    padded_loss, padded_tokens = summed_loss(model, *padded, 0.1)
    assert (tokens, padded_tokens) == (3, 3)
    torch.testing.assert_close(padded_loss, loss)


def own_inputs(model: Transformer, tgt_in: torch.Tensor, share: float) -> torch.Tensor:
    src = torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]])
    return with_own_tokens(model, tgt_in, model.encode(src), model.src_mask(src), share)


def test_the_share_of_own_tokens_rises_from_nothing_to_what_the_recipe_says() -> None:
    table = TrainingTable(max_steps=200, scheduled_sampling=0.5)
    assert [sampled_share(step, table) for step in (0, 50, 200)] == [0.0, 0.125, 0.5]
    assert sampled_share(300, table) == 0.5
    assert sampled_share(7, TrainingTable(max_steps=9)) == 0.0


def test_own_tokens_are_the_likeliest_after_the_true_ones(tiny_config: ModelConfig) -> None:
    torch.manual_seed(0)
    model = Transformer(tiny_config)
    initialise(model, "xavier")
    src = torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]])
    tgt_in = torch.tensor([[2, 9, 10, 11], [2, 12, 0, 0]])
    likeliest = model(src, tgt_in).argmax(-1)
    expected = [[2, *likeliest[0, :3].tolist()], [2, int(likeliest[1, 0]), 0, 0]]
    assert own_inputs(model, tgt_in, 1.0).tolist() == expected
    assert own_inputs(model, tgt_in, 0.0).tolist() == tgt_in.tolist()


def test_about_the_share_that_was_asked_for_is_replaced(tiny_config: ModelConfig) -> None:
    torch.manual_seed(0)
    model = Transformer(tiny_config)
    initialise(model, "xavier")
    tgt_in = torch.full((2, 60), 9)
    is_own = torch.stack([own_inputs(model, tgt_in, 0.3) != 9 for _ in range(20)])
    assert is_own.float().mean().item() == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("is_half", [False, True])
def test_every_weight_learns_from_own_tokens_too(tiny_config: ModelConfig, is_half: bool) -> None:
    torch.manual_seed(0)
    model = Transformer(tiny_config)
    initialise(model, "xavier")
    src, tgt_in = torch.tensor([[5, 6, 7, 3]]), torch.tensor([[2, 9, 10, 11]])
    with torch.autocast("cpu", torch.bfloat16, enabled=is_half):
        loss, _ = summed_loss(model, src, tgt_in, torch.tensor([[9, 10, 11, 3]]), 0.1, 1.0)
    loss.backward()
    without = [name for name, weight in model.named_parameters() if weight.grad is None]
    assert without == []
