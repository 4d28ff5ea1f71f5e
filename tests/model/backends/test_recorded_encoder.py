"""Encodings recorded by bucket: the same memory, few recordings, and what happens if one fails.

A recording is a stand-in that runs the operations again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from model.backends.pytorch.cache import MemoryCache
from model.backends.pytorch.recording import Recorded
from model.backends.pytorch.source_encoder import (
    RecordedEncoder,
    source_table,
)
from model.decoding.decoder import Capacity
from model.device_lost import DeviceLost
from tests.model.network.reference import EOS, PAD, tiny_model

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


def test_a_recording_that_stores_other_numbers_is_refused_and_a_lost_device_is_told() -> None:
    model = tiny_model()
    memory = MemoryCache(model.config, 6, 40, model.output.weight)

    def lose() -> None:
        raise DeviceLost("cuda:0")

    with pytest.raises(RuntimeError, match="3 of 3 shapes of encodings were refused"):
        RecordedEncoder(model, memory, CAPACITY, Rerun(memory.keys.zero_)).warm_up()
    with pytest.raises(DeviceLost):
        RecordedEncoder(model, memory, CAPACITY, Rerun(lose)).warm_up()


@torch.inference_mode()
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "alibi"])
def test_a_sentences_memory_does_not_depend_on_its_bucket(positions: str) -> None:
    model = tiny_model(seed=4, positions=positions, norm="pre")
    source = [5, 7, 12, 9, EOS]
    stored = []
    for is_recorded, others, length in itertools.product((False, True), (0, 1, 4), (1, 20, 40)):
        memory = MemoryCache(model.config, 6, 40, model.output.weight)
        encoder = RecordedEncoder(model, memory, CAPACITY, recorder := Rerun())
        if is_recorded:
            encoder.warm_up()
        before = recorder.num_replays
        sources = [source, *[[8] * (length - 1) + [EOS]] * others]
        shape = encoder.shape_for(len(sources), max(map(len, sources)))
        table = torch.from_numpy(source_table(range(6), sources, shape, PAD))
        memory.keys.fill_(float("nan"))
        encoder.encode(table)
        stored.append(torch.stack([memory.keys[:, 0, :, :5], memory.values[:, 0, :, :5]]))
        assert recorder.num_replays == before + is_recorded
        assert (shape != (len(sources), max(map(len, sources)))) == is_recorded or length == 40
    for one in stored:
        torch.testing.assert_close(one, stored[0], atol=1e-5, rtol=1e-4)
