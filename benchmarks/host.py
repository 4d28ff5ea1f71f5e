"""What Python takes of a request: everything but the network, beside a route that does nothing.

- echo: a route of FastAPI with a body and an answer of pydantic's, on asyncio's event loop;
- cache: the bundled zh-en, whose cache has all sentences;
- free: a network of one layer of 16 dimensions and translations of 20 tokens, which costs next to
  nothing; greedy and with a beam of 4, with one sentence a request or 50.

Each is asked by 64 clients that keep their connections, in turns, medians of the rounds; `of echo`
is the sentences a second over the requests a second of the echo. The CPU is that of the server, a
sentence. The load generator shares the cores, so compare only figures of one run.

    python -m benchmarks.host
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import Popen

import torch
from fastapi import FastAPI
from pydantic import BaseModel

from benchmarks.closed_loop import GENERATOR, Texts, closed_loop
from benchmarks.cpu import CpuSeconds
from benchmarks.provenance import provenance, weights
from benchmarks.sentences import ROOT, real_sentences
from benchmarks.server import PORT, running, running_server
from model.checkpoint import read_info
from model.checkpoint.saving import save_checkpoint
from model.network.transformer import Transformer, initialise
from tests.conftest import TINY_PAIRS, train_tiny_tokenizer

ZH_EN = ROOT / "checkpoints" / "zh-en"
CLIENTS, NUM_SENTENCES, A_LIST, NUM_TOKENS, VOCABULARY = 64, 300, 50, 20, 512
_WARM_SECONDS = 2
ROOM = ["--max-waiting-sentences", "1000000", "--max-waiting-tokens", "100000000"]
CACHE = ["--cache-bytes", str(2**26)]
app = FastAPI()


class Asked(BaseModel):
    """A request's body."""

    q: str | list[str]
    source: str
    target: str
    beam_size: int = 4


class Answer(BaseModel):
    """An answer's body."""

    translatedText: str | list[str]


@app.post("/translate")
async def echo(asked: Asked) -> Answer:
    return Answer(translatedText=asked.q)


@dataclasses.dataclass(frozen=True)
class Case:
    """What is asked of which server. `network`: None is the echo."""

    name: str
    network: Path | None
    beam_size: int = 1
    num_texts: int = 1
    arguments: Sequence[str] = ()

    @contextlib.contextmanager
    def served(self) -> Iterator[Popen[bytes]]:
        if self.network is None:
            command = ["uvicorn", "benchmarks.host:app", "--loop", "asyncio", "--no-access-log"]
            with running([*command, "--port", str(PORT)], "/docs") as server:
                yield server
        else:
            with running_server(self.network, [*ROOM, *self.arguments]) as server:
                yield server

    @property
    def texts(self) -> Sequence[Texts]:
        """Without digits: this network loses them, and the sentence is asked for again."""
        some = real_sentences(10 * NUM_SENTENCES, seed=3, path=TINY_PAIRS)
        sentences = [text for text in some if not any(map(str.isdecimal, text))][:NUM_SENTENCES]
        if self.num_texts == 1:
            return sentences
        starts = range(0, NUM_SENTENCES, self.num_texts)
        return [sentences[start : start + self.num_texts] for start in starts]


def write_free_network(directory: Path) -> Path:
    """A checkpoint with a network that costs next to nothing; it is of the small vocabulary of the
    tests, because the output layer of zh-en's is not free."""
    directory.mkdir()
    tokenizer = train_tiny_tokenizer(directory / "tiny.model", VOCABULARY, reserved_pieces=16)
    info = read_info(ZH_EN)
    config = dataclasses.replace(
        info.architecture,
        src_vocab_size=VOCABULARY,
        tgt_vocab_size=VOCABULARY,
        d_model=16,
        n_heads=1,
        d_ff=16,
        n_encoder_layers=1,
        n_decoder_layers=1,
    )
    decoding = dataclasses.replace(info.decoding, max_length=NUM_TOKENS)
    torch.manual_seed(1)
    network = Transformer(config)
    initialise(network, "xavier")
    files = dataclasses.replace(info.tokenizer, source=tokenizer.name, target=tokenizer.name)
    made = dataclasses.replace(
        info, architecture=config, decoding=decoding, tokenizer=files, alignment_heads=()
    )
    save_checkpoint(directory, made, network.weights, [tokenizer], torch.float32)
    return directory


def measure(case: Case, seconds: float) -> tuple[float, float]:
    """Sentences a second, and microseconds of the server's CPU a sentence."""
    with case.served() as server:
        closed_loop(case.texts, CLIENTS, case.beam_size, _WARM_SECONDS)
        before = CpuSeconds.now(server.pid)
        run = closed_loop(case.texts, CLIENTS, case.beam_size, seconds)
        taken = CpuSeconds.now(server.pid).since(before).server
    rate = run.rate * case.num_texts
    return rate, taken / (rate * seconds) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        free = write_free_network(Path(name) / "free")
        cases = [
            Case("echo", None),
            Case("cache", ZH_EN, arguments=CACHE),
            Case("free, greedy", free),
            Case("free, beam 4", free, beam_size=4),
            Case(f"free, greedy, {A_LIST} a request", free, num_texts=A_LIST),
        ]
        print(f"{provenance(weights(ZH_EN))}; {GENERATOR}\n", flush=True)
        found = defaultdict[str, list[tuple[float, float]]](list)
        for _ in range(given.rounds):
            for case in cases:
                found[case.name].append(measure(case, given.seconds))
    print("| case | sentences/s | of echo | CPU us |\n|---|---|---|---|")
    of_echo = statistics.median(rate for rate, _ in found["echo"])
    for name, figures in found.items():
        rate, cpu = (statistics.median(column) for column in zip(*figures, strict=True))
        print(f"| {name} | {rate:.0f} | {rate / of_echo:.2f} | {cpu:.0f} |")


if __name__ == "__main__":
    main()
