"""What models take of the machine, to serve and to translate files."""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
import torch

from model.backends import memory
from model.backends.native import PackedModel, is_available
from model.runner import Runner
from service.loading import LoadedModel, StartupError, load_models
from service.offline import OfflineOptions, OfflineTranslator, load_offline
from service.settings import BUNDLED, Settings
from service.sizing import Sizes


def loaded(**settings: object) -> LoadedModel:
    (model,) = load_models(Settings.model_validate({"model": BUNDLED[:1], **settings}))
    return model


def runners_of(model: LoadedModel) -> list[Runner]:
    runners = [make_runner() for make_runner in model.make_runners]
    return [runner for runner in runners if isinstance(runner, Runner)]


@pytest.mark.parametrize(
    ("settings", "rooms"),
    [
        ({"workers": 2}, [(32, 128), (32, 128)]),
        ({"workers": 3, "max_slots": 7, "max_rows": 50}, [(3, 17), (2, 17), (2, 16)]),
        ({"workers": 3, "max_rows": 31}, [(64, 31)]),
        ({"workers": 2, "max_rows": 31, "max_beam_size": 4}, [(32, 16), (32, 15)]),
        ({"workers": 2, "backend": "eager", "precision": "float32"}, [(64, 256)]),
    ],
)
def test_slots_and_rows_are_divided_but_every_worker_takes_the_widest_beam(
    settings: dict[str, object], rooms: list[tuple[int, int]]
) -> None:
    assert is_available()
    runners = runners_of(loaded(**settings))
    assert [(runner.max_slots, runner.max_rows) for runner in runners] == rooms
    assert {runner.max_beam_size for runner in runners} == {settings.get("max_beam_size", 16)}


def num_packed() -> int:
    return sum(type(one) is PackedModel for one in gc.get_objects())


def test_all_workers_share_one_copy_of_the_weights_even_after_a_rebuild() -> None:
    gc.collect()
    before = num_packed()
    model = loaded(workers=2)
    runners = [make_runner() for make_runner in model.make_runners * 2]
    assert len(runners) == 4
    assert num_packed() - before == 1


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
    assert {runner.max_source_tokens for runner in runners_of(model)} == {limit}


def test_a_model_computes_with_the_instruction_set_of_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the environment says; precision auto follows it. Other backends have none."""
    monkeypatch.setenv("DRAGOMAN_INSTRUCTION_SET", "unknown")
    model = loaded(instruction_set="baseline")
    assert (model.instruction_set, model.precision) == ("baseline", "float32")
    assert runners_of(model)
    assert (
        loaded(instruction_set="auto", backend="eager", precision="float32").instruction_set is None
    )


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_arch_list", list)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))


def free_on(monkeypatch: pytest.MonkeyPatch, **gib: float) -> None:
    """So much memory is free on each device; cuda_1 is cuda:1."""
    num_bytes = {name.replace("_", ":"): int(number * 2**30) for name, number in gib.items()}
    monkeypatch.setattr(memory, "free_bytes", lambda device, gpu_share=1.0: num_bytes[device])


def on_gpus() -> tuple[LoadedModel, list[tuple[int, int, str]]]:
    """The model on two GPUs, and slots, rows and device of each worker."""
    model = loaded(precision="float16", device="cuda:0,1")
    made = [cast("functools.partial[Runner]", make).args for make in model.make_runners]
    return model, [(capacity.max_slots, capacity.max_rows, device) for capacity, device, *_ in made]


@pytest.mark.usefixtures("two_gpus")
def test_a_gpu_gets_a_thousand_rows_and_fewer_if_its_memory_is_small(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The bundled models have beams of 4. What a GPU computes fastest is not yet measured."""
    free_on(monkeypatch, cuda_0=70, cuda_1=70)
    model, workers = on_gpus()
    assert workers == [(256, 1024, "cuda:0"), (256, 1024, "cuda:1")]
    assert model.max_prefill_tokens == 8192
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
    free_on(monkeypatch, cuda_0=70, cuda_1=0.5)
    _, ((slots, rows, _), other) = on_gpus()
    assert other == (slots, rows, "cuda:1")
    assert rows in {128, 256, 512}
    assert slots == rows // 4
    assert "because no more fit into the free memory" in caplog.text


def test_a_small_container_gets_fewer_slots_and_both_models_or_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the CPU the usual sizes are 64 and 256. A control group bounds what is free."""
    settings = Settings(model=BUNDLED, device="cpu")
    free_on(monkeypatch, cpu=16)
    assert {model.sizes for model in load_models(settings)} == {(64, 256)}
    monkeypatch.undo()
    monkeypatch.setattr(memory, "free_in_control_groups", lambda: [300 * 2**20])
    models = load_models(settings)
    assert all(0 < model.sizes.max_slots < 64 for model in models)
    runners = [make() for model in models for make in model.make_runners]
    assert sum(runner.max_rows for runner in runners) == sum(m.sizes.max_rows for m in models)
    monkeypatch.setattr(memory, "free_in_control_groups", lambda: [30 * 2**20])
    with pytest.raises(StartupError, match="free on cpu; one slot does not fit either") as refused:
        load_models(settings)
    assert "\n" not in str(refused.value)


def sizes(options: OfflineOptions) -> Sizes:
    _, (model,) = load_offline(BUNDLED[:1], options)
    return model.sizes


def test_all_slots_have_room_for_the_beams_that_all_sentences_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Slots follow the memory too."""
    assert sizes(OfflineOptions("cpu", "int8", beam_size=1)) == (64, 256)
    assert sizes(OfflineOptions("cpu", "int8", max_slots=8, beam_size=16)) == (8, 128)
    assert sizes(OfflineOptions("cpu", "int8", max_slots=1, max_beam_size=16)) == (1, 16)
    monkeypatch.setattr(memory, "free_in_control_groups", lambda: [200 * 2**20])
    assert 0 < sizes(OfflineOptions("cpu", "int8")).max_slots < 64


def test_enough_is_read_ahead_to_fill_all_slots() -> None:
    options = OfflineOptions("cpu", "int8", max_slots=512, beam_size=1)
    num_read = 0

    def parts() -> Iterator[str]:
        nonlocal num_read
        for number in range(100):
            num_read += 1
            yield f"你好，{number}。"

    with OfflineTranslator(BUNDLED[:1], options) as translator:
        assert next(translator.translate_parts(parts(), "zh", "en"))
        assert num_read == 17
