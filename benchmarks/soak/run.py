"""One soak: calibrate, load the server for an hour with a spike in the middle, look what is left.

Everything is written as it goes, one JSON object a line: `calibrated`, `sample`, `problem`, `end`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.process import HOST, ServerProcess
from benchmarks.soak.background import background
from benchmarks.soak.cases import GLOSSARY, TERMS, Case
from benchmarks.soak.documents import Document
from benchmarks.soak.keys import Keys
from benchmarks.soak.load import SPIKE, Load, all_traffic
from benchmarks.soak.records import RecordWriter
from benchmarks.soak.samples import Process, gauges
from benchmarks.soak.scene import FAILURES, Result, Scene, Writers
from benchmarks.soak.sockets import Sockets
from benchmarks.soak.tally import Tally
from benchmarks.soak.wire import Pool, Writer

_LOAD, _SPIKE_TIMES = 0.8, 10
_CLIENTS = 48
_SAMPLE_SECONDS = 5.0
_QUIET_SECONDS = 5.0
_TRIM_SECONDS = 61.0


@dataclass(frozen=True)
class Plan:
    """Lengths in seconds."""

    calibration: float
    load: float
    spike: float


class Soak:
    """The parts of one run."""

    def __init__(
        self,
        server: ServerProcess,
        keys: Keys,
        cases: Mapping[str, Sequence[Case]],
        documents: Sequence[Document],
        records: RecordWriter,
        seed: int,
    ) -> None:
        writers = Writers(
            *(Writer(HOST, server.port, key) for key in (keys.plain, keys.counted, keys.limited))
        )
        self._pool = Pool(HOST, server.port)
        self._own_pool = Pool(HOST, server.port)  # a full queue of connections must not delay it
        self._sockets = Sockets(writers.plain)
        self._process, self._records, self._tally = Process(server.pid), records, Tally()
        self._scene = Scene(
            writers,
            self._pool,
            self._sockets,
            cases,
            documents,
            random.Random(seed),
            records.write_problem,
        )
        self._load = Load(self._scene, self._tally, random.Random(seed + 1))
        self._phase = "first"

    async def run(self, plan: Plan) -> Tally:
        """-> what happened."""
        await self._store_the_glossary()
        traffic = await all_traffic(self._scene)
        await self._sample()
        async with self._sampled(), background(self._scene, self._tally.count):
            self._phase = "calibration"
            reached = await self._load.closed(traffic, _CLIENTS, plan.calibration)
            rate = _LOAD * reached
            self._records.write("calibrated", {"reached": reached, "rate": rate})
            half = (plan.load - plan.spike) / 2
            self._phase = "load"
            await self._load.open(traffic, rate, half)
            self._phase = "spike"
            await self._load.open(SPIKE, _SPIKE_TIMES * rate, plan.spike)
            self._phase = "load"
            await self._load.open(traffic, rate, half)
            await self._load.finish()
        await self._end()
        return self._tally

    async def _store_the_glossary(self) -> None:
        fields = {"source": "en", "target": "de", "entries": TERMS}
        path = f"/glossaries/{GLOSSARY}"
        answer = await self._pool.send(self._scene.writers.plain.json(path, fields, "PUT"))
        if answer.status != 201:
            raise SystemExit(f"the glossary was answered {answer.status}: {answer.body!r}")

    async def _end(self) -> None:
        """What is left a little after the last client has gone, and after memory was trimmed."""
        await self._sockets.close()
        for phase, seconds in (("quiet", _QUIET_SECONDS), ("trimmed", _TRIM_SECONDS)):
            self._pool.close()
            await asyncio.sleep(seconds)
            self._phase = phase
            await self._sample()
        self._own_pool.close()

    @contextlib.asynccontextmanager
    async def _sampled(self) -> AsyncGenerator[None]:
        task = asyncio.create_task(self._sample_for_ever())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _sample_for_ever(self) -> None:
        while True:
            await asyncio.sleep(_SAMPLE_SECONDS)
            try:
                await self._sample()
            except OSError as error:
                self._records.write_problem({"kind": "sample", "error": repr(error)})

    async def _sample(self) -> None:
        phase = self._phase
        record = self._process.sample()
        record |= await gauges(self._own_pool, self._scene.writers.plain)
        latencies = self._tally.take_latencies()
        for name, some in latencies.items():
            record[f"{name}_p50_ms"] = some.percentile_ms(50)
            record[f"{name}_p99_ms"] = some.percentile_ms(99)
            record[f"{name}_latencies"] = some
        record |= {
            "phase": phase,
            "offered": self._load.num_offered,
            "under_way": self._load.num_under_way,
            "answered": self._tally.total(Result.RIGHT),
            "refused": self._tally.total(Result.REFUSED),
            "limited": self._tally.total(Result.LIMITED),
            "failed": self._tally.total(*FAILURES),
            "counts": self._tally.counts,
            "client_cpu_seconds": time.process_time(),
            "load_average": os.getloadavg()[0],
        }
        self._records.write("sample", record)
