"""A server under honest load, and what must hold of it after a fault."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.process import HOST, ServerProcess
from benchmarks.soak.cases import Case
from benchmarks.soak.documents import Document
from benchmarks.soak.load import TIMED, Load
from benchmarks.soak.samples import Process, gauges
from benchmarks.soak.scene import Result, Scene, Visit, Writers
from benchmarks.soak.sockets import Sockets
from benchmarks.soak.tally import Tally
from benchmarks.soak.wire import Pool, Writer

HONEST = {name: TIMED[name] for name in ("short", "sentence", "paragraph", "events", "websocket")}
_CLIENTS, _WARM_SECONDS, _PAUSE_SECONDS = 6, 3.0, 2.0
_QUIET_SECONDS, _POLL_SECONDS = 30.0, 0.2
_POOL_THREADS = 8
"""Pools start their threads when they first need them; every fault happens more often than this."""
_EMPTY = ("running", "rows_used", "set_aside", "waiting", "open_streams", "children")


@dataclass
class Seen:
    """What was seen of a fault: sentences for the table, and what did not hold."""

    facts: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def require(self, holds: bool, promise: str) -> None:
        if not holds:
            self.broken.append(promise)


@dataclass(frozen=True)
class References:
    """Cases and files that have references."""

    cases: Mapping[str, Sequence[Case]]
    documents: Sequence[Document]


class Bench:
    """A server, and honest clients that ask all the time."""

    def __init__(self, server: ServerProcess, references: References, key: str) -> None:
        self.server, self.seen = server, Seen()
        self.process = Process(server.pid)
        self.writer = Writer(HOST, server.port, key)
        self.pool = Pool(HOST, server.port)
        self.sockets = Sockets(self.writer)
        self.tally = Tally()
        self.problems: list[Mapping[str, Any]] = []
        self.scene = Scene(
            Writers(self.writer, self.writer, self.writer),
            self.pool,
            self.sockets,
            references.cases,
            references.documents,
            random.Random(1),
            self.problems.append,
        )
        self.load = Load(self.scene, self.tally, random.Random(2))
        self._is_over = False

    def stop_clients(self) -> None:
        """Honest clients come no more."""
        self._is_over = True

    @contextlib.asynccontextmanager
    async def loaded(self, num_clients: int = _CLIENTS) -> AsyncGenerator[None]:
        """Honest clients ask from before the block until after it."""
        self._is_over = False
        clients = [
            asyncio.create_task(self.load.come_again(HONEST, lambda: self._is_over))
            for _ in range(num_clients)
        ]
        try:
            await asyncio.sleep(_PAUSE_SECONDS)
            yield
            await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            self.stop_clients()
            await asyncio.gather(*clients)

    async def warm_up(self) -> dict[str, Any]:
        """-> what the idle server holds once everything was used."""
        await self.load.closed(HONEST, _CLIENTS, _WARM_SECONDS)
        writer = self.writer
        await asyncio.gather(
            *(self.pool.send(writer.request("GET", "/glossaries")) for _ in range(64))
        )
        return await self.quiet()

    async def quiet(self, before: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the server holds when nobody asks; broken if it does not become empty.

        Refused uploads are read for some seconds more, so their sockets are waited for too: until
        there are no more than `before`.
        """
        await self.sockets.close()
        self.pool.close()
        deadline = time.monotonic() + _QUIET_SECONDS
        while True:
            await asyncio.sleep(_POLL_SECONDS)
            sample = {**self.process.sample(), **await gauges(self.pool, self.writer)}
            self.pool.close()
            left = {name: sample[name] for name in _EMPTY if sample[name]}
            are_closed = before is None or sample["sockets"] <= before["sockets"]
            if not left and are_closed:
                return sample
            if time.monotonic() > deadline:
                self.seen.require(not left, f"left over: {left}")
                return sample

    async def until_ready(self) -> float:
        """-> seconds until the server says that it is ready and answers rightly again."""
        started = time.monotonic()
        while True:
            with contextlib.suppress(OSError):
                answer = await self.pool.send(self.writer.request("GET", "/health/ready"))
                if answer.status == 200 and await self._answers_rightly():
                    return time.monotonic() - started
            if time.monotonic() > started + _QUIET_SECONDS:
                self.seen.require(False, f"not ready within {_QUIET_SECONDS:.0f} s")
                return time.monotonic() - started
            await asyncio.sleep(_POLL_SECONDS)

    async def _answers_rightly(self) -> bool:
        return await HONEST["short"][1](self.scene) is Result.RIGHT

    def check_honest(self, *also: Result) -> None:
        """Every honest visit was answered rightly; `also` names other ends that are allowed."""
        allowed = {Result.RIGHT, *also}
        bad = {
            name: count
            for name, count in self.tally.counts.items()
            if name.rpartition(": ")[2] not in {str(result) for result in allowed}
        }
        self.seen.require(not bad, f"honest clients: {bad}, {self.problems[:2]}")
        self.seen.facts.append(f"{self.tally.total(Result.RIGHT)} honest requests right")
        for result in also:
            if count := self.tally.total(result):
                self.seen.facts.append(f"{count} {result}")

    def check_leaks(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """No more descriptors and threads than before, but for the pools' own."""
        for name, spare in (("files", 0), ("sockets", 0), ("threads", _POOL_THREADS)):
            words = f"{name}: {before[name]} before, {after[name]} after"
            self.seen.require(after[name] <= before[name] + spare, words)

    def check_log(self) -> None:
        errors = self.server.errors()
        self.seen.require(not errors, f"errors in the log: {errors[:2]}")


async def repeated(count: int, at_once: int, visit: Visit, scene: Scene) -> list[Result]:
    """The visit so often."""
    permits = asyncio.Semaphore(at_once)

    async def one() -> Result:
        async with permits:
            return await visit(scene)

    return await asyncio.gather(*(one() for _ in range(count)))
