"""The models of the setting `model` as a front end sees them: their engines are in other
processes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from prometheus_client import Metric

from service.engine.batch_loop import BatchEntry
from service.engine.ticket import Ticket
from service.errors import Draining, InvalidField, NotReady
from service.models.loading import LoadedModel
from service.models.served import Batches, ModelState
from service.models.versions import offered_model
from service.observability.merging import kept, summed
from service.observability.metrics import Metrics, not_ready
from service.processes.control import ChildEnd
from service.processes.messages import FamilyFields, family_of
from service.processes.remote_engine import EngineProcess, RemoteEngine
from service.translation.dispatcher import Dispatcher
from service.translation.leases import ModelChanged
from service.translation.translator import Translator

_ANSWER_SECONDS = 2.0
"""An engine process that does not answer in this time is left out of a page."""


class RemoteModels:
    """Models that all engine processes have in memory. Used on the event loop."""

    def __init__(
        self,
        models: Sequence[LoadedModel],
        metrics: Metrics,
        max_beam_size: int,
        own_name: str,
        engine_names: Sequence[str],
        line: ChildEnd,
        commands: Mapping[str, Callable[[], None]],
    ) -> None:
        """`own_name`: of this process, in metrics; `engine_names`: of those to wait for at first.
        `line`: to the parent, which connects the processes and gives `commands`."""
        self._models = {model.name: model for model in models}
        self._metrics, self._own_name = metrics, own_name
        self._engine_names, self._line, self._commands = engine_names, line, commands
        self._processes: dict[str, EngineProcess] = {}
        """Those that are there, by name."""
        self._told: dict[str, list[Metric]] = {}
        """What each told of its metrics last."""
        self._ended: list[Metric] = []
        """What stays of the metrics of those that have ended."""
        self._are_there = asyncio.Event()
        self._translators: dict[str, Translator] = {}
        self._engines: dict[str, RemoteEngine] = {}
        self._num_leases: Counter[str] = Counter()
        self._is_draining = False
        self._offered = [offered_model(model) for model in models]
        self.dispatcher = Dispatcher(self._offered, self, max_beam_size)

    @property
    def names(self) -> Sequence[str]:
        return list(self._models)

    @property
    def may_change(self) -> bool:
        return False

    async def connect(self, name: str, connected: socket.socket) -> None:
        """Work with the engine process at the other end of this socket until it ends."""

        def change(process: EngineProcess) -> None:
            if process.sizes:
                self._processes[name] = process
                self._enter()
            elif self._processes.get(name) is process:
                del self._processes[name]
                self._ended = kept([self._ended, self._told.pop(name, [])])
            for engine in self._engines.values():
                engine.renew()

        await EngineProcess(change).connect(connected)

    def _enter(self) -> None:
        """Make the translators once there are engines."""
        if not self._translators:
            for name, model in self._models.items():
                engine = RemoteEngine(name, self._processes.values())
                self._engines[name] = engine
                self._translators[name] = Translator(model, engine)
        if len(self._processes) == len(self._engine_names):
            self._are_there.set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Wait until all engine processes are there."""
        self._line.follow(self.connect, self._commands)
        await self._are_there.wait()
        self._line.say_ready()
        yield
        for process in self._processes.values():
            process.close()

    @contextlib.asynccontextmanager
    async def lease(self, names: Sequence[str], _: Ticket) -> AsyncGenerator[Sequence[Translator]]:
        if self._is_draining:
            raise Draining()
        for name in names:
            if name not in self._translators:
                raise ModelChanged(name)
        self._num_leases.update(names)
        try:
            yield [self._translators[name] for name in names]
        finally:
            self._num_leases.subtract(names)

    def require_room(self, client: str) -> None:
        """The engine processes count what waits, and refuse what has no room when they get it."""
        self.require_ready()

    def require_ready(self) -> None:
        if self._is_draining:
            raise Draining()
        for name in self._models:
            if name not in self._engines or not self._engines[name].is_ready:
                raise NotReady(f"the engine of {name} is not running; try again later")

    def refuse_new_work(self) -> None:
        self._is_draining = True
        for engine in self._engines.values():
            engine.is_draining = True

    async def stop(self) -> None:
        self.refuse_new_work()
        for process in self._processes.values():
            process.fail_all(Draining())

    def states(self) -> list[ModelState]:
        return [
            ModelState(
                offered.name,
                "loaded",
                is_pinned=True,
                num_bytes=self._models[offered.name].num_bytes,
                num_leases=self._num_leases[offered.name],
                sources=offered.sources,
                targets=sorted({target for _, target in offered.pairs}),
            )
            for offered in self._offered
        ]

    async def reload(self, name: str) -> ModelState:
        raise InvalidField("only models of a store are loaded again (setting models_dir)")

    async def batches(self, since: float) -> Batches:
        entries: dict[str, list[list[BatchEntry]]] = {name: [] for name in self._models}
        num_waiting = Counter(dict.fromkeys(self._models, 0))
        for told in (await self._ask_all("batches", Batches, since)).values():
            for name, workers in told.entries.items():
                entries[name] += workers
            num_waiting.update(told.num_waiting)
        return Batches(entries, num_waiting)

    async def render_metrics(self) -> bytes:
        told = await self._families("metrics")
        self._told.update(told)
        missing = [name for name in self._engine_names if name not in told]
        return summed(
            {
                self._own_name: self._metrics.registry.collect(),
                **told,
                **{name: [not_ready(self._models)] for name in missing},
                "": self._ended,
            }
        )

    async def render_engines(self) -> bytes:
        return summed(await self._families("engines"))

    async def _families(self, question: str) -> dict[str, list[Metric]]:
        """The metrics of the engine processes, by name."""
        told = await self._ask_all(question, list[FamilyFields])
        return {name: [*map(family_of, families)] for name, families in told.items()}

    async def _ask_all(self, question: str, kind: Any, argument: float = 0.0) -> dict[str, Any]:
        """The answers of those that are there and answer, by name."""
        processes = dict(self._processes)
        asked = (process.ask(question, kind, argument) for process in processes.values())
        timed = (asyncio.wait_for(one, _ANSWER_SECONDS) for one in asked)
        answers = await asyncio.gather(*timed, return_exceptions=True)
        return {
            name: answer
            for name, answer in zip(processes, answers, strict=True)
            if not isinstance(answer, BaseException)
        }
