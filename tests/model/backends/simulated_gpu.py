"""A CPU that behaves like an asynchronous GPU with CUDA graphs.

Every tensor operation is queued on one stream and done later. A recording has no effect, a replay
repeats the recorded operations on the same memory, and what a graph left in its memory is
overwritten before another graph runs. Memory that is not written yet holds NaN or absurd numbers.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from model.backends import cuda_graphs, torch_eager
from model.backends.cuda_graphs import GraphedStep
from model.backends.recording import Recorded
from model.backends.source_encoder import RecordedEncoder
from model.backends.torch_eager import EagerNetwork
from model.decoding import alignment, network_interface, search_state, step, transfer
from model.decoding.step import Outcome
from model.runner import Runner

ABSURD = 10**12 + 7


class Stream:
    """The queue of operations; done in order, at the latest when someone waits."""

    def __init__(self, seed: int, eagerness: float) -> None:
        """`eagerness`: how often the device has done some work when more is queued, 0 to 1."""
        self._queue: list[Callable[[], object] | None] = []
        self._num_done = 0
        self._rng, self._eagerness = random.Random(seed), eagerness
        self.most_queued = 0

    def put(self, operation: Callable[[], object]) -> int:
        """Queue an operation -> its end, for `run_to`."""
        self._queue.append(operation)
        end = len(self._queue)
        self.most_queued = max(self.most_queued, end - self._num_done)
        if self._rng.random() < self._eagerness:
            self.run_to(self._rng.randint(self._num_done, end))
        return end

    def run_to(self, end: int) -> None:
        with undispatched():
            while self._num_done < end:
                operation, self._queue[self._num_done] = self._queue[self._num_done], None
                self._num_done += 1
                assert operation is not None
                operation()

    def flush(self) -> None:
        self.run_to(len(self._queue))


class Graph:
    """Recorded operations: their kind, function, arguments and outputs."""

    def __init__(self) -> None:
        self.operations: list[tuple[str, Any, Any, Any, Any]] = []
        self.kept: set[int] = set()
        """Memory that the host may still read after the next graph ran."""

    def run(self) -> None:
        for kind, function, args, kwargs, out in self.operations:
            if kind == "view":
                continue
            result = function(*args, **kwargs)
            if kind == "new":
                copy_all(result, out)

    def trash(self) -> None:
        for kind, _, _, _, out in self.operations:
            for tensor in tensors_of(out) if kind == "new" else ():
                if tensor.untyped_storage()._cdata not in self.kept:
                    spoil(tensor)


class Device(TorchDispatchMode):
    """Queues every operation; while `recording` is set, notes it instead."""

    def __init__(self, stream: Stream) -> None:
        super().__init__()
        self.stream = stream
        self.recording: Graph | None = None
        self.num_waits = 0
        """Operations whose result the host needed, so that it waited."""

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if str(function).startswith("prim"):
            return function(*args, **kwargs)
        if self.recording is not None:
            return self._record(self.recording, function, args, kwargs)
        if function._schema.is_mutable:
            self.stream.put(lambda: function(*args, **kwargs))
            return args[0]
        outline = self._outline(function, args, kwargs)
        if outline is None:
            self.num_waits += 1
            self.stream.flush()
            return function(*args, **kwargs)
        out, is_view = outline
        if is_view:
            return function(*args, **kwargs)
        with undispatched():
            real = tree_map(lambda t: spoiled_like(t) if isinstance(t, Tensor) else t, out)
        self.stream.put(lambda: copy_all(function(*args, **kwargs), real))
        return real

    def _record(self, graph: Graph, function: Any, args: Any, kwargs: Any) -> Any:
        inputs = storages((args, kwargs))
        out = function(*args, **kwargs)
        if not tensors_of(out):
            raise RuntimeError(f"operation not permitted when stream is capturing: {function}")
        is_view = bool(storages(out) & inputs)
        kind = "changes" if function._schema.is_mutable else "view" if is_view else "new"
        graph.operations.append((kind, function, args, kwargs, out))
        return out

    def _outline(self, function: Any, args: Any, kwargs: Any) -> tuple[Any, bool] | None:
        """The outputs without numbers, and whether they are views; None if they need numbers."""
        known: dict[int, Tensor] = {}

        def outlined(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            empty = torch.empty_strided
            return known.setdefault(
                id(value), empty(value.size(), value.stride(), dtype=value.dtype, device="meta")
            )

        given, named = tree_map(outlined, (args, kwargs))
        if "device" in named:
            named["device"] = torch.device("meta")
        try:
            out = function(*given, **named)
        except (NotImplementedError, RuntimeError):
            if "scaled_dot" not in str(function):
                return None
            out = torch.empty(args[0].shape, device="meta", dtype=args[0].dtype)
        if not tensors_of(out):
            return None
        return out, bool(storages(out) & {t.untyped_storage()._cdata for t in known.values()})


class SimulatedRecorder:
    """Records on the simulated device; a share of the recordings fails."""

    def __init__(
        self, device: Device, state: Callable[[], list[Tensor]], rng: random.Random, failing: float
    ) -> None:
        self._device, self._state, self._rng, self._failing = device, state, rng, failing
        self._graphs: list[Graph] = []
        self.num_replays = 0
        self.num_failed = 0

    def record(self, run: Callable[[], Outcome]) -> Recorded:
        self._device.stream.flush()
        graph = Graph()
        with undispatched():
            saved = [(tensor, tensor.clone()) for tensor in self._state()]
        self._device.recording = graph
        try:
            outcome = run()
            if self._rng.random() < self._failing:
                self.num_failed += 1
                raise RuntimeError("operation not permitted when stream is capturing")
        finally:
            self._device.recording = None
            with undispatched():
                for tensor, numbers in saved:
                    tensor.copy_(numbers)
        graph.kept = storages(outcome)
        with undispatched():
            graph.trash()
        self._graphs.append(graph)
        return Recorded(lambda: self._replay(graph), outcome)

    def _replay(self, graph: Graph) -> None:
        self.num_replays += 1

        def run() -> None:
            for other in self._graphs:
                if other is not graph:
                    other.trash()
            graph.run()

        self._device.stream.put(run)


@contextlib.contextmanager
def simulated_gpu(
    monkeypatch: pytest.MonkeyPatch, stream: Stream, make_runner: Callable[[], Runner]
) -> Iterator[tuple[Runner, Device]]:
    """A runner of the "graphs" backend on the simulated device, which records nothing yet."""
    device = Device(stream)

    def to_device(
        values: Sequence[Any], _: torch.device, dtype: torch.dtype | None = None
    ) -> Tensor:
        with undispatched():
            host = torch.as_tensor(values, dtype=dtype).clone()
            out = spoil(torch.empty_like(host))
        stream.put(lambda: out.copy_(host))
        return out

    class DeviceToHost:
        """A copy in stream order."""

        def __init__(self, tensors: Sequence[Tensor], read: Callable[..., Any]) -> None:
            self._read = read
            with undispatched():
                self._copies = [spoil(torch.empty(t.shape, dtype=t.dtype)) for t in tensors]
            copies = self._copies
            self._end = stream.put(lambda: copy_all(list(tensors), copies))

        def wait(self) -> Any:
            stream.run_to(self._end)
            with undispatched():
                return self._read(*(copy.clone() for copy in self._copies))

    for module in (
        cuda_graphs,
        torch_eager,
        network_interface,
        search_state,
        step,
        alignment,
        transfer,
    ):
        for name, replacement in (("to_device", to_device), ("DeviceToHost", DeviceToHost)):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, replacement)
    runner = make_runner()
    with device:
        yield runner, device
    stream.flush()


def record_on(
    runner: Runner, device: Device, rng: random.Random, failing: float
) -> SimulatedRecorder:
    """Make a runner record its steps and encodings on the simulated device."""
    graphed, network = runner._step, network_of(runner)
    assert isinstance(graphed, GraphedStep)
    rows, memory = network._rows, network._memory
    caches = [rows.keys, rows.values, memory.keys, memory.values, memory.lengths]
    recorder = SimulatedRecorder(device, lambda: [*runner._search.tables, *caches], rng, failing)
    graphed._recorder = recorder
    if isinstance(network._encoder, RecordedEncoder):
        network._encoder._recorder = recorder
    return recorder


def network_of(runner: Runner) -> EagerNetwork:
    network = runner._network
    assert isinstance(network, EagerNetwork)
    return network


@contextlib.contextmanager
def undispatched() -> Iterator[None]:
    """Compute at once, unseen by the simulated device."""
    with torch._C._DisableTorchDispatch(), torch.inference_mode():
        yield


def tensors_of(values: Any) -> list[Tensor]:
    return [value for value in tree_flatten(values)[0] if isinstance(value, Tensor)]


def storages(values: Any) -> set[int]:
    return {tensor.untyped_storage()._cdata for tensor in tensors_of(values)}


def copy_all(sources: Any, targets: Any) -> None:
    for source, target in zip(tensors_of(sources), tensors_of(targets), strict=True):
        target.copy_(source)


def spoiled_like(tensor: Tensor) -> Tensor:
    return spoil(torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype))


def spoil(tensor: Tensor) -> Tensor:
    """Fill with numbers that nobody may use."""
    with undispatched():
        if tensor.is_floating_point():
            return tensor.fill_(float("nan"))
        if tensor.dtype == torch.uint8:
            return tensor.fill_(0xAA)
        return tensor.fill_(True if tensor.dtype == torch.bool else ABSURD)
