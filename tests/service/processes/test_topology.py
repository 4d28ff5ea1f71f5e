"""How many engines a machine gets, and what share each has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from service.models.loading import load_models
from service.processes import topology
from service.processes.topology import (
    Topology,
    settings_of_engine,
    settings_of_front_end,
    topology_of,
)
from service.settings import BUNDLED, Settings
from service.settings.startup import StartupError
from tests.service.models.test_store import write_checkpoint


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """One with a model of the bundled ones' size, and one with a model of OPUS-MT's beside it."""
    small, large = tmp_path_factory.mktemp("small"), tmp_path_factory.mktemp("large")
    for store in (small, large):
        write_checkpoint(store, "small").rename(store / "small")
    write_checkpoint(large, "large", d_model=512, d_ff=2048, n_decoder_layers=6).rename(
        large / "large"
    )
    return {"small": small, "large": large}


def on_cpu(**changes: Any) -> Topology:
    """With a limit of memory, since the memory that is free changes."""
    fixed = {"device": "cpu", "threads": 8, "memory_limit": 2**36}
    return topology_of(Settings(**{**fixed, **changes}))


@pytest.mark.parametrize(
    ("threads", "of_small", "of_large"),
    [(1, 0, 0), (2, 1, 1), (3, 1, 1), (4, 2, 1), (5, 2, 2), (8, 4, 2), (16, 8, 4), (64, 32, 16)],
)
def test_the_largest_model_decides_how_many_engines_divide_the_cores(
    threads: int, of_small: int, of_large: int, stores: Mapping[str, Path]
) -> None:
    """One core has one process."""
    for model, count in {"bundled": of_small, "large": of_large}.items():
        paths = BUNDLED if model == "bundled" else (BUNDLED[0], stores[model] / model)
        engines, num_front_ends, shares_weights = on_cpu(threads=threads, model=paths)
        assert len(engines) == count
        assert num_front_ends == max(1, count)
        assert shares_weights
    for name, count in {"small": of_small, "large": of_large}.items():
        assert len(on_cpu(threads=threads, models_dir=stores[name]).engines) == count


@pytest.mark.parametrize("cores", [2, 16, 64, 192])
def test_a_container_with_little_memory_serves_on_a_machine_of_any_size(
    cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", str(cores))
    for threads in (0, cores):
        engines = on_cpu(threads=threads, memory_limit=2**36).engines
        assert len(engines) == cores // 2
        assert sum(engine.threads or cores for engine in engines) == cores
    engines, num_front_ends, _ = on_cpu(threads=0, memory_limit=2**30)
    assert load_models(engines[0])
    assert len(engines) == num_front_ends <= 2
    assert min(cores, 2) <= sum(engine.threads or cores for engine in engines) <= min(cores, 8)


def test_a_model_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="holds no config.json"):
        on_cpu(model=[tmp_path])


def test_the_settings_choose() -> None:
    assert not on_cpu(one_process=True).engines
    engines, num_front_ends, _ = on_cpu(engines=3, front_ends=2)
    assert (len(engines), num_front_ends) == (3, 2)


def test_models_on_demand_have_a_limit_that_all_know(tmp_path: Path) -> None:
    engines, num_front_ends, _ = on_cpu(models_dir=tmp_path, front_ends=3)
    assert (len(engines), num_front_ends) == (4, 3)
    assert len({engine.memory_limit for engine in engines}) == 1
    assert engines[0].memory_limit > 0
    (engine,), _, _ = on_cpu(models_dir=tmp_path, threads=2, memory_limit=10**9)
    assert engine.memory_limit == 10**9
    (engine,), _, _ = on_cpu(models_dir=tmp_path, threads=2, memory_limit=0)
    assert engine.memory_limit > 0
    assert not on_cpu(models_dir=tmp_path, threads=1).engines
    given = {"models_dir": tmp_path, "device": "cuda", "engines": 2, "memory_limit": 10**9}
    engines, num_front_ends, _ = on_cpu(**given)
    assert [engine.memory_limit for engine in engines] == [5 * 10**8] * 2
    assert num_front_ends == 4


def test_with_pytorch_processes_are_asked_for_and_load_their_own_weights() -> None:
    assert not on_cpu(precision="bfloat16").engines
    engines, _, shares_weights = on_cpu(precision="bfloat16", engines=2)
    assert [engine.threads for engine in engines] == [4, 4]
    assert not shares_weights


def test_each_gpu_has_as_many_engines_and_no_gpu_is_looked_for() -> None:
    """Whoever looks for a GPU cannot fork any more."""
    (engine,), num_front_ends, _ = on_cpu(device="cuda")
    assert (engine.device, engine.gpu_share, num_front_ends) == ("cuda", 1.0, 4)
    assert on_cpu(device="cuda", threads=64).num_front_ends == 8
    assert len(on_cpu(device="cuda:0,2").engines) == 2
    assert not on_cpu(device="cuda", threads=1).engines
    engines, num_front_ends, shares_weights = on_cpu(device="cuda:0,2", engines=4, threads=16)
    assert [engine.device for engine in engines] == ["cuda:0", "cuda:2"] * 2
    assert {engine.gpu_share for engine in engines} == {0.5}
    assert (num_front_ends, shares_weights) == (8, False)
    engines, num_front_ends, _ = on_cpu(device="cuda", engines=1, threads=2)
    assert (len(engines), num_front_ends) == (1, 1)
    assert on_cpu(device="cuda", front_ends=3).num_front_ends == 3
    with pytest.raises(StartupError, match="multiple of 2, the number of GPUs, got 3"):
        on_cpu(device="cuda:0,2", engines=3)


def test_another_process_looks_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topology, "may_have_gpu", lambda: True)
    assert on_cpu(device="auto", threads=4) == on_cpu(threads=4)
    monkeypatch.setattr(topology, "_found_device", lambda: "cuda")
    assert on_cpu(device="auto") == on_cpu(device="cuda")
    assert {engine.device for engine in on_cpu(device="cpu").engines} == {"cpu"}


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


@pytest.mark.parametrize("limit", [0, 10**9])
def test_the_engines_share_the_memory_that_is_free(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a limit, too: each plans before the others take any."""
    monkeypatch.setattr(topology, "free_bytes", lambda _: 10**9)
    own = settings_of_engine(Settings(device="cpu", memory_limit=limit), 4)
    assert own.memory_limit == 10**9 // 4


def test_front_ends_share_the_memory_for_bodies() -> None:
    whole = Settings(max_body_bytes=10**5, max_bodies_bytes=10**6)
    shares = [settings_of_front_end(whole, count).max_bodies_bytes for count in (1, 3, 50)]
    assert shares == [10**6, 333_334, 10**5]
