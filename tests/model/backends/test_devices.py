"""Which devices a name means, with stand-ins for the cards."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from model.backends import devices
from model.backends.devices import resolve_devices


def install_cards(
    monkeypatch: pytest.MonkeyPatch, *capabilities: tuple[int, int], built: str = "sm_75 sm_90a"
) -> None:
    """Cards of these compute capabilities, and a torch with code for `built`."""
    monkeypatch.setattr(devices, "GPU_DRIVERS", (Path(__file__),))
    cuda = torch.cuda
    monkeypatch.setattr(cuda, "is_available", lambda: bool(capabilities))
    monkeypatch.setattr(cuda, "device_count", lambda: len(capabilities))
    monkeypatch.setattr(cuda, "get_arch_list", built.split)
    monkeypatch.setattr(
        cuda, "get_device_capability", lambda name: capabilities[torch.device(name).index or 0]
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("auto", ["cuda"]),
        ("cpu", ["cpu"]),
        ("cuda", ["cuda"]),
        ("cuda:1", ["cuda:1"]),
        ("cuda:1,0", ["cuda:1", "cuda:0"]),
    ],
)
def test_a_name_means_one_device_or_several(
    name: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install_cards(monkeypatch, (9, 0), (9, 0))
    assert resolve_devices(name) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cuda:2", "'cuda:2' was asked for, but torch finds 2 GPUs"),
        ("cuda:0,7", "'cuda:7' was asked for"),
        ("cuda:0,0", "names a GPU twice"),
        ("gpu", "device must be auto, cpu, cuda"),
    ],
)
def test_what_cannot_be_had_is_refused(
    name: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_cards(monkeypatch, (9, 0), (8, 0))
    with pytest.raises(ValueError, match=message):
        resolve_devices(name)
