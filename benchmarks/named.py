"""How many numbers, countries, languages, cities, weekdays, months and Chinese names a checkpoint
translates, by kind and direction: each in a few sentences, written for this and in no corpus.

A translation is right if it has the number in digits or words, the name of the CLDR, or the name
in Pinyin. The training stages of recipes/*-named.toml practise the same names in other sentences.

    python -m benchmarks.named checkpoints/zh-en checkpoints/en-de
"""

from __future__ import annotations

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from model.checkpoint import read_info
from model.training.cldr_pairs import kinds
from model.training.name_pairs import random_name
from model.training.number_pairs import words
from service.offline import OfflineOptions, OfflineTranslator

_SEED, _NUMBERS, _NAMES = 77, 8, 8
_COUNTED = {
    "de": ("Ich bin {} Jahre alt.", "Dieses Buch kostet {} Euro.", "Im Zimmer sind {} Leute.",
           "Ich habe {} Minuten gewartet.", "Er hat {} Äpfel gekauft."),
    "en": ("I am {} years old.", "This book costs {} euros.", "There are {} people in the room.",
           "I waited for {} minutes.", "He bought {} apples."),
    "zh": ("我今年{}岁。", "这本书{}欧元。", "房间里有{}个人。", "我等了{}分钟。",
           "他买了{}个苹果。"),
}  # fmt: skip
_NAMED = {
    "countries": {"de": "Ich komme aus {}.", "en": "I come from {}.", "zh": "我来自{}。"},
    "languages": {"de": "Sie spricht {}.", "en": "She speaks {}.", "zh": "她会说{}。"},
    "cities": {"de": "Wie ist das Wetter in {}?", "en": "How is the weather in {}?",
               "zh": "{}的天气怎么样？"},
    "weekdays": {"de": "Wir sehen uns am {}.", "en": "See you on {}.", "zh": "我们{}见。"},
    "months": {"de": "Mein Geburtstag ist im {}.", "en": "My birthday is in {}.",
               "zh": "我的生日在{}。"},
}  # fmt: skip
_INTRODUCED = ("我叫{}。", "{}住在北京。", "你认识{}吗？", "{}是我的朋友。", "这是{}写的书。")


class Case(NamedTuple):
    kind: str
    source: str
    right: tuple[str, ...]
    """What a translation may have; case does not count."""


def cases(source: str, target: str) -> Iterator[Case]:
    """The sentences of one direction."""
    rng = random.Random(_SEED)
    for frame in _COUNTED[source]:
        for number in rng.sample(range(13, 100), _NUMBERS):
            right = str(number), words(number, target)
            yield Case("numbers in digits", frame.format(number), right[:1])
            yield Case("numbers in words", frame.format(words(number, source)), right)
    for (kind, frames), things in zip(_NAMED.items(), kinds(source, target), strict=True):
        for ours, theirs in things.names.values():
            yield Case(kind, frames[source].format(ours), (theirs, _month_number(kind, theirs)))
    if (source, target) == ("zh", "en"):
        for frame in _INTRODUCED:
            for _ in range(_NAMES):
                chinese, romanised = random_name(rng)
                yield Case("Chinese names", frame.format(chinese), (romanised,))


def is_right(case: Case, translation: str) -> bool:
    """Whether one of what is right is in the translation; digits not as a part of others."""
    folded = translation.casefold()
    return any(
        re.search(rf"(?<!\d){re.escape(right.casefold())}(?!\d)", folded)
        for right in case.right
        if right
    )


def _month_number(kind: str, name: str) -> str:
    """三月 may be 3月."""
    if kind != "months" or not name.endswith("月"):
        return ""
    months = [month for _, month in kinds("en", "zh")[4].names.values()]
    return f"{months.index(name) + 1}月"


def measure(checkpoint: Path, precision: str, is_verbose: bool) -> None:
    pairs = read_info(checkpoint).pairs
    with OfflineTranslator([checkpoint], OfflineOptions("cpu", precision)) as translator:
        for source, target in pairs:
            tried = list(cases(source, target))
            sources = [case.source for case in tried]
            translations = translator.translate_all(sources, source, target)
            counts = defaultdict[str, list[bool]](list)
            for case, translation in zip(tried, translations, strict=True):
                counts[case.kind].append(is_right(case, translation))
                if is_verbose and not counts[case.kind][-1]:
                    print(f"    {case.source} -> {translation}")
            for kind, results in counts.items():
                share = f"{sum(results)} of {len(results)}"
                print(f"{checkpoint.name:8} {source}-{target}  {kind:18} {share}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoints", type=Path, nargs="+")
    parser.add_argument("--precision", default="int8")
    parser.add_argument("--wrong", action="store_true", help="print every wrong translation")
    arguments = parser.parse_args()
    for checkpoint in arguments.checkpoints:
        measure(checkpoint, arguments.precision, arguments.wrong)


if __name__ == "__main__":
    main()
