"""Offline throughput of a model as WMT's efficiency tasks use them: 12 encoder layers, 1 decoder's.

Random weights (d 512, 8 heads, feed-forward 2,048, vocabulary 32,000); sentences of 10 to 30 tokens
whose translations are made 26 tokens long: about 20 words at 1.3 tokens each. Prints target tokens
and words a second for several numbers of slots, greedy, medians of three; and how long one sentence
takes alone.

    python -m benchmarks.efficiency --device cuda
"""

from __future__ import annotations

import argparse
import random
import statistics
import time

from model.backends.devices import resolve_device
from model.backends.selection import resolve_precision
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.network.config import ModelConfig
from model.network.transformer import Transformer, initialise
from model.offline import translate_all
from model.runner import Runner

CONFIG = ModelConfig(
    src_vocab_size=32_000,
    tgt_vocab_size=32_000,
    d_model=512,
    n_heads=8,
    d_ff=2048,
    n_encoder_layers=12,
    n_decoder_layers=1,
    max_positions=64,
)
TARGET_TOKENS = 26
TOKENS_PER_WORD = 1.3
_ROUNDS = 3


def make_runner(slots: int, device: str, precision: str) -> Runner:
    """Ends are never generated, so that every translation has TARGET_TOKENS."""
    model = Transformer(CONFIG)
    initialise(model, "xavier")
    control_ids = [CONFIG.pad_id, CONFIG.bos_id, CONFIG.eos_id]
    return Runner(
        model.to(device),
        control_ids,
        max_slots=slots,
        max_rows=slots,
        max_source_tokens=32,
        max_target_tokens=32,
        precision=resolve_precision(precision, device),
    )


def sentences(count: int) -> list[SourceSentence]:
    rng = random.Random(1)
    options = DecodingOptions(beam_size=1, max_length=TARGET_TOKENS)
    return [
        SourceSentence([*rng.choices(range(10, 32_000), k=rng.randint(10, 30)), 3], options)
        for _ in range(count)
    ]


def seconds_for(runner: Runner, given: list[SourceSentence]) -> float:
    """Median of several rounds, after one to warm up."""
    taken = []
    for _ in range(_ROUNDS + 1):
        started = time.perf_counter()
        translate_all(runner, given)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--slots", type=int, nargs="*", default=[64, 256, 1024])
    parser.add_argument("--count", type=int, default=8192, help="sentences to translate")
    arguments = parser.parse_args()
    device = resolve_device(arguments.device)
    for slots in arguments.slots:
        runner = make_runner(slots, device, arguments.precision)
        rate = arguments.count * TARGET_TOKENS / seconds_for(runner, sentences(arguments.count))
        words = rate / TOKENS_PER_WORD
        print(f"{slots:5} slots: {rate:9,.0f} tokens/s, {words:9,.0f} words/s", flush=True)
    alone = seconds_for(make_runner(1, device, arguments.precision), sentences(1))
    print(f"one sentence alone: {1000 * alone:.2f} ms")


if __name__ == "__main__":
    main()
