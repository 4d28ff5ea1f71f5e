"""The estimates of memory, held to what is allocated."""

from __future__ import annotations

import subprocess
import sys
import weakref
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from model.backends.memory import full_bytes, step_bytes, weight_bytes
from model.backends.pytorch.cache import make_history
from model.backends.pytorch.eager import EagerNetwork
from model.backends.pytorch.search import Search
from model.backends.pytorch.step import Step
from model.decoding.decoder import Capacity, StepShape
from model.decoding.search_rules import SearchSizes, SearchTokens
from model.network.config import ModelConfig
from model.network.transformer import Transformer
from tests.model.backends.test_step_on_gpu import DEVICE, KINDS, SHAPES, moved, table_of

_MIB = 2**20
_MAX_BEAM = 16


class LiveTensors(TorchDispatchMode):
    """Counts the bytes of tensors that operations made and that still live."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self._sizes: dict[int, int] = {}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        out = function(*args, **(kwargs or {}))
        for value in tree_flatten(out)[0]:
            if isinstance(value, torch.Tensor):
                self._count(value.untyped_storage())
        return out

    def most_during(self, work: Any) -> int:
        """Bytes beyond the present ones that `work` holds at the same time."""
        self.most = before = self.now
        work()
        return self.most - before

    def _count(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        if key in self._sizes:
            return
        self._sizes[key] = storage.nbytes()
        self.now += storage.nbytes()
        self.most = max(self.most, self.now)
        weakref.finalize(storage, self._forget, key)

    def _forget(self, key: int) -> None:
        self.now -= self._sizes.pop(key)


@pytest.mark.parametrize(
    ("shape", "kind"), [("bundled", "beam"), ("bundled", "mixed"), ("nllb600", "greedy")]
)
def test_no_runner_on_a_gpu_takes_more_than_its_estimate(shape: str, kind: str) -> None:
    """Nor much less: what is refused would not have fitted."""
    config, (width, features) = SHAPES[shape], KINDS[kind]
    capacity = Capacity(256, 256 * width, 128, min(256, config.max_positions))
    with torch.inference_mode(), FakeTensorMode(), LiveTensors() as live:
        model = moved(Transformer(config))
        weights = sum(w.nbytes for w in {id(w): w for w in model.parameters()}.values())
        before = live.now
        network = EagerNetwork(model, [0, 1, 2], capacity, is_recorded=True)
        sizes = SearchSizes(256, _MAX_BEAM, capacity.max_target_tokens)
        search = Search(sizes, SearchTokens(3, 0), DEVICE)
        held = live.now - before
        table = table_of(256, width, features)
        step, longest = Step(network, search), StepShape(capacity.max_target_tokens, 128)
        stepping = live.most_during(lambda: step.run(table, longest, features))
        sources = torch.zeros(64, 128, dtype=torch.int64, device=DEVICE)
        encoding = live.most_during(lambda: network._encoder.encoded(sources))
    expected = full_bytes(config, capacity, _MAX_BEAM, "float16")
    assert held <= expected + _MIB
    assert held >= 0.9 * expected
    assert max(stepping, encoding) <= step_bytes(config, capacity, "float16") + 32 * _MIB
    assert weights == pytest.approx(weight_bytes(config, "float16"), rel=0.01)


@pytest.mark.parametrize("autoregression", ["attention", "ssru"])
@pytest.mark.parametrize("d_head", [1, 40])
def test_a_row_counts_what_is_kept_of_it(autoregression: Any, d_head: int) -> None:
    """However wide the heads are. Our CPU code keeps two states of an SSRU, PyTorch one."""
    config = ModelConfig(9, 9, 64, 2, d_head=d_head, autoregression=autoregression)
    less, more = (full_bytes(config, Capacity(1, rows, 8, 8), 4, "float32") for rows in (5, 6))
    kept = make_history(config, 1, 8, torch.zeros(())).planes.nbytes
    assert more - less == kept * (2 if autoregression == "ssru" else 1)


_PACKING = """
import sys, psutil, torch
from model.backends.memory import packed_bytes
from model.backends.native import PackedModel
from model.network.config import ModelConfig
from model.network.transformer import Transformer
config = ModelConfig(16000, 16000, 256, 4, 1024, 6, 6, norm="pre")
model, precision = Transformer(config), sys.argv[1]
before = psutil.Process().memory_info().rss
packed = PackedModel(model, [0, 1, 2], precision == "int8")
print((psutil.Process().memory_info().rss - before) / packed_bytes(config, precision))
"""


@pytest.mark.parametrize("precision", ["int8", "float32"])
def test_packed_weights_take_what_is_estimated(precision: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _PACKING, precision], capture_output=True, text=True, check=True
    )
    assert 0.4 < float(ended.stdout) < 1.02
