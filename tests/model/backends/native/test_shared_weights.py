"""Weights that processes have once compute what a process's own do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from model.backends.native import PackedModel, kernel_names
from model.backends.shared_files import SharedFiles
from model.checkpoint import StoredNetwork
from model.checkpoint.weights import StoredWeights
from tests.model.backends.native.stepped import SteppedNetwork
from tests.model.backends.test_networks import ROOM, steps
from tests.model.network.reference import CONTROL_IDS, VARIANTS, tiny_model


def stored(path: Path, seed: int, dtype: torch.dtype, **variant: Any) -> StoredNetwork:
    model = tiny_model(seed=seed, **variant)
    save_file({name: one.to(dtype).contiguous() for name, one in model.weights.items()}, path)
    return StoredNetwork(model.config, StoredWeights(path), "cpu", model.shortlist)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("variant", VARIANTS)
@torch.inference_mode()
def test_shared_weights_give_the_same_logits_with_every_instruction_set(
    variant: dict[str, Any], dtype: torch.dtype, tmp_path: Path
) -> None:
    """One process's instruction set packs for all others."""
    files = SharedFiles(2)
    model = stored(tmp_path / "weights", 0, dtype, **variant)
    held = []
    for is_quantised in (False, True):
        for kernels in kernel_names():
            own = PackedModel(model, CONTROL_IDS, is_quantised, kernels)
            held.append(PackedModel(model, CONTROL_IDS, is_quantised, kernels, files))
            expected, found = (steps(SteppedNetwork(one, ROOM), 6) for one in (own, held[-1]))
            assert all(map(torch.equal, found, expected))
    files.close()


@torch.inference_mode()
def test_weights_are_shared_only_if_all_that_is_packed_is_the_same(tmp_path: Path) -> None:
    """A new version of a file may have the same name, and a sentence must not get the other's."""
    files = SharedFiles(2)
    path = tmp_path / "weights"
    held, expected = [], []
    for seed in (0, 1):
        stored(path.with_suffix(".new"), seed, torch.float32)
        path.with_suffix(".new").replace(path)
        for change in ({}, {"activation": "silu"}, {"norm_kind": "rms"}):
            model = StoredNetwork(tiny_model(**change).config, StoredWeights(path), "cpu")
            for is_quantised in (False, True):
                for control_ids in (CONTROL_IDS, CONTROL_IDS[:2]):
                    held.append(PackedModel(model, control_ids, is_quantised, None, files))
                    own = PackedModel(model, control_ids, is_quantised)
                    expected.append(steps(SteppedNetwork(own, ROOM), 3))
    for one, logits in zip(held, expected, strict=True):
        assert all(map(torch.equal, steps(SteppedNetwork(one, ROOM), 3), logits))
    files.close()
