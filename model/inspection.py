"""The attention of a whole translation as plain numbers, for people who study it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import torch
from torch import Tensor

from model.checkpoint import StoredModel
from model.decoding.sentence import AttentionTables
from model.network.attention_maps import attention_maps

_DECIMALS = 4
_MAX_WEIGHTS = 300_000_000


def is_inspectable(model: StoredModel) -> bool:
    """Whether the network is small enough for a second copy to be loaded."""
    return sum(map(math.prod, model.weights.shapes.values())) <= _MAX_WEIGHTS


def attention_tables(
    model: StoredModel, source: Sequence[int], target: Sequence[int]
) -> AttentionTables:
    """The attention of a translation, by the reference network in float32 on the CPU; source ids
    with tags and eos, target ids without bos.

    The weights are read for this and freed again, because the served ones may be packed in int8.
    Raises CheckpointError if they cannot be read.
    """
    network = dataclasses.replace(model, device=torch.device("cpu")).load()
    inputs = [model.config.bos_id, *target[:-1]]
    return AttentionTables(*map(_rounded, attention_maps(network, source, inputs)))


def _rounded(maps: Tensor) -> list[object]:
    rounded: list[object] = maps.double().round(decimals=_DECIMALS).tolist()
    return rounded
