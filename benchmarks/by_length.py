"""Latency by the length of the sentence, at several loads, quiet and beside a busy process.

Serves the same Poisson arrivals of real sentences in turns with our server, with the same server
first come, first served, and with request-level batching (benchmarks/peers: CTranslate2). A load
is a share of what our server sustains with 64 clients at the start. Slowdown is the latency over
the median latency of the same class alone on the same server beside the same neighbour. Where a
server leaves most requests of a load unanswered, higher loads are not tried. Takes about
servers x neighbours x loads x (seconds + 3) seconds: five minutes.

    python -m benchmarks.by_length --picture docs/images/by-length.svg --table by-length.md
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import uvloop

from benchmarks.client import Answer, Client, connected, translation_of
from benchmarks.closed_loop import closed_loop
from benchmarks.peers.shapes import prepare
from benchmarks.sentences import ROOT, percentile, real_sentences
from benchmarks.server import running_server
from benchmarks.service import started

SERVERS = ("short-first", "first-come", "ctranslate2 all x 1")
NEIGHBOURS = ("quiet", "busy")
CLASSES = {"1-8": 8, "9-14": 14, "15-24": 24, "over 24": 10**9}
"""Characters of a sentence: the largest number of each class."""
_BUSY_LOOP = "while True: pass"
_ANSWER_SECONDS = 10.0
_Results = dict[tuple[str, str, float], "Result"]


@dataclass(frozen=True)
class Result:
    """One load on one server: the milliseconds and slowdowns of each class, and the refusals."""

    milliseconds: dict[str, list[float]]
    slowdowns: dict[str, list[float]]
    num_refused: int

    def row(self) -> str:
        cells = [
            f"{percentile(self.milliseconds[name], 50):.0f} / {percentile(values, 50):.1f} "
            f"/ {percentile(values, 99):.1f}"
            if values
            else "-"
            for name, values in self.slowdowns.items()
        ]
        return " | ".join([*cells, str(self.num_refused)])

    @property
    def is_overwhelmed(self) -> bool:
        """Whether most requests were not answered."""
        return self.num_refused > sum(map(len, self.milliseconds.values()))


def class_of(text: str) -> str:
    return next(name for name, most in CLASSES.items() if len(text) <= most)


@contextlib.contextmanager
def neighbour(name: str) -> Iterator[None]:
    """A process that takes all it can of one core, or none."""
    if name == "quiet":
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", _BUSY_LOOP])
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def serving(name: str, peer: Path) -> Iterator[None]:
    if name in ("short-first", "first-come"):
        with running_server(ROOT / "checkpoints" / "zh-en", ["--scheduling", name]):
            yield
        return
    with started(name, peer, threads=2):
        yield


async def alone(client: Client, texts: Sequence[str], count: int) -> dict[str, float]:
    """The median milliseconds of each class, one sentence at a time."""
    medians = {}
    for name in CLASSES:
        own = [text for text in texts if class_of(text) == name][:count]
        answers = [await client.translate(translation_of(text)) for text in own]
        medians[name] = percentile([answer.seconds * 1000 for answer in answers], 50)
    return medians


async def offer(client: Client, texts: Sequence[str], rate: float) -> list[Answer | None]:
    """Send the texts at random moments; None for one that was not answered in time."""
    rng, tasks, moment = random.Random(1), [], time.perf_counter()
    for text in texts:
        moment += rng.expovariate(rate)
        if (early := moment - time.perf_counter()) > 0:
            await asyncio.sleep(early)
        sending = asyncio.wait_for(client.send(translation_of(text)), _ANSWER_SECONDS)
        tasks.append(asyncio.create_task(sending))
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    return [answer if isinstance(answer, Answer) else None for answer in answers]


async def medians_alone(count: int) -> dict[str, float]:
    async with connected() as client:
        return await alone(client, real_sentences(400, seed=6), count)


async def measure(rate: float, seconds: float, medians: Mapping[str, float]) -> Result:
    texts = real_sentences(max(1, int(rate * seconds)), seed=5)
    async with connected() as client:
        answers = await offer(client, texts, rate)
    milliseconds: dict[str, list[float]] = {name: [] for name in CLASSES}
    for text, answer in zip(texts, answers, strict=True):
        if answer is not None and answer.status == 200:
            milliseconds[class_of(text)].append(answer.seconds * 1000)
    slowdowns = {
        name: [value / medians[name] for value in values] for name, values in milliseconds.items()
    }
    num_done = sum(map(len, milliseconds.values()))
    return Result(milliseconds, slowdowns, len(texts) - num_done)


def capacity() -> float:
    """Sentences a second of our server with 64 clients."""
    with running_server(ROOT / "checkpoints" / "zh-en"):
        uvloop.run(closed_loop(real_sentences(200, seed=2), 64, 4))
        return uvloop.run(closed_loop(real_sentences(1200, seed=3), 64, 4)).rate


def draw(results: _Results, path: Path) -> None:
    """The 99th percentile of the slowdown by length: a column for each load, a row for each
    neighbour."""
    from matplotlib.figure import Figure

    loads = sorted({load for _, _, load in results})
    neighbours = [name for name in NEIGHBOURS if any(name == key[1] for key in results)]
    size = 3.2 * len(loads), 2.6 * len(neighbours)
    figure = Figure(figsize=size, layout="constrained")
    charts = figure.subplots(len(neighbours), len(loads), sharey=True, squeeze=False)
    for (server, name, load), result in results.items():
        axes = charts[neighbours.index(name)][loads.index(load)]
        shown = {key: values for key, values in result.slowdowns.items() if values}
        high = [percentile(values, 99) for values in shown.values()]
        axes.plot(list(shown), high, marker="o", markersize=3, label=server)
        axes.set_title(f"{load:.0%} load, {name}", fontsize=9)
        axes.set_yscale("log")
    charts[0][0].legend(fontsize=7)
    figure.supylabel("slowdown, p99", fontsize=9)
    figure.supxlabel("characters of the sentence", fontsize=9)
    figure.savefig(path)


def loads_of(arguments: argparse.Namespace, sustained: float) -> Iterator[tuple[float, Result]]:
    """Offer one load after the other to the server that runs, until it is overwhelmed."""
    medians = uvloop.run(medians_alone(arguments.alone))
    for load in arguments.loads:
        result = uvloop.run(measure(load * sustained, arguments.seconds, medians))
        yield load, result
        if result.is_overwhelmed:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="length of one load's run")
    parser.add_argument("--loads", type=float, nargs="*", default=[0.5, 0.8, 1.0, 1.5])
    parser.add_argument("--servers", nargs="*", choices=SERVERS, default=SERVERS)
    parser.add_argument("--neighbours", nargs="*", choices=NEIGHBOURS, default=NEIGHBOURS)
    parser.add_argument("--alone", type=int, default=10, help="sentences of a class timed alone")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--table", type=Path, help="the Markdown table")
    arguments = parser.parse_args()
    sustained = capacity()
    print(f"sustained: {sustained:.0f} sentences/s; p50 ms / slowdown p50 / p99 by characters")
    names = " | ".join(CLASSES)
    rows = [f"| server | neighbour | load | {names} | refused or late |"]
    rows.append("|---" * (4 + len(CLASSES)) + "|")
    print("\n".join(rows))
    results: _Results = {}
    with tempfile.TemporaryDirectory() as peer:
        prepare("bundled", Path(peer), None, 1)
        for server in arguments.servers:
            for name in arguments.neighbours:
                with serving(server, Path(peer)), neighbour(name):
                    for load, result in loads_of(arguments, sustained):
                        results[server, name, load] = result
                        rows.append(f"| {server} | {name} | {load:.0%} | {result.row()} |")
                        print(rows[-1], flush=True)
    if arguments.table:
        arguments.table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    if arguments.picture:
        draw(results, arguments.picture)


if __name__ == "__main__":
    main()
