"""What the options of one sentence cost the others in its batch.

The runner alone on both cores' threads, in rounds of one mix after the other; the seconds of each
mix are medians, and are shown as multiples of those without options.

    python -m benchmarks.mixed_options --rounds 7
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.sentences import ROOT, real_sentences
from model.backends.selection import resolve_precision
from model.checkpoint import Checkpoint, load_checkpoint
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence, Term, TermForm
from model.runner import Runner

PLAIN = DecodingOptions(beam_size=4)
OPTIONS = {
    "no repeated trigrams": replace(PLAIN, no_repeat_ngram_size=3),
    "repetition penalty": replace(PLAIN, repetition_penalty=1.1),
    "sampling": DecodingOptions(beam_size=1, sampling=True, top_p=0.9, seed=7),
}
_TARGET = "en"


def make_runner(checkpoint: Checkpoint, most: int) -> Runner:
    return Runner(
        checkpoint.model,
        checkpoint.tokenizer.control_ids(),
        max_slots=most,
        max_rows=4 * most,
        max_source_tokens=128,
        max_target_tokens=128,
        precision=resolve_precision("auto", "cpu"),
        byte_ids=checkpoint.tokenizer.byte_ids(),
        copied_ids=checkpoint.tokenizer.copied_ids(),
    )


def seconds_of(runner: Runner, sentences: Sequence[SourceSentence]) -> float:
    """Of translating all at once; the encoder's part is left out."""
    runner.admit(sentences)
    started = time.perf_counter()
    while runner.num_running:
        runner.step()
    return time.perf_counter() - started


def mixes(
    plain: Sequence[SourceSentence], prefix: Sequence[int]
) -> dict[str, list[SourceSentence]]:
    """The sentences with one more, and with every tenth changed."""
    last = plain[-1]
    one = {name: replace(last, options=options) for name, options in OPTIONS.items()}
    one["a prefix"] = replace(last, prefix=prefix)
    one["a glossary"] = replace(last, terms=(Term((TermForm(tuple(prefix)),), 1),))
    every = list(one.values())
    tenth = [
        replace(every[i // 10 % len(every)], ids=sentence.ids) if i % 10 == 0 else sentence
        for i, sentence in enumerate(plain)
    ]
    return {
        "none": list(plain),
        **{name: [*plain[:-1], sentence] for name, sentence in one.items()},
        "one in ten": tenth,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--model", type=Path, default=ROOT / "checkpoints" / "zh-en")
    arguments = parser.parse_args()
    checkpoint = load_checkpoint(arguments.model)
    tokenizer = checkpoint.tokenizer
    texts = real_sentences(arguments.sentences, 1)
    plain = [SourceSentence(tokenizer.encode_source(text, _TARGET), PLAIN) for text in texts]
    all_mixes = mixes(plain, tokenizer.encode_target_batch(["The station"])[0][:3])
    runner = make_runner(checkpoint, arguments.sentences)
    seconds_of(runner, plain)
    found: dict[str, list[float]] = {name: [] for name in all_mixes}
    for _ in range(arguments.rounds):
        for name, sentences in all_mixes.items():
            found[name].append(seconds_of(runner, sentences))
    first = statistics.median(found["none"])
    print(f"{arguments.sentences} sentences, {checkpoint.info.name}")
    print("| options | ms | times |\n|---|---|---|")
    for name, seconds in found.items():
        median = statistics.median(seconds)
        print(f"| {name} | {1000 * median:.0f} | {median / first:.2f} |")


if __name__ == "__main__":
    main()
