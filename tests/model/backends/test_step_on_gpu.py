"""A recorded step on tensors that lie on another device than the CPU and have no numbers.

Such a step shows what a recording would not survive: an operation that needs a number, or a tensor
that is still on the CPU.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from model.backends.pytorch.eager import EagerNetwork
from model.backends.pytorch.rows import RowTable
from model.backends.pytorch.search import Search
from model.backends.pytorch.step import Step
from model.decoding.decoder import Capacity, StepShape
from model.decoding.search_rules import SearchSizes, SearchTokens
from model.decoding.slot_options import Features
from model.network.config import ModelConfig
from model.network.transformer import Transformer

_setup_privateuseone_for_python_backend("nogpu")
DEVICE = torch.device("nogpu", 0)
PLAIN = Features(False, False, False, False, 0)
KINDS: dict[str, tuple[int, Features]] = {
    "greedy": (1, PLAIN),
    "beam": (4, PLAIN),
    "mixed": (4, Features(True, True, True, True, 3)),
}
SHAPES = {
    "bundled": ModelConfig(8000, 8000, 256, 4, 1024, 5, 2, norm="pre", max_positions=256),
    "nllb600": ModelConfig(256206, 256206, 1024, 16, 4096, 12, 12, norm="pre", max_positions=1024),
}


class Operations(TorchDispatchMode):
    """Notes operations on the CPU."""

    def __init__(self) -> None:
        super().__init__()
        self.on_cpu: list[str] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        out = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__
        for value in tree_flatten((args, kwargs, out))[0]:
            if isinstance(value, torch.Tensor) and value.device.type == "cpu":
                self.on_cpu.append(name)
        return out


def table_of(slots: int, width: int, features: Features) -> RowTable:
    """The rows of this many slots of one width."""
    numbers = torch.zeros(slots, width, dtype=torch.int64, device=DEVICE)
    places = torch.arange(slots * width, device=DEVICE)
    drawn = places[: slots if features.has_sampling else 0]
    return RowTable(numbers, places, places, places[:slots], places, drawn)


def moved(model: Transformer) -> Transformer:
    """In float16 on the device; `Module.to` does not take such a device."""
    for module in model.modules():
        for tensors in (module._parameters, module._buffers):
            for name, tensor in tensors.items():
                if tensor is not None:
                    empty = torch.empty(tensor.shape, device=DEVICE, dtype=torch.float16)
                    is_weight = tensors is module._parameters
                    tensors[name] = torch.nn.Parameter(empty, False) if is_weight else empty
    model.share_output()
    return model


@pytest.mark.parametrize(
    ("shape", "kind"), [*(("bundled", kind) for kind in KINDS), ("nllb600", "mixed")]
)
def test_no_step_needs_a_number_or_the_cpu(shape: str, kind: str) -> None:
    """A step of eight slots."""
    config, (width, features) = SHAPES[shape], KINDS[kind]
    capacity = Capacity(64, 256, 128, 256)
    with torch.inference_mode(), FakeTensorMode():
        model = moved(Transformer(config))
        network = EagerNetwork(model, [0, 1, 2], capacity, is_recorded=True)
        search = Search(SearchSizes(64, 16, 256), SearchTokens(3, 0), DEVICE)
        table = table_of(8, width, features)
        with Operations() as operations:
            Step(network, search).run(table, StepShape(32, 32), features)
    assert operations.on_cpu == []
