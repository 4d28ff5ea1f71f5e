"""A corpus: `dragoman translate --format text`, our runners alone, and CTranslate2's
`translate_iterable`, on the same weights, lines and cores.

They take turns, each in a process of its own; a rate counts from when the model is loaded. The
runners get ids, sorted by length, and give ids; the others get lines and give lines, which are
sentences that the network takes whole. CTranslate2
has a translator for each core, its default batches, and our tokenizer. No line should stand twice
in the file: we translate it once.

    python -m benchmarks.corpora --lines corpus.zh --count 20000
"""

from __future__ import annotations

import argparse
import itertools
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

from benchmarks.peers.shapes import BUNDLED, Shape, prepare
from benchmarks.provenance import provenance, weights
from model.backends.cores import num_cores
from model.checkpoint import open_checkpoint
from model.decoding.sentence import SourceSentence
from model.offline import translate_all
from service.offline import OfflineOptions, load_offline

CONTESTANTS = ("runners", "dragoman", "ctranslate2")
_WARM_UP = 32
_RATE = re.compile(r"([\d,]+)/s")


def read_lines(path: Path, count: int) -> list[str]:
    """The first lines of a file that no engine has to cut."""
    checkpoint = open_checkpoint(BUNDLED)
    encode, most = checkpoint.tokenizer.encode_source, checkpoint.info.source_limit(None)
    lines = path.read_text("utf-8").splitlines()
    fitting = (line for line in lines if 1 < len(encode(line, "en", "zh")) <= most)
    return list(itertools.islice(fitting, count))


class Taken(NamedTuple):
    """Time and CPU time, of the children too."""

    seconds: float
    cpu_seconds: float

    @classmethod
    def now(cls) -> Self:
        used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return cls(time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in used))

    def since(self, started: Taken) -> Taken:
        return Taken(self.seconds - started.seconds, self.cpu_seconds - started.cpu_seconds)


def taken_by_runners(lines: list[str], beam_size: int) -> Taken:
    """The network alone."""
    _, (model,) = load_offline([BUNDLED], OfflineOptions("cpu", beam_size=beam_size))
    options = replace(model.decoding, beam_size=beam_size)
    encode = model.tokenizer.encode_source
    ids = (encode(line, "en", "zh") for line in lines)
    sentences = sorted((SourceSentence(one, options) for one in ids), key=lambda one: len(one.ids))
    runners = [make() for make in model.make_runners]
    shares = [sentences[place :: len(runners)] for place in range(len(runners))]
    with ThreadPoolExecutor(len(runners)) as threads:
        list(threads.map(lambda runner: translate_all(runner, sentences[:_WARM_UP]), runners))
        started = Taken.now()
        list(threads.map(translate_all, runners, shares))
        return Taken.now().since(started)


def taken_by_ctranslate2(lines: list[str], beam_size: int, shape: Shape) -> Taken:
    import ctranslate2

    tokenizer, pieces = open_checkpoint(BUNDLED).tokenizer, shape.pieces
    ids = {piece: i for i, piece in enumerate(pieces)}
    translator = ctranslate2.Translator(
        shape.ctranslate2, "cpu", compute_type="int8", inter_threads=num_cores(), intra_threads=1
    )

    def translated(some: list[str]) -> list[str]:
        sources = ([pieces[i] for i in tokenizer.encode_source(one, "en", "zh")] for one in some)
        results = translator.translate_iterable(sources, beam_size=beam_size)
        return [tokenizer.decode([ids[one] for one in each.hypotheses[0]]) for each in results]

    translated(lines[:_WARM_UP])
    started = Taken.now()
    translated(lines)
    return Taken.now().since(started)


def taken_by_dragoman(lines: list[str], beam_size: int) -> Taken:
    """The time as the command tells it; its CPU time has the start too."""
    command = [sys.executable, "-m", "dragoman", "translate", "--from", "zh", "--to", "en"]
    command += ["--device", "cpu", "--beam-size", str(beam_size), "--format", "text"]
    given = "".join(f"{line}\n" for line in lines).encode()
    done = subprocess.run(command, input=given, check=True, capture_output=True)
    (rate,) = _RATE.findall(done.stderr.decode().splitlines()[-1])
    return Taken(len(lines) / float(rate.replace(",", "")), Taken.now().cpu_seconds)


def measure(contestant: str, lines: list[str], beam_size: int, prepared: Path) -> Taken:
    if contestant == "runners":
        return taken_by_runners(lines, beam_size)
    if contestant == "dragoman":
        return taken_by_dragoman(lines, beam_size)
    return taken_by_ctranslate2(lines, beam_size, Shape.load(prepared))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=Path, required=True, help="Chinese, one sentence a line")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--prepared", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    lines = read_lines(arguments.lines, arguments.count)
    if arguments.contestant:
        print(*measure(arguments.contestant, lines, arguments.beam, arguments.prepared))
        return
    taken: dict[str, list[Taken]] = {name: [] for name in CONTESTANTS}
    with tempfile.TemporaryDirectory() as root:
        prepared = Path(root) / "shape.json"
        prepare("bundled", Path(root), None, 1).save(prepared)
        for _ in range(arguments.rounds):
            for name, own in taken.items():
                own.append(_in_a_process([*sys.argv[1:], "--prepared", str(prepared)], name))
    print(provenance(weights(BUNDLED)))
    for name, own in taken.items():
        rates = sorted(len(lines) / one.seconds for one in own)
        cpu = 1000 * statistics.median(one.cpu_seconds for one in own) / len(lines)
        print(
            f"{name:<12} {statistics.median(rates):7.0f} lines/s ({rates[0]:.0f} to "
            f"{rates[-1]:.0f}), {cpu:.2f} ms of CPU a line"
        )


def _in_a_process(arguments: list[str], contestant: str) -> Taken:
    command = [sys.executable, "-m", "benchmarks.corpora", *arguments, "--contestant", contestant]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Taken(*map(float, done.stdout.split()[-2:]))


if __name__ == "__main__":
    main()
