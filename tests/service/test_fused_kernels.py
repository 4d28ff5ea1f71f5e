"""Fused kernels that work alone, but not together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from model.backends.fast_paths import FUSED_PATHS, FastPath
from model.backends.selection import Backend
from model.bundled import bundled_checkpoint
from model.checkpoint import open_checkpoint
from model.decoding.network_interface import Capacity
from model.device_lost import DeviceLost
from model.runner import Runner
from service.runner_factory import Placement, RunnerFactory
from tests.model.network.reference import tiny_model, tiny_runner

CAPACITY = Capacity(4, 16, 32, 48)


class Factory(RunnerFactory):
    """Two of three kernels work alone; what they do together is given."""

    def __init__(self, error: RuntimeError | None) -> None:
        checkpoint = open_checkpoint(bundled_checkpoint("zh-en"), "cpu")
        super().__init__(checkpoint, Placement(["cpu"], "float32", None), 4)
        self._error = error
        self.tried: list[tuple[Backend | None, tuple[FastPath, ...]]] = []

    def _possible_paths(self) -> Sequence[FastPath]:
        return FUSED_PATHS

    def _fast_paths(self, device: str) -> Sequence[FastPath]:
        return self._proven_paths.setdefault(device, FUSED_PATHS[:2])

    def _proven(
        self,
        capacity: Capacity,
        device: str,
        backend: Backend | None,
        fast_paths: Sequence[FastPath],
    ) -> Runner:
        self.tried.append((backend, tuple(fast_paths)))
        if fast_paths and self._error:
            raise self._error
        runner = tiny_runner(tiny_model(), backend="graphs")
        runner.fast_paths = tuple(fast_paths)
        return runner


def test_kernels_that_work_together_are_used_and_the_others_named() -> None:
    factory = Factory(None)
    runner = factory.make_warm_runner(CAPACITY, "cuda", 1)
    assert factory.tried == [("graphs", FUSED_PATHS[:2])]
    assert (runner.fast_paths, runner.refused_paths) == (FUSED_PATHS[:2], FUSED_PATHS[2:])


def test_kernels_that_fail_together_are_all_switched_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    factory = Factory(RuntimeError("recorded steps do not work here: out of registers"))
    for _ in range(2):
        runner = factory.make_warm_runner(CAPACITY, "cuda", 1)
        assert (runner.fast_paths, runner.refused_paths) == ((), FUSED_PATHS)
    assert factory.tried == [("graphs", FUSED_PATHS[:2]), (None, ()), (None, ())]
    assert caplog.text.count("out of registers") == 1


def test_a_lost_device_is_no_fault_of_the_kernels() -> None:
    with pytest.raises(DeviceLost):
        Factory(DeviceLost("cuda:0")).make_warm_runner(CAPACITY, "cuda", 1)
