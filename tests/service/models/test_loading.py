"""What models take of the machine, to serve and to translate files; sizes by free memory."""

from __future__ import annotations

import dataclasses
import functools
import gc
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from model.backends import memory
from model.backends.memory import packed_bytes
from model.backends.native import PackedModel, is_available
from model.backends.shared_files import SharedFiles
from model.checkpoint import open_checkpoint
from model.network.config import ModelConfig
from model.runner import Runner
from service.corpora.text_parts import translate_parts
from service.corpora.translators import translators_of
from service.models.loading import LoadedModel, load_models, plan_model
from service.models.runners import ModelPlacement, RunnerFactory
from service.models.sizing import (
    Demand,
    DoesNotFit,
    Sizes,
    choose_sizes,
    rows_of_a_gpu,
    usual_sizes,
)
from service.offline import OfflineOptions, load_offline
from service.settings import BUNDLED, Settings
from service.settings.startup import StartupError


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


def test_weights_that_processes_share_count_once() -> None:
    """In the sum of what all count."""
    path, settings = BUNDLED[0], Settings(device="cpu", precision="int8")
    info, sizes, files = open_checkpoint(path).info, Sizes(4, 16), SharedFiles(3)
    own, shared = (plan_model(path, info, settings, one).num_bytes(sizes) for one in (None, files))
    assert abs(3 * (own - shared) - 2 * packed_bytes(info.architecture, "int8")) <= 3
    files.close()


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
def test_a_gpu_gets_four_thousand_rows_and_fewer_if_its_memory_is_small(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The bundled models have beams of 4."""
    free_on(monkeypatch, cuda_0=70, cuda_1=70)
    model, workers = on_gpus()
    assert workers == [(1024, 4096, "cuda:0"), (1024, 4096, "cuda:1")]
    assert model.max_prefill_tokens == 8192
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
    free_on(monkeypatch, cuda_0=70, cuda_1=0.5)
    _, ((slots, rows, _), other) = on_gpus()
    assert other == (slots, rows, "cuda:1")
    assert rows in {128, 256, 512, 1024}
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

    with translators_of(BUNDLED[:1], options, "zh", "en", in_one_process=True) as translators:
        assert next(translate_parts(translators, parts(), "zh"))
        assert num_read == 17


AUTO = Sizes(0, 0)


def demand(wanted: Sizes, weights: int, a_row: int, *devices: str) -> Demand:
    def bytes_of(sizes: Sizes) -> Mapping[str, int]:
        share = (sizes.max_rows + sizes.max_slots // 8) * a_row // len(devices)
        return {device: weights + share for device in devices}

    return Demand(wanted, bytes_of)


@pytest.mark.parametrize(
    ("asked", "devices", "beam", "expected"),
    [
        (AUTO, ["cpu"], 4, (64, 256)),
        (AUTO, ["cpu"], 6, (64, 384)),
        (AUTO, ["cuda"], 4, (256, 1024)),
        (AUTO, ["cuda:0", "cuda:1"], 4, (512, 2048)),
        (Sizes(3, 0), ["cuda"], 4, (3, 16)),
        (Sizes(0, 100), ["cpu"], 4, (64, 100)),
    ],
)
def test_the_usual_sizes(
    asked: Sizes, devices: list[str], beam: int, expected: tuple[int, int]
) -> None:
    assert usual_sizes(asked, devices, beam, least_rows=16) == expected


@pytest.mark.parametrize(
    ("d_model", "num_layers", "vocabulary", "rows"),
    [
        (256, 2, 12_000, 4096),
        (512, 1, 32_000, 4096),
        (512, 6, 58_101, 1024),
        (1024, 12, 256_206, 1024),
    ],
)
def test_the_more_work_a_step_is_the_fewer_rows_a_gpu_has(
    d_model: int, num_layers: int, vocabulary: int, rows: int
) -> None:
    config = ModelConfig(vocabulary, vocabulary, d_model, 8, 4 * d_model, 6, num_layers)
    assert rows_of_a_gpu(config) == rows


def test_a_refusal_names_sizes_that_fit() -> None:
    model = demand(Sizes(256, 1024), 0, 2**22, "cpu")
    message = "4.1 GiB of memory with the weights, and 3.0 GiB are free on cpu; max_slots 128 with "
    with pytest.raises(DoesNotFit, match=message + "max_rows 512 fits"):
        choose_sizes([model], Sizes(256, 1024), 16, {"cpu": 3 * 2**30})


@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**6), st.integers(1, 10**5), st.sampled_from(["cuda:0", "cuda:1"])
        ),
        min_size=1,
        max_size=4,
    ),
    st.tuples(st.integers(0, 300), st.integers(0, 300)),
    st.integers(0, 10**8),
)
def test_what_is_chosen_always_fits_and_what_is_asked_for_is_had(
    models: list[tuple[int, int, str]], asked: tuple[int, int], free: int
) -> None:
    wanted = Sizes(*asked)
    demands = [
        demand(usual_sizes(wanted, [device], 4, 16), weights, a_row, device)
        for weights, a_row, device in models
    ]
    room = {"cuda:0": free, "cuda:1": free // 2}
    try:
        chosen = choose_sizes(demands, wanted, 16, room)
    except DoesNotFit:
        return
    used = dict.fromkeys(room, 0)
    for one, sizes in zip(demands, chosen, strict=True):
        for device, num_bytes in one.bytes_of(sizes).items():
            used[device] += num_bytes
        assert all(given in (0, got) for given, got in zip(wanted, sizes, strict=True))
        assert sizes.max_slots >= 1
    assert all(used[device] <= room[device] for device in room)


def test_the_model_that_needs_most_has_less_first() -> None:
    sizes = Sizes(64, 256)
    demands = [demand(sizes, 0, a_row, "cpu") for a_row in (10**4, 10**6, 10**5)]
    chosen = choose_sizes(demands, Sizes(0, 0), 16, {"cpu": 230 * 10**6})
    assert chosen == [sizes, Sizes(32, 128), sizes]


def test_a_network_that_overflows_in_float16_is_refused_in_it() -> None:
    stored = open_checkpoint(Path("checkpoints/zh-en"))
    t5 = dataclasses.replace(stored.info.architecture, norm_kind="rms")
    stored = dataclasses.replace(stored, info=dataclasses.replace(stored.info, architecture=t5))
    for precision in ("bfloat16", "float32"):
        RunnerFactory(stored, ModelPlacement(["cuda:0"], precision, None), 4).require_precision()
    factory = RunnerFactory(stored, ModelPlacement(["cuda:0"], "float16", None), 4)
    with pytest.raises(ValueError, match="must be bfloat16 or float32, got float16"):
        factory.require_precision()
