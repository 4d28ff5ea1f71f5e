"""Load a checkpoint's network into PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from model.checkpoint.info import CheckpointInfo
from model.checkpoint.opening import StoredNetwork, open_checkpoint
from model.network.transformer import Transformer
from model.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Checkpoint:
    """A loaded checkpoint: the network in evaluation mode, its tokenizer, its description."""

    info: CheckpointInfo
    model: Transformer
    tokenizer: Tokenizer


def load_checkpoint(directory: Path, device: str = "cpu") -> Checkpoint:
    """Read a checkpoint in float32; raises CheckpointError."""
    stored = open_checkpoint(directory, device)
    return Checkpoint(stored.info, load_network(stored.model), stored.tokenizer)


def load_network(model: StoredNetwork, dtype: torch.dtype = torch.float32) -> Transformer:
    """Load a network onto its device, in evaluation mode. Each weight is converted before it goes
    to the device, which needs memory for `dtype` only."""
    with torch.device("meta"):
        network = Transformer(model.config)
    weights = {
        name: torch.from_numpy(weight).to(dtype).to(model.device)
        for name, weight in model.weights.items()
    }
    network.load_state_dict(weights, strict=False, assign=True)
    network.share_output()
    network.shortlist = model.shortlist
    return network.to(model.device, dtype).eval()
