"""Dragoman against CTranslate2 and Transformers: same weights, sentences and number of threads.

Each engine has a process of its own, and they take turns in one run; figures are medians of several
rounds. Target tokens are counted alike, the end of sentence included. `opus` and `nllb600` are
random weights in the sizes of opus-mt and NLLB-200-distilled-600M, whose translations are made 30
tokens long; `bundled` is checkpoints/zh-en, whose translations end as they like: ours as it is
served (with `--engines dragoman-exact:int8` without lookahead), CTranslate2 when beam_size
hypotheses have ended, Transformers by its own rule. With a --corpus they are scored too.

    python -m benchmarks.engines --shape opus
    python -m benchmarks.engines --shape bundled --corpus data/tatoeba-zh-en/test.zh-en.tsv.gz
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.shapes import Shape, prepare
from benchmarks.peers.translators import make

ENGINES = {
    "cpu": (
        "dragoman:int8",
        "ctranslate2:int8",
        "dragoman:float32",
        "ctranslate2:float32",
        "transformers:float32",
    ),
    "cuda": ("dragoman:float16", "ctranslate2:float16", "transformers:float16"),
}
CASES = ((1, 1), (1, 4), (32, 1), (32, 4))
_ALONE = 16


@dataclass(frozen=True)
class Row:
    """One engine in one case; `peak_mib` is the most memory its process ever had."""

    shape: str
    engine: str
    batch: int
    beam: int
    tokens_per_second: float
    peak_mib: float
    bleu: float | None


class EngineEnded(RuntimeError):
    """The process of an engine ended; its message stands on standard error."""


class Worker:
    """One engine in a process of its own, which answers a line of JSON with one."""

    def __init__(self, engine: str, shape: Path, threads: int, device: str) -> None:
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.engines", "--worker", engine]
        command += ["--prepared", str(shape), "--threads", str(threads), "--device", device]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.load_seconds = float(self._answer()["load_seconds"])

    def ask(self, batch: int, beam: int) -> dict[str, Any]:
        assert self._process.stdin is not None
        print(json.dumps({"batch": batch, "beam": beam}), file=self._process.stdin, flush=True)
        return self._answer()

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.communicate()
            raise EngineEnded("its process ended; its message stands above")
        answer: dict[str, Any] = json.loads(line)
        return answer


def work(engine: str, prepared: Path, threads: int, device: str) -> None:
    """The worker's side: translate all sentences as each line asks, until there are no more."""
    shape = Shape.load(prepared)
    started = time.perf_counter()
    translator = make(engine, shape, threads, device)
    print(json.dumps({"load_seconds": time.perf_counter() - started}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        sources = shape.sources if asked["batch"] > 1 else shape.sources[:_ALONE]
        started = time.perf_counter()
        translations = [
            ids
            for batch in _cut(sources, asked["batch"])
            for ids in translator.translate(batch, asked["beam"])
        ]
        seconds = time.perf_counter() - started
        ends = 0 if shape.forced_length else len(translations)
        tokens = sum(map(len, translations)) + ends
        answer = {"rate": tokens / seconds, "translations": translations, "mib": _peak_mib()}
        print(json.dumps(answer), flush=True)


def _cut(sources: Sequence[list[int]], size: int) -> Iterator[list[list[int]]]:
    for start in range(0, len(sources), size):
        yield list(sources[start : start + size])


def _peak_mib() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


def start(engines: Sequence[str], prepared: Path, threads: int, device: str) -> dict[str, Worker]:
    """The engines that run here; tells of those that do not. Ends the program if none does."""
    workers = {}
    for engine in engines:
        try:
            workers[engine] = Worker(engine, prepared, threads, device)
        except EngineEnded as error:
            print(f"{engine}: left out, {error}", flush=True)
    if not workers:
        raise SystemExit(f"none of {', '.join(engines)} runs here")
    return workers


def compare(name: str, prepared: Path, arguments: argparse.Namespace) -> list[Row]:
    """Every engine in every case, one after the other in each round."""
    engines = arguments.engines or ENGINES[arguments.device]
    shape = Shape.load(prepared)
    workers = start(engines, prepared, arguments.threads, arguments.device)
    for engine, worker in workers.items():
        print(f"{engine}: loaded in {worker.load_seconds:.1f} s", flush=True)
    rows = []
    for batch, beam in CASES:
        answers: dict[str, list[dict[str, Any]]] = {engine: [] for engine in workers}
        for _ in range(arguments.rounds + 1):
            for engine, worker in workers.items():
                answers[engine].append(worker.ask(batch, beam))
        for engine, given in answers.items():
            rate = statistics.median(answer["rate"] for answer in given[1:])
            bleu = _bleu(shape, given[-1]["translations"]) if batch > 1 else None
            rows.append(Row(name, engine, batch, beam, rate, given[-1]["mib"], bleu))
            print(_line(rows[-1]), flush=True)
    for worker in workers.values():
        worker.stop()
    return rows


def _bleu(shape: Shape, translations: list[list[int]]) -> float | None:
    """By our tokenizer, for all engines: their ids are the same."""
    if not shape.references:
        return None
    from sacrebleu.metrics.bleu import BLEU

    from model.checkpoint import load_checkpoint

    decode = load_checkpoint(Path(shape.ours)).tokenizer.decode
    texts = [decode(ids) for ids in translations]
    return float(BLEU().corpus_score(texts, [shape.references]).score)


def _line(row: Row) -> str:
    bleu = "" if row.bleu is None else f"{row.bleu:6.2f}"
    return (
        f"{row.shape:<8} batch {row.batch:>2} beam {row.beam} {row.engine:<22} "
        f"{row.tokens_per_second:>9.0f} tokens/s {row.peak_mib:>7.0f} MiB {bleu}"
    )


def table(rows: Sequence[Row], engines: Sequence[str]) -> str:
    """Tokens a second in Markdown, a line for each case."""
    lines = ["| batch | beam | " + " | ".join(engines) + " |", "|---" * (2 + len(engines)) + "|"]
    for batch, beam in CASES:
        rates = {r.engine: r.tokens_per_second for r in rows if (r.batch, r.beam) == (batch, beam)}
        cells = " | ".join(f"{rates[engine]:.0f}" for engine in engines)
        lines.append(f"| {batch} | {beam} | {cells} |")
    return "\n".join(lines)


def draw(rows: Sequence[Row], engines: Sequence[str], path: Path) -> None:
    """Tokens a second, a group of bars for each case."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(engines)
    for i, engine in enumerate(engines):
        rates = [row.tokens_per_second for row in rows if row.engine == engine]
        axes.bar([case + i * width for case in range(len(CASES))], rates, width, label=engine)
    labels = [f"batch {batch}, beam {beam}" for batch, beam in CASES]
    axes.set_xticks([case + 0.4 - width / 2 for case in range(len(CASES))], labels)
    axes.set_yscale("log")
    axes.set_ylabel("target tokens/s")
    axes.legend()
    figure.savefig(path, dpi=120)


def write_csv(rows: Sequence[Row], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(asdict(rows[0])))
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=["bundled", "opus", "nllb600"], default="bundled")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=96, help="sentences of the bundled shape")
    parser.add_argument("--corpus", type=Path, help="Chinese-English TSV to translate and score")
    parser.add_argument("--engines", nargs="*", help="some of them, or dragoman-exact:PRECISION")
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--prepared", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        work(arguments.worker, arguments.prepared, arguments.threads, arguments.device)
        return
    with tempfile.TemporaryDirectory() as root:
        prepared = Path(root) / "shape.json"
        prepare(arguments.shape, Path(root), arguments.corpus, arguments.count).save(prepared)
        rows = compare(arguments.shape, prepared, arguments)
    engines = arguments.engines or ENGINES[arguments.device]
    print(table(rows, engines))
    if arguments.csv:
        write_csv(rows, arguments.csv)
    if arguments.picture:
        draw(rows, engines, arguments.picture)


if __name__ == "__main__":
    main()
