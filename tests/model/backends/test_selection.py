"""Whether what is asked for fits into the memory."""

from __future__ import annotations

import psutil
import pytest

from model.backends import memory as placement
from model.backends.memory import free_bytes, full_bytes
from model.backends.torch_cache import MemoryCache, RowCache
from model.decoding.hypotheses import Hypotheses
from model.decoding.network_interface import Capacity
from model.network.config import ModelConfig
from model.network.transformer import Transformer


def test_what_is_needed_is_what_the_caches_and_hypotheses_take(tiny_config: ModelConfig) -> None:
    capacity = Capacity(max_slots=5, max_rows=12, max_source_tokens=7, max_target_tokens=9)
    like = next(Transformer(tiny_config).parameters())
    rows = RowCache(tiny_config, 12, 9, like)
    memory = MemoryCache(tiny_config, 5, 7, like)
    held = Hypotheses.empty(5, 4, 9, like.device)
    stores = [rows.keys, rows.values, memory.keys, memory.values]
    taken = sum(store.nbytes for store in stores)
    taken += 2 * (held.tokens.nbytes + held.log_probs.nbytes)
    assert full_bytes(tiny_config, capacity, 4, "float32") == taken
    assert full_bytes(tiny_config, capacity, 4, "float16") < taken


def test_no_more_is_free_than_the_machine_has() -> None:
    assert 0 < free_bytes("cpu") <= psutil.virtual_memory().total


def test_a_containers_bound_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "free_in_control_groups", lambda: [2**62, 2000])
    assert free_bytes("cpu") == 2000
