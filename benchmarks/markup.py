"""What survives a translation, and what markup costs.

1. Of tests/data/placeholders*.tsv: the texts in which every string comes back as often as it went
   in.
2. Sentences a second: plain, as HTML without tags, with two pairs of tags, and with a placeholder.

    python -m benchmarks.markup
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Sequence

from benchmarks.sentences import ROOT, real_sentences
from service.offline import OfflineOptions, OfflineTranslator
from service.translation.job import TextFormat

_SETS = ("placeholders.tsv", "placeholders_unseen.tsv")
_MODELS = ("zh-en", "en-de")


def lines_of(name: str) -> list[list[str]]:
    text = (ROOT / "tests" / "data" / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()]


def survivors(translator: OfflineTranslator, name: str) -> tuple[int, int]:
    """How many texts of the set keep all their strings, and how many there are."""
    lines = lines_of(name)
    kept = 0
    for source, target, text, strings in lines:
        found = translator.translate(text, source, target)
        kept += all(found.count(s) == text.count(s) for s in strings.split(" ¦ "))
    return kept, len(lines)


def wrapped(text: str, rng: random.Random) -> str:
    """The sentence with tags around two stretches of characters."""
    a, b, c, d = sorted(rng.sample(range(len(text) + 1), 4))
    return f"{text[:a]}<b>{text[a:b]}</b>{text[b:c]}<a href='x'>{text[c:d]}</a>{text[d:]}"


def rate(translator: OfflineTranslator, texts: Sequence[str], text_format: TextFormat) -> float:
    """Texts a second from Chinese into English."""
    began = time.perf_counter()
    translator.translate_all(texts, "zh", "en", text_format)
    return len(texts) / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="sentences of one run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only-rates", action="store_true")
    arguments = parser.parse_args()
    models = [ROOT / "checkpoints" / name for name in _MODELS]
    with OfflineTranslator(models, OfflineOptions("cpu", "int8", max_slots=64)) as translator:
        if not arguments.only_rates:
            for name in _SETS:
                kept, total = survivors(translator, name)
                print(f"{name}: {kept} of {total} survive")
        print_rates(translator, arguments.count, arguments.rounds)


def print_rates(translator: OfflineTranslator, count: int, rounds: int) -> None:
    rng = random.Random(1)
    plain = [text for text in real_sentences(count, seed=5) if len(text) > 3]
    cases: dict[str, tuple[list[str], TextFormat]] = {
        "plain": (plain, "text"),
        "html, no tags": (plain, "html"),
        "html, two pairs": ([wrapped(text, rng) for text in plain], "html"),
        "a placeholder": ([f"{{name}}：{text}" for text in plain], "text"),
    }
    rates: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, (texts, text_format) in cases.items():
            rates[name].append(rate(translator, texts, text_format))
    whole = statistics.median(rates["plain"])
    for name, values in rates.items():
        median = statistics.median(values)
        print(f"{name:<20} {median:7.1f} sentences/s  {median / whole:.2f} of plain")


if __name__ == "__main__":
    main()
