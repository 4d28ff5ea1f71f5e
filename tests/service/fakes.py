"""A runner and a tokenizer without torch: a translation is its source in capitals."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import socket
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from model.decoding.confidence import Calibration
from model.decoding.options import DecodingOptions
from model.decoding.search_trace import Fate, SearchCandidate, SearchStep, SearchTrace
from model.decoding.sentence import (
    AttentionTables,
    Finished,
    Hypothesis,
    SourceSentence,
    StepResult,
)
from model.decoding.step_cost import StepCost
from model.network.config import ModelConfig
from model.text.tokenizer import StreamDecoder, Tokenizer
from service.engine.engine import Engine, EngineLimits
from service.engine.engine_runner import EngineRunner
from service.engine.sentence_task import SentenceOutcome
from service.engine.worker import Worker
from service.models.loading import LoadedModel
from service.models.pool import ModelPool
from service.models.pooled import PooledModel
from service.models.sizing import Sizes
from service.observability.metrics import Metrics
from service.processes.engine_server import EngineServer
from service.processes.held_models import LoadedEngine, SharedModels
from service.processes.messages import ModelFiles
from service.processes.questions import Answers
from service.processes.remote_engine import EngineProcess, RemoteEngine
from service.translation.study.inspection import InspectedModel

TAG, EOS = 1, 2
CALIBRATION = Calibration((0.0, 1.0, 0.0, 0.0, 0.0), (0.0, 2.0, 0.0, 0.0, 0.0, 0.0))
FAKE_CONFIG = ModelConfig(
    2**20, 2**20, n_heads=1, n_encoder_layers=1, n_decoder_layers=1, eos_id=EOS, bos_id=TAG
)
PAIRS = (("zh", "en"), ("en", "zh"), ("en", "de"))


class FakeTokenizer(Tokenizer):
    """One id a character. It cannot spell Cyrillic letters."""

    def __init__(self) -> None:
        pass

    @property
    def reserved(self) -> int:
        return 0

    def visible(self, text: str) -> str:
        return text

    def count_unspelled(self, text: str) -> int:
        return sum("\u0400" <= char <= "\u04ff" for char in text)

    def encode_source(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[int]:
        return [TAG, *map(ord, text), EOS]

    def encode_source_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [[*map(ord, text)] for text in texts]

    def target_start(self, target_language: str) -> list[int]:
        return []

    def encode_target_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [list(map(ord, text)) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))

    def target_spans(self, ids: Sequence[int]) -> list[tuple[int, int]]:
        return [(i, i + 1) for i in range(len(ids))]

    def source_tokens(self, ids: Sequence[int]) -> list[str]:
        return list(map(chr, ids))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return list(map(chr, ids))

    def source_spans(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[tuple[int, int]]:
        return [(0, 0), *((i, i + 1) for i in range(len(text))), (0, 0)]

    def stream(self) -> FakeStreamDecoder:
        return FakeStreamDecoder()


class FakeStreamDecoder(StreamDecoder):
    def __init__(self) -> None:
        pass

    def push(self, token: int) -> str:
        return chr(token)


@dataclass
class _Running:
    sentence: SourceSentence
    age: int = 0
    num_streamed: int = 0

    def newly_streamed(self) -> list[int]:
        """One token a step, and those of the steps before it was streamed."""
        first, self.num_streamed = self.num_streamed, self.age
        return list(
            map(ord, "".join(map(chr, self.sentence.ids[first + 1 : self.age + 1])).upper())
        )

    def hypotheses(self, garbled: dict[str, str]) -> list[Hypothesis]:
        """The source in capitals, `garbled`; the k-th best has k stars more."""
        return [self._hypothesis(k, garbled) for k in range(self.sentence.options.n_best)]

    def _hypothesis(self, rank: int, garbled: dict[str, str]) -> Hypothesis:
        text = "".join(map(chr, self.sentence.ids[1:-1])).upper()
        text = "".join(map(chr, self.sentence.prefix)) + text + "*" * rank
        for right, wrong in garbled.items():
            text = text.replace(right, wrong)
        is_aligned = self.sentence.is_aligned and not rank
        attention = np.eye(len(text), len(self.sentence.ids), 1, np.float32)
        return Hypothesis(
            [*map(ord, text)],
            [-0.5] * (len(text) + 1),
            -0.5 - rank,
            "stop",
            attention if is_aligned else None,
        )


class FakeRunner:
    """One token a step, so that a short sentence ends before a long one.

    `gate` closed holds the next step; `fail_next_step` breaks it; a sentence with the character
    `poison` is refused; strings of translations become what `garbled` says.
    """

    def __init__(self, max_slots: int = 4, max_rows: int = 16, max_source_tokens: int = 42) -> None:
        self.max_slots, self.max_rows, self.max_beam_size = max_slots, max_rows, 16
        self.max_source_tokens, self.max_target_tokens = max_source_tokens, 256
        self.running: dict[int, _Running] = {}
        self.admitted: list[list[int]] = []
        self.sentences: list[SourceSentence] = []
        self.sharers: list[int] = []
        self.garbled: dict[str, str] = {}
        self.can_step_subset = True
        self.step_cost: StepCost | None = None
        self.refused_paths: Sequence[str] = ()
        self.gate = threading.Event()
        self.gate.set()
        self.is_stepping = threading.Event()
        self.fail_next_step = self.fail_release = False
        self.poison = ord("☠")
        self.num_steps = self.most_running = self.num_admitted = 0

    @property
    def num_free_slots(self) -> int:
        return self.max_slots - len(self.running)

    @property
    def num_free_rows(self) -> int:
        return self.max_rows - sum(r.sentence.options.beam_size for r in self.running.values())

    def admit(self, sentences: Sequence[SourceSentence]) -> list[int]:
        if any(self.poison in sentence.ids for sentence in sentences):
            raise ValueError("poisoned")
        if any(len(sentence.ids) > self.max_source_tokens for sentence in sentences):
            raise ValueError("too long")
        if any(len(s.prefix) >= s.target_limit(self.max_target_tokens) for s in sentences):
            raise ValueError("the prefix is too long")
        handles = list(range(self.num_admitted, self.num_admitted + len(sentences)))
        self.num_admitted += len(sentences)
        self.admitted += [list(sentence.ids) for sentence in sentences]
        self.sentences += sentences
        self.running |= {h: _Running(s) for h, s in zip(handles, sentences, strict=True)}
        assert self.num_free_slots >= 0
        assert self.num_free_rows >= 0
        return handles

    def share_cores(self, sharers: int) -> None:
        self.sharers.append(sharers)

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        self.is_stepping.set()
        self.gate.wait(timeout=60)
        self.num_steps += 1
        self.most_running = max(self.most_running, len(self.running))
        if self.fail_next_step:
            self.fail_next_step = False
            raise RuntimeError("no step")
        taken = self.running if handles is None else {h: self.running[h] for h in handles}
        for running in taken.values():
            running.age += 1
        streamed = {
            handle: running.newly_streamed()
            for handle, running in taken.items()
            if running.sentence.is_streamed and running.age < len(running.sentence.ids) - 1
        }
        ended = [h for h, r in self.running.items() if r.age >= len(r.sentence.ids)]
        finished = [Finished(h, self.running.pop(h).hypotheses(self.garbled)) for h in ended]
        return StepResult(finished, streamed)

    def stream(self, handle: int) -> None:
        """The tokens of the steps until now come with the next step's."""
        running = self.running[handle]
        running.sentence = replace(running.sentence, is_streamed=True)

    def release(self, handle: int) -> None:
        if self.fail_release:
            raise RuntimeError("no release")
        del self.running[handle]


def fake_attention(source: Sequence[int], target: Sequence[int]) -> AttentionTables:
    """Everything attends to the first one, with one layer and one head."""

    def table(num_rows: int, num_columns: int) -> list[object]:
        return [[[[1.0] + [0.0] * (num_columns - 1)] * num_rows]]

    sizes = len(source), len(target)
    return AttentionTables(
        table(sizes[0], sizes[0]), table(sizes[1], sizes[1]), table(sizes[1], sizes[0])
    )


def fake_search(source: SourceSentence, max_target: int) -> SearchTrace:
    """A beam of two: the capitals are kept and the other hypotheses, which have a star, dropped."""
    ids = [ord(char) for char in "".join(map(chr, source.ids[1:-1])).upper()]
    ends = (*((id_, Fate.KEPT) for id_ in ids), (EOS, Fate.ENDED))
    steps = [
        SearchStep(
            [
                SearchCandidate(0, chr(token), -0.5, -0.5 * age, fate, None if token == EOS else 0),
                SearchCandidate(0, "*", -1.5, -0.5 * age - 1.0, Fate.DROPPED),
            ],
            [[(chr(token), 0.6), ("*", 0.2)]],
        )
        for age, (token, fate) in enumerate(ends, 1)
    ]
    return SearchTrace(steps[:max_target], ids, -0.5, [0] * len(steps))


def fake_model(
    runner: FakeRunner, name: str = "fake", pairs: Sequence[tuple[str, str]] = PAIRS
) -> LoadedModel:
    return LoadedModel(
        name=name,
        pairs=pairs,
        own_codes={"zho_Hans": "zh"},
        decoding=DecodingOptions(),
        tokenizer=FakeTokenizer(),
        make_runners=[lambda: runner],
        max_source_tokens=runner.max_source_tokens,
        sizes=Sizes(runner.max_slots, runner.max_rows),
        max_prefill_tokens=1024,
        device="cpu",
        precision="float32",
        inspected=InspectedModel(FAKE_CONFIG, fake_attention, fake_search),
        confidence={("en", "de"): CALIBRATION},
    )


def sentence(text: str, **options: int) -> SourceSentence:
    values = {"beam_size": 1, **options}
    return SourceSentence(
        FakeTokenizer().encode_source(text, "en"), DecodingOptions.from_dict(values)
    )


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for what another thread or process brings about."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it never came true in {seconds} s"
        time.sleep(0.001)


async def eventually(condition: Callable[[], bool]) -> None:
    """Wait on the event loop for what another thread brings about."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


LIMITS = EngineLimits(1000, max_waiting_tokens=100_000, max_prefill_tokens=1000)


@contextlib.asynccontextmanager
async def engine_of(
    *makers: FakeRunner | Callable[[], EngineRunner],
    metrics: Metrics | None = None,
    busy_workers: set[Worker] | None = None,
    **limits: int,
) -> AsyncGenerator[Engine]:
    """A running engine, with a worker for each runner or what makes its runners; these end their
    steps at the end. `limits`: other ones than LIMITS."""
    runners = [maker for maker in makers if isinstance(maker, FakeRunner)]
    engine = Engine(
        [(lambda r=m: r) if isinstance(m, FakeRunner) else m for m in makers],
        (metrics or Metrics()).of_model("fake"),
        replace(LIMITS, **limits),
        busy_workers,
    )
    engine.start()
    try:
        async with contextlib.AsyncExitStack() as stack:
            yield await stack.enter_async_context(_far(engine)) if _is_far.get() else engine
            for runner in runners:
                runner.gate.set()
    finally:
        for runner in runners:
            runner.gate.set()
        await asyncio.to_thread(engine.stop)


_is_far = contextvars.ContextVar("is_far", default=False)


@contextlib.contextmanager
def far_engines(*, are_far: bool) -> Iterator[None]:
    """Inside the block the sentences of `engine_of` go to its engine over a connection."""
    token = _is_far.set(are_far)
    try:
        yield
    finally:
        _is_far.reset(token)


async def arrived(engine: Engine) -> None:
    """Wait until what was submitted and cancelled until now has arrived at the engine."""
    await asyncio.sleep(0)
    if isinstance(engine, _FarEngine):
        await engine.process.ask(_ECHO, float, 1.0)


_ECHO = "echo"


class _FarEngine(RemoteEngine):
    """What is asked beside translations is asked of the engine itself."""

    def __init__(self, engine: Engine, process: EngineProcess) -> None:
        super().__init__("fake", process.sizes["fake"], [process])
        self._engine, self.process = engine, process

    def refuse_new_work(self) -> None:
        super().refuse_new_work()
        self._engine.refuse_new_work()

    def gauges(self) -> Mapping[str, float]:
        return self._engine.gauges()

    def stop(self) -> None:
        self._engine.stop()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


@contextlib.asynccontextmanager
async def _far(engine: Engine) -> AsyncGenerator[Any]:
    server = server_of(engine, {_ECHO: lambda number: number})
    process = EngineProcess(lambda _: None)
    ours, theirs = socket.socketpair()
    async with server.running():
        await server.serve(theirs)
        await process.connect(ours)
        await eventually(lambda: "fake" in process.ready)
        yield _FarEngine(engine, process)
    await eventually(lambda: not process.is_there)


def server_of(engine: Engine, answers: Answers) -> EngineServer:
    """A server of this engine, which loads no model."""
    pinned = {"fake": LoadedEngine.of(engine, num_bytes=7)}
    return EngineServer(pinned, SharedModels(ModelPool(0, 0), _not_loaded), answers)


def _not_loaded(files: ModelFiles, _: str) -> PooledModel[Any]:
    raise AssertionError(f"{files.name} is loaded")


@contextlib.asynccontextmanager
async def held_engine(
    max_slots: int = 4, **limits: int
) -> AsyncGenerator[tuple[FakeRunner, Engine]]:
    """A running engine of one worker, and its runner, whose steps wait until its gate opens."""
    runner = FakeRunner(max_slots)
    runner.gate.clear()
    async with engine_of(runner, **limits) as engine:
        yield runner, engine


async def emptied(engine: Engine) -> None:
    """Wait until nothing waits and nothing runs. What waits is read first, because it runs next."""
    admission = engine.admission
    await eventually(
        lambda: admission.num_sentences == admission.num_tokens == engine.num_running == 0
    )


def num_restarts(metrics: Metrics, model: str = "fake") -> float:
    """How often an engine of the model died and was rebuilt."""
    value = metrics.registry.get_sample_value(
        "dragoman_engine_restarts_total", labels={"model": model}
    )
    assert value is not None
    return value


def texts_of(outcomes: list[SentenceOutcome]) -> list[str]:
    return [FakeTokenizer().decode(outcome.hypotheses[0].ids) for outcome in outcomes]


class Clock:
    """It stands 100 seconds before the end of a November."""

    seconds = 1_796_083_200.0 - 100

    def __call__(self) -> float:
        return self.seconds
