"""The encoder as CUDA graphs, one a bucket: one launch instead of over a hundred.

An encoding is padded to its bucket with sentences that repeat its first one and tokens that are
masked. Nothing of the padding reaches a sentence's memory. An encoding without a bucket runs
operation by operation.
"""

from __future__ import annotations

import torch
from torch import Tensor

from model.backends.cuda_recording import Recorder
from model.backends.encoder_buckets import all_buckets, bucket_for
from model.backends.recording import Recording, record_all
from model.backends.source_encoder import EncodedShape, SourceEncoder
from model.backends.torch_cache import MemoryCache
from model.decoding.network_interface import Capacity
from model.network.config import ModelConfig
from model.network.transformer import Transformer

_TOLERANCE = 0.01
"""Allowed difference of a number of the memory, relative and absolute."""
_STRIDE = 7919


class RecordedEncoder(SourceEncoder):
    """Replays the buckets that `warm_up` recorded; all else runs operation by operation."""

    def __init__(
        self,
        model: Transformer,
        memory: MemoryCache,
        capacity: Capacity,
        recorder: Recorder | None,
    ) -> None:
        """`recorder`: None records nothing."""
        super().__init__(model, memory)
        self._capacity, self._recorder = capacity, recorder
        self._recorded: dict[EncodedShape, _EncodedBucket] = {}

    @property
    def num_recorded(self) -> int:
        return len(self._recorded)

    def shape_for(self, n_sentences: int, n_tokens: int) -> EncodedShape:
        bucket = bucket_for(n_sentences, n_tokens, self._capacity)
        return bucket if bucket in self._recorded else EncodedShape(n_sentences, n_tokens)

    def encode(self, table: Tensor) -> None:
        bucket = self._recorded.get(EncodedShape(table.size(0), table.size(1) - 2))
        if bucket is None:
            super().encode(table)
        else:
            bucket.table.copy_(table)
            self._run(bucket)

    @torch.inference_mode()
    def warm_up(self) -> None:
        """Record all buckets, while no slot is in use. One that cannot be recorded, or whose replay
        stores other numbers than the operations, is left out.

        Raises RuntimeError if all of the first ones are left out."""
        if self._recorder is not None:
            record_all(all_buckets(self._capacity), self._prepared, "encodings")

    def _prepared(self, shape: EncodedShape) -> _EncodedBucket:
        bucket = _EncodedBucket(shape, self._memory.lengths)
        bucket.table.copy_(_sample_table(shape, self._model.config, bucket.table.device))
        while not bucket.is_prepared(self._recorder):
            self._run(bucket)
        if bucket.recorded is not None:
            self._prove(bucket)
        if bucket.recorded is not None:
            self._recorded[shape] = bucket
        return bucket

    def _run(self, bucket: _EncodedBucket) -> None:
        encode = super().encode
        bucket.run(lambda: encode(bucket.table), self._recorder)

    def _prove(self, bucket: _EncodedBucket) -> None:
        """Refuse a bucket whose replay stores other numbers than the operations."""
        expected = self.encoded(bucket.table[:, 2:])
        self._memory.clear(bucket.table[:, 0])
        self._run(bucket)
        n_sentences, n_tokens = bucket.shape
        for store, numbers in zip((self._memory.keys, self._memory.values), expected, strict=True):
            found = store[:, :n_sentences, :, :n_tokens]
            if not torch.allclose(found, numbers, _TOLERANCE, _TOLERANCE, equal_nan=True):
                bucket.refuse("a replay stores other numbers")


class _EncodedBucket(Recording[None]):
    """The recording of a bucket, and the table that it reads."""

    def __init__(self, shape: EncodedShape, like: Tensor) -> None:
        super().__init__(f"an encoding of {shape.n_sentences} times {shape.n_tokens} tokens")
        self.shape = shape
        self.table = like.new_zeros(shape.n_sentences, 2 + shape.n_tokens)


def _sample_table(shape: EncodedShape, config: ModelConfig, device: torch.device) -> Tensor:
    """Sentences of many tokens, every second one padded."""
    slots = torch.arange(shape.n_sentences, device=device)
    ids = torch.arange(shape.n_sentences * shape.n_tokens, device=device).view(shape)
    ids = (ids * _STRIDE + 1) % config.src_vocab_size
    ids = ids.where(ids != config.pad_id, config.eos_id)
    lengths = shape.n_tokens - slots % 2 * (shape.n_tokens // 2)
    is_token = torch.arange(shape.n_tokens, device=device) < lengths[:, None]
    return torch.cat([slots[:, None], lengths[:, None], ids.where(is_token, config.pad_id)], 1)
