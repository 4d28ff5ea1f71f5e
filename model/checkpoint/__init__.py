"""A checkpoint directory. `reference` loads its network into PyTorch, and `saving` writes it; what
is imported here does not need PyTorch.

    config.json            architecture, languages, tokenizer files, decoding defaults
    model.safetensors      the weights
    *.model                sentencepiece
    shortlist.safetensors  the tokens that a source's translation may have, of some models
    self_test.json         a few translations, made by `model.trials.checkpoint`
    SHA256SUMS             checksums of all of these
    MODEL_CARD.md          for people

Loading never unpickles. Every fault becomes one CheckpointError that says how to fix it.
"""

from model.checkpoint.files import CheckpointError, is_damage, read_sums, verify_sums
from model.checkpoint.info import CheckpointInfo
from model.checkpoint.opening import (
    StoredCheckpoint,
    StoredNetwork,
    open_checkpoint,
    read_complete,
    read_info,
)
from model.checkpoint.weights import StoredWeights

__all__ = [
    "CheckpointError",
    "CheckpointInfo",
    "StoredCheckpoint",
    "StoredNetwork",
    "StoredWeights",
    "is_damage",
    "open_checkpoint",
    "read_complete",
    "read_info",
    "read_sums",
    "verify_sums",
]
