"""What translating files takes of the machine, and when it can be done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from model.backends import memory
from service.loading import load_models
from service.offline import OfflineOptions, OfflineTranslator, load_offline
from service.settings import BUNDLED, Settings
from service.sizing import Sizes

GPU = OfflineOptions("cuda", "float16")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU with 70 GiB, all free."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_arch_list", list)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (70 * 2**30, 70 * 2**30))


def sizes(options: OfflineOptions) -> Sizes:
    _, (model,) = load_offline(BUNDLED[:1], options)
    return model.sizes


@pytest.mark.usefixtures("gpu")
def test_a_gpu_is_filled_as_by_the_server() -> None:
    (served,) = load_models(Settings(model=BUNDLED[:1], device="cuda", precision="float16"))
    assert sizes(GPU) == served.sizes == (256, 1024)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (OfflineOptions("cuda", "float16", beam_size=1), (1024, 1024)),
        (OfflineOptions("cuda", "float16", max_slots=8, beam_size=16), (8, 128)),
        (OfflineOptions("cuda", "float16", max_slots=1, max_beam_size=16), (1, 16)),
    ],
)
def test_all_slots_have_room_for_the_beams_that_all_sentences_take(
    options: OfflineOptions, expected: tuple[int, int]
) -> None:
    assert sizes(options) == expected


def test_on_the_cpu_slots_follow_the_memory_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sizes(OfflineOptions("cpu", "int8")) == (64, 256)
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
