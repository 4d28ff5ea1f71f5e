"""What fails inside our CPU code is a Python error, and the process goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from model.backends.native import PackedModel
from model.backends.native.weights import WeightError
from model.network.config import ModelConfig
from model.network.shortlist import Shortlist
from model.network.transformer import Transformer
from tests.model.network.reference import CONTROL_IDS, VARIANTS, tiny_model

ROOT = Path(__file__).parents[4]


class Weights(dict[str, Tensor]):
    """A model's weights, one of which is what `spoil` makes of it."""

    bad = ""
    spoil: Callable[[Tensor], Tensor]

    def __getitem__(self, name: str) -> Tensor:
        weight = super().__getitem__(name)
        return self.spoil(weight) if name == self.bad else weight


@dataclass
class SpoiltModel:
    config: ModelConfig
    weights: Weights
    device: torch.device
    shortlist: Shortlist | None


def missing(weight: Tensor) -> Tensor:
    raise KeyError


def unreadable(weight: Tensor) -> Tensor:
    raise OSError("the disk is gone")


def too_small(weight: Tensor) -> Tensor:
    return weight[:-1]


@pytest.mark.parametrize("is_quantised", [False, True])
@pytest.mark.parametrize("variant", [*VARIANTS[:2], VARIANTS[-1]])
@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (missing, WeightError, "the model lacks the weight {}$"),
        (unreadable, OSError, "the disk is gone"),
        (too_small, WeightError, "the weight {} has shape .*, expected "),
    ],
)
def test_every_weight_that_cannot_be_had_is_a_python_error(
    spoil: Callable[[Tensor], Tensor],
    error: type[BaseException],
    message: str,
    variant: dict[str, Any],
    is_quantised: bool,
) -> None:
    original: Transformer = tiny_model(**variant)
    weights = Weights(original.weights)
    model = SpoiltModel(original.config, weights, original.device, original.shortlist)
    model.weights.spoil = spoil
    for name in model.weights:
        model.weights.bad = name
        with pytest.raises(error, match=message.format(name)):
            PackedModel(model, CONTROL_IDS, is_quantised)
    model.weights.bad = ""
    PackedModel(model, CONTROL_IDS, is_quantised)


LIMITED = """
import resource

import psutil
import torch

from model.backends.native import PackedModel
from model.decoding.decoder import Capacity
from tests.model.backends.native.stepped import SteppedNetwork
from tests.model.network.reference import CONTROL_IDS, tiny_model
from tests.model.backends.test_networks import SOURCES, steps

ROOM = Capacity(max_slots=3, max_rows=6, max_source_tokens=600, max_target_tokens=40)
model = tiny_model(d_model=1024, n_heads=8, d_ff=4096, positions="alibi", max_positions=600)
packed = PackedModel(model, CONTROL_IDS, is_quantised=True)
network = SteppedNetwork(packed, ROOM)


def limited(call, megabytes):
    '''What comes of a call that may take so much more memory.'''
    used = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20), resource.RLIM_INFINITY))
    try:
        call()
        return "done"
    except (MemoryError, OSError) as error:
        return str(error)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
"""
EXACT_MALLOC = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
"""glibc holds nothing in reserve: what is freed is given back."""
CACHES = """
found = [limited(lambda: SteppedNetwork(packed, ROOM), megabytes) for megabytes in (1, 100)]
assert found == [*["the caches do not fit into memory"], "done"], found
for room in (Capacity(2**31 - 1, 2**31 - 1, 2**30, 2**30), ROOM._replace(max_rows=2**31 - 1)):
    found = limited(lambda: SteppedNetwork(packed, room), 1000)
    assert found == "the caches do not fit into memory"
SteppedNetwork(packed, ROOM)
"""
THREADS = """
with torch.inference_mode():
    expected = torch.stack(steps(network, 5))
    for megabytes in (2, 200):
        found = limited(lambda: network.use_threads(300), megabytes)
        assert found == "no more threads can be started", found
        assert torch.equal(torch.stack(steps(network, 5)), expected)
    network.use_threads(3)
    assert torch.equal(torch.stack(steps(network, 5)), expected)
"""
COMPUTING = """
sources = [[5] * 600] * 2
for num_threads in (1, 4):
    found = []
    for _ in range(3):
        network = SteppedNetwork(packed, ROOM)
        network.use_threads(num_threads)
        found += [limited(lambda: network.encode([0, 1], sources), 1) for _ in range(2)]
        network.encode([0, 1], sources)
    assert set(found) <= {"memory ran out in dragoman_encode", "done"}, found
    assert "memory ran out in dragoman_encode" in found, found
"""


@pytest.mark.parametrize("part", [CACHES, THREADS, COMPUTING])
def test_a_process_without_memory_gets_an_error_and_goes_on(part: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED + part],
        cwd=ROOT,
        env={**os.environ, **EXACT_MALLOC},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
