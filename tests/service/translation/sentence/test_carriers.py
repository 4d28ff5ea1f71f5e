"""Strings to keep are carried through the model, and lost carriers are noticed; what a network
reads badly is found: signs and words that it cannot copy, and capitals."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.text.tokenizer import Tokenizer
from model.text.tokenizer_config import TokenizerConfig
from service.translation.alignment import AlignmentLink
from service.translation.markup.flow import MARK
from service.translation.sentence.capitals import (
    in_sentence_case,
    in_small_letters,
    is_in_capitals,
    is_title,
    match_case,
)
from service.translation.sentence.carriers import enter_carriers, most_carriers
from service.translation.sentence.numbers.amounts import find_amounts
from service.translation.sentence.replaced import Replacement
from service.translation.sentence.stages import Draft
from service.translation.sentence.unspelled import find_unspelled

TEXTS = st.text(st.sampled_from(f"ab 你.7{MARK}"), max_size=30)


@given(TEXTS, st.sampled_from(["en", "zh"]), st.sampled_from([0, 4, 64]), st.booleans())
def test_the_text_itself_comes_back_as_it_was(
    text: str, language: str, reserved: int, has_amounts: bool
) -> None:
    amounts = list(find_amounts(text, language, language)) if has_amounts else []
    num_carried = text.count(MARK) + len(amounts)
    carried = enter_carriers(text, (language, "zh"), reserved, amounts=amounts)
    assert (carried is not None) == (0 < num_carried <= most_carriers(text, reserved))
    if carried is None:
        return
    assert MARK not in carried.text
    restored = carried.leave(Draft(carried.text))
    assert restored is not None
    assert restored.text.replace(" ", "") == text.replace(" ", "")
    assert list(restored.order) == list(range(text.count(MARK)))


def carried_and_restored(
    source: str,
    target: str,
    languages: tuple[str, str] = ("en", "de"),
    reserved: int = 16,
    amounts: Sequence[Replacement] = (),
    links: Sequence[AlignmentLink] = (),
) -> tuple[str, Draft | None]:
    """What the network reads, and its translation with what was carried."""
    carried = enter_carriers(source, languages, reserved, amounts=list(amounts))
    assert carried is not None
    return carried.text, carried.leave(Draft(target, list(links)))


def test_a_number_of_the_sentence_is_no_carrier() -> None:
    text, _ = carried_and_restored(f"40713 or {MARK}", "", reserved=0)
    assert text.count("40713") == 1


@pytest.mark.parametrize("target", ["Öffne.", "40713 40713", "407130", "Öffne 4071 3", ""])
def test_a_lost_doubled_or_broken_carrier_is_noticed(target: str) -> None:
    assert carried_and_restored(f"Open {MARK}.", target, reserved=0) == ("Open 40713.", None)


@pytest.mark.parametrize(
    ("source", "kept", "target", "expected"),
    [
        (f"从 {MARK}文件{MARK} 读", "<>", "Read from ⟦0⟧ file ⟦1⟧", f"Read from {MARK}file{MARK}"),
        (f"从 {MARK}源{MARK} 读", "<>", "Read ⟦0⟧ source ⟦1⟧ now", f"Read {MARK}source{MARK} now"),
        (f"{MARK}目录 找", "=", "⟦0⟧ folder finds", f"{MARK}folder finds"),
        (f"用{MARK}打开", ">", "Open with⟦0⟧", f"Open with{MARK}"),
        (f"用{MARK}打开", "x", "Open with⟦0⟧", f"Open with {MARK}"),
    ],
)
def test_no_space_is_inside_a_bracket(source: str, kept: str, target: str, expected: str) -> None:
    carriers = enter_carriers(source, ("zh", "en"), 16, kept)
    assert carriers is not None
    draft = carriers.leave(Draft(target))
    assert draft is not None
    assert draft.text == expected


@pytest.mark.parametrize("kept", ["-", ".", "a", "is", "in the"])
@pytest.mark.parametrize("reserved", [0, 16])
def test_what_is_kept_may_be_in_the_translation_too(kept: str, reserved: int) -> None:
    """As the code `a` or `-` of a page."""
    carriers = enter_carriers(f"Nimm {MARK}!", ("de", "en"), reserved, [kept])
    assert carriers is not None
    (carrier,) = carriers.spellings
    draft = carriers.leave(Draft(f"There is a well-known {carrier} in the house."))
    assert draft is not None
    assert draft.text == f"There is a well-known {MARK} in the house."


@pytest.mark.parametrize(
    ("source", "languages", "reserved", "carried", "target", "expected"),
    [
        ("￼ or ￼.", "en-de", 2, "⟦0⟧ or ⟦1⟧.", "⟦1⟧ oder ⟦0⟧.", "￼ oder ￼."),
        ("用 name:￼ 跑", "zh-en", 2, "用 name:⟦0⟧ 跑", "Use name:⟦0⟧", "Use name:￼"),
        ("版本￼发布", "zh-en", 0, "版本 40713 发布", "Version40713 is out", "Version ￼ is out"),
        ("a￼b", "en-en", 0, "a40713b", "x40713y", "x￼y"),
        ("(￼)", "zh-en", 0, "(40713)", "(40713)", "(￼)"),
        ("a ￼bc￼ of ￼s.", "en-de", 3, "a ⟦0⟧ bc ⟦1⟧ of ⟦2⟧s.", "⟦0⟧ y ⟦1⟧ z ⟦2⟧ s.", "￼y￼ z ￼ s."),
        ("这本书￼20。", "zh-de", 1, "这本书⟦0⟧20。", "It is ⟦0⟧ 20.", "It is ￼20."),
        ("气温25￼。", "zh-de", 1, "气温25⟦0⟧。", "It is 25 ⟦0⟧ now.", "It is 25￼ now."),
        ("It is ￼5", "en-de", 1, "It is ⟦0⟧5", "Es kostet ⟦0⟧ 5", "Es kostet ￼5"),
        ("It is ￼5", "en-de", 1, "It is ⟦0⟧5", "Es kostet ⟦0⟧5", "Es kostet ￼5"),
        ("It is ￼ 5", "en-de", 1, "It is ⟦0⟧ 5", "Es kostet ⟦0⟧ 5", "Es kostet ￼ 5"),
        ("It is ￼5", "en-de", 1, "It is ⟦0⟧5", "Es kostet ⟦0⟧ 7", "Es kostet ￼ 7"),
        ("号:￼,￼", "zh-de", 2, "号:⟦0⟧,⟦1⟧", "no:⟦0⟧,⟦1⟧", "no: ￼,￼"),
        ("no:￼", "en-de", 1, "no:⟦0⟧", "nr:⟦0⟧", "nr:￼"),
        ("5 ￼, 3 b", "de-en", 1, "5 ⟦0⟧, 3 b", "5 ⟦0⟧,3 b", "5 ￼, 3 b"),
        ("5 ￼,3 b", "de-en", 1, "5 ⟦0⟧,3 b", "5 ⟦0⟧,3 b", "5 ￼,3 b"),
        ("￼'s car", "en-de", 1, "⟦0⟧'s car", "⟦0⟧s Auto ist da", "￼s Auto ist da"),
        ("See IP ￼.", "en-de", 1, "See IP ⟦0⟧.", "Siehe IP-⟦0⟧.", "Siehe IP ￼."),
        ("a pre-￼", "en-de", 1, "a pre-⟦0⟧", "ein Vor-⟦0⟧", "ein Vor-￼"),
        ("A ￼ C", "en-zh", 1, "A ⟦0⟧ C", "A ⟦0⟧  C", "A ￼ C"),
        ("A ￼  C", "en-zh", 1, "A ⟦0⟧  C", "A ⟦0⟧  C", "A ￼  C"),
        ("（日期）：￼", "zh-en", 1, "（日期）：⟦0⟧", "(date):⟦0⟧", "(date): ￼"),
        ("我有￼本书", "zh-de", 1, "我有⟦0⟧本书", "I have⟦0⟧books", "I have ￼ books"),
    ],
)
def test_spaces_are_put_where_the_languages_need_them_and_signs_stay_beside_their_digits(
    source: str, languages: str, reserved: int, carried: str, target: str, expected: str
) -> None:
    pair = languages[:2], languages[3:]
    text, restored = carried_and_restored(source, target, pair, reserved)
    assert text == carried
    assert restored is not None
    assert restored.text == expected


@given(TEXTS, st.sampled_from(["de", "zh"]))
def test_a_kept_string_touches_no_letter_or_other_string_that_it_did_not(
    text: str, target: str
) -> None:
    """The network may leave out every space."""
    carried = enter_carriers(text, ("en", target), 64)
    if carried is None:
        assert MARK not in text
        return
    restored = carried.leave(Draft(carried.text.replace(" ", "")))
    assert restored is not None
    for pair in map("".join, itertools.pairwise(restored.text)):
        assert pair in text or MARK not in pair or " " in pair or "." in pair


def test_links_are_of_the_text_with_marks() -> None:
    links = [
        AlignmentLink(0, 4, 0, 5, 0.9),
        AlignmentLink(5, 10, 6, 11, 0.5),
        AlignmentLink(11, 14, 12, 17, 0.8),
    ]
    _, restored = carried_and_restored(
        f"Open {MARK} now.", "Öffne 40713 jetzt.", reserved=0, links=links
    )
    assert restored is not None
    assert sorted(restored.links) == [
        AlignmentLink(0, 4, 0, 5, 0.9),
        AlignmentLink(5, 6, 6, 7, 1.0),
        AlignmentLink(7, 10, 8, 13, 0.8),
    ]


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        (f"约3{MARK}8度", "about ⟦0⟧ ⟦1⟧ ⟦2⟧ degrees", f"about 3{MARK}8 degrees"),
        (f"约3 {MARK}8度", "about ⟦0⟧ ⟦1⟧ ⟦2⟧ degrees", f"about 3 {MARK}8 degrees"),
        (f"约3{MARK}8度", "⟦2⟧ ⟦0⟧ ⟦1⟧ degrees", f"8 3{MARK} degrees"),
    ],
)
def test_a_number_touches_the_kept_string_that_it_did(text: str, said: str, expected: str) -> None:
    amounts = [Replacement(at, at + 1, text[at]) for at in (text.index("3"), text.index("8"))]
    _, restored = carried_and_restored(text, said, ("zh", "en"), amounts=amounts)
    assert restored is not None
    assert restored.text == expected


def test_numbers_are_carried_beside_marks_and_come_back_as_the_target_writes_them() -> None:
    source = f"Give {MARK} 45 million of {MARK} 7."
    amounts = [Replacement(7, 17, "45 Millionen"), Replacement(21, 24, f"{MARK} 7")]
    carried, restored = carried_and_restored(source, "Von ⟦2⟧ gib ⟦0⟧ ⟦1⟧.", amounts=amounts)
    assert carried == "Give ⟦0⟧ ⟦1⟧ of ⟦2⟧."
    assert restored is not None
    assert restored.text == f"Von {MARK} 7 gib {MARK} 45 Millionen."
    assert list(restored.order) == [1, 0]
    assert [(source[a:b], restored.text[c:d]) for a, b, c, d, _ in restored.links] == [
        (f"{MARK} 7", f"{MARK} 7"),
        (MARK, MARK),
        ("45 million", "45 Millionen"),
    ]


def test_a_translation_is_completed_with_what_it_lost() -> None:
    carried = enter_carriers(f"{MARK} or {MARK}.", ("en", "de"), 16)
    assert carried is not None
    completed = carried.completed("⟦1⟧ oder ⟦1⟧ da.")
    assert completed == "⟦1⟧ oder da. ⟦0⟧"
    assert carried.leave(Draft(completed)) is not None


def test_the_kept_strings_of_a_beginning_get_their_carriers_in_order() -> None:
    kept = ["{a}", "a", "{a}", ""]
    carried = enter_carriers(f"{MARK} or {MARK} or {MARK} {MARK}", ("en", "de"), 16, kept)
    assert carried is not None
    assert carried.carried("Das a, {a} und {a}, {a}") == "Das ⟦1⟧, ⟦0⟧ und ⟦2⟧, {a}"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("since the ⟦0⟧", "since {}"),
        ("The ⟦0⟧ is free.", "{} is free."),
        ("until the ⟦0⟧.", "until {}."),
        ("the ⟦0⟧ meeting", "the {} meeting"),
        ("breathe ⟦0⟧", "breathe {}"),
        ("⟦0⟧ of the year", "{} of the year"),
    ],
)
def test_an_english_date_has_no_article(said: str, expected: str) -> None:
    for new, has_none in (("January 1, 2020", True), ("1.5", False)):
        carried = enter_carriers("am 1.1.", ("de", "en"), 16, amounts=[Replacement(3, 7, new)])
        assert carried is not None
        left = carried.leave(Draft(said))
        assert left is not None
        assert left.text == (expected.format(new) if has_none else said.replace("⟦0⟧", new))


def test_the_numbers_of_a_beginning_get_their_carriers_beside_kept_strings() -> None:
    amounts = [Replacement(0, 3, "2,5"), Replacement(6, 9, f"{MARK} 7")]
    carried = enter_carriers(f"2.5 {MARK} {MARK} 7", ("en", "de"), 16, ["{a}", "€"], amounts)
    assert carried is not None
    assert carried.carried("{a} und 2,5 und € 7 und 7") == "⟦1⟧ und ⟦0⟧ und ⟦2⟧ und 7"


TEXTS = st.text(
    st.sampled_from("ab€♪★✓①²½←° .,\nñŁд你喆«»❤\ufe0f👩\u200d🇩1\u20e3e\u0301$|<")
    | st.characters(exclude_categories=["Cs"]),
    max_size=30,
)


def tokenizer_of(pair: str, reserved: int) -> Tokenizer:
    file = Path("checkpoints", pair, "sentencepiece.model")
    return Tokenizer(file, file, TokenizerConfig(file.name, file.name, reserved=reserved))


ZH_EN, EN_DE = tokenizer_of("zh-en", 16), tokenizer_of("en-de", 16)
WITHOUT_RESERVED = tokenizer_of("zh-en", 0)
ORDINARY = [
    *("", " ", "Hello, world!", "“Yes” – he said…", "Grüße aus München", "5 % of 20 & more"),
    *("1 + 1 = 2", "C# or f(x) * [2]", "«Oui» ‹non›", "me@home", "`code` ´ ¨"),
    *("I ❤️ you 👩‍👩‍👧 🇩🇪 1️⃣ 👍🏽", "Он любит Python."),
]
"""Without a sign or word to carry, emoji and other languages among them."""


def found(text: str, tokenizer: Tokenizer, language: str = "en") -> list[str]:
    return [text[start:end] for start, end in find_unspelled(text, tokenizer, language)]


def test_the_sign_of_a_range_with_one_scale_is_left_to_its_rule() -> None:
    assert found("10~15亿，3~5天", ZH_EN, "zh") == ["~"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs €5, or £4.", ["€", "£"]),
        ("HK$100, AU$5, R$ 5 or $5 in US$", ["HK$", "AU$", "R$", "$", "$"]),
        ("USD 5 or 1,5 EUR, 20CHF, not USDA 5, USD or EURO 5", ["USD ", "EUR", "CHF"]),
        ("25 °C ± 2, 3 × 4 ≤ 12", ["°", "±", "×", "≤"]),
        ("File → Save ♪ § 5", ["→", "♪", "§"]),
        ("½ of ① is 5²", ["½", "①", "²"]),
        ("a|b | c < (d | e)", ["|", "<", "|"]),
        ("Use \\ or { a }, tea · milk, l·l", ["\\", "{", "}", "·"]),
        ("Dvořák’s friend Søren lives in Łódź.", ["Dvořák", "Søren", "Łódź"]),
        ("Dvor\u030ca\u0301k is here", ["Dvor\u030ca\u0301k"]),
        ("8 km² of CO₂", ["km²", "CO₂"]),
        ("¹⁴C, ²³⁵U or ⁵x and TNF-β-Test", ["¹⁴C", "²³⁵U", "⁵", "TNF-β"]),
        ("Привет, как дела?\nSay привет now!\nПока", ["привет"]),
        ("My friend 李明 read 《红楼梦》 in 北京.", ["李明", "《红楼梦》", "北京"]),
        *((text, []) for text in ORDINARY),
    ],
)
def test_signs_and_words_that_the_vocabulary_lacks_are_found(
    text: str, expected: list[str]
) -> None:
    assert found(text, EN_DE) == expected


def test_chinese_characters_of_a_chinese_text_are_left_to_the_model() -> None:
    assert ZH_EN.count_unspelled("喆") == 1
    assert found("陶喆是歌手。", ZH_EN, "zh") == []
    assert found("克里斯 · 坎扬来了。", ZH_EN, "zh") == []
    assert found("他叫Dvořák。", ZH_EN, "zh") == ["Dvořák"]


def test_signs_that_the_vocabulary_has_are_carried_only_by_reserved_placeholders() -> None:
    assert ZH_EN.count_unspelled("→ £ $") == 0
    assert found("A → B for £5", ZH_EN) == ["→", "£"]
    assert found("A → B for £5, or ₿5", WITHOUT_RESERVED) == ["₿"]
    assert found("这本书$20或NT$250。", ZH_EN, "zh") == ["$", "NT$"]


@settings(deadline=None)
@given(TEXTS)
def test_what_is_found_is_visible_and_in_order(text: str) -> None:
    for tokenizer in (ZH_EN, EN_DE, WITHOUT_RESERVED):
        spans = list(find_unspelled(text, tokenizer, "en"))
        assert all(before.end <= after.start for before, after in itertools.pairwise(spans))
        for start, end in spans:
            assert text[start:end].split() == [text[start:end]]
            assert not text[start:end].isdecimal()


IN_CAPITALS = [
    *("DO NOT OPEN THE DOOR!", "STOP NOW", "I CAN'T HEAR YOU", "ÉTÉ À PARIS"),
    *("WARNING: 40713 ITEMS", "DIE STRAßE IST LANG"),
]
ACRONYMS_AND_ORDINARY_TEXTS = [
    *("NASA", "IBM AG", "USA, UK, EU", "The NASA engineers", "Hello World", "STOP", "A B C"),
    *("我用 IBM 的 API 编程", "1234 5678", "", "привет МИР"),
]
TITLES = ["Bread", "WARNING!", "How It Works", "Öl...", "Name:"]
NO_TITLES = [
    *("bread", "Save changes", "One Two Three Four Five Six To", "1. Bread", "Cheers!"),
    *("VPN与网站", ""),
]


@pytest.mark.parametrize("text", [*IN_CAPITALS, *ACRONYMS_AND_ORDINARY_TEXTS])
def test_a_sentence_in_capitals_is_told_from_acronyms_and_ordinary_text(text: str) -> None:
    assert is_in_capitals(text) == (text in IN_CAPITALS)


@pytest.mark.parametrize("text", [*TITLES, *NO_TITLES])
def test_few_words_with_capitals_are_a_title(text: str) -> None:
    assert is_title(text) == (text in TITLES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DO NOT ENTER!", "Do not enter!"),
        ("CAN I GO?", "Can I go?"),
        ("“I AM”, HE SAID", "“I am”, he said"),
        ("ÄPFEL UND BIRNEN", "Äpfel und birnen"),
    ],
)
def test_sentence_case_keeps_the_first_letter_and_the_word_i(text: str, expected: str) -> None:
    assert in_sentence_case(text) == expected


@given(st.text(), st.text())
def test_a_title_gets_the_capitals_of_its_source(text: str, other: str) -> None:
    found = match_case(text, other)
    assert len(found) == len(in_small_letters(text)) == len(in_sentence_case(text)) == len(text)
    assert found.upper() == text.upper()
    assert match_case("brot", "Bread") == "Brot"
    assert match_case("warnung", "WARNING") == "WARNUNG"
