from __future__ import annotations

import pytest

from service.translation.detection import LanguageDetector


@pytest.fixture(scope="module")
def detector() -> LanguageDetector:
    return LanguageDetector()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("你好,世界!", "zh"),
        ("The weather is fine today.", "en"),
        ("THE WEATHER IS FINE TODAY.", "en"),
        ("\n\n 今天天气很好。\n", "zh"),
        ("\ufeff\u200b今天天气很好。", "zh"),
    ],
)
def test_it_tells_languages_apart(detector: LanguageDetector, text: str, language: str) -> None:
    detection = detector.detect(text, ["en", "zh"])
    assert detection.language == language
    assert 50 < detection.confidence <= 100


@pytest.mark.parametrize("text", ["", "  ", "😀😀", "123", "---"])
def test_without_letters_it_takes_the_first_and_says_so(
    detector: LanguageDetector, text: str
) -> None:
    detection = detector.detect(text, ["zh", "en"])
    assert (detection.language, detection.confidence) == ("zh", 0.0)


def test_it_answers_with_none_but_the_candidates_and_is_honest_about_it(
    detector: LanguageDetector,
) -> None:
    detection = detector.detect("Bonjour tout le monde", ["zh", "pt-BR"])
    assert detection.language in ("zh", "pt-BR")
    assert detection.confidence < 10
