"""How many engines a machine gets, and what share each has."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.processes.topology import (
    num_engines,
    num_front_ends,
    settings_of_engine,
    settings_of_front_end,
)
from service.settings import Settings


@pytest.mark.parametrize(
    ("threads", "count"), [(1, 0), (2, 1), (4, 1), (5, 2), (8, 2), (16, 4), (64, 16)]
)
def test_each_four_cores_have_an_engine_and_one_core_one_process(threads: int, count: int) -> None:
    assert num_engines(Settings(device="cpu", threads=threads)) == count


def test_who_wants_one_process_or_models_on_demand_gets_one(tmp_path: Path) -> None:
    assert num_engines(Settings(device="cpu", threads=8, one_process=True)) == 0
    assert num_engines(Settings(device="cpu", threads=8, models_dir=tmp_path)) == 0
    assert num_engines(Settings(device="cpu", threads=8, precision="bfloat16")) == 0
    assert num_engines(Settings(device="cpu", threads=8, engines=3)) == 3


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_engines_share_the_machine_and_no_limit_is_lowered(count: int) -> None:
    whole = Settings(device="cpu", threads=8, max_slots=50, max_rows=100, memory_limit=10**9)
    own = settings_of_engine(whole, count)
    assert own.threads * count <= whole.threads
    for name in ("max_slots", "max_rows", "max_waiting_sentences", "max_waiting_tokens"):
        assert getattr(whole, name) <= count * getattr(own, name)
    assert own.max_rows >= own.max_beam_size
    assert count * (own.memory_limit - 1) < whole.memory_limit
    assert settings_of_engine(Settings(max_slots=0), count).max_slots == 0


def test_each_engine_has_a_front_end_and_these_share_the_memory_for_bodies() -> None:
    whole = Settings(max_body_bytes=10**5, max_bodies_bytes=10**6)
    assert [num_front_ends(whole, count) for count in (1, 4)] == [1, 4]
    assert num_front_ends(Settings(front_ends=3), 1) == 3
    shares = [settings_of_front_end(whole, count).max_bodies_bytes for count in (1, 3, 50)]
    assert shares == [10**6, 333_334, 10**5]
