"""Whatever users call a language is understood, or refused with what is allowed."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.text.languages import (
    MAX_CODE_CHARACTERS,
    LanguageError,
    Languages,
    every_pair,
    parse_pairs,
    render_pairs,
    shown_pairs,
)
from model.text.tags import public_codes

NLLB = ["ace_Arab", "ace_Latn", "arb_Arab", "eng_Latn", "kor_Hang", "pes_Arab", "prs_Arab"]
NLLB += ["por_Latn", "srp_Cyrl", "zho_Hans", "zho_Hant", "yue_Hant"]
codes = st.sampled_from(["en", "zh", "de", "fr", "ja"])


@pytest.fixture
def languages() -> Languages:
    public = public_codes(NLLB)
    return Languages(public.values(), public)


@pytest.mark.parametrize(
    ("own", "public"),
    [
        (NLLB, "ace-Arab ace ar en ko fa fa-AF pt sr zh zh-Hant yue"),
        (["en_XX", "zh_CN", "pt_XX", "ar_AR", "sw_KE", "tl_XX"], "en zh pt ar sw tl"),
        (["fra", "fr_BE", "cmn_Hans", "cmn_Hant"], "fr fr-BE zh zh-Hant"),
        (["ROMANCE", "en"], "romance en"),
        (["aka_Latn", "twi_Latn"], "ak tw"),
    ],
)
def test_public_codes_leave_out_what_goes_without_saying(own: list[str], public: str) -> None:
    assert public_codes(own) == dict(zip(own, public.split(), strict=True))


@given(own=st.lists(st.sampled_from([*NLLB, "en_XX", "zh_CN", "zh", "en", "fr_BE"]), unique=True))
def test_no_two_languages_share_a_public_code(own: list[str]) -> None:
    assert len(set(public_codes(own).values())) == len(own)


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


@pytest.mark.parametrize(
    "variant", ["de-CH", "DE-AT", "fr-CA", "es-419", "pt_BR", "en-US", "zh-Hans"]
)
def test_a_variant_is_the_language_that_the_model_has(variant: str) -> None:
    found = Languages(["de", "fr", "es", "pt", "en", "zh"]).find(variant)
    assert found == variant[:2].lower()


@pytest.mark.parametrize("written", ["de", "xx", "", "english", "zh-nonsense-", "ROMANCE", "🇩🇪"])
def test_what_the_model_lacks_is_refused_with_what_it_has(
    languages: Languages, written: str
) -> None:
    with pytest.raises(LanguageError, match="is not supported; supported: ace-Arab, ace, ar, en"):
        languages.resolve(written)


def _grown_by(languages: Languages, numbers: range) -> int:
    before, _ = tracemalloc.get_traced_memory()
    for number in numbers:
        languages.find(f"en-Latn-GB-x-{number:x}")
        languages.find(f"q{chr(97 + number % 26)}{chr(97 + number // 26 % 26)}-u-co-{number:x}")
    return tracemalloc.get_traced_memory()[0] - before


def test_a_variety_of_codes_leaves_the_memory_as_it_was(languages: Languages) -> None:
    """Known and unknown languages, with all that may follow."""
    tracemalloc.start()
    try:
        grown = [_grown_by(languages, range(first, first + 2000)) for first in range(0, 8000, 2000)]
    finally:
        tracemalloc.stop()
    assert min(grown) < 2**21  # threads of other tests may hold some at one time


def test_a_code_over_the_bound_is_no_language_however_it_begins(languages: Languages) -> None:
    longest = "en-x-" + "a-" * ((MAX_CODE_CHARACTERS - 6) // 2) + "a"
    assert languages.find(longest) == "en"
    for code in ("en" + "-abcde" * 10_000, "en" + "-a" * 500_000, "x" * 900_000):
        assert languages.find(code) is None


def folded(pair: tuple[str, str]) -> tuple[str, ...]:
    return tuple(code.lower().replace("_", "-") for code in pair)


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ([["auto", "en"]], "must not be auto"),
        ([["en", "Auto"]], "must not be auto"),
        ([["en", "de"], ["zh", "zh"]], "must have two languages"),
        ([["zh_Hant", "zh-hant"]], "must have two languages"),
        ([["zh", "en"], ["en", "zh"], ["zh", "en"]], "must be different"),
        ([["zh", "en"], ["ZH", "en"]], "must be different"),
        ({"sources": ["zh", "de", "zh"], "targets": ["en"]}, "must be different"),
        ({"sources": ["auto", "de"], "targets": ["en"]}, "must not be auto"),
    ],
    ids=str,
)
def test_pairs_that_no_request_could_mean_are_refused(pairs: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_pairs(pairs)


@given(
    pairs=st.lists(
        st.tuples(codes, codes).filter(lambda pair: len({*folded(pair), "auto"}) == 3),
        min_size=1,
        unique_by=folded,
    )
)
def test_any_pairs_survive_being_written(pairs: list[tuple[str, str]]) -> None:
    assert set(parse_pairs(render_pairs(tuple(pairs)))) == set(pairs)


def test_two_hundred_languages_are_written_once_a_side() -> None:
    many = [f"x{i}" for i in range(200)]
    assert render_pairs(every_pair(many, many)) == {"sources": many, "targets": [*many[1:], "x0"]}
    assert shown_pairs(every_pair("abcd", "abcd")) == "any of a, b, c, d to any other of b, c, d, a"
    assert shown_pairs([("zh", "en"), ("en", "zh")]) == "zh to en, en to zh"
