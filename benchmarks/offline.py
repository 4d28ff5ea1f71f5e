"""The runner's own throughput, with nobody waiting: texts a second, median of several runs.

python -m benchmarks.offline --count 400
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from benchmarks.sentences import ROOT, real_sentences
from model.backends.selection import resolve_precision
from model.checkpoint.reference import load_checkpoint
from model.decoding.sentence import SourceSentence
from model.offline import translate_all
from model.runner import Runner
from service.translation.language.segmentation import cut_text
from service.translation.sentence_encoder import SentenceEncoder


def throughput(model: Path, texts: list[str], repeats: int) -> float:
    """Median texts a second, with the server's default limits, after a warm-up.

    The texts are cut and tokenized before the clock runs: this is the network and its decoding.
    """
    checkpoint = load_checkpoint(model)
    limit = checkpoint.info.source_limit(None)
    runner = Runner(
        checkpoint.model,
        checkpoint.tokenizer.control_ids(),
        max_slots=64,
        max_rows=256,
        max_source_tokens=limit,
        max_target_tokens=256,
        precision=resolve_precision("auto", "cpu"),
        byte_ids=checkpoint.tokenizer.byte_ids(),
        copied_ids=checkpoint.tokenizer.copied_ids(),
    )
    tokenizer, options = checkpoint.tokenizer, checkpoint.info.decoding
    encoder = SentenceEncoder(tokenizer, "zh", "en", limit)
    sentences = [
        SourceSentence(encoder.ids(piece.text), options)
        for text in texts
        for piece in cut_text(text, "zh", limit, lambda part: len(encoder.ids(part)))
        if piece.is_sentence
    ]
    translate_all(runner, sentences[:32])
    rates = []
    for _ in range(repeats):
        started = time.perf_counter()
        translate_all(runner, sentences)
        rates.append(len(texts) / (time.perf_counter() - started))
    return statistics.median(rates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    texts = real_sentences(arguments.count, seed=3)
    print(f"{throughput(arguments.model, texts, arguments.repeats):.2f}")


if __name__ == "__main__":
    main()
