"""How a runner uses a GPU, with stand-ins for CUDA: streams, recordings, errors, settings."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from model.backends.devices import CudaDevice, configure_cuda
from model.backends.recording import CudaRecorder
from model.decoding.step import Outcome
from model.device_lost import DeviceLost

GPU = torch.device("cuda", 0)


@dataclass
class FakeCuda:
    """The part of torch.cuda that is used; the current stream is one of each thread."""

    current: threading.local = field(default_factory=threading.local)
    is_lost: bool = False
    recording: set[int] = field(default_factory=set)
    overlaps: int = 0
    streams_used: list[object] = field(default_factory=list)
    fails_at_end: bool = False

    def current_stream(self, device: object = None) -> object:
        return getattr(self.current, "stream", "default")

    def set_stream(self, stream: object) -> None:
        self.current.stream = stream

    @contextlib.contextmanager
    def stream(self, stream: object) -> Iterator[None]:
        before = self.current_stream()
        self.set_stream(stream)
        try:
            yield
        finally:
            self.set_stream(before)

    def synchronize(self, device: object = None) -> None:
        self.overlaps += bool(self.recording - {threading.get_ident()})
        if self.is_lost:
            raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered\nx")

    @contextlib.contextmanager
    def graph(self, graph: object, pool: object, stream: Any, **_: str) -> Iterator[None]:
        """Like torch's: whether it ends or fails, it may leave its stream current."""
        self.synchronize()
        self.set_stream(stream)
        self.streams_used.append(stream)
        self.recording.add(threading.get_ident())
        try:
            yield
        finally:
            self.recording.discard(threading.get_ident())
        if self.fails_at_end:
            raise RuntimeError("operation failed due to a previous error during capture")
        self.set_stream("default")


class Stream:
    def __init__(self, device: object) -> None:
        self.waited_for: list[object] = []

    def wait_stream(self, stream: object) -> None:
        self.waited_for.append(stream)


class Graph:
    def replay(self) -> None:
        pass


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    fake = FakeCuda()
    for name in ("current_stream", "set_stream", "stream", "synchronize", "graph"):
        monkeypatch.setattr(torch.cuda, name, getattr(fake, name))
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", object)
    return fake


def some_outcome() -> Outcome:
    return Outcome(torch.zeros(1))


def test_each_runner_computes_on_a_stream_of_its_own(cuda: FakeCuda) -> None:
    one, other = CudaDevice(GPU), CudaDevice(GPU)
    used = []
    for device in (one, other, one):
        with device.in_use():
            used.append(cuda.current_stream())
    assert used[0] is used[2] is not used[1]
    assert isinstance(used[0], Stream)
    assert used[0].waited_for == ["default"]
    assert cuda.current_stream() == "default"


def test_an_error_that_the_gpu_recovers_from_passes_and_a_sticky_one_is_a_lost_device(
    cuda: FakeCuda,
) -> None:
    device = CudaDevice(GPU)
    with pytest.raises(RuntimeError, match="too large") as passed, device.in_use():
        raise RuntimeError("too large for shared memory")
    assert not isinstance(passed.value, DeviceLost)
    with pytest.raises(ValueError, match="no room"), device.in_use():
        raise ValueError("no room")
    cuda.is_lost = True
    told = "^cuda:0 does not compute any more: CUDA error: an illegal memory access"
    with pytest.raises(DeviceLost, match=told), device.in_use():
        raise RuntimeError("CUBLAS_STATUS_EXECUTION_FAILED")
    assert cuda.current_stream() == "default"


@pytest.mark.parametrize("fails", ["inside", "at the end"])
def test_a_recording_that_fails_gives_the_stream_back_and_is_not_used_again(
    cuda: FakeCuda, fails: str
) -> None:
    recorder = CudaRecorder(GPU)
    cuda.fails_at_end = fails == "at the end"

    def run() -> Outcome:
        if fails == "inside":
            raise RuntimeError("operation not permitted when stream is capturing")
        return some_outcome()

    with pytest.raises(RuntimeError, match="captur"):
        recorder.record(run)
    assert cuda.current_stream() == "default"
    cuda.fails_at_end = False
    recorder.record(some_outcome)
    recorder.record(some_outcome)
    first, second, third = cuda.streams_used
    assert first is not second is third


def test_a_device_that_is_lost_while_recording_is_told(cuda: FakeCuda) -> None:
    recorder = CudaRecorder(GPU)

    def run() -> Outcome:
        cuda.is_lost = True
        raise RuntimeError("CUDA error: device-side assert triggered")

    with pytest.raises(DeviceLost):
        recorder.record(run)


def test_no_two_runners_record_at_once_and_none_waits_for_the_gpu_meanwhile(
    cuda: FakeCuda,
) -> None:
    most = []

    def run() -> Outcome:
        most.append(len(cuda.recording))
        time.sleep(0.001)
        return some_outcome()

    def work() -> None:
        recorder, device = CudaRecorder(GPU), CudaDevice(GPU)
        for _ in range(20):
            recorder.record(run)
            with contextlib.suppress(RuntimeError), device.in_use():
                raise RuntimeError("one step failed")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}
    assert cuda.overlaps == 0


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
