"""A text's language is detected among the candidates, with an honest confidence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.language.detection import LanguageDetector

EN_DE_ZH = ["en", "de", "zh"]
DETECTOR = LanguageDetector()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("你好,世界!", "zh"),
        ("The weather is fine today.", "en"),
        ("THE WEATHER IS FINE TODAY.", "en"),
        ("\n\n 今天天气很好。\n", "zh"),
        ("\ufeff\u200b今天天气很好。", "zh"),
        ("Ｈｅｌｌｏ ｗｏｒｌｄ", "en"),
    ],
)
def test_it_tells_languages_apart(text: str, language: str) -> None:
    detection = DETECTOR.detect(text, ["en", "zh"])
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
        ("독일어를 몰라요.", "ko"),
        ("Всем доброе утро", "ru"),
        ("Waar is het station?", "nl"),
        *(("Dove sei?", "it"), ("Je t'aime", "fr"), ("Det er godt", "da"), ("Alles goed?", "nl")),
        *(("Gracias", "es"), ("שלום", "he"), ("Нет", "ru"), ("はい", "ja")),
        *((text, None) for text in ("Nie wieder", "Was?", "Wo?", "Nie", "OK", "lol", "π", "Hi")),
        *(("Var bor du?", "sv"), ("Hvem er du?", "da"), ("Ikke nu", "da"), ("Ti amo", "it")),
        *(
            ("Grazie mille", "it"),
            ("Lo siento", "es"),
            ("Teh best plce", None),
            ("Mona Lisa", None),
        ),
        *(("Co to jest?", "pl"), ("Tot ziens", "nl"), ("Spreek je Engels?", "nl")),
        *(
            (text, None)
            for text in ("Blöde Kuh.", "Greetings, comrade!", "Warum nicht?", "See you")
        ),
        ("La tua password non è corretta", "it"),
        ("El tren llega tarde.", "es"),
        ("Não falo alemão.", "pt"),
        ("Jag är hungrig.", "sv"),
        ("Hvor er stationen?", "da"),
        ("Gdzie jest dworzec?", "pl"),
        ("Kolik to stojí?", "cs"),
        ("Bugün yağmur yağıyor.", "tr"),
        ("Tidak ada hasil ditemukan", "id"),
        ("Tôi không nói tiếng Đức.", "vi"),
        ("回滚对分区的上次更改", None),
        ("很开心帮助到您。", None),
        ("John Smith in Berlin", None),
        ("Where is the library?", None),
        ("Product details", None),
        ("Wo ist die Bibliothek?", None),
        ("耶和华晓谕摩西说：在开启下一场每日挑战之前", None),
        ("Toyota", None),
    ],
)
def test_it_names_a_language_that_is_no_candidate(text: str, other: str | None) -> None:
    assert DETECTOR.detect(text, EN_DE_ZH).other == other
    assert DETECTOR.detect(text, EN_DE_ZH, ["en"]).other == other


@pytest.mark.parametrize(
    "text",
    [
        "Answer me. Do you know how to do that? 欢迎",
        "Tom has decided to become a monk. 除非",
        "很抱歉 The man you met at the station is my father.",
    ],
)
def test_a_chinese_word_makes_no_english_text_chinese(text: str) -> None:
    assert DETECTOR.detect(text, EN_DE_ZH).language == "en"


@pytest.mark.parametrize("text", ["", "  ", "😀😀", "123", "---"])
def test_without_letters_it_takes_the_first_and_says_so(text: str) -> None:
    detection = DETECTOR.detect(text, ["zh", "en"])
    assert (detection.language, detection.confidence) == ("zh", 0.0)
    preferred = DETECTOR.detect(text, ["zh", "en"], ["fr", "en"])
    assert (preferred.language, preferred.confidence) == ("en", 0.0)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        *(("hallo", "de"), ("danke", "de"), ("nein", "de"), ("Guten Tag", "de"), ("Was?", "de")),
        *(("Mädchen", "de"), ("GUTEN MORGEN", "de"), ("für", "de"), ("Wie geht's?", "de")),
        *(("Hi", "en"), ("OK", "en"), ("a", "en"), ("the", "en"), ("thank you", "en")),
        *(("你好", "zh"), ("谢谢", "zh"), ("我", "zh"), ("hello 世界", "zh")),
    ],
)
def test_one_to_three_words_are_enough(text: str, language: str) -> None:
    assert DETECTOR.detect(text, EN_DE_ZH).language == language
    assert DETECTOR.detect(f" {text}\n", EN_DE_ZH).language == language


@pytest.mark.parametrize(
    ("text", "most"),
    [
        *((text, 60) for text in ("bonjour", "buenos días", "grazie", "dziękuję", "teşekkürler")),
        *((text, 60) for text in ("спасибо", "ありがとう", "안녕하세요", "terima kasih", "tak")),
        *((text, 90) for text in ("Pizza", "Tom", "Hand", "Computer", "E-Mail", "John Smith")),
    ],
)
def test_words_of_no_candidate_or_of_two_have_no_high_confidence(text: str, most: float) -> None:
    assert DETECTOR.detect(text, EN_DE_ZH).confidence < most


def test_the_preferred_language_decides_what_the_text_leaves_open() -> None:
    assert DETECTOR.detect("Pizza", EN_DE_ZH, ["de"]).language == "de"
    assert DETECTOR.detect("Pizza", EN_DE_ZH, ["de-AT", "zh"]).language == "de"
    assert DETECTOR.detect("Pizza", EN_DE_ZH, ["en"]).language == "en"
    assert DETECTOR.detect("Pizza", EN_DE_ZH, ["fr"]) == DETECTOR.detect("Pizza", EN_DE_ZH)
    for text, language in (("Das ist gut.", "de"), ("thank you", "en"), ("你好", "zh")):
        for preferred in EN_DE_ZH:
            assert DETECTOR.detect(text, EN_DE_ZH, [preferred]).language == language
    assert DETECTOR.detect("Bonjour tout le monde", ["en", "fr"], ["en"]).language == "fr"
    assert DETECTOR.detect("Bonjour tout le monde", ["zh", "pt-BR"]).confidence < 10


def test_a_language_without_a_table_is_found_as_well() -> None:
    codes = ["en", "de", "zh", "fr", "ja"]
    assert DETECTOR.detect("merci beaucoup", codes).language == "fr"
    assert DETECTOR.detect("ありがとう", codes).language == "ja"


@given(st.text(max_size=100), st.lists(st.sampled_from(["en", "de", "fr", "xx"]), max_size=3))
def test_any_text_has_a_language_and_a_confidence(text: str, preferred: list[str]) -> None:
    found = DETECTOR.detect(text, EN_DE_ZH, preferred)
    assert found.language in EN_DE_ZH
    assert found.confidence in range(101)
    assert DETECTOR.detect_all([text] * 2, EN_DE_ZH) == [DETECTOR.detect(text, EN_DE_ZH)] * 2


def test_the_model_is_read_once_for_all_detectors(monkeypatch: pytest.MonkeyPatch) -> None:
    first = LanguageDetector().detect("Guten Morgen.", ["en", "de"])
    monkeypatch.delattr("fasttext.load_model")
    assert LanguageDetector().detect("Guten Morgen.", ["en", "de"]) == first
