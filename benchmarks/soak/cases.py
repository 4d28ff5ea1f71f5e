"""What is translated in the soak: a fixed pool of requests, each with the translation expected."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.sentences import ROOT

GLOSSARY = "soak"
TERMS = [{"source": "library", "target": "Bücherei"}, {"source": "dog", "target": "Köter"}]
_PAIRS = (("zh", "en"), ("en", "zh"), ("en", "de"), ("de", "en"))
_CORPORA = ("tatoeba", "wiki", "dialog", "techdocs", "wmt-news", "web")
_LONGEST, _SHORT = 300, {"zh": 16, "en": 45, "de": 45}
_OPTIONS: tuple[dict[str, Any], ...] = (
    {"beam_size": 1},
    {"beam_size": 8, "length_penalty": 0.6},
    {"beam_size": 3, "no_repeat_ngram_size": 3},
    {"beam_size": 4, "alternatives": 3},
    {"temperature": 0.9, "top_p": 0.9, "seed": 7},
    {"temperature": 1.2, "top_k": 20, "seed": 11},
    {"repetition_penalty": 1.1, "max_length": 24},
)


@dataclass(frozen=True)
class Case:
    """The fields of a request in the terms of one API, and the texts of the answer in order: the
    translations, then the alternatives of each. `offline`: the fields, where the offline run needs
    others."""

    api: str
    fields: Mapping[str, Any]
    expected: tuple[str, ...] = ()
    offline: Mapping[str, Any] = field(default_factory=dict)


Sentences = Mapping[str, Sequence[str]]


def load_sentences(data: Path, seed: int) -> Sentences:
    """By language: the test data, and what dev splits there are in `data`."""
    found: dict[str, list[str]] = {"zh": [], "en": [], "de": ["Wo ist die Bibliothek?"]}
    for language in ("zh", "en"):
        file = ROOT / "tests" / "data" / f"sentences.{language}.txt"
        found[language] += file.read_text(encoding="utf-8").splitlines()
    for first, second in (("zh", "en"), ("en", "de")):
        for corpus in _CORPORA:
            for path in (data / f"{corpus}-{first}-{second}").glob("dev.*.tsv.gz"):
                for a, b in _rows(path):
                    found[first].append(a)
                    found[second].append(b)
    rng = random.Random(seed)
    for lines in found.values():
        lines[:] = dict.fromkeys(line for line in lines if 0 < len(line) <= _LONGEST)
        rng.shuffle(lines)
    return found


def _rows(path: Path) -> Iterator[tuple[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            first, _, second = line.rstrip("\n").partition("\t")
            yield first, second


class CaseMaker:
    """Makes cases of every kind from sentences, the same ones for the same seed."""

    def __init__(self, sentences: Sentences, seed: int) -> None:
        self._sentences, self._rng = sentences, random.Random(seed)

    def make(self, count: int) -> dict[str, list[Case]]:
        """`count` short texts, and of the other kinds a part of that."""
        makers = {
            "short": (count, self._short),
            "sentence": (count, self._sentence),
            "paragraph": (count // 4, self._paragraph),
            "list": (count // 8, self._list),
            "options": (count // 2, self._with_options),
            "html": (count // 8, self._html),
            "auto": (count // 8, self._auto),
            "pivot": (count // 16, self._pivot),
            "glossary": (count // 16, self._glossary),
            "deepl": (count // 8, self._deepl),
            "google": (count // 8, self._google),
            "deeplx": (count // 16, self._deeplx),
            "immersive": (count // 16, self._immersive),
        }
        return {name: [make() for _ in range(most)] for name, (most, make) in makers.items()}

    def _some(self, language: str, count: int, longest: int = _LONGEST) -> list[str]:
        fitting = [text for text in self._sentences[language] if len(text) <= longest]
        return self._rng.choices(fitting, k=count)

    def _pair(self) -> dict[str, str]:
        source, target = self._rng.choice(_PAIRS)
        return {"source": source, "target": target}

    def _joined(self, language: str, count: int) -> str:
        return ("" if language == "zh" else " ").join(self._some(language, count))

    def _short(self) -> Case:
        pair = self._pair()
        longest = _SHORT[pair["source"]]
        return Case("native", {"q": self._some(pair["source"], 1, longest)[0], **pair})

    def _sentence(self) -> Case:
        pair = self._pair()
        return Case("native", {"q": self._some(pair["source"], 1)[0], **pair})

    def _paragraph(self) -> Case:
        pair = self._pair()
        parts = [self._joined(pair["source"], self._rng.randint(2, 4)) for _ in range(2)]
        return Case("native", {"q": "\n\n".join(parts), **pair})

    def _list(self) -> Case:
        pair = self._pair()
        return Case("native", {"q": self._some(pair["source"], self._rng.randint(3, 10)), **pair})

    def _with_options(self) -> Case:
        return Case("native", {**self._sentence().fields, **self._rng.choice(_OPTIONS)})

    def _html(self) -> Case:
        pair = self._pair()
        first, second = self._some(pair["source"], 2, 100)
        q = f'<p class="a">{first}</p><ul><li><b>{second}</b></li></ul>'
        return Case("native", {"q": q, "format": "html", **pair})

    def _auto(self) -> Case:
        source, target = self._rng.choice(_PAIRS)
        return Case("native", {"q": self._joined(source, 2), "source": "auto", "target": target})

    def _pivot(self) -> Case:
        source, target = self._rng.choice((("zh", "de"), ("de", "zh")))
        return Case(
            "native", {"q": self._some(source, 1, 80)[0], "source": source, "target": target}
        )

    def _glossary(self) -> Case:
        number = self._rng.randrange(10**6)
        pair = {"source": "en", "target": "de"}
        q = f"The dog of house {number} waits at the library."
        return Case(
            "native",
            {"q": q, **pair, "glossary": GLOSSARY},
            offline={"q": q, **pair, "glossary": TERMS},
        )

    def _deepl(self) -> Case:
        pair = self._pair()
        fields = {
            "text": self._some(pair["source"], 2, 100),
            "source_lang": pair["source"].upper(),
            "target_lang": pair["target"].upper(),
        }
        if self._rng.random() < 0.3:
            fields["model_type"] = "latency_optimized"
        return Case("deepl", fields)

    def _google(self) -> Case:
        pair = self._pair()
        return Case("google", {"q": self._some(pair["source"], 2, 100), "format": "text", **pair})

    def _deeplx(self) -> Case:
        pair = self._pair()
        fields = {"source_lang": pair["source"].upper(), "target_lang": pair["target"].upper()}
        return Case("deeplx", {"text": self._some(pair["source"], 1, 80)[0], **fields})

    def _immersive(self) -> Case:
        pair = self._pair()
        fields = {"source_lang": pair["source"], "target_lang": pair["target"]}
        return Case("immersive", {"text_list": self._some(pair["source"], 3, 100), **fields})
