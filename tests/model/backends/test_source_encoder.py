"""Sources are encoded as by the reference network, whatever pads them and whatever is recorded.

A recording is a stand-in that runs the operations again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from model.backends.device_lost import DeviceLost
from model.backends.pytorch.cache import MemoryCache
from model.backends.pytorch.recording import Recorded
from model.backends.pytorch.source_encoder import RecordedEncoder, SourceEncoder, source_table
from model.decoding.decoder import Capacity
from model.network.transformer import Transformer
from tests.model.network.reference import EOS, PAD, VARIANTS, tiny_model

CAPACITY = Capacity(max_slots=6, max_rows=24, max_source_tokens=40, max_target_tokens=48)


class Rerun:
    """Replays by running again, and then by what is to happen."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self._then = then
        self.num_replays = 0

    def record(self, run: Callable[[], Any]) -> Recorded[Any]:
        def replay() -> None:
            self.num_replays += 1
            run()
            self._then()

        return Recorded(replay, None)


def empty_memory(model: Transformer) -> MemoryCache:
    return MemoryCache(model.config, 6, 40, model.output.weight)


def test_a_recording_that_stores_other_numbers_is_refused_and_a_lost_device_is_told() -> None:
    model = tiny_model()
    memory = empty_memory(model)

    def lose() -> None:
        raise DeviceLost("cuda:0")

    with pytest.raises(RuntimeError, match="3 of 3 shapes of encodings were refused"):
        RecordedEncoder(model, memory, CAPACITY, Rerun(memory.keys.zero_)).warm_up()
    with pytest.raises(DeviceLost):
        RecordedEncoder(model, memory, CAPACITY, Rerun(lose)).warm_up()


@torch.inference_mode()
@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_memory_is_that_of_the_reference_whatever_the_bucket(
    variant: dict[str, Any], is_recorded: bool
) -> None:
    model = tiny_model(seed=4, **variant)
    source = [5, 7, 12, 9, EOS]
    projected = model.project_memory(model.encode(torch.tensor([source])))
    expected = [torch.stack([part[0] for part in parts]) for parts in zip(*projected, strict=True)]
    for others, length in itertools.product((0, 1, 4), (1, 20, 40)):
        memory, recorder = empty_memory(model), Rerun()
        encoder = SourceEncoder(model, memory)
        if is_recorded:
            encoder = RecordedEncoder(model, memory, CAPACITY, recorder)
            encoder.warm_up()
        before = recorder.num_replays
        sources = [source, *[[8] * (length - 1) + [EOS]] * others]
        shape = encoder.shape_for(len(sources), max(map(len, sources)))
        memory.keys.fill_(float("nan"))
        encoder.encode(torch.from_numpy(source_table(range(6), sources, shape, PAD)))
        assert recorder.num_replays == before + is_recorded
        assert memory.lengths[: len(sources)].tolist() == [len(source) for source in sources]
        for store, part in zip((memory.keys, memory.values), expected, strict=True):
            torch.testing.assert_close(store[:, 0, :, :5], part, atol=1e-5, rtol=1e-4)
