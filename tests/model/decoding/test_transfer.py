"""Arrays that reach the device in one copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch._subclasses import FakeTensorMode

from model.decoding import transfer
from model.decoding.transfer import DeviceToHost, Transfer

CPU = torch.device("cpu")
ARRAYS: list[NDArray[Any]] = [
    np.array([[3, -5, 2**62]], np.int64),
    np.array([True, False, True]),
    np.zeros((0, 4), np.int64),
    np.array([[0.5], [-1e30], [float("inf")]], np.float32),
    np.arange(12, dtype=np.int64).reshape(3, 4).T,
]


def test_arrays_of_any_type_and_size_arrive_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[int] = []
    to_device = transfer.to_device

    def counted(values: NDArray[Any], device: torch.device) -> Tensor:
        copies.append(values.nbytes)
        return to_device(values, device)

    monkeypatch.setattr(transfer, "to_device", counted)
    arrived: list[Tensor] = []
    one = Transfer(CPU)
    one.add(lambda *tensors: arrived.extend(tensors), *ARRAYS[:3])
    one.add(lambda *tensors: arrived.extend(tensors), *ARRAYS[3:])
    assert copies == []
    one.run()
    assert len(copies) == 1
    for array, tensor in zip(ARRAYS, arrived, strict=True):
        assert np.array_equal(array, tensor.numpy())
        assert torch.from_numpy(array).dtype == tensor.dtype


def test_parts_are_used_once_and_in_the_order_of_their_addition() -> None:
    order: list[int] = []
    one = Transfer(CPU)
    for number in range(3):
        one.add(lambda tensor: order.append(int(tensor)), np.array(number))
    one.run()
    one.run()
    assert order == [0, 1, 2]


def test_what_changes_after_it_was_added_is_the_callers_to_avoid_but_not_after_the_run() -> None:
    array, arrived = np.array([1, 2]), list[Tensor]()
    one = Transfer(CPU)
    one.add(arrived.append, array)
    one.run()
    array[0] = 9
    assert arrived[0].tolist() == [1, 2]


def test_nothing_to_send_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "to_device", None)
    Transfer(CPU).run()


class Event:
    """Of CUDA: one that blocks lets the host's core sleep, others use it up."""

    def __init__(self, blocking: bool = False) -> None:
        self.calls = ["sleep" if blocking else "spin"]

    def record(self) -> None:
        self.calls.append("record")

    def synchronize(self) -> None:
        self.calls.append("wait")


def test_a_core_sleeps_while_it_waits_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = []

    def made(blocking: bool = False) -> Event:
        events.append(Event(blocking))
        return events[-1]

    monkeypatch.setattr(torch.cuda, "Event", made)
    with FakeTensorMode():
        found = DeviceToHost([torch.zeros(2, device="cuda")], lambda copy: copy).wait()
    assert found.device == CPU
    assert [event.calls for event in events] == [["sleep", "record", "wait"]]
