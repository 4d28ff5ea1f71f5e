"""Load and save a checkpoint directory.

    config.json            architecture, languages, tokenizer files, decoding defaults
    model.safetensors      the weights
    *.model                sentencepiece
    self_test.json         a few translations, made by `model.checking`
    SHA256SUMS             checksums of all of these
    MODEL_CARD.md          for people

Loading never unpickles. Every fault becomes one CheckpointError that says how to fix it.
"""

from model.checkpoint.files import CheckpointError, verify_sums
from model.checkpoint.info import CheckpointInfo
from model.checkpoint.loading import (
    Checkpoint,
    StoredCheckpoint,
    StoredModel,
    load_checkpoint,
    open_checkpoint,
    read_info,
)
from model.checkpoint.saving import add_to_checkpoint, describe_again, save_checkpoint
from model.checkpoint.weights import StoredWeights, save_weights

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "CheckpointInfo",
    "StoredCheckpoint",
    "StoredModel",
    "StoredWeights",
    "add_to_checkpoint",
    "describe_again",
    "load_checkpoint",
    "open_checkpoint",
    "read_info",
    "save_checkpoint",
    "save_weights",
    "verify_sums",
]
