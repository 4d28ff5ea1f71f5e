"""How fast the families of models run on a CPU, in the sizes that people use.

Random weights, int8, sources of 10 to 30 tokens and translations of 30. Tokens are divided by the
seconds of one core that they took, which do not count what else the machine did. Families take
turns, each time in a process of its own; a figure is the best of the rounds, since a busy machine
only slows.

    python -m benchmarks.families
    python -m benchmarks.families --families zh-en student student-shortlist --rounds 5
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from benchmarks.provenance import provenance
from model.backends.cores import num_cores
from model.checkpoint import read_info
from model.checkpoint.bundled import bundled_checkpoint
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.network.config import ModelConfig
from model.network.shortlist import Shortlist
from model.network.transformer import Transformer
from model.offline import translate_all
from model.runner import Runner

_LENGTH = 30
_BATCH = 32
_ALONE = 2
_PASSES = 3
_LISTED = 50
"""Pieces of a shortlist for each source piece, and of every list."""
_BIG = ModelConfig(
    128_112, 128_112, 1024, 16, 4096, n_encoder_layers=12, n_decoder_layers=12, norm="pre"
)
_STUDENT = ModelConfig(
    *(32_000, 32_000, 256, 8, 1536, 6, 2), sinusoids="tensor2tensor", autoregression="ssru"
)
FAMILIES = {
    "opus-mt": ModelConfig(58_101, 58_101, activation="silu"),
    "opus-mt-tc-big": ModelConfig(58_101, 58_101, 1024, 16, 4096, activation="silu"),
    "quickmt": ModelConfig(
        *(32_000, 32_000, 1024, 16, 4096, 8, 2), norm="pre", shared_embeddings="target"
    ),
    "small100": replace(_BIG, n_decoder_layers=3),
    "m2m100-418M": _BIG,
    "mbart-50": replace(
        _BIG,
        src_vocab_size=250_054,
        tgt_vocab_size=250_054,
        positions="learned",
        embedding_norm=True,
    ),
    "nllb-600M": replace(_BIG, src_vocab_size=256_206, tgt_vocab_size=256_206),
    "zh-en": read_info(bundled_checkpoint("zh-en")).architecture,
    "student": _STUDENT,
    "student-shortlist": _STUDENT,
}


class Rates(NamedTuple):
    """Parameters of a family, and its tokens a second: a sentence alone at beam 1 and 4, and 32 at
    once."""

    num_parameters: int
    tokens: list[float]


def measure(name: str) -> Rates:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = FAMILIES[name]
    model = Transformer(config).eval()
    if name.endswith("-shortlist"):
        model.shortlist = _shortlist(config)
    runner = Runner(
        model,
        [config.pad_id, config.bos_id, config.eos_id],
        max_slots=_BATCH,
        max_rows=4 * _BATCH,
        max_source_tokens=64,
        max_target_tokens=64,
        precision="int8",
    )
    runner.share_cores(num_cores())
    rates = [
        max(_rate(runner, config, batch, beam) for _ in range(_PASSES))
        for batch in (1, _BATCH)
        for beam in (1, 4)
    ]
    return Rates(sum(weight.numel() for weight in model.weights.values()), rates)


def _shortlist(config: ModelConfig) -> Shortlist:
    """Translations are as frequent as words are in texts, by Zipf's law: some 600 for a source."""
    size = config.src_vocab_size
    offsets = np.arange(size + 1) * _LISTED
    chance = np.random.default_rng(1)
    tokens = (config.tgt_vocab_size ** chance.random(offsets[-1])).astype(np.int32)
    return Shortlist(_LISTED, offsets, tokens, config.tgt_vocab_size, config.eos_id)


def _rate(runner: Runner, config: ModelConfig, batch: int, beam: int) -> float:
    """Target tokens a CPU second, of 32 sentences at once or of a few one after the other."""
    chance = random.Random(1)
    options = DecodingOptions(beam_size=beam, max_length=_LENGTH, lookahead=None)
    words = range(10, config.src_vocab_size)
    sources = [
        SourceSentence(chance.choices(words, k=chance.randint(10, 30)), options)
        for _ in range(max(batch, _ALONE))
    ]
    started, num_tokens = time.process_time(), 0
    for first in range(0, len(sources), batch):
        found = translate_all(runner, sources[first : first + batch])
        num_tokens += sum(len(one.hypotheses[0].log_probs) for one in found)
    return num_tokens / (time.process_time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    rounds = []
    for _ in range(arguments.rounds):
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            rounds.append(pool.map(measure, arguments.families, chunksize=1))
    print("| family | parameters | alone, beam 1 | beam 4 | 32 at once, beam 1 | beam 4 |")
    print("|---|---|---|---|---|---|")
    for name, measured in zip(arguments.families, zip(*rounds, strict=True), strict=True):
        best = [max(rates) for rates in zip(*(one.tokens for one in measured), strict=True)]
        cells = " | ".join(f"{rate:.0f}" for rate in best)
        print(f"| {name} | {measured[0].num_parameters / 1e6:.0f} M | {cells} |")
    print(provenance("random weights"))


if __name__ == "__main__":
    main()
