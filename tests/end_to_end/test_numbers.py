"""Numbers in digits come through, also where the models alone get them wrong."""

from __future__ import annotations

import asyncio

import pytest

from service.offline import OfflineTranslator
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.job import TranslationJob
from service.translation.markup.flow import MARK
from service.translation.results import TranslationResult

SENTENCES = [
    ("zh", "en", "2000万盆鲜花扮靓首都。"),
    ("zh", "en", "1973年至1977年由六人组成。"),
    ("zh", "en", "这张桌子12345元，那张67890元。"),
    ("zh", "en", "价格是<b>99.99</b>元，不是<i>100.5</i>元。"),
    ("en", "zh", "The price is $99.99."),
    ("en", "zh", "It costs $2.5 million."),
    ("en", "zh", "The airport can handle 45 million passengers by 2022."),
    ("en", "zh", "Call 5550123 or {name} at 18:30."),
    ("en", "de", "Apollo made a $1 billion investment in 2008."),
    ("en", "de", "Version 3 keys have only 32 digits, version 4 have 40 digits."),
    ("de", "en", "Im April 2002 hatte sie 48.000 Einwohner und 3,5 Prozent mehr Schulen."),
    ("de", "zh", "Das Haus kostet 275000 Euro."),
]


@pytest.mark.parametrize(("source", "target", "text"), SENTENCES)
def test_numbers_come_through(
    translator: OfflineTranslator, source: str, target: str, text: str
) -> None:
    text_format = "html" if "<" in text else "text"
    found = translator.translate(text, source, target, text_format)
    assert unmatched(find_numbers(text), find_numbers(found)) == ([], []), found
    assert not {"⟦", "⟧", MARK} & set(found)
    assert found.count("<") == text.count("<")
    assert ("{name}" in found) == ("{name}" in text)


def test_an_amount_keeps_its_sign(translator: OfflineTranslator) -> None:
    text = "Der Umsatz stieg um 4,3 % auf 10 Milliarden € und von £1234 auf £98765."
    found = translator.translate(text, "de", "en")
    assert "10 billion €" in found
    assert "£98765" in found.replace("£98,765", "£98765")


@pytest.mark.parametrize(
    "text",
    [
        "{0}5€{1} 7%d8 ￼ 3 €",
        "5€€ 6 €7 is",
        "1\ufe0f\u20e3 x 2 €\ufe0f\u0301",
        "PRICE €5 MILLION 𝒳1",
    ],
)
def test_links_stay_within_strange_sentences(translator: OfflineTranslator, text: str) -> None:
    texts = [text, *(text for source, _, text in SENTENCES if source == "en")]
    wanted = TranslationJob(texts, "en", "zh", is_aligned=True, alternatives=2)
    results = translator.run_jobs([wanted])[0]
    for sentence in (sentence for result in results for sentence in result.sentences):
        for start, end, target_start, target_end, _ in sentence.alignment or ():
            assert 0 <= start < end <= len(sentence.source)
            assert 0 <= target_start < target_end <= len(sentence.target)
    (price,) = results[1].sentences
    assert price.confidence is None, "it is translated again"


def test_a_stream_says_which_numbers_it_lost(translator: OfflineTranslator) -> None:
    for pair in (("zh", "en"), ("en", "zh"), ("en", "de")):
        texts = [text for *of, text in SENTENCES if tuple(of) == pair and "<" not in text]
        wanted = TranslationJob([" ".join(texts)], *pair, alternatives=2, is_checked=True)
        streamed, last = _streamed(translator, wanted)
        assert streamed == last.text
        for sentence in last.sentences:
            lost = unmatched(find_numbers(sentence.source), find_numbers(sentence.target))
            found = [check for check in sentence.checks if check.kind == "number"]
            assert bool(found) == (lost != ([], []))


def _streamed(
    translator: OfflineTranslator, wanted: TranslationJob
) -> tuple[str, TranslationResult]:
    async def pieces() -> tuple[str, TranslationResult]:
        streamed = ""
        async with translator._dispatcher.stream(wanted) as stream:
            async for piece in stream:
                if isinstance(piece, list):
                    return streamed, piece[0]
                streamed += piece.text
        raise AssertionError

    return asyncio.run_coroutine_threadsafe(pieces(), translator._loop).result()


def test_a_required_beginning_is_kept_even_with_a_wrong_number(
    translator: OfflineTranslator,
) -> None:
    text = "1973年至1977年由六人组成。"
    wanted = TranslationJob([text], "zh", "en", prefixes=["In 1999"])
    (found,) = translator.run_jobs([wanted])[0]
    assert found.text.startswith("In 1999")
