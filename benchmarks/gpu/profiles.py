"""Where the time of a step goes: on the device by kernel, on the host by function."""

from __future__ import annotations

import cProfile
import pstats

import torch

from benchmarks.gpu.figures import note
from benchmarks.gpu.models import half, random_model, random_sentences, runner_of, shapes_for
from benchmarks.gpu.speed import record_encodings, wait
from model.network.config import ModelConfig
from model.offline import translate_all
from model.runner import Runner
from service.commands.process import without_collection

_MOST = 14


def profile(device: str) -> None:
    """Kernels of 30 steps, and the host's functions in a whole translation."""
    for name, slots, beam in (("small", 64, 4), ("wmt12-1", 1024, 1), ("opus", 128, 4)):
        config = shapes_for(device).get(name)
        if config is not None:
            _profile(name, config, slots, beam, device)
    if device == "cpu":
        name, config = next(iter(shapes_for(device).items()))
        _profile(name, config, 4, 4, device)


def _profile(name: str, config: ModelConfig, slots: int, beam: int, device: str) -> None:
    runner = runner_of(random_model(config, device), slots, beam, half(device), longest=64)
    given = random_sentences(config, 4 * slots, beam)
    record_encodings(runner)
    for _ in range(2):
        translate_all(runner, given)
    note("kernels", model=name, slots=slots, beam=beam, **_kernels(runner, device))
    profiler = cProfile.Profile()
    with without_collection():
        profiler.runcall(translate_all, runner, given)
    note("functions", model=name, slots=slots, beam=beam, most=_functions(profiler))


def _kernels(runner: Runner, device: str) -> dict[str, object]:
    """Milliseconds a step of the kernels that take most, and how often a step runs them."""
    number = 30 if device != "cpu" else 5
    long = random_sentences(runner._config, runner.max_slots, runner.max_beam_size, target=60)
    runner.admit(long)
    for _ in range(6):
        runner.step()
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device != "cpu":
        activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(number):
            runner.step()
        wait(device)
    while runner.num_running:
        runner.step()
    events = sorted(profiler.key_averages(), key=lambda event: -event.self_device_time_total)
    return {
        "device_ms": sum(one.self_device_time_total for one in events) / 1000 / number,
        "kernels_a_step": sum(one.count for one in events) / number,
        "most": [
            [one.key[:90], one.count / number, one.self_device_time_total / 1000 / number]
            for one in events[:_MOST]
        ],
    }


def _functions(profiler: cProfile.Profile) -> list[list[object]]:
    """The functions that take most by themselves: name, calls, milliseconds."""
    stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    most = sorted(stats.items(), key=lambda item: -item[1][2])[:_MOST]
    return [
        [f"{file.rpartition('/')[2]}:{line} {name}", calls, 1000 * own]
        for (file, line, name), (_, calls, own, _, _) in most
    ]
