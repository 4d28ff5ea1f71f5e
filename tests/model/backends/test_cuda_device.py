"""A GPU that is lost is told from one that recovers, and its arithmetic is exact."""

from __future__ import annotations

import pytest
import torch

from model.backends.pytorch.devices import configure_cuda, require_alive
from model.device_lost import DeviceLost

GPU = torch.device("cuda", 0)
FAILURE = RuntimeError("CUBLAS_STATUS_EXECUTION_FAILED")


def test_an_error_after_which_the_device_answers_is_not_a_lost_device() -> None:
    require_alive(GPU, FAILURE, lambda device: None)

    def broken(device: torch.device) -> None:
        raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered\nx")

    told = "^cuda:0 does not compute any more: CUDA error: an illegal memory access"
    with pytest.raises(DeviceLost, match=told):
        require_alive(GPU, FAILURE, broken)
    with pytest.raises(DeviceLost, match="cuda:1"):
        require_alive(GPU, DeviceLost("cuda:1"), lambda device: None)


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
