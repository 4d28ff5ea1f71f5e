"""Whatever users call a language is understood, or refused with what is allowed."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import strategies as st

from model.text.languages import (
    LanguageError,
    Languages,
    public_codes,
)

NLLB = ["ace_Arab", "ace_Latn", "arb_Arab", "eng_Latn", "kor_Hang", "pes_Arab", "prs_Arab"]
NLLB += ["por_Latn", "srp_Cyrl", "zho_Hans", "zho_Hant", "yue_Hant"]
codes = st.sampled_from(["en", "zh", "de", "fr", "ja"])


@pytest.fixture
def languages() -> Languages:
    public = public_codes(NLLB)
    return Languages(public.values(), public)


@pytest.mark.parametrize(
    ("written", "public"),
    [
        ("eng_Latn", "en"),
        ("en-GB", "en"),
        ("zh_CN", "zh"),
        ("cmn", "zh"),
        ("zh-TW", "zh-Hant"),
        ("pt-BR", "pt"),
        ("prs", "fa-AF"),
    ],
)
def test_every_way_to_write_a_language_is_understood(
    languages: Languages, written: str, public: str
) -> None:
    assert languages.resolve(written) == public


@pytest.mark.parametrize("written", ["de", "xx", "", "english", "zh-nonsense-", "ROMANCE", "🇩🇪"])
def test_what_the_model_lacks_is_refused_with_what_it_has(
    languages: Languages, written: str
) -> None:
    with pytest.raises(LanguageError, match="is not supported; supported: ace-Arab, ace, ar, en"):
        languages.resolve(written)


def hostile_codes(start: int, count: int) -> Iterator[str]:
    """Well-formed tags, each of them new: known and unknown languages, with all that may follow."""
    for number in range(start, start + count):
        yield f"en-Latn-GB-x-{number:x}"
        yield f"zh-a{number % 10**7:07d}"
        yield f"q{chr(97 + number % 26)}{chr(97 + number // 26 % 26)}-u-co-{number:x}"


def test_a_variety_of_codes_leaves_the_memory_as_it_was(languages: Languages) -> None:
    for code in hostile_codes(0, 1000):
        languages.find(code)
    tracemalloc.start()
    try:
        for code in hostile_codes(1000, 2000):
            languages.find(code)
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert grown < 2**21
