"""The shapes that encodings are recorded in.

Sentences and tokens are rounded up to powers of two; a bucket has at most `_MOST_TOKENS` padded
tokens. A larger encoding keeps a GPU busy for longer than its operations take to launch, so it is
not recorded, and not padded (not yet measured).
"""

from __future__ import annotations

from model.backends.recorded_shapes import rounded
from model.backends.source_encoder import EncodedShape
from model.decoding.network_interface import Capacity

_SHORTEST = 16
_MOST_TOKENS = 4096


def bucket_for(n_sentences: int, n_tokens: int, capacity: Capacity) -> EncodedShape | None:
    """The bucket of an encoding whose longest sentence has `n_tokens`, if it fits one."""
    sentences = rounded(n_sentences, capacity.max_slots)
    tokens = rounded(max(n_tokens, _SHORTEST), capacity.max_source_tokens)
    return EncodedShape(sentences, tokens) if sentences * tokens <= _MOST_TOKENS else None


def all_buckets(capacity: Capacity) -> list[EncodedShape]:
    """Every bucket, short sentences first."""
    lengths = range(1, capacity.max_source_tokens + 1)
    counts = range(1, min(capacity.max_slots, _MOST_TOKENS) + 1)
    tokens = sorted({rounded(max(length, _SHORTEST), lengths[-1]) for length in lengths})
    sentences = sorted({rounded(count, capacity.max_slots) for count in counts})
    found = [bucket_for(count, length, capacity) for length in tokens for count in sentences]
    return [bucket for bucket in found if bucket is not None]
