"""One optimiser step: forward and backward over a group of batches, then Adam."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from model.network.transformer import Transformer
from model.training.data import Batch
from model.training.optimisation import learning_rate, summed_loss, training_precision
from model.training.recipe import TrainingTable


class NotFiniteError(Exception):
    """The loss or its gradient is not finite; the message gives both. No weight has changed."""


class OptimiserStep:
    """Updates a network's weights by the gradient of the mean loss (Vaswani et al. 2017,
    section 5.3)."""

    def __init__(
        self, model: Transformer, optimiser: torch.optim.Optimizer, table: TrainingTable
    ) -> None:
        self._model, self._optimiser, self._table = model, optimiser, table

    def run(self, step: int, batches: Sequence[Batch]) -> tuple[float, int]:
        """Run step number `step`, from 1 -> mean loss per real target token, number of these.

        The gradient is that of one batch with all examples. Raises NotFiniteError.
        """
        self._model.train()
        pad_id = self._model.config.pad_id
        real_tokens = sum(int((batch.tgt_out != pad_id).sum()) for batch in batches)
        loss = sum(self._backward(batch, real_tokens) for batch in batches) / real_tokens
        norm = torch.nn.utils.clip_grad_norm_(
            self._model.parameters(), self._table.clip_norm or math.inf
        )
        if not (math.isfinite(loss) and norm.isfinite()):
            raise NotFiniteError(f"the loss is {loss}, its gradient {float(norm)}")
        self._set_rate(learning_rate(step, self._model.config.d_model, self._table))
        self._optimiser.step()
        self._optimiser.zero_grad()
        return loss, real_tokens

    def _backward(self, batch: Batch, real_tokens: int) -> float:
        """Add the gradient of a batch -> its summed loss."""
        src, tgt_in, tgt_out = (ids.to(self._model.device) for ids in batch)
        smoothing = self._table.label_smoothing
        with training_precision(self._table.precision, self._model.device):
            loss, _ = summed_loss(self._model, src, tgt_in, tgt_out, smoothing)
        (loss / real_tokens).backward()
        return loss.item()

    def _set_rate(self, rate: float) -> None:
        for parameters in self._optimiser.param_groups:
            parameters["lr"] = rate
