"""The schedule against the paper's formula, the loss against one written out by hand."""

from __future__ import annotations

import pytest
import torch

from model.network.config import ModelConfig
from model.network.transformer import Transformer, initialise
from model.training.data import Batch
from model.training.optimisation import (
    OptimiserStep,
    learning_rate,
    summed_loss,
    training_precision,
)
from model.training.recipe import TrainingTable


@pytest.mark.parametrize("step", [1, 399, 4000, 4001, 100_000])
def test_the_rate_is_equation_3_of_the_paper(step: int) -> None:
    table = TrainingTable(max_steps=100_000, warmup_steps=4000)
    expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
    assert learning_rate(step, 512, table) == pytest.approx(expected)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_the_smoothed_cross_entropy_of_real_tokens(
    tiny_config: ModelConfig, smoothing: float
) -> None:
    """Each target takes 1 - e of the mass, and the e is spread over all V words."""
    torch.manual_seed(0)
    model = Transformer(tiny_config)
    initialise(model, "xavier")
    batch = padded_batch(([5, 6, 7, 3], [9, 10, 11, 3]), ([8, 3], [12, 3]))
    loss = summed_loss(model, batch, smoothing)
    log_probs = model(batch.src, batch.tgt_in).log_softmax(-1)
    expected = 0.0
    for row, column in [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]:
        at = log_probs[row, column]
        target = int(batch.tgt_out[row, column])
        expected -= (1 - smoothing) * at[target].item() + smoothing * at.mean().item()
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def padded_batch(*rows: tuple[list[int], list[int]]) -> Batch:
    def table(lists: list[list[int]]) -> torch.Tensor:
        longest = max(map(len, lists))
        return torch.tensor([ids + [0] * (longest - len(ids)) for ids in lists])

    sources, targets = [row[0] for row in rows], [row[1] for row in rows]
    starts = [[2, *ids[:-1]] for ids in targets]
    tgt_out = table(targets)
    places = tgt_out.flatten().nonzero().flatten()
    return Batch(table(sources), table(starts), tgt_out, places)


@pytest.mark.parametrize("clip_norm", [0.0, 0.01])
def test_accumulated_gradients_are_those_of_one_batch_and_clipped(
    tiny_config: ModelConfig, clip_norm: float
) -> None:
    """Plain descent moves the weights by the rate times the gradient."""
    rows = [([5, 6, 7, 3], [9, 10, 11, 3]), ([8, 3], [12, 3]), ([4, 9, 3], [7, 3])]
    table = TrainingTable(
        max_steps=9, warmup_steps=1, label_smoothing=0.1, precision="float32", clip_norm=clip_norm
    )
    moved = []
    for batches in ([padded_batch(*rows)], [padded_batch(*rows[:1]), padded_batch(*rows[1:])]):
        torch.manual_seed(0)
        model = Transformer(tiny_config)
        initialise(model, "xavier")
        before = torch.cat([weight.detach().flatten() for weight in model.parameters()])
        step = OptimiserStep(model, torch.optim.SGD(model.parameters(), lr=0.0), table)
        step.run(1, batches)
        after = torch.cat([weight.detach().flatten() for weight in model.parameters()])
        moved.append((before - after) / learning_rate(1, tiny_config.d_model, table))
    torch.testing.assert_close(moved[0], moved[1], atol=1e-5, rtol=1e-3)
    norm = moved[0].norm().item()
    assert norm == pytest.approx(clip_norm, rel=0.01) if clip_norm else norm > 0.1


@pytest.mark.parametrize("has_amx", [True, False])
def test_auto_is_bfloat16_only_where_it_is_faster(
    has_amx: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": has_amx})
    ones = torch.ones(2, 2)
    for precision, is_bfloat16 in (("auto", has_amx), ("bfloat16", True), ("float32", False)):
        with training_precision(precision, torch.device("cpu")):
            assert (ones @ ones).dtype == (torch.bfloat16 if is_bfloat16 else torch.float32)
