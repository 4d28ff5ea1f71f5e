"""Dragoman against CTranslate2, Transformers and Marian: same weights, sentences and cores.

Each engine is tried in each split of the cores that may be its best, one translator on all of them
or a translator a core, and its better figure counts in each case. Every engine and split has a
process of its own, and they take turns in one run; figures are medians of several rounds. Target
tokens are counted alike, the end of sentence included. `opus` and `nllb600` are random weights in
the sizes of opus-mt and NLLB-200-distilled-600M, whose translations are made 30 tokens long;
`bundled` is checkpoints/zh-en, whose translations end as they like: ours as it is served (with
`--engines dragoman-exact:int8` without lookahead), CTranslate2 when beam_size hypotheses have
ended, Transformers by its own rule. With a --corpus they are scored too. Marian is measured where
`pymarian` is installed, and only in the shape `opus`. To compare a CPU
without AVX-512, set DRAGOMAN_INSTRUCTION_SET=avx2, CT2_FORCE_CPU_ISA=AVX2 and, for the library that
CTranslate2 uses, ONEDNN_MAX_CPU_ISA=AVX2.

    python -m benchmarks.engines --shape opus
    python -m benchmarks.engines --shape bundled --corpus data/tatoeba-zh-en/test.zh-en.tsv.gz
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.peers.shapes import BUNDLED, Shape, prepare
from benchmarks.peers.translators import Split, make, splits
from benchmarks.provenance import provenance, weights

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
    """One engine in one case, in its better split; `cores` it used on average; `peak_mib` is the
    most memory its process ever had."""

    shape: str
    engine: str
    split: str
    batch: int
    beam: int
    tokens_per_second: float
    cores: float
    peak_mib: float
    bleu: float | None


class EngineEnded(RuntimeError):
    """The process of an engine ended; its message stands on standard error."""


class Worker:
    """One engine in one split, in a process of its own, which answers a line of JSON with one."""

    def __init__(self, engine: str, shape: Path, split: Split, device: str) -> None:
        self.split = split
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.engines", "--worker", engine]
        command += ["--prepared", str(shape), "--split", *map(str, split), "--device", device]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._answer()  # it has loaded its model

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


def work(engine: str, prepared: Path, split: Split, device: str) -> None:
    """The worker's side: translate all sentences as each line asks, until there are no more. It
    gets as many cores as its split has threads: not every engine is told a number."""
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[: split.translators * split.threads])
    shape = Shape.load(prepared)
    translator = make(engine, shape, split, device)
    print("{}", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        sources = shape.sources if asked["batch"] > 1 else shape.sources[:_ALONE]
        started, cpu_started = time.perf_counter(), time.process_time()
        translations = [
            ids
            for batch in _cut(sources, asked["batch"])
            for ids in translator.translate(batch, asked["beam"])
        ]
        seconds = time.perf_counter() - started
        cores = (time.process_time() - cpu_started) / seconds
        ends = 0 if shape.forced_length else len(translations)
        rate = (sum(map(len, translations)) + ends) / seconds
        answer = {"rate": rate, "cores": cores, "translations": translations, "mib": _peak_mib()}
        print(json.dumps(answer), flush=True)


def _cut(sources: Sequence[list[int]], size: int) -> Iterator[list[list[int]]]:
    for start in range(0, len(sources), size):
        yield list(sources[start : start + size])


def _peak_mib() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


def start(
    engines: Sequence[str], prepared: Path, threads: int, device: str
) -> dict[str, list[Worker]]:
    """The engines that run here, in each split; tells of those that do not. Ends the program if
    none does."""
    workers = {}
    for engine in engines:
        try:
            tried = splits(engine, threads, device)
            workers[engine] = [Worker(engine, prepared, split, device) for split in tried]
        except EngineEnded as error:
            print(f"{engine}: left out, {error}", flush=True)
    if not workers:
        raise SystemExit(f"none of {', '.join(engines)} runs here")
    return workers


def compare(
    name: str, prepared: Path, engines: Sequence[str], arguments: argparse.Namespace
) -> list[Row]:
    """Every engine in every case, one after the other in each round."""
    shape = Shape.load(prepared)
    workers = start(engines, prepared, arguments.threads, arguments.device)
    rows = []
    for batch, beam in CASES:
        answers: dict[tuple[str, Worker], list[dict[str, Any]]] = {
            (engine, worker): [] for engine, some in workers.items() for worker in some
        }
        for _ in range(arguments.rounds + 1):
            for (_, worker), given in answers.items():
                given.append(worker.ask(batch, beam))
        found = [
            _row(name, engine, worker.split, (batch, beam), given, shape)
            for (engine, worker), given in answers.items()
        ]
        for engine in workers:
            own = [row for row in found if row.engine == engine]
            rows.append(max(own, key=lambda row: row.tokens_per_second))
            print(*map(_line, own), sep="\n", flush=True)
    for worker in (worker for some in workers.values() for worker in some):
        worker.stop()
    return rows


def _row(
    name: str,
    engine: str,
    split: Split,
    case: tuple[int, int],
    given: Sequence[dict[str, Any]],
    shape: Shape,
) -> Row:
    """Medians of the rounds after the first, which warms up."""
    rate, cores = (statistics.median(one[key] for one in given[1:]) for key in ("rate", "cores"))
    bleu = _bleu(shape, given[-1]["translations"]) if case[0] > 1 else None
    return Row(name, engine, str(split), *case, rate, cores, given[-1]["mib"], bleu)


def _bleu(shape: Shape, translations: list[list[int]]) -> float | None:
    """By our tokenizer, for all engines: their ids are the same."""
    if not shape.references:
        return None
    from sacrebleu.metrics.bleu import BLEU

    from model.checkpoint.reference import load_checkpoint

    decode = load_checkpoint(Path(shape.ours)).tokenizer.decode
    texts = [decode(ids) for ids in translations]
    return float(BLEU().corpus_score(texts, [shape.references]).score)


def _line(row: Row) -> str:
    bleu = "" if row.bleu is None else f"{row.bleu:6.2f}"
    return (
        f"{row.shape:<8} batch {row.batch:>2} beam {row.beam} {row.engine:<20} {row.split} "
        f"{row.tokens_per_second:>7.0f} tokens/s {row.cores:4.1f} cores {row.peak_mib:>5.0f} MiB "
        f"{bleu}"
    )


def table(rows: Sequence[Row], engines: Sequence[str]) -> str:
    """Tokens a second in Markdown, a line for each case, with the better split; then memory."""
    lines = ["| batch | beam | " + " | ".join(engines) + " |", "|---" * (2 + len(engines)) + "|"]
    for batch, beam in CASES:
        found = {row.engine: row for row in rows if (row.batch, row.beam) == (batch, beam)}
        cells = (f"{found[name].tokens_per_second:.0f} ({found[name].split})" for name in engines)
        lines.append(f"| {batch} | {beam} | {' | '.join(cells)} |")
    most = (max(row.peak_mib for row in rows if row.engine == name) for name in engines)
    lines.append(f"| MiB | | {' | '.join(f'{mib:.0f}' for mib in most)} |")
    return "\n".join(lines)


def _weights(shape: str) -> str:
    return weights(BUNDLED) if shape == "bundled" else f"random weights in the size of {shape}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=["bundled", "opus", "nllb600"], default="bundled")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=96, help="sentences of the bundled shape")
    parser.add_argument("--corpus", type=Path, help="Chinese-English TSV to translate and score")
    parser.add_argument("--engines", nargs="*", help="some of them, or dragoman-exact:PRECISION")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--prepared", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--split", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        split = Split(*arguments.split)
        work(arguments.worker, arguments.prepared, split, arguments.device)
        return
    chosen = list(arguments.engines or ENGINES[arguments.device])
    if arguments.shape == "opus" and find_spec("pymarian") and not arguments.engines:
        chosen.append("marian:float32")
    with tempfile.TemporaryDirectory() as root:
        prepared = Path(root) / "shape.json"
        prepare(arguments.shape, Path(root), arguments.corpus, arguments.count).save(prepared)
        rows = compare(arguments.shape, prepared, chosen, arguments)
    engines = list(dict.fromkeys(row.engine for row in rows))
    print(f"\n{provenance(_weights(arguments.shape))}\n\n{table(rows, engines)}")


if __name__ == "__main__":
    main()
