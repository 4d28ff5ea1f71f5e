"""How fast: steps by themselves, with each backend, whole translations, one sentence."""

from __future__ import annotations

import functools
import gc
import statistics
import time
from collections.abc import Callable, Iterator

import torch

from benchmarks.gpu.figures import note
from benchmarks.gpu.models import (
    ZH_EN,
    graphed_step,
    half,
    random_model,
    random_sentences,
    real_runner,
    real_sentences,
    runner_of,
    shapes_for,
)
from model.backends.pytorch.cuda_graphs import GraphedStep
from model.backends.selection import Backend
from model.checkpoint.reference import load_checkpoint
from model.decoding.sentence import Finished, SourceSentence
from model.offline import translate_all
from model.runner import Runner
from service.commands.process import without_collection

_WARM_STEPS = 4
_STEPS = 15
_ROWS = (1, 64, 256, 1024, 4096)
_BACKENDS: tuple[Backend, ...] = ("eager", "graphs")
_BACKEND_CROWDS = {
    "small": ((64, 4), (1, 1), (64, 1), (1024, 1)),
    "opus": ((128, 4), (1, 1), (128, 1)),
}
_CROWDS = {  # slots and beam of the batches that are translated whole
    "small": ((1024, 1), (4096, 1), (256, 4), (1024, 4)),
    "wmt12-1": ((1024, 1), (4096, 1), (256, 4)),
    "opus": ((128, 1), (1024, 1), (128, 4)),
    "nllb600": ((256, 1), (256, 4)),
}
_TINY_CROWDS = ((4, 1), (4, 4))


def wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize(device)


def milliseconds(work: Callable[[], object], device: str) -> float:
    wait(device)
    started = time.perf_counter()
    work()
    wait(device)
    return 1000 * (time.perf_counter() - started)


def ceilings(device: str) -> None:
    size = 8192 if device != "cpu" else 256
    for name, work, amount in _ceilings(device, size):
        work()
        taken = min(milliseconds(work, device) for _ in range(5))
        note("ceiling", of=name, per_second=amount / taken * 1000)


def _ceilings(device: str, size: int) -> Iterator[tuple[str, Callable[[], object], float]]:
    dtype = torch.float16 if device != "cpu" else torch.float32
    one, other = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    yield "float16 product, TFLOP", functools.partial(torch.mm, one, other), 2 * size**3 / 1e12
    large = torch.randn(size, 16 * size, device=device)
    target = torch.empty_like(large)
    yield "copy, TB", functools.partial(target.copy_, large), 2 * large.nbytes / 1e12


def steps(device: str) -> None:
    """Milliseconds of a step with the host and of the device alone, by model, rows and beam; and
    what a copy and a matrix product reach here."""
    ceilings(device)
    for name, config in shapes_for(device).items():
        model = random_model(config, device)
        for rows in _ROWS if device != "cpu" else (1, 4):
            for beam in (1, 4):
                slots = max(1, rows // beam)
                try:
                    runner = runner_of(model, slots, beam, half(device), longest=64)
                    _time_steps(name, "graphs", runner, beam, device)
                except (MemoryError, torch.OutOfMemoryError) as error:
                    note("step", model=name, slots=slots, beam=beam, failed=str(error)[:200])
                _forget()


def backends(device: str) -> None:
    """The same steps operation by operation and recorded."""
    for backend in _BACKENDS:
        for name, crowds in _BACKEND_CROWDS.items():
            if config := shapes_for(device).get(name):
                model = random_model(config, device)
                for slots, beam in crowds:
                    runner = runner_of(model, slots, beam, half(device), backend, longest=64)
                    _time_steps(name, backend, runner, beam, device)
                    _forget()


def _time_steps(name: str, backend: Backend, runner: Runner, beam: int, device: str) -> None:
    sentences = random_sentences(runner._config, runner.max_slots, beam, target=63)
    admission = milliseconds(lambda: runner.admit(sentences), device)
    first = milliseconds(lambda: [runner.step() for _ in range(_WARM_STEPS)], device)
    began = time.thread_time()
    whole = milliseconds(lambda: [runner.step() for _ in range(_STEPS)], device) / _STEPS
    host = 1000 * (time.thread_time() - began) / _STEPS
    note(
        "step", model=name, backend=backend, slots=runner.max_slots, beam=beam, step_ms=whole,
        device_ms=_device_alone(runner, device), host_cpu_ms=host, first_admission_ms=admission,
        first_steps_ms=first, tokens_per_second=1000 * runner.max_slots / whole,
    )  # fmt: skip


def _device_alone(runner: Runner, device: str) -> float | None:
    """Milliseconds of the last recorded step."""
    if not isinstance(runner._decoder.step, GraphedStep):  # type: ignore[attr-defined]
        return None
    latest = next(reversed(graphed_step(runner)._recordings.values())).recorded
    if latest is None:
        return None
    return milliseconds(lambda: [latest.replay() for _ in range(_STEPS)], device) / _STEPS


def throughput(device: str) -> None:
    """Target tokens a second of whole translations: encoding, steps, results."""
    for name, config in shapes_for(device).items():
        model = random_model(config, device)
        for slots, beam in _CROWDS.get(name, _TINY_CROWDS):
            runner = runner_of(model, slots, beam, half(device), longest=64)
            given = random_sentences(config, 4 * slots, beam)
            _time_translation(name, runner, given, beam, device)
            _forget()


def real(device: str) -> None:
    """The bundled model and real sentences: also words a second, as they are between spaces."""
    decode = load_checkpoint(ZH_EN).tokenizer.decode
    crowds = ((1024, 1), (256, 4), (4096, 1), (64, 4)) if device != "cpu" else ((4, 1),)
    for slots, beam in crowds:
        runner = real_runner(device, slots, half(device))
        given = real_sentences(4 * slots, beam)
        results, seconds = _time_translation("zh-en", runner, given, beam, device)
        words = sum(len(decode(one.hypotheses[0].ids).split()) for one in results)
        note("words", model="zh-en", slots=slots, beam=beam, words_per_second=words / seconds)
        _forget()


def single(device: str) -> None:
    """Milliseconds of one sentence of 20 tokens with nobody else there."""
    for name, config in shapes_for(device).items():
        model = random_model(config, device)
        for beam in (1, 4):
            runner = runner_of(model, 1, beam, half(device), longest=64)
            record_encodings(runner)
            given = random_sentences(config, 1, beam, target=20)
            taken = [
                milliseconds(functools.partial(translate_all, runner, given), device)
                for _ in range(9)
            ]
            note("single", model=name, beam=beam, ms=statistics.median(taken[3:]))


def _time_translation(
    name: str, runner: Runner, given: list[SourceSentence], beam: int, device: str
) -> tuple[list[Finished], float]:
    """The second round records the steps that the first one ran; the third one is timed: its
    results and seconds. No garbage is collected meanwhile, as in a server, whose start left none.
    """
    record_encodings(runner)
    translate_all(runner, given)
    translate_all(runner, given)
    with without_collection():
        began, started = time.thread_time(), time.perf_counter()
        results = translate_all(runner, given)
        seconds = time.perf_counter() - started
        host = time.thread_time() - began
    tokens = sum(len(one.hypotheses[0].log_probs) for one in results if one.hypotheses)
    step = graphed_step(runner)
    note(
        "throughput", model=name, slots=runner.max_slots, beam=beam, sentences=len(given),
        tokens_per_second=tokens / seconds, sentences_per_second=len(given) / seconds,
        host_share=host / seconds, recorded=step.num_recorded, refused=step.num_refused,
        reserved_gib=torch.cuda.max_memory_reserved() / 2**30 if device != "cpu" else None,
    )  # fmt: skip
    return results, seconds


def record_encodings(runner: Runner) -> None:
    """As a server does at its start."""
    with runner._decoder.in_use():
        runner._decoder.warm_up()


def _forget() -> None:
    """Give back the memory of a runner that nobody uses any more."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
