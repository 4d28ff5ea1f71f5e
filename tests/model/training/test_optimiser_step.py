"""An optimiser step: the gradient of a group of batches, clipped, and only if it is finite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from model.training import optimisation as optimiser_step
from model.training.data import Examples
from model.training.loop import Trainer
from model.training.optimisation import summed_loss
from model.training.saving import TrainingError
from tests.model.training.runs import weights_of

MakeTrainer = Callable[..., Trainer]


def gradient_of(
    trainer: Trainer, group: list[Examples], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Tensor]:
    """What one optimiser step over the group would apply."""
    captured: dict[str, Tensor] = {}

    def capture() -> None:
        for name, parameter in trainer.model.named_parameters():
            assert parameter.grad is not None
            captured[name] = parameter.grad.clone()

    monkeypatch.setattr(trainer.optimiser, "step", capture)
    trainer._optimise(group)
    return captured


def test_accumulated_batches_have_the_gradient_of_one_large_batch(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean is taken over the real tokens of the whole group, not of each batch."""
    trainer = make_trainer(clip_norm=0.0)
    for module in trainer.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    small = trainer.train_batches.epoch(1, 0)[:2]
    large = Examples(*(np.concatenate(column) for column in zip(*small, strict=True)))
    accumulated = gradient_of(trainer, small, monkeypatch)
    at_once = gradient_of(trainer, [large], monkeypatch)
    for name, gradient in at_once.items():
        torch.testing.assert_close(accumulated[name], gradient, atol=1e-6, rtol=1e-4)


def test_a_gradient_longer_than_clip_norm_is_scaled_down_to_it(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    norms = []
    for name, clip_norm in (("free", 0.0), ("clipped", 0.01)):
        trainer = make_trainer(name, clip_norm=clip_norm)
        group = trainer.train_batches.epoch(1, 0)[:1]
        gradients = gradient_of(trainer, group, monkeypatch).values()
        norms.append(torch.stack([gradient.norm() for gradient in gradients]).norm().item())
    assert norms[0] > 0.1
    assert norms[1] == pytest.approx(0.01, rel=1e-3)


def test_a_gradient_that_is_not_finite_changes_no_weight(
    make_trainer: MakeTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(clip_norm=0.0)
    before = weights_of(trainer)

    def spoiled(*arguments: Any) -> tuple[Tensor, int]:
        loss, count = summed_loss(*arguments)
        return loss + (trainer.model.output.weight.sum() - 1e30).sqrt() * 0, count

    monkeypatch.setattr(optimiser_step, "summed_loss", spoiled)
    with pytest.raises(TrainingError, match="diverged at step 1: .*nothing is saved yet"):
        trainer.run()
    for name, weight in weights_of(trainer).items():
        assert torch.equal(weight, before[name]), name
