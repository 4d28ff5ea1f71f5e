"""The models in memory: one is loaded when a request needs it, and leaves when another needs its
memory or when it is not offered any more.

    request ── lease ──> all in memory: at once
                └─────> waits in a queue ── the head's models are loaded, one after another
                                         └─ what became complete is granted at each load

A lease keeps all models of a request in memory until it ends. Only the head of the queue holds
models while it waits, so two requests never wait for each other. Everything runs on the event loop,
except `load`, which runs in one thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from logging import INFO
from typing import Generic, TypeVar

from model.backends.memory import give_memory_back
from service.engine.pooled_engine import PooledEngine
from service.engine.ticket import Ticket
from service.engine.worker import lower_own_priority
from service.errors import Draining, Loading, ServiceError
from service.exhaustion import in_thread_or_here
from service.models.pooled import (
    LeaseRequest,
    LoadedT,
    LoadRate,
    PooledModel,
    Reserve,
    Resident,
    ask_oldest_to_leave,
    cannot_load,
    changed,
    hold,
    measure,
)
from service.models.sizing import shown_bytes
from service.translation.leases import ModelChanged

_logger = logging.getLogger(__name__)
_AFTER_FAILURE_SECONDS = 5.0
_Result = TypeVar("_Result")


class ModelPool(Generic[LoadedT]):
    """Models within a memory limit, in bytes."""

    def __init__(
        self,
        limit: int,
        max_waiting: int,
        max_wait_seconds: float = 60.0,
        log_level: int = INFO,
        reserve: Reserve[LoadedT] = lambda _: contextlib.nullcontext(),
    ) -> None:
        """`max_waiting`: requests that may wait for a load; `max_wait_seconds`: with others before
        them; `log_level`: of loads and evictions; `reserve`: inside its block all models of a
        request have memory elsewhere, if any can."""
        self.limit, self._max_waiting = limit, max_waiting
        self._max_wait_seconds, self._log_level = max_wait_seconds, log_level
        self._reserve = reserve
        self.models: Mapping[str, PooledModel[LoadedT]] = {}
        """The offered versions, by key."""
        self.num_bytes = 0
        self.is_draining = self._is_started = False
        self._waiting: list[LeaseRequest[LoadedT]] = []
        self._held: list[Resident[LoadedT]] = []
        """The models that the head of the queue holds while it waits for the rest."""
        self._residents: set[Resident[LoadedT]] = set()
        """All versions in memory, also replaced ones and those that are leaving."""
        self._rate = LoadRate()
        self._tasks: set[asyncio.Task[None]] = set()
        self._serving: asyncio.Task[None] | None = None
        self._loader = ThreadPoolExecutor(1, "dragoman-load", lower_own_priority)
        self._load_lock, self._freed = asyncio.Lock(), asyncio.Event()

    @property
    def loaded(self) -> dict[str, LoadedT]:
        """Those of the offered models that are in memory, by key."""
        return {name: one.resident.loaded for name, one in self.models.items() if one.resident}

    @property
    def engines(self) -> dict[str, PooledEngine]:
        """Those of the offered models in memory, by key."""
        return {name: model.engine for name, model in self.loaded.items()}

    def offer(self, models: Iterable[PooledModel[LoadedT]]) -> None:
        """Offer these versions and no others, from the next request on. A version that is not
        offered any more leaves when the requests that have it end; those that wait for it fail with
        ModelChanged."""
        before, self.models = self.models, {model.key: model for model in models}
        gone = [model for model in before.values() if not self._is_offered(model)]
        new = [model for model in self.models.values() if before.get(model.key) is not model]
        for waiter in list(self._waiting):
            if lost := [model for model in waiter.models if model in gone]:
                self._fail(waiter, changed(lost[0].name))
        for model in (*gone, *new):
            self._leave_unless_offered(model)
            measure(model, self.models)

    def load_now(self, model: PooledModel[LoadedT]) -> None:
        """Load a version in this thread, before `start`. Raises what its loading raises."""
        self.num_bytes += model.loadable.num_bytes
        started = time.monotonic()
        loaded = model.loadable.open()()
        self._note_load(model, time.monotonic() - started)
        self._enter(model, loaded, time.monotonic() - started)

    def let_go(self, model: PooledModel[LoadedT]) -> None:
        """Let a version leave that is not whole any more, or whose memory other processes need. It
        is loaded again when a request needs it."""
        if model.resident is not None:
            self._leave(model.resident)

    async def load(self, model: PooledModel[LoadedT]) -> None:
        """Load a version that is to be offered next, beside the one that is. Raises NotReady."""
        async with self._load_lock:
            await self._load(model)

    def start(self) -> None:
        """Start the engines; futures resolve on the running event loop."""
        self._is_started = True
        for engine in self.engines.values():
            engine.start()

    def stop(self) -> None:
        """Fail all running and waiting work, and wait until the engines end. Meanwhile models may
        leave, if the event loop runs in another thread."""
        self.refuse_new_work()
        for engine in [resident.loaded.engine for resident in list(self._residents)]:
            engine.stop()
        self._loader.shutdown(wait=False, cancel_futures=True)

    def refuse_new_work(self) -> None:
        """Continue only admitted work."""
        self.is_draining = True
        for waiter in list(self._waiting):
            self._fail(waiter, Draining())
        for resident in list(self._residents):
            resident.loaded.engine.refuse_new_work()

    def require_ready(self) -> None:
        """Raise NotReady or Draining unless every model in memory accepts new work."""
        for name, engine in self.engines.items():
            engine.require_ready(name)
        if self.is_draining:
            raise Draining()

    def require_room(self, client: str) -> None:
        """Raise a ServiceError if no model could accept one more sentence of a client now."""
        if self.is_draining:
            raise Draining()
        for model in self.models.values():
            if model.engine is None or model.engine.has_room(client):
                return
        for engine in self.engines.values():
            engine.require_room(1, client=client)

    @contextlib.asynccontextmanager
    async def lease(self, names: Sequence[str], ticket: Ticket) -> AsyncGenerator[list[LoadedT]]:
        """The models of a request in memory, until the block ends.

        Waits for a load until the ticket's deadline. Raises Draining, Loading if the wait would be
        too long, NotReady if a model cannot be loaded, ModelChanged if one is not offered any more,
        or DeadlineExceeded.
        """
        for name in names:
            if name not in self.models:
                raise changed(name)
        models = [self.models[name] for name in names]
        residents = hold(models)
        if residents is None:
            residents = await self._wait(models, ticket)
        try:
            yield [resident.loaded for resident in residents]
        finally:
            self._release(residents)

    @contextlib.contextmanager
    def lease_again(self, name: str) -> Iterator[LoadedT]:
        """One more lease of a model that the caller has a lease of, even if it must leave."""
        resident = self.models[name].resident
        assert resident is not None
        resident.num_leases += 1
        try:
            yield resident.loaded
        finally:
            self._release([resident])

    def _release(self, residents: Sequence[Resident[LoadedT]]) -> None:
        for resident in residents:
            resident.num_leases -= 1
            resident.used_seconds = time.monotonic()
            if not resident.num_leases:
                self._freed.set()
                if resident.is_leaving:
                    self._leave(resident)

    async def _wait(
        self, models: Sequence[PooledModel[LoadedT]], ticket: Ticket
    ) -> Sequence[Resident[LoadedT]]:
        self._require_short_wait(models)
        waiter = LeaseRequest(models, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())
        try:
            async with asyncio.timeout_at(ticket.ends_seconds):
                await waiter.granted
        except BaseException as error:
            self._release(waiter.residents)
            if isinstance(error, TimeoutError):
                raise ticket.deadline_error() from None
            raise
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
        return waiter.residents

    def _require_short_wait(self, models: Sequence[PooledModel[LoadedT]]) -> None:
        if self.is_draining:
            raise Draining()
        wanted = {model for waiter in self._waiting for model in waiter.models} | set(models)
        seconds = self._rate.seconds(one.loadable.file_bytes for one in wanted if not one.usable)
        is_long = seconds > self._max_wait_seconds and len(self._waiting) > 0
        if is_long or len(self._waiting) >= self._max_waiting:
            raise Loading(
                f"{len(self._waiting)} requests wait until models are loaded, which takes "
                f"{seconds:.0f} seconds; try again later",
                max(1, math.ceil(seconds)),
            )

    async def _serve(self) -> None:
        """Load the models of the queue's head, until the queue is empty."""
        while self._waiting:
            waiter = self._waiting[0]
            try:
                async with self._load_lock, self._reserve(waiter.models):
                    for model in waiter.models:
                        self._held += await self._held_model(model)
                if not waiter.granted.done():
                    self._give(waiter, self._held)  # even if one must leave
                    self._held = []
                self._grant()
            except (ServiceError, ModelChanged) as error:
                self._fail(waiter, error)
            except Exception:
                _logger.exception("loading failed")
                self._fail(waiter, ServiceError("a model could not be loaded"))
            held, self._held = self._held, []
            self._release(held)

    async def _held_model(self, model: PooledModel[LoadedT]) -> Sequence[Resident[LoadedT]]:
        """A lease of the model, which is loaded first if it must."""
        while (held := hold([model])) is None:
            if not self._is_offered(model):
                raise changed(model.name)
            if model.resident is not None:  # it is leaving
                self._freed.clear()
                await self._freed.wait()
                continue
            await self._load(model)
            self._leave_unless_offered(model)
            self._grant()
        return held

    def _grant(self) -> None:
        """Answer those whose models are all in memory."""
        for waiter in list(self._waiting):
            if waiter.granted.done():  # it has left
                self._waiting.remove(waiter)
            elif (held := hold(waiter.models)) is not None:
                self._give(waiter, held)

    def _give(self, waiter: LeaseRequest[LoadedT], held: Sequence[Resident[LoadedT]]) -> None:
        self._waiting.remove(waiter)
        waiter.residents = held
        waiter.granted.set_result(None)

    def _fail(self, waiter: LeaseRequest[LoadedT], error: Exception) -> None:
        """Answer one that waits, unless it is answered or has left."""
        if waiter in self._waiting:
            self._waiting.remove(waiter)
            if not waiter.granted.done():
                waiter.granted.set_exception(error)

    async def _load(self, model: PooledModel[LoadedT]) -> None:
        """Load a version of a model. Raises NotReady. The offered version of the model stays in
        memory meanwhile."""
        if time.monotonic() - model.failed_seconds < _AFTER_FAILURE_SECONDS:
            raise cannot_load(model.name)
        model.is_loading = True
        try:
            load, seconds = await self._in_thread(model.loadable.open)
            self.num_bytes += model.loadable.num_bytes
            try:
                offered = (one.resident for one in self.models.values() if one.name == model.name)
                await self._make_room([*filter(None, offered), *self._held])
                loaded, more_seconds = await self._in_thread(load)
                if self._is_started:
                    loaded.engine.start()
            except BaseException:
                self.num_bytes -= model.loadable.num_bytes
                raise
        except Exception as error:
            model.note_failure(error)
            raise cannot_load(model.name) from error
        finally:
            model.is_loading = False
        self._note_load(model, seconds + more_seconds)
        self._enter(model, loaded, seconds + more_seconds)

    async def _in_thread(self, action: Callable[[], _Result]) -> tuple[_Result, float]:
        """The action's result, and the seconds that it took."""
        started = time.monotonic()
        result = await asyncio.get_running_loop().run_in_executor(self._loader, action)
        return result, time.monotonic() - started

    def _note_load(self, model: PooledModel[LoadedT], seconds: float) -> None:
        model.metrics.count_load(seconds)
        self._rate.note(model.loadable.file_bytes, seconds)

    def _enter(self, model: PooledModel[LoadedT], loaded: LoadedT, seconds: float) -> None:
        """Take a loaded version into use. It stays at least as long as its load took, so that loads
        never take most of the time."""
        now = time.monotonic()
        model.resident = Resident(model, loaded, model.loadable.num_bytes, now, now + seconds)
        model.failure, model.is_damaged = None, False
        self._residents.add(model.resident)
        if self._is_offered(model):  # else it is measured once it is offered
            measure(model, self.models)
        if self._is_started:
            size = shown_bytes(model.loadable.num_bytes)
            told = model.name, seconds, size
            _logger.log(self._log_level, "the model %s is loaded: %.1f s, %s", *told)
        if self.is_draining:
            loaded.engine.refuse_new_work()

    def _is_offered(self, model: PooledModel[LoadedT]) -> bool:
        return self.models.get(model.key) is model

    def _leave_unless_offered(self, model: PooledModel[LoadedT]) -> None:
        """Let a version leave that was replaced or removed while it was loaded."""
        if model.resident is not None and not self._is_offered(model):
            self._leave(model.resident)

    async def _make_room(self, kept: Sequence[Resident[LoadedT]]) -> None:
        """Let models leave until the rest fits. The one that was idle longest goes first; if all
        are in use, the one whose last request is oldest gives no more leases. A replaced version
        leaves before another is loaded. If none may leave, the model that is loaded exceeds the
        limit."""
        while self.num_bytes > self.limit:
            self._freed.clear()
            if any(resident.is_gone for resident in self._residents):
                await self._freed.wait()
                continue
            found = (one for one in self._residents if one.is_leaving or not one.model.is_pinned)
            residents = [resident for resident in found if resident not in kept]
            if not residents:
                return
            if idle := [resident for resident in residents if not resident.num_leases]:
                await self._evict(min(idle, key=lambda resident: resident.last_seconds))
                continue
            seconds = ask_oldest_to_leave(residents)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._freed.wait()

    def _leave(self, resident: Resident[LoadedT]) -> None:
        """Let a version end when its requests have ended."""
        resident.ask_to_leave()
        if not resident.num_leases:
            task = asyncio.create_task(self._evict(resident))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _evict(self, resident: Resident[LoadedT]) -> None:
        """Stop the engine of a model without leases, and free its memory."""
        if resident.num_leases or resident.is_gone:
            return
        resident.is_gone = True
        model = resident.model
        if model.resident is resident:
            model.resident = None
            measure(model, self.models)
        await in_thread_or_here(resident.loaded.engine.stop)
        self._residents.discard(resident)
        del resident.loaded
        await in_thread_or_here(give_memory_back)
        self.num_bytes -= resident.num_bytes
        model.metrics.count_eviction()
        _logger.log(self._log_level, "the model %s has left the memory", model.name)
        self._freed.set()
