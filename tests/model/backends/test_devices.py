"""Which devices a name means, with stand-ins for the cards; how a GPU is set, and when lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from model.backends import devices, selection
from model.backends.device_lost import DeviceLost
from model.backends.devices import resolve_devices
from model.backends.pytorch.devices import configure_cuda, require_alive
from model.backends.selection import resolve_backend


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


def test_without_pytorch_auto_computes_on_the_cpu_and_says_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    install_cards(monkeypatch, (9, 0))
    monkeypatch.setitem(sys.modules, "torch", None)
    assert resolve_devices("auto") == ["cpu"]
    assert "a GPU is here, but PyTorch (dragoman[torch]) is not" in caplog.text


def test_without_a_compiler_and_pytorch_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selection, "is_available", lambda: False)
    assert resolve_backend("auto", "cpu", "float32") == "eager"
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r"a C\+\+ compiler, or install dragoman\[torch\]"):
        resolve_backend("auto", "cpu", "float32")


def test_an_error_after_which_the_device_answers_is_not_a_lost_device() -> None:
    gpu, failure = torch.device("cuda", 0), RuntimeError("CUBLAS_STATUS_EXECUTION_FAILED")
    require_alive(gpu, failure, lambda device: None)

    def broken(device: torch.device) -> None:
        raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered\nx")

    told = "^cuda:0 does not compute any more: CUDA error: an illegal memory access"
    with pytest.raises(DeviceLost, match=told):
        require_alive(gpu, failure, broken)
    with pytest.raises(DeviceLost, match="cuda:1"):
        require_alive(gpu, DeviceLost("cuda:1"), lambda device: None)


def test_cudnn_attention_tensorfloat_and_short_sums_are_off() -> None:
    matmul = torch.backends.cuda.matmul
    torch.backends.cuda.enable_cudnn_sdp(True)
    matmul.allow_fp16_reduced_precision_reduction = True
    matmul.allow_bf16_reduced_precision_reduction = True
    configure_cuda()
    assert not torch.backends.cuda.cudnn_sdp_enabled()
    assert not matmul.allow_tf32
    assert not matmul.allow_fp16_reduced_precision_reduction
    assert not matmul.allow_bf16_reduced_precision_reduction
