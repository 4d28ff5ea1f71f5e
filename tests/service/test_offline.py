"""What translating files takes of the machine, and when it can be done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from model.backends import memory
from service.offline import OfflineOptions, OfflineTranslator, load_offline
from service.settings import BUNDLED
from service.sizing import Sizes


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
