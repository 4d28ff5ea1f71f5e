"""What a promise is, and the set-up that its fault is tried with."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.faults.bench import Bench, References, Seen
from benchmarks.process import server_process
from benchmarks.soak.keys import Keys
from benchmarks.soak.scene import Result

Fault = Callable[[Bench], Awaitable[None]]
Run = Callable[[References, Path], Awaitable[Seen]]


class NotTried(Exception):
    """The server did not start, so that its promise was not tried."""


@dataclass(frozen=True)
class Promise:
    """`name`: for --only; `words`: what is promised; `fault`: what is done to the server; `tests`:
    those that hold the same in seconds, as file::function."""

    name: str
    words: str
    fault: str
    run: Run
    tests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setup:
    """What a fault is tried with: references, a directory and a database of its own, keys."""

    references: References
    directory: Path
    database: Path
    keys: Keys

    @classmethod
    def make(cls, references: References, directory: Path, disk: Path | None = None) -> Setup:
        """`disk`: where the database is, if not in the directory."""
        database = (disk or directory) / "server.db"
        return cls(references, directory, database, Keys.make(database))

    @contextlib.asynccontextmanager
    async def bench(
        self,
        arguments: Sequence[str] = (),
        *,
        environment: Mapping[str, str] | None = None,
        module: str | None = None,
    ) -> AsyncGenerator[Bench]:
        """A server that is ready; `environment` and `module` as for `server_process`."""
        stored = ["--database", str(self.database), "--api-keys", "required", "--cache-bytes", "0"]
        with server_process(
            self.directory / "server.log",
            [*stored, *arguments],
            environment=environment,
            module=module,
        ) as server:
            try:
                await asyncio.to_thread(server.wait_until_ready)
            except RuntimeError as error:
                raise NotTried(str(error)) from error
            bench = Bench(server, self.references, self.keys.plain)
            try:
                yield bench
            finally:
                await bench.sockets.close()
                bench.pool.close()


async def under_load(bench: Bench, fault: Fault, *also: Result) -> Seen:
    """The fault amid honest load, then what must hold after every fault. `also`: other ends of
    honest requests that are allowed."""
    before = await bench.warm_up()
    async with bench.loaded():
        await fault(bench)
        seconds = await bench.until_ready()
    bench.seen.facts.append(f"right again after {seconds:.1f} s")
    after = await bench.quiet(before)
    bench.check_honest(*also)
    bench.check_leaks(before, after)
    return bench.seen


def loaded(fault: Fault, arguments: Sequence[str] = (), *also: Result, logs: bool = True) -> Run:
    """The fault under load, on a server with these arguments. `logs`: no error may be logged."""

    async def run(references: References, directory: Path) -> Seen:
        async with Setup.make(references, directory).bench(arguments) as bench:
            seen = await under_load(bench, fault, *also)
            if logs:
                bench.check_log()
            return seen

    return run
