"""Which sentences are translated once more."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from msgspec import structs

from model.decoding.options import DecodingOptions
from model.decoding.sentence import LEAST_SOURCE_TOKENS
from model.decoding.sentence_limits import SentenceLimits
from service.translation import second_translation
from service.translation.glossary import Glossary, GlossaryEntry
from service.translation.job import ModelJob, TranslationJob
from service.translation.markup.flow import MARK, Kept
from service.translation.preparation import Preparation
from service.translation.second_translation import num_copied, num_parted
from service.translation.sentence.entering import Entry
from service.translation.sentence.numbers.amounts import find_amounts
from service.translation.sentence.parsed_text import Sentence
from service.translation.sentence.stages import Draft
from tests.service.translation.sentence.test_stages import tokenizer_of

OPTIONS = DecodingOptions()
LIMITS = SentenceLimits(40, 60, 8)


def sentence(text: str, *kept: str) -> Sentence:
    return Sentence(text.replace("|", MARK), [Kept((one,), one) for one in kept])


@pytest.mark.parametrize(
    ("text", "kept", "target", "order", "count"),
    [
        ("20 | warm", ["°C"], "20| 暖", [0], 0),
        ("20 | warm", ["°C"], "| 暖20", [0], 1),
        ("8 | and 5 |", ["km", "kg"], "5 | und 8 |", [1, 0], 0),
        ("8 | and 5 |", ["km", "kg"], "| 8 und 5 |", [0, 1], 1),
        ("8 | and 5 |", ["km/h", "€"], "| und |", [0, 1], 2),
        ("3| cells", ["×10⁶"], "3| Zellen", [0], 0),
        ("3| cells", ["× 10⁶"], "| 3 Zellen", [0], 1),
        ("3 | now, | m", ["{name}", "m"], "| 3, |", [0, 1], 0),
        ("a sentence", [], "ein Satz", [], 0),
    ],
)
def test_a_unit_stays_at_its_number(
    text: str, kept: list[str], target: str, order: list[int], count: int
) -> None:
    draft = Draft(target.replace("|", MARK), (), order)
    assert num_parted(sentence(text, *kept), draft) == count


@pytest.mark.parametrize(
    ("text", "kept", "carried"),
    [
        ("A 20% discount on 3 items", [], ["20%", "3"]),
        ("up 12.5%, at |5 or 8 |", ["$", "km"], ["12,5%", f"{MARK}5", f"8 {MARK}"]),
        ("10 % of 5%d", [], ["10", "5%"]),
        ("at |5 or |6", ["EUR ", "€ "], [f"{MARK}5", f"{MARK}6"]),
    ],
)
def test_a_number_is_carried_with_its_sign(text: str, kept: list[str], carried: list[str]) -> None:
    """Networks write 20%% of a carrier before a sign."""
    one = sentence(text, *kept)
    amounts = second_translation._with_signs(one, find_amounts(one.text, "en", "de"))
    assert [amount.new for amount in amounts] == carried


def entries_of(
    text: str,
    faults: float,
    options: DecodingOptions = OPTIONS,
    limits: SentenceLimits = LIMITS,
    *,
    pair: tuple[str, str] = ("en", "zh"),
    reserved: int = 16,
    is_streamed: bool = False,
    **fields: Any,
) -> tuple[Entry, Entry | None]:
    """A sentence as it enters for the first time and again, if its translation has these faults."""
    work = ModelJob(TranslationJob([text], *pair, **fields), [text], [0], *pair, options)
    preparation = Preparation(tokenizer_of(reserved, "zh-en"), limits, work)
    (parsed,), (first,) = preparation.prepare()
    source = dataclasses.replace(first.source, is_streamed=is_streamed)
    first = structs.replace(first, source=source)
    again = preparation.second_translation.entry(0, parsed.sentences[0], first, faults)
    return first, again


TITLE = "Boston Australia Japan Tom Mary Sunday"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (TITLE, 0),
        ("It is 7 or 8 or 9 or 1.", 2),
        ("See {name}, {street} and 7.", math.inf),
    ],
)
def test_what_enters_again_fits_the_network(text: str, faults: float) -> None:
    """Words in small letters have more tokens."""
    _, again = entries_of(text, faults)
    assert again is not None
    size = len(again.source.ids)
    for most in range(LEAST_SOURCE_TOKENS, size + 2):
        _, again = entries_of(text, faults, limits=SentenceLimits(most, 60, 8))
        assert (again is not None) is (size <= most)


@pytest.mark.parametrize("beam_size", [1, 4, 12])
@pytest.mark.parametrize("max_beam_size", [4, 16])
@pytest.mark.parametrize("is_sampling", [True, False])
def test_what_enters_again_is_searched_for_with_a_beam(
    beam_size: int, max_beam_size: int, is_sampling: bool
) -> None:
    """Of eight, or as wide as it was asked for or as fits."""
    beam_size = 1 if is_sampling else min(beam_size, max_beam_size)
    options = DecodingOptions(beam_size=beam_size, sampling=is_sampling, top_k=3)
    first, again = entries_of("I have 7 dogs.", 2, options, SentenceLimits(40, 60, max_beam_size))
    assert again is not None
    width = max(beam_size, min(8, max_beam_size))
    assert again.source == dataclasses.replace(
        first.source,
        ids=tokenizer_of(16, "zh-en").encode_source(again.text, "zh", "en"),
        options=DecodingOptions(beam_size=width, n_best=width, top_k=3),
    )


@pytest.mark.parametrize("marks", ['""', "“”", "«»"])
def test_a_sentence_that_lost_a_quotation_mark_enters_as_it_is_for_more_hypotheses(
    marks: str,
) -> None:
    text = f"I am {marks[0]}here{marks[1]}."
    first, again = entries_of(text, 1)
    assert again is not None
    assert (again.text, again.source.ids) == (first.text, first.source.ids)
    assert again.source.options.n_best == 8
    assert entries_of(text, 0)[1] is None
    assert entries_of("I am here.", 1)[1] is None


@pytest.mark.parametrize(
    ("text", "faults", "is_again"),
    [
        ("I have 7 dogs.", 2, False),
        ("I have {name} and 7 dogs.", 2, True),
        ("I have approx. 7 dogs.", 2, True),
        ("I have {name} and 7 dogs.", 0, False),
        (TITLE, 0, True),
    ],
)
def test_what_a_stream_sent_as_it_came_does_not_enter_again(
    text: str, faults: float, is_again: bool
) -> None:
    first, again = entries_of(text, faults, is_streamed=True)
    assert first.source.is_streamed
    assert (again is not None) is is_again
    assert again is None or not again.source.is_streamed


@pytest.mark.parametrize(
    ("pair", "text", "shown"),
    [
        (("en", "zh"), "Windows 11 has 7 windows.", ["视窗11", "7"]),
        (("en", "zh"), "Windows 7 has 11 {name}s.", ["7", "11", "{name}"]),
        (("en", "zh"), "7 Windows 11.", ["7", "视窗11"]),
        (("en", "zh"), "Open Door", ["开门"]),
        (("zh", "en"), "我用theNode写7个。", ["theNode", "7"]),
        (("en", "de"), "RFC 2119 of 1997 and B12 have 9.", ["RFC 2119", "1997", "B12", "9"]),
    ],
)
def test_numbers_terms_and_latin_words_are_carried_each_once(
    pair: tuple[str, str], text: str, shown: list[str]
) -> None:
    terms = ("Windows 11", "视窗11"), ("Open Door", "开门")
    glossary = Glossary([GlossaryEntry(*term) for term in terms])
    _, again = entries_of(text, 2, pair=pair, glossary=glossary)
    assert again is not None
    assert again.carriers is not None
    assert again.carriers.shown == shown


@pytest.mark.parametrize("faults", [2, math.inf])
def test_a_model_without_placeholders_of_its_own_carries_what_is_kept(faults: float) -> None:
    _, again = entries_of("I have {name} and 7 dogs.", faults, reserved=0)
    assert (again is not None) is (faults == math.inf)
    assert again is None or (again.carriers and again.carriers.shown == ["{name}"])


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("会议于3月5日（周二）举行。", "March 5 (Tuesday)"),
        ("会议于<b>3月5日（周二）</b>举行。", "March 5 (Tuesday)"),
        ("会议于<b>3月5日</b>（周二）举行。", "March 5"),
        ("会议于3月5日<b>（周二）</b>举行。", "March 5"),
    ],
)
def test_no_date_is_carried_over_a_tag_before_its_day(text: str, carried: str) -> None:
    _, entry = entries_of(text, 1, pair=("zh", "en"), format="html")
    assert entry is not None
    assert entry.carriers is not None
    assert entry.carriers.shown == [carried]


@pytest.mark.parametrize(
    ("text", "kept", "count"),
    [
        ("VAT (20%): |179.80", ["£"], 1),
        ("Radio Bremen 93.8 |", ["MHz"], 1),
        ("Butter 2.5 | |1,234.50", ["kg", "$"], 2),
        ("Windows 3.1 |", ["{name}"], 0),
        ("Python 3.10, {n} 5", [], 0),
        ("a sentence", [], 0),
    ],
)
def test_a_copy_has_amounts_that_the_target_writes_otherwise(
    text: str, kept: list[str], count: int
) -> None:
    one = sentence(text, *kept)
    assert num_copied(one, Draft(one.text), ("en", "de")) == count
    assert num_copied(one, Draft(f"{one.text} Ja"), ("en", "de")) == 0
    if count:
        german = sentence(text.translate(str.maketrans(".,", ",.")), *kept)
        assert num_copied(german, Draft(german.text), ("de", "en")) == count
