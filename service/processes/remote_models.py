"""The models as a front end sees them: their engines are in other processes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from logging import DEBUG

from model.backends.shared_files import SharedFiles
from service.engine.batch_loop import BatchEntry
from service.engine.pooled_engine import not_running
from service.errors import Draining, NotReady
from service.models.loading import plan_elsewhere
from service.models.pool import ModelPool
from service.models.registry import ModelRegistry
from service.models.served import Batches, ModelState
from service.models.store import ModelStore
from service.models.versions import ModelShare, ModelVersion
from service.observability.merging import summed
from service.observability.metrics import Metrics
from service.processes.control import ChildEnd, Peer
from service.processes.engine_processes import EngineProcesses
from service.processes.gathered_metrics import Asks, GatheredMetrics, answers, families
from service.processes.remote_hub import RemoteHub
from service.processes.remote_versions import RemoteTranslator, RemoteVersions
from service.processes.supervisor import REFUSED
from service.processes.topology import HUB
from service.settings import Settings
from service.signals import end_after_failure
from service.translation.translator import TranslationModel


class RemoteModels(ModelRegistry[RemoteTranslator]):
    """Models that all engine processes have in memory, some from the start, others while the pool
    of this process has them loaded. Used on the event loop."""

    def __init__(
        self,
        settings: Settings,
        pinned: Sequence[TranslationModel],
        metrics: Metrics,
        own_name: str,
        engines: Mapping[str, Settings],
        line: ChildEnd,
        commands: Mapping[str, Callable[[], None]],
        hub: RemoteHub | None = None,
        files: SharedFiles | None = None,
    ) -> None:
        """`pinned`: what the engines have from the start; `own_name`: of this process, in metrics;
        `engines`: the settings of each engine process, all of which it waits for at first. `line`:
        to the parent, which connects the processes and gives `commands`; `hub`: what gives the
        metrics, if there are several front ends; `files`: where the engines have weights once.
        Raises StartupError."""
        self._own_name = own_name
        self._line, self._commands, self._hub = line, commands, hub
        self._processes = EngineProcesses([*engines], self._lose)
        self._gathered = GatheredMetrics([*engines], lambda: self.pool.engines)
        of_one = next(iter(engines.values()))
        limit_of_one = of_one.memory_limit or sys.maxsize  # engines on a GPU know theirs
        share = ModelShare(of_one, limit_of_one, len(pinned), files, plan_elsewhere)
        self._versions = RemoteVersions(share, len(engines), metrics, self._processes)
        store = ModelStore(settings.models_dir) if settings.models_dir else None
        own = [*map(self._versions.of_setting, pinned)]
        of_own = sum(version.num_bytes for version in own)
        limit = len(engines) * limit_of_one if store else of_own
        if hub is not None:
            hub.answer("states", self.own_states)
            hub.answer("look", self.look_again)
        pool = ModelPool[RemoteTranslator](
            limit,
            settings.max_waiting_sentences,
            log_level=DEBUG,
            reserve=self._versions.reserved,
        )
        super().__init__(settings, self._versions, own, store, pool, metrics)

    async def connect(self, peer: Peer, connected: socket.socket) -> None:
        """Work with the process at the other end of this socket until it ends."""
        if self._hub is not None and peer.name == HUB:
            await self._hub.connect(connected, lambda: self._line.say_lost(peer))
        else:
            await self._processes.connect(peer, connected, self._note_end)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Wait until all other processes are there, and have what never leaves in memory."""
        self._line.follow(self.connect, self._commands)
        await self._processes.are_there.wait()
        if self._hub is not None:
            await self._hub.is_there.wait()
        self._versions.start()
        for version in self._own:
            version.pooled.loadable.num_bytes = self._versions.pinned_bytes(version.name)
            self.pool.load_now(version.pooled)
        async with super().running():
            await self._load_pinned()
            yield
        self._processes.close()
        if self._hub is not None:
            self._hub.close()

    def require_ready(self) -> None:
        super().require_ready()
        if not self._processes.there:
            raise not_running()

    async def stop(self) -> None:
        self.refuse_new_work()
        for process in self._processes.there.values():
            process.fail_all(Draining())

    async def states(self) -> list[ModelState]:
        """As all front ends see them."""
        if self._hub is None:
            return self.own_states()
        states: list[ModelState] = await self._hub.ask("states", list[ModelState])
        return states

    async def batches(self, since: float) -> Batches:
        entries: dict[str, list[Sequence[BatchEntry]]] = defaultdict(list)
        num_waiting = Counter[str]()
        for told in (await answers(self._asks(), "batches", Batches, since)).values():
            for name, own in told.entries.items():
                entries[name] += own
                num_waiting[name] += told.num_waiting[name]
        return Batches(entries, num_waiting)

    async def render_metrics(self) -> bytes:
        if self._hub is not None:
            return await self._hub.render_metrics()
        own = {self._own_name: [*self._metrics.registry.collect()]}
        return await self._gathered.render(self._asks(), own)

    async def render_engines(self) -> bytes:
        return summed(await families(self._asks(), "engines"))

    async def _load_pinned(self) -> None:
        """Load the models of the store that never leave. If one cannot be loaded, the process
        ends, because uvicorn would show where and not only why."""
        for version in self.pinned:
            if version.pooled.resident is None:
                try:
                    await self.pool.load(version.pooled)
                except NotReady:
                    reason = f"{version.name}: {version.pooled.failure}"
                    await asyncio.to_thread(end_after_failure, reason, REFUSED)

    async def _offer_version(self, new: ModelVersion[RemoteTranslator]) -> bool:
        """The other front ends then take the version, too, even if they could not load it."""
        is_offered = await super()._offer_version(new)
        if is_offered and self._hub is not None:
            self._hub.tell("look", new.name)
        return is_offered

    def _note_end(self, peer: Peer) -> None:
        """An engine process has ended, or the connection to it."""
        self._line.say_lost(peer)
        if peer.name not in self._processes.there:
            self._gathered.end(peer)

    def _lose(self, key: str) -> None:
        """A model cannot be loaded again, or others need its memory: it leaves all processes until
        a request asks for it."""
        for name, translator in self.pool.loaded.items():
            if translator.engine.model == key:
                self.pool.let_go(self.pool.models[name])

    def _asks(self) -> Asks:
        return {name: process.ask for name, process in self._processes.there.items()}
