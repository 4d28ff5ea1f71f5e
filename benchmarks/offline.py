"""One runner's throughput, with nobody waiting: texts a second, median of several runs.

python -m benchmarks.offline --count 400
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from benchmarks.sentences import ROOT, real_sentences
from service.offline import OfflineTranslator

_SLOTS = 64


def throughput(model: Path, texts: list[str], repeats: int) -> float:
    """Median texts a second, with the server's default limits, after a warm-up."""
    translator = OfflineTranslator(model, "cpu", "auto", _SLOTS, None, None)
    translator.translate_all(texts[:32], "zh", "en")
    rates = []
    for _ in range(repeats):
        started = time.perf_counter()
        translator.translate_all(texts, "zh", "en")
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
