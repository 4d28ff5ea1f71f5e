"""How fast: encoder, recordings, steps, throughput, and where a step's time goes."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable

import torch

from benchmarks.gpu.figures import note
from benchmarks.gpu.models import (
    graphed_step,
    half,
    random_model,
    random_sentences,
    real_runner,
    real_sentences,
    runner_of,
    shapes_for,
)
from model.decoding.options import DecodingOptions
from model.offline import translate_all
from model.runner import Runner

_WARM_STEPS = 4
_STEPS = 15


def wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize(device)


def milliseconds(work: Callable[[], object], device: str) -> float:
    wait(device)
    started = time.perf_counter()
    work()
    wait(device)
    return 1000 * (time.perf_counter() - started)


def encode(device: str) -> None:
    """Thirty shapes that are new each, without cuDNN's attention as served, and with it."""
    for name, config in list(shapes_for(device).items())[:2]:
        model = random_model(config, device)
        model = model.half() if device != "cpu" else model
        for is_cudnn in (False, True):
            torch.backends.cuda.enable_cudnn_sdp(is_cudnn)
            sizes = [(3 + i, 9 + i) if is_cudnn else (2 + i, 10 + i) for i in range(30)]
            with torch.inference_mode():
                model.encode(torch.full((1, 8), 11, device=device))
                taken = [
                    milliseconds(functools.partial(model.encode, tokens), device)
                    for tokens in (torch.full(size, 11, device=device) for size in sizes)
                ]
            note(
                "encode", model=name, cudnn=is_cudnn, median_ms=statistics.median(taken),
                most_ms=max(taken),
            )  # fmt: skip
    torch.backends.cuda.enable_cudnn_sdp(False)


def recording(device: str) -> None:
    """Seconds and memory of a warm-up."""
    for name, config in list(shapes_for(device).items())[:3]:
        runner = runner_of(random_model(config, device), 64, 4, half(device))
        before = _reserved(device)
        started = time.perf_counter()
        runner.warm_up([DecodingOptions(beam_size=4)])
        wait(device)
        graphed = graphed_step(runner)
        note(
            "recording", model=name, seconds=time.perf_counter() - started,
            recorded=graphed.num_recorded, refused=graphed.num_refused,
            mib=(_reserved(device) - before) / 2**20,
        )  # fmt: skip


def replay(device: str) -> None:
    """Milliseconds of a step, with the host and of the device alone."""
    crowds = (1, 64, 256, 1024) if device != "cpu" else (1, 4)
    for name, config in shapes_for(device).items():
        model = random_model(config, device)
        for slots in crowds:
            for beam in (1, 4):
                if slots * beam <= 1024:
                    _time_steps(name, runner_of(model, slots, beam, half(device)), beam, device)
    if device != "cpu":  # a CPU has no graphs whose operations are to be fused
        name, config = next(iter(shapes_for(device).items()))
        runner = runner_of(random_model(config, device), 64, 4, half(device), "compiled")
        _time_steps(f"{name}, compiled", runner, 4, device)


def _time_steps(name: str, runner: Runner, beam: int, device: str) -> None:
    config = runner._config
    sentences = random_sentences(config, runner.max_slots, beam, target=64)
    admission = milliseconds(lambda: runner.admit(sentences), device)
    for _ in range(_WARM_STEPS):
        runner.step()
    whole = milliseconds(lambda: [runner.step() for _ in range(_STEPS)], device) / _STEPS
    graphed = graphed_step(runner)
    latest = next(reversed(graphed._recordings.values())).recorded
    alone = None
    if latest is not None:
        alone = milliseconds(lambda: [latest.replay() for _ in range(_STEPS)], device) / _STEPS
    note(
        "replay", model=name, slots=runner.max_slots, beam=beam, step_ms=whole, device_ms=alone,
        first_admission_ms=admission,
    )  # fmt: skip


def throughput(device: str) -> None:
    """Words a second of the model of WMT's efficiency tasks, greedy; and one sentence alone."""
    name, config = list(shapes_for(device).items())[min(1, len(shapes_for(device)) - 1)]
    model = random_model(config, device)
    for slots in (64, 256, 1024) if device != "cpu" else (4,):
        runner = runner_of(model, slots, 1, half(device))
        given = random_sentences(config, 8 * slots, 1)
        translate_all(runner, given)
        seconds = milliseconds(functools.partial(translate_all, runner, given), device) / 1000
        note("throughput", model=name, slots=slots, words_per_second=len(given) * 20 / seconds)
    for beam in (1, 4):
        runner = real_runner(device, 1, half(device))
        short = min(real_sentences(50, beam), key=lambda sentence: len(sentence.ids))
        taken = []
        for _ in range(12):
            taken.append(milliseconds(functools.partial(translate_all, runner, [short]), device))
        note("one sentence", beam=beam, tokens=len(short.ids), ms=statistics.median(taken[6:]))


def profile(device: str) -> None:
    """The host's and the device's time of 200 steps, and the kernels that take most."""
    name, config = next(iter(shapes_for(device).items()))
    runner = runner_of(random_model(config, device), 64, 4, half(device))
    given = random_sentences(config, 256, 4)
    translate_all(runner, given)
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device != "cpu":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    runner.admit(given[:64])
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(200 if device != "cpu" else 10):
            if not runner.num_running:
                runner.admit(given[:64])
            runner.step()
        wait(device)
    events = profiler.key_averages()
    kernels = sorted(events, key=lambda event: -event.self_device_time_total)[:12]
    note(
        "profile", model=name,
        host_ms=sum(event.self_cpu_time_total for event in events) / 1000,
        device_ms=sum(event.self_device_time_total for event in events) / 1000,
        most=[[kernel.key[:60], kernel.self_device_time_total / 1000] for kernel in kernels],
    )  # fmt: skip


def _reserved(device: str) -> int:
    return torch.cuda.memory_reserved(device) if device != "cpu" else 0
