"""How a model's slots and rows are divided among its workers."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from model.backends import memory
from model.backends.memory import full_bytes
from model.backends.native import is_available
from model.network.transformer import weight_shapes
from model.runner import Runner
from service import loading
from service.loading import LoadedModel, StartupError, load_models
from service.settings import BUNDLED, Settings


def loaded(**settings: object) -> LoadedModel:
    (model,) = load_models(Settings.model_validate({"model": BUNDLED[:1], **settings}))
    return model


def runners_of(**settings: object) -> list[Runner]:
    model = loaded(**settings)
    runners = [make_runner() for make_runner in model.make_runners]
    assert all(isinstance(runner, Runner) for runner in runners)
    return [runner for runner in runners if isinstance(runner, Runner)]


@pytest.mark.parametrize(
    ("settings", "rooms"),
    [
        ({"workers": 2}, [(32, 128), (32, 128)]),
        ({"workers": 3, "max_slots": 7, "max_rows": 50}, [(3, 17), (2, 17), (2, 16)]),
        ({"workers": 3, "max_slots": 2, "max_rows": 64}, [(1, 32), (1, 32)]),
        ({"workers": 3, "max_rows": 31}, [(64, 31)]),
        ({"workers": 2, "max_rows": 31, "max_beam_size": 4}, [(32, 16), (32, 15)]),
        ({"workers": 2, "backend": "eager", "precision": "float32"}, [(64, 256)]),
    ],
)
def test_slots_and_rows_are_divided_but_every_worker_takes_the_widest_beam(
    settings: dict[str, object], rooms: list[tuple[int, int]]
) -> None:
    assert is_available()
    runners = runners_of(**settings)
    assert [(runner.max_slots, runner.max_rows) for runner in runners] == rooms
    assert {runner.max_beam_size for runner in runners} == {settings.get("max_beam_size", 16)}


def test_workers_share_one_copy_of_the_weights() -> None:
    one, other = runners_of(workers=2)
    assert one._network._packed is other._network._packed  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("bundled", "wanted", "limit"),
    [("zh-en", 0, 28), ("en-de", 0, 34), ("zh-en", 16, 16), ("zh-en", 100, 100)],
)
def test_sentences_are_cut_where_the_settings_or_else_the_checkpoint_say(
    bundled: str, wanted: int, limit: int
) -> None:
    """Where the bundled checkpoints say it, their cards tell."""
    model = loaded(model=[Path("checkpoints") / bundled], max_source_tokens=wanted)
    assert model.max_source_tokens == limit
    runners = [make_runner() for make_runner in model.make_runners]
    assert all(isinstance(runner, Runner) for runner in runners)
    assert {runner.max_source_tokens for runner in runners} == {limit}


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_arch_list", list)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))


@pytest.mark.usefixtures("two_gpus")
def test_each_gpu_has_a_worker_with_its_share_of_slots_and_rows() -> None:
    settings = Settings(model=BUNDLED[:1], device="cuda:0,1", max_slots=65, precision="float16")
    opened = loading._open_model(BUNDLED[0], settings)
    workers = [(room.max_slots, room.max_rows, device) for room, device in opened.workers]
    assert workers == [(33, 128, "cuda:0"), (32, 128, "cuda:1")]


@pytest.mark.usefixtures("two_gpus")
def test_on_a_gpu_weights_and_logits_take_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights of the bundled model take 15 MB in half precision."""
    settings = Settings(model=BUNDLED[:1], device="cuda:0,1", precision="float16")
    opened = loading._open_model(BUNDLED[0], settings)
    capacity, _ = opened.workers[0]
    needed = opened.factory.needed_bytes(capacity)
    config = opened.checkpoint.info.architecture
    caches = full_bytes(config, capacity, settings.max_beam_size, "float16")
    weights = sum(math.prod(shape) for shape in weight_shapes(config).values())
    assert needed > caches + 2 * weights + 4 * capacity.max_rows * config.tgt_vocab_size
    monkeypatch.setattr(memory, "free_bytes", lambda device: needed)
    loading._require_memory([opened])
    monkeypatch.setattr(memory, "free_bytes", lambda device: needed - (device == "cuda:1"))
    with pytest.raises(StartupError, match="are free on cuda:1"):
        loading._require_memory([opened])
