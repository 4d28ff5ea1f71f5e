"""The encoder in three ways: with separate projections, with joined ones, and recorded."""

from __future__ import annotations

import functools
import random
import statistics
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from benchmarks.gpu.figures import note
from benchmarks.gpu.models import random_model, shapes_for
from benchmarks.gpu.speed import milliseconds
from model.backends.pytorch.cache import MemoryCache
from model.backends.pytorch.recording import CudaRecorder
from model.backends.pytorch.source_encoder import RecordedEncoder, SourceEncoder, source_table
from model.decoding.decoder import Capacity
from model.network.config import ModelConfig
from model.network.transformer import Transformer

_SLOTS = 64
_ROUNDS = 9


class _Way(NamedTuple):
    """A way to encode sentences: an encoder, and the memory that it fills."""

    encoder: SourceEncoder
    memory: MemoryCache


class _Separate(SourceEncoder):
    """As the reference network encodes."""

    def encoded(self, padded: Tensor) -> Tensor:
        projected = self._model.project_memory(self._model.encode(padded))
        return torch.stack([torch.stack(parts) for parts in zip(*projected, strict=True)])


@torch.inference_mode()
def encoder(device: str) -> None:
    """Milliseconds of an encoding by sentences, and how far numbers of the memory differ."""
    for name, config in list(shapes_for(device).items())[:3]:
        model = random_model(config, device)
        ways = _ways(model.half() if device != "cpu" else model)
        recorded = ways["recorded"].encoder
        assert isinstance(recorded, RecordedEncoder)
        seconds = milliseconds(recorded.warm_up, device) / 1000
        note("encoder", model=name, recorded=recorded.num_recorded, seconds=seconds)
        for count in (1, 16, _SLOTS):
            _compare(name, config, ways, count, device)


def _ways(model: Transformer) -> dict[str, _Way]:
    longest = min(128, model.config.max_positions)
    capacity = Capacity(_SLOTS, 1, longest, 1)
    like = model.output.weight
    recorder = CudaRecorder(like.device) if like.is_cuda else None

    def way(make: Callable[[MemoryCache], SourceEncoder]) -> _Way:
        memory = MemoryCache(model.config, _SLOTS, longest, like)
        return _Way(make(memory), memory)

    return {
        "separate": way(lambda memory: _Separate(model, memory)),
        "joined": way(lambda memory: SourceEncoder(model, memory)),
        "recorded": way(lambda memory: RecordedEncoder(model, memory, capacity, recorder)),
    }


def _compare(
    name: str, config: ModelConfig, ways: dict[str, _Way], count: int, device: str
) -> None:
    """In turns, so that what else the machine does touches all ways alike."""
    rng = random.Random(count)
    sources = [rng.choices(range(10, config.src_vocab_size), k=20 + n % 9) for n in range(count)]
    works = {way: _work(one.encoder, sources, device) for way, one in ways.items()}
    rounds = [
        {way: milliseconds(work, device) for way, work in works.items()} for _ in range(_ROUNDS)
    ]
    expected = ways["separate"].memory
    for way, (_, memory) in ways.items():
        taken = statistics.median(one[way] for one in rounds)
        most = max(
            float(
                (memory.keys[:, n, :, : len(ids)] - expected.keys[:, n, :, : len(ids)]).abs().max()
            )
            for n, ids in enumerate(sources)
        )
        note("encoder", model=name, way=way, sentences=count, ms=taken, most_difference=most)


def _work(encoder: SourceEncoder, sources: list[list[int]], device: str) -> Callable[[], object]:
    shape = encoder.shape_for(len(sources), max(map(len, sources)))
    pad_id = encoder._model.config.pad_id
    table = source_table(range(len(sources)), sources, shape, pad_id)
    return functools.partial(encoder.encode, torch.from_numpy(table).to(device))
