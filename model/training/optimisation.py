"""The learning-rate schedule and the loss (Vaswani et al. 2017, sections 5.3 and 5.4), and the
precision in which both passes are computed.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from model.network.transformer import Transformer
from model.training.data import Batch
from model.training.recipe import TrainingPrecision, TrainingTable


def learning_rate(step: int, d_model: int, table: TrainingTable) -> float:
    """D^-0.5 * min(step^-0.5, step * warmup^-1.5) for step >= 1 (section 5.3).

    Scaled by `rate_factor`; in the last `cooldown_steps` it falls linearly to zero.
    """
    warmup = max(table.warmup_steps, 1)
    rate: float = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    cooldown = 1.0
    if table.cooldown_steps:
        cooldown = min(1.0, max(0, table.max_steps - step + 1) / table.cooldown_steps)
    return table.rate_factor * rate * cooldown


def summed_loss(model: Transformer, batch: Batch, label_smoothing: float) -> Tensor:
    """Cross-entropy summed over the real target tokens of a batch on the model's device.

    Label smoothing spreads part of the target's mass over the vocabulary (section 5.4). Padding
    skips the output layer, the most expensive one of a small model.
    """
    src, tgt_in, tgt_out, places = batch
    states = model.decode(tgt_in, model.encode(src), model.src_mask(src))
    logits = model.output(states.flatten(0, 1)[places]).float()
    targets = tgt_out.flatten()[places]
    return F.cross_entropy(logits, targets, label_smoothing=label_smoothing, reduction="sum")


@contextlib.contextmanager
def training_precision(precision: TrainingPrecision, device: torch.device) -> Iterator[None]:
    """Autocast to bfloat16 if asked, or if that is faster; on a CPU the plain attention kernel,
    whose backward pass is several times faster than the fused one at sentence lengths."""
    is_bfloat16 = precision == "bfloat16" or (precision == "auto" and _multiplies_bfloat16(device))
    with torch.autocast(device.type, torch.bfloat16, enabled=is_bfloat16):
        if device.type == "cpu":
            with sdpa_kernel(SDPBackend.MATH):
                yield
        else:
            yield


def _multiplies_bfloat16(device: torch.device) -> bool:
    """Whether the device has units that multiply matrices in bfloat16; without them it takes up to
    twice the time of float32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return bool(torch.cpu.get_capabilities().get("amx_bf16"))


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
        real_tokens = sum(len(batch.places) for batch in batches)
        losses = [self._backward(batch, real_tokens) for batch in batches]
        norm = torch.nn.utils.clip_grad_norm_(
            self._model.parameters(), self._table.clip_norm or math.inf
        )
        loss = sum(loss.item() for loss in losses) / real_tokens
        if not (math.isfinite(loss) and norm.isfinite()):
            raise NotFiniteError(f"the loss is {loss}, its gradient {float(norm)}")
        self._set_rate(learning_rate(step, self._model.config.d_model, self._table))
        self._optimiser.step()
        self._optimiser.zero_grad()
        return loss, real_tokens

    def _backward(self, batch: Batch, real_tokens: int) -> Tensor:
        """Add the gradient of a batch -> its summed loss, which the device may still compute."""
        with training_precision(self._table.precision, self._model.device):
            loss = summed_loss(
                self._model, batch.to(self._model.device), self._table.label_smoothing
            )
        (loss / real_tokens).backward()
        return loss.detach()

    def _set_rate(self, rate: float) -> None:
        for parameters in self._optimiser.param_groups:
            parameters["lr"] = rate
