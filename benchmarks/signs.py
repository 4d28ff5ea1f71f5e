"""How many signs come through a translation: currency, units, arrows, marks, each in seven
sentences. A sign is kept if the translation has it as often as the source.

    python -m benchmarks.signs checkpoints/zh-en checkpoints/en-de
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from model.checkpoint import read_info
from service.offline import OfflineOptions, OfflineTranslator

_SIGNS = (
    "€£¥₿₹₽₩°℃‰½²³µ∞√∑Ω№±×÷≤≥≠≈→←↑↓⇒⇧•◦★☆✓✗♪♥☐☑█░■□●○◆▪►▶①§¶†‡©®™⌘~^|<>"  # carried
    "=+$@&%*#"  # left to the model
)
_FRAMES = {
    "de": ("Die Temperatur ist 25{}.", "Preis: {}5", "{} Fertig", "Menü {} Datei {} Speichern",
           "Drücken Sie {} zum Kopieren.", "Dieses Zeichen {} ist neu.", "Ich habe jetzt 3{}."),
    "en": ("The temperature is 25{}.", "Price: {}5", "{} Done", "Menu {} File {} Save",
           "Press {} to copy.", "This sign {} is new.", "I have 3{} now."),
    "zh": ("温度是25{}。", "价格：{}5", "{} 完成", "菜单 {} 文件 {} 保存", "按{}复制。",
           "这个符号{}是新的。", "我现在有3{}。"),
}  # fmt: skip


class Case(NamedTuple):
    sign: str
    source: str


def cases(language: str) -> list[Case]:
    """The sentences of one source language."""
    return [Case(sign, frame.replace("{}", sign)) for sign in _SIGNS for frame in _FRAMES[language]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoints", nargs="+", type=Path)
    for checkpoint in parser.parse_args().checkpoints:
        with OfflineTranslator([checkpoint], OfflineOptions()) as translator:
            for source, target in read_info(checkpoint).pairs:
                _print(translator, source, target)


def _print(translator: OfflineTranslator, source: str, target: str) -> None:
    """Print how many are kept, and the signs that are lost more often than kept."""
    asked = cases(source)
    answers = translator.translate_all([case.source for case in asked], source, target)
    kept: Counter[str] = Counter()
    for case, answer in zip(asked, answers, strict=True):
        kept[case.sign] += answer.count(case.sign) == case.source.count(case.sign)
    rare = "".join(sign for sign in _SIGNS if kept[sign] <= len(_FRAMES[source]) // 2)
    print(f"{source}-{target}: {kept.total()} of {len(asked)}; mostly lost: {rare or 'none'}")


if __name__ == "__main__":
    main()
