"""The models of the setting `model` as a front end sees them: their engines are in other
processes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

from service.engine.batch_loop import BatchEntry
from service.engine.ticket import Ticket
from service.errors import Draining, InvalidField, NotReady
from service.models.served import Batches, ModelState
from service.models.versions import offered_model
from service.observability.merging import summed
from service.observability.metrics import Metrics
from service.processes.control import ChildEnd, Peer
from service.processes.gathered_metrics import Asks, GatheredMetrics, answers, families
from service.processes.remote_engine import EngineProcess, RemoteEngine
from service.processes.remote_hub import RemoteHub
from service.processes.topology import HUB
from service.translation.dispatcher import Dispatcher
from service.translation.leases import ModelChanged
from service.translation.translator import TranslationModel, Translator


class RemoteModels:
    """Models that all engine processes have in memory. Used on the event loop."""

    def __init__(
        self,
        models: Sequence[TranslationModel],
        metrics: Metrics,
        max_beam_size: int,
        own_name: str,
        engine_names: Sequence[str],
        line: ChildEnd,
        commands: Mapping[str, Callable[[], None]],
        hub: RemoteHub | None = None,
    ) -> None:
        """`own_name`: of this process, in metrics; `engine_names`: of those to wait for at first.
        `line`: to the parent, which connects the processes and gives `commands`; `hub`: what gives
        the metrics, if there are several front ends."""
        self._models = {model.name: model for model in models}
        self._metrics, self._own_name = metrics, own_name
        self._engine_names, self._line, self._commands = engine_names, line, commands
        self._hub = hub
        self._processes: dict[str, EngineProcess] = {}
        """Those that are there, by name."""
        self._gathered = GatheredMetrics(engine_names, self.names)
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

    async def connect(self, peer: Peer, connected: socket.socket) -> None:
        """Work with the process at the other end of this socket until it ends."""

        def change(process: EngineProcess) -> None:
            if process.sizes:
                self._processes[peer.name] = process
                self._enter()
            else:
                self._line.say_lost(peer)
                if self._processes.get(peer.name) is process:
                    del self._processes[peer.name]
                    self._gathered.end(peer.name)
            for engine in self._engines.values():
                engine.renew()

        if self._hub is not None and peer.name == HUB:
            await self._hub.connect(connected, lambda: self._line.say_lost(peer))
        else:
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
        """Wait until all other processes are there."""
        self._line.follow(self.connect, self._commands)
        await self._are_there.wait()
        if self._hub is not None:
            await self._hub.is_there.wait()
        self._line.say_ready()
        yield
        for process in self._processes.values():
            process.close()
        if self._hub is not None:
            self._hub.close()

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
                num_bytes=self._num_bytes(offered.name),
                num_leases=self._num_leases[offered.name],
                sources=offered.sources,
                targets=sorted({target for _, target in offered.pairs}),
            )
            for offered in self._offered
        ]

    def _num_bytes(self, name: str) -> int:
        """Of a model in one process."""
        return max((one.sizes[name].num_bytes for one in self._processes.values()), default=0)

    async def reload(self, name: str) -> ModelState:
        raise InvalidField("only models of a store are loaded again (setting models_dir)")

    async def batches(self, since: float) -> Batches:
        entries: dict[str, list[list[BatchEntry]]] = {name: [] for name in self._models}
        num_waiting = Counter(dict.fromkeys(self._models, 0))
        for told in (await answers(self._asks(), "batches", Batches, since)).values():
            for name, workers in told.entries.items():
                entries[name] += workers
            num_waiting.update(told.num_waiting)
        return Batches(entries, num_waiting)

    async def render_metrics(self) -> bytes:
        if self._hub is not None:
            return await self._hub.render_metrics()
        own = {self._own_name: [*self._metrics.registry.collect()]}
        return await self._gathered.render(self._asks(), own)

    async def render_engines(self) -> bytes:
        return summed(await families(self._asks(), "engines"))

    def _asks(self) -> Asks:
        return {name: process.ask for name, process in self._processes.items()}
