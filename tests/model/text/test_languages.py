"""Whatever users call a language is understood, or refused with what is allowed."""

from __future__ import annotations

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
