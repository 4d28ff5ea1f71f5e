"""How fast the families of models run on a CPU, in the sizes that people use.

Random weights, int8, sources of 10 to 30 tokens and translations of 30. Tokens are divided by the
seconds of one core that they took, which do not count what else the machine did. Each family has a
process of its own; a figure is the best of the rounds, since a busy machine only slows.

    python -m benchmarks.families
    python -m benchmarks.families --families quickmt --rounds 5
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import time
from dataclasses import replace

import torch

from benchmarks.provenance import provenance
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.network.config import ModelConfig
from model.network.transformer import Transformer
from model.offline import translate_all
from model.runner import Runner

_LENGTH = 30
_BATCH = 32
_ALONE = 2
_BIG = ModelConfig(
    128_112, 128_112, 1024, 16, 4096, n_encoder_layers=12, n_decoder_layers=12, norm="pre"
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
}


def measure(name: str, rounds: int) -> None:
    """Print tokens a second of one family: a sentence alone and 32 at once, beam 1 and 4."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = FAMILIES[name]
    model = Transformer(config).eval()
    runner = Runner(
        model,
        [config.pad_id, config.bos_id, config.eos_id],
        max_slots=_BATCH,
        max_rows=4 * _BATCH,
        max_source_tokens=64,
        max_target_tokens=64,
        precision="int8",
    )
    rates = [
        max(_rate(runner, config, batch, beam) for _ in range(rounds))
        for batch in (1, _BATCH)
        for beam in (1, 4)
    ]
    millions = sum(weight.numel() for weight in model.weights.values()) / 1e6
    cells = " | ".join(f"{rate:.0f}" for rate in rates)
    print(f"| {name} | {millions:.0f} M | {cells} |", flush=True)


def _rate(runner: Runner, config: ModelConfig, batch: int, beam: int) -> float:
    """Target tokens a CPU second, of 32 sentences at once or of a few one after the other."""
    chance = random.Random(1)
    options = DecodingOptions(beam_size=beam, max_length=_LENGTH, lookahead=None)
    words = range(10, config.src_vocab_size)
    sources = [
        SourceSentence(chance.choices(words, k=chance.randint(10, 30)), options)
        for _ in range(max(batch, _ALONE))
    ]
    started = time.process_time()
    for first in range(0, len(sources), batch):
        translate_all(runner, sources[first : first + batch])
    return len(sources) * _LENGTH / (time.process_time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("| family | parameters | alone, beam 1 | beam 4 | 32 at once, beam 1 | beam 4 |")
    print("|---|---|---|---|---|---|", flush=True)
    for name in arguments.families:
        process = multiprocessing.get_context("spawn").Process(
            target=measure, args=(name, arguments.rounds)
        )
        process.start()
        process.join()
    print(provenance("random weights"))


if __name__ == "__main__":
    main()
