"""Faults of what the server stands on: its engines, Redis, the clock and the disk."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from benchmarks.faults.bench import Bench, repeated
from benchmarks.faults.resources import fill
from benchmarks.process import HOST, MODELS
from benchmarks.soak.run import counted_usage
from benchmarks.soak.scene import Result, Scene
from benchmarks.soak.translations import over_json

_FAILURES, _GAP_SENTENCES = 6, 30
_REDIS_SECONDS = 4.0
_OFFSETS = ("+1d", "-1d", "+40d", "+0")
_OFFSET_SECONDS = 3.0
_STORED_SECONDS = 3.0


async def fail_steps(bench: Bench, faults: Path) -> None:
    """Steps and admissions of the engines raise; sentences of that step fail, others do not."""
    for number in range(_FAILURES):
        name = ("step", "admit")[number % 2]
        (faults / name).touch()
        while (faults / name).exists():
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
    failed = bench.tally.total(Result.UNEXPECTED, Result.WRONG)
    bench.seen.require(failed > 0, "nobody met the failure")
    bench.seen.facts.append(f"{_FAILURES} failures, {failed} requests answered with an error")


def rare_token() -> tuple[int, str]:
    """A token of en-de's source that hardly any text has, and a text that has it."""
    pieces = SentencePieceProcessor(model_file=str(MODELS[1] / "sentencepiece.model"))
    for token in range(pieces.get_piece_size() - 1, 0, -1):
        text = f"I see a {pieces.id_to_piece(token).replace('▁', '')} here."
        if token in pieces.encode(text):
            return token, text
    raise ValueError("no token can be written")


async def meet_non_finite_scores(bench: Bench, text: str) -> None:
    """Sentences whose scores are NaN fail alone; their neighbours are right."""
    request = bench.writer.json("/translate", {"q": text, "source": "en", "target": "de"})
    answers = await asyncio.gather(*(bench.pool.send(request) for _ in range(_GAP_SENTENCES)))
    statuses = sorted({answer.status for answer in answers})
    bench.seen.require(statuses == [500], f"NaN was answered with {statuses}")
    bench.seen.facts.append(f"{_GAP_SENTENCES} sentences of NaN answered 500")


class Redis:
    """A redis-server on a free port."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        with socket.create_server((HOST, 0)) as listener:
            self.port: int = listener.getsockname()[1]
        self.start()

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", HOST, "--save", ""]
        self.process = subprocess.Popen(
            command, cwd=self._directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 10
        while socket.socket().connect_ex((HOST, self.port)):
            if time.monotonic() > deadline:
                raise RuntimeError("redis-server does not start")
            time.sleep(0.05)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


async def cut_redis(bench: Bench, redis: Redis) -> None:
    """Redis ends, comes back, and then stops answering; limits are counted meanwhile."""
    redis.stop()
    await asyncio.sleep(_REDIS_SECONDS)
    redis.start()
    await asyncio.sleep(_REDIS_SECONDS)
    redis.process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(_REDIS_SECONDS)
    redis.process.send_signal(signal.SIGCONT)
    bench.seen.facts.append("killed, restarted, then stopped for 4 s")


def write_clock(file: Path, offset: str) -> None:
    """For libfaketime."""
    scratch = file.with_suffix(".new")
    scratch.write_text(f"{offset}\n")
    os.replace(scratch, file)


async def move_clock(bench: Bench, file: Path, limited: Scene) -> None:
    """The date jumps by a day ahead, back, into another month, and home."""
    for offset in _OFFSETS:
        write_clock(file, offset)
        await asyncio.sleep(_OFFSET_SECONDS)
        ends = await repeated(4, 1, over_json("short"), limited)
        allowed = {Result.RIGHT, Result.LIMITED}
        bench.seen.require(set(ends) <= allowed, f"a limited key was answered {ends}")
    bench.seen.facts.append(f"moved by {', '.join(_OFFSETS)}")


async def fill_disk(bench: Bench, database: Path, key: str, disk: Path) -> None:
    """Nothing can be stored for some seconds; usage is stored afterwards."""
    filler = fill(disk)
    ends = await repeated(10, 2, _store_a_glossary, bench.scene)
    others = set(ends) - {Result.RIGHT, Result.REFUSED}
    bench.seen.require(not others, f"other ends: {others}, {bench.problems[:1]}")
    unanswered = bench.tally.total(Result.RIGHT)
    await asyncio.sleep(_STORED_SECONDS)
    stored = counted_usage(database, key)
    filler.unlink()
    await asyncio.sleep(_STORED_SECONDS)
    later = counted_usage(database, key)
    bench.seen.require(later > stored, "usage was not stored after the disk had room again")
    bench.seen.require(later >= unanswered, f"{later} of {unanswered} answers are stored")
    refused = len(ends) - ends.count(Result.RIGHT)
    bench.seen.facts.append(
        f"{refused} of {len(ends)} glossaries refused with 503; usage {stored}, later {later}"
    )


async def _store_a_glossary(scene: Scene) -> Result:
    entries = [{"source": f"term {number}", "target": "x" * 100} for number in range(500)]
    fields = {"source": "en", "target": "de", "entries": entries}
    path = f"/glossaries/{scene.rng.randrange(10**9)}"
    answer = await scene.pool.send(scene.writers.plain.json(path, fields, "PUT"))
    return (
        Result.RIGHT if answer.status == 201 else scene.judge("full disk", answer) or Result.RIGHT
    )
