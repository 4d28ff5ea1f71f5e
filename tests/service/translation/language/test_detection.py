"""A text's language is detected among the candidates, with an honest confidence."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.language.detection import LanguageDetector

EN_DE_ZH = ["en", "de", "zh"]


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


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Bonjour tout le monde, comment allez-vous aujourd’hui ?", "fr"),
        ("¿Dónde está la biblioteca municipal?", "es"),
        ("أين تقع المكتبة العامة في هذه المدينة؟", "ar"),
        ("これは日本語です。", "ja"),
        ("안녕하세요", "ko"),
        ("Where is the library?", None),
        ("Product details", None),
        ("Wo ist die Bibliothek?", None),
        ("耶和华晓谕摩西说：在开启下一场每日挑战之前", None),
        ("Toyota", None),
    ],
)
def test_it_names_a_language_that_is_no_candidate(
    detector: LanguageDetector, text: str, other: str | None
) -> None:
    assert detector.detect(text, EN_DE_ZH).other == other
    assert detector.detect(text, EN_DE_ZH, ["en"]).other == other


@pytest.mark.parametrize("text", ["", "  ", "😀😀", "123", "---"])
def test_without_letters_it_takes_the_first_and_says_so(
    detector: LanguageDetector, text: str
) -> None:
    detection = detector.detect(text, ["zh", "en"])
    assert (detection.language, detection.confidence) == ("zh", 0.0)
    preferred = detector.detect(text, ["zh", "en"], ["fr", "en"])
    assert (preferred.language, preferred.confidence) == ("en", 0.0)


def test_it_answers_with_none_but_the_candidates_and_is_honest_about_it(
    detector: LanguageDetector,
) -> None:
    detection = detector.detect("Bonjour tout le monde", ["zh", "pt-BR"])
    assert detection.language in ("zh", "pt-BR")
    assert detection.confidence < 10


@pytest.mark.parametrize(
    ("text", "language"),
    [
        *(("hallo", "de"), ("danke", "de"), ("nein", "de"), ("Guten Tag", "de"), ("Was?", "de")),
        *(("Mädchen", "de"), ("GUTEN MORGEN", "de"), ("für", "de"), ("Wie geht's?", "de")),
        *(("Hi", "en"), ("OK", "en"), ("a", "en"), ("the", "en"), ("thank you", "en")),
        *(("你好", "zh"), ("谢谢", "zh"), ("我", "zh"), ("hello 世界", "zh")),
    ],
)
def test_one_to_three_words_are_enough(
    detector: LanguageDetector, text: str, language: str
) -> None:
    assert detector.detect(text, EN_DE_ZH).language == language
    assert detector.detect(f" {text}\n", EN_DE_ZH).language == language


@pytest.mark.parametrize(
    "text",
    [
        *("bonjour", "merci beaucoup", "buenos días", "gracias", "grazie", "dziękuję", "kiitos"),
        *("teşekkürler", "спасибо", "ありがとう", "안녕하세요", "terima kasih", "obrigado", "tak"),
    ],
)
def test_a_word_of_another_language_is_not_taken_for_a_known_one_with_confidence(
    detector: LanguageDetector, text: str
) -> None:
    assert detector.detect(text, EN_DE_ZH).confidence < 60


@pytest.mark.parametrize("text", ["Pizza", "Tom", "Hand", "Computer", "E-Mail", "John Smith"])
def test_what_is_the_same_in_two_languages_has_no_high_confidence(
    detector: LanguageDetector, text: str
) -> None:
    assert detector.detect(text, EN_DE_ZH).confidence < 90


def test_the_preferred_language_decides_what_the_text_leaves_open(
    detector: LanguageDetector,
) -> None:
    assert detector.detect("Pizza", EN_DE_ZH, ["de"]).language == "de"
    assert detector.detect("Pizza", EN_DE_ZH, ["de-AT", "zh"]).language == "de"
    assert detector.detect("Pizza", EN_DE_ZH, ["en"]).language == "en"
    assert detector.detect("Pizza", EN_DE_ZH, ["fr"]) == detector.detect("Pizza", EN_DE_ZH)
    for text, language in (("Das ist gut.", "de"), ("thank you", "en"), ("你好", "zh")):
        for preferred in EN_DE_ZH:
            assert detector.detect(text, EN_DE_ZH, [preferred]).language == language
    found = detector.detect("Bonjour tout le monde", ["en", "fr"], ["en"])
    assert found.language == "fr"


def test_a_language_without_a_table_is_found_as_well(detector: LanguageDetector) -> None:
    codes = ["en", "de", "zh", "fr", "ja"]
    assert detector.detect("merci beaucoup", codes).language == "fr"
    assert detector.detect("ありがとう", codes).language == "ja"


@given(st.text(max_size=100), st.lists(st.sampled_from(["en", "de", "fr", "xx"]), max_size=3))
def test_any_text_has_a_language_and_a_confidence(text: str, preferred: list[str]) -> None:
    found = LANGUAGES.detect(text, EN_DE_ZH, preferred)
    assert found.language in EN_DE_ZH
    assert 0 <= found.confidence <= 100


LANGUAGES = LanguageDetector()


def test_many_texts_leave_time_to_other_threads(detector: LanguageDetector) -> None:
    texts = [f"How are you today? {number}" for number in range(400)]
    thread = threading.Thread(target=detector.detect_all, args=(texts, EN_DE_ZH))
    num_turns = 0
    thread.start()
    while thread.is_alive():
        time.sleep(0.0005)
        num_turns += 1
    assert num_turns >= 15, "a thread of pure Python lets others in about 8 times"
    assert detector.detect_all(texts[:2], EN_DE_ZH) == [
        detector.detect(text, EN_DE_ZH) for text in texts[:2]
    ]
