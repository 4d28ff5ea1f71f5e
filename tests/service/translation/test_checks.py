"""Checks name what differs between a text and its translation, what it omits, and nothing else;
numbers have the same value in every spelling, and are written as the target language does."""

from __future__ import annotations

import itertools
from decimal import Decimal

import pytest
from babel.dates import get_month_names
from hypothesis import given, settings
from hypothesis import strategies as st
from num2words import num2words

from service.translation.alignment import AlignmentLink
from service.translation.checks.dates import Date, find_dates, lost_dates
from service.translation.checks.differences import Check, check_sentence, check_terms
from service.translation.checks.half_days import lost_halves
from service.translation.checks.number_words import number_words
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.checks.omissions import omitted
from service.translation.glossary import GlossaryEntry
from service.translation.sentence.numbers.amounts import find_amounts


def check(
    source: str, target: str, source_language: str = "en", target_language: str = "de"
) -> list[tuple[str, list[str], list[str]]]:
    found = check_sentence(source, target, (source_language, target_language))
    return [(c.kind, list(c.source), list(c.target)) for c in found]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("The 3 men paid 1,000 dollars.", "Die drei Männer zahlten 1.000 Dollar."),
        ("See https://a.b/c?d=1 and x@y.de.", "Siehe https://a.b/c?d=1 und x@y.de."),
        ("Press {name} or %s, {a}{b}", "{name} oder %s drücken, {a} {b}"),
        ("Version 1.2.3 of 2024-01-05", "Version 1.2.3 vom 2024-01-05"),
        ("Nellie Kershaw and Tom Ford in London", "Nellie Kershaw und Tom Ford in London"),
        ("It is -5 °C, not -3.5.", "Es sind minus 5 °C, nicht −3,5."),
        ("On May 5, 2024, 3 June", "Am 5.5.2024, 3. Juni"),
        ("At 4.30 pm, 8:00 p.m. or 9 am", "Um 16:30, 20 Uhr oder 9:00"),
        ("Pages 3-5, minus five, a 2020-21 plan", "Seiten 3 bis 5, -5, Plan 2020 – 21"),
        ("Five grams and 3 hours", "5 g und 3 h"),
        ("OK.", "OK."),
        ("It was a long day. " * 12, "Der Tag war lang. " * 12),
        ("", ""),
    ],
)
def test_a_right_translation_has_no_checks(source: str, target: str) -> None:
    assert check(source, target) == []


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("On May 5 in 2001", "Am 2001 im Mai 5", ("number", ["May 5"], [])),
        ("In 2013.", "In 2014.", ("number", ["2013"], ["2014"])),
        ("It costs -5.", "Es kostet 5.", ("number", ["-5"], ["5"])),
        ("3 Mrd Euro", "3 euros", ("number", ["3"], ["3"])),
        ("3 Bio. Euro", "3 billion euros", ("number", ["3"], ["3"])),
        ("3 Billiarden", "3 Billiards", ("number", ["3"], ["3"])),
        ("See https://a.b/c.", "Siehe da.", ("url", ["https://a.b/c"], [])),
        ("Write now.", "Schreib an x@y.de.", ("url", [], ["x@y.de"])),
        ("Press {a} {a}.", "{a} drücken.", ("placeholder", ["{a}"], [])),
        ("Press it.", "%s drücken.", ("placeholder", [], ["%s"])),
        ("I know you all too well.", "I know you all too well.", ("language", [], [])),
        ("I know you.", "Ich 知道 dich.", ("language", [], ["知", "道"])),
        ("No", "Nein, " * 30, ("length", [], [])),
        ("It was a long day. " * 12, "Ja.", ("length", [], [])),
    ],
)
def test_what_differs_is_told(
    source: str, target: str, expected: tuple[str, list[str], list[str]]
) -> None:
    assert check(source, target) == [expected]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Before PHP 8.0.0 it was.", "Vor PHP-8.0.0 war es."),
        ("the IP 255.255.255.255", "die IP-255.255.255.255-Adresse"),
        ("the kernel v4.14", "der Kernel-v4.14"),
        ("the ISO 8601 notation", "die ISO-8601-Notation"),
        ("its grub2 grub.cfg", "seine grub2-grub.cfg"),
        ("按 F3 选择自动图文集。", "Press F3 to choose AutoText."),
    ],
)
def test_compounds_of_a_translation_are_no_strings_to_keep(source: str, target: str) -> None:
    assert check(source, target) == []
    changed = target.replace("8.0.0", "8.1.0").replace("255", "250").replace("4.14", "4.15")
    for wrong in {changed, changed.replace("8601", "8602")} - {target}:
        assert check(source, wrong)


def test_a_day_is_no_number_with_thousands() -> None:
    text, translation = "3月5日转入5,000.00元。", "To 5,000 yuan on March 5,000."
    assert check(text, translation, "zh", "en") == [("number", ["5"], ["5,000"])]


def test_chinese_is_told_by_its_characters() -> None:
    assert check("How are you today?", "你今天好吗？", "en", "zh") == []
    assert [kind for kind, *_ in check("How are you today?", "Hao are", "en", "zh")] == ["language"]
    assert check("你好", "Hello", "zh", "en") == []
    assert check("＃今日话题＃很有意思。", "＃今日话题＃ is interesting.", "zh", "en") == []


def test_a_translation_that_was_cut_off_is_told() -> None:
    (found,) = check_sentence("Hello.", "Hallo.", ("en", "de"), is_complete=False)
    assert (found.kind, found.message) == ("length", "the translation was cut off before its end")


def test_tags_are_compared_by_name() -> None:
    tags = "<b><img alt='a'></b>"
    (found,) = check_sentence("a b", "a b", ("en", "de"), (tags, "<b><i>x</b>"))
    assert found == Check("tag", ["<img"], ["<i"], "the translation lacks <img and adds <i")
    assert check_sentence("a b", "a b", ("en", "de"), (tags, "<b>x<img alt='c'></b>")) == []


def test_terms_that_are_lost_are_told() -> None:
    assert check_terms([]) is None
    assert check_terms([GlossaryEntry("house", "Bau")] * 2) == Check(
        "term", ["house", "house"], [], "the translation lacks the term house = Bau"
    )


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_two_texts_can_be_checked(source: str, target: str) -> None:
    for found in check_sentence(source, target, ("en", "zh")):
        assert found.message.startswith("the translation ")
        assert len(found.source) <= 20
        assert len(found.target) <= 20


TEXT = "The judge will speak on Monday."


def links(source: str, *words: str) -> list[AlignmentLink]:
    """A link of each of these words."""
    starts = [source.index(word) for word in words]
    return [AlignmentLink(s, s + len(w), 0, 1, 0.5) for s, w in zip(starts, words, strict=True)]


@pytest.mark.parametrize(
    ("source", "language", "linked", "expected"),
    [
        (TEXT, "en", ["judge", "speak"], ["Monday"]),
        (TEXT, "en", ["judge", "speak", "Monday"], []),
        (TEXT, "en", [], []),
        (TEXT, "fr", ["judge"], []),
        ("Das sind die Tage, die ich habe.", "de", ["Das"], ["Tage"]),
        ("法官将于星期一发言。", "zh", ["法官", "发言"], ["将于星期一"]),
        ("法官将发言。", "zh", ["法官", "发言"], []),
    ],
)
def test_words_of_meaning_without_a_link_are_omitted(
    source: str, language: str, linked: list[str], expected: list[str]
) -> None:
    assert omitted(source, links(source, *linked), language) == expected


@given(st.text(), st.sampled_from(["en", "de", "zh"]))
def test_what_is_linked_is_not_omitted(source: str, language: str) -> None:
    everything = [AlignmentLink(0, len(source), 0, 1, 0.5)]
    assert omitted(source, everything, language) == []


@pytest.mark.parametrize(
    ("source", "target"),
    [
        *(("1,000 men", "1.000 Männer"), ("1000", "1 000"), ("1'000", "1000"), ("3.14", "3,14")),
        *(("1.234,5", "1,234.5"), ("50%", "50 %"), ("50%", "百分之五十"), ("5km", "5 km")),
        *(("2023年5月3日", "May 3, 2023"), ("24.12.2024", "12/24/2024"), ("1. Mai", "May 1st")),
        *(("24.12.2024", "12/24/24"), ("24/12/24", "2024-12-24")),
        *(("300万人", "3 million people"), ("1.5亿", "150,000,000"), ("2 Mio. Euro", "2,000,000")),
        *(("2 Bio. Euro", "2 trillion euros"), ("2 Trillionen", "2 quintillion")),
        *(("3 Mrd. Euro", "3 billion euros"), ("$5bn", "5 Milliarden")),
        *(("at 3 p.m.", "um 15 Uhr"), ("14:30", "2:30 p.m.")),
        *(("三百五十", "350"), ("三百五十", "three hundred and fifty"), ("一百", "a hundred")),
        *(("一万", "ten thousand"), ("二〇二四年", "2024"), ("twenty-five", "25")),
        *(("十二", "12"), ("一百零五", "105"), ("三万五千", "35000"), ("两亿", "200000000")),
        *(("dreihundertfünfundzwanzig", "325"), ("zwanzigtausend", "20,000"), ("ein", "1")),
        *(("hundert", "100"), ("zwölftausenddreihundert", "12300"), ("siebzehnhundert", "1700")),
        *(("two thousand twenty-four", "2024"), ("one million two hundred thousand", "1200000")),
        *(("the 1990s", "90er Jahre"), ("20世纪90年代", "the 1990s"), ("１２", "12")),
        *(("2 cats", "two cats"), ("12 eggs", "ein Dutzend Eier"), ("the second", "der 2.")),
        *(("3 books", "trois livres"), ("80 km", "quatre-vingts kilomètres"), ("1,000", "1 000")),
        *(("quatre-vingt-dix-sept", "97"), ("soixante et onze", "71"), ("Quatre-Vingts", "80")),
        *(("deux mille vingt-quatre", "2024"), ("mille neuf cent", "1900"), ("première", "1")),
        *(("trois cents", "300"), ("deux millions", "2000000"), ("nonante-neuf", "99")),
        *(("3 May", "le 3 mai"), ("5/2", "5 février"), ("at 3 p.m.", "à 15 h")),
        *(("千万不要", "never"), ("十分好", "very good"), ("三四个", "three or four")),
        *(("五十千米", "50 kilometres"), ("COVID-19", "Covid-19"), ("MP3", "ein Lied")),
        *(("三成", "30%"), ("九成五", "95%"), ("千分之三", "0.3%"), ("半小时", "30 minutes")),
        *(("half a million", "50万"), ("九块九", "9.9"), ("八五折", "15% discount")),
        *(("打九折", "10% off"), ("eine halbe Stunde", "30 minutes"), ("85折", "15% off")),
        *(("赫歇尔400目录", "Herschel400 list"), ("0,2,4,6,8", "0,2,4,6,8"), ("a", "einer")),
    ],
)
def test_the_same_value_in_another_spelling_matches(source: str, target: str) -> None:
    assert unmatched(find_numbers(source), find_numbers(target)) == ([], [])


@pytest.mark.parametrize(
    ("source", "target", "lost", "added"),
    [
        ("in 2013", "in 2012", ["2013"], ["2012"]),
        ("I have 3", "Ich habe", ["3"], []),
        ("Ich habe", "I have 3", [], ["3"]),
        ("7 and 7", "7", ["7"], []),
        ("1,000", "10,000", ["1,000"], ["10,000"]),
        ("3.14", "314", ["3.14"], ["314"]),
        ("35,000", "3.5,000", ["35,000"], ["3", "5"]),
        ("两万", "two thousand", ["两万"], ["two thousand"]),
        ("24.12.2024", "24.11.2024", ["12"], ["11"]),
        ("30 %", "13 %", ["30"], ["13"]),
        ("the 2-1 win", "1-1", ["2"], ["1"]),
        ("下午3点", "15:00 or 3", [], ["3"]),
    ],
)
def test_another_value_does_not(
    source: str, target: str, lost: list[str], added: list[str]
) -> None:
    assert unmatched(find_numbers(source), find_numbers(target)) == (lost, added)


@given(st.integers(1, 10**7), st.integers(0, 99), st.booleans())
def test_a_zero_behind_two_decimals_makes_another_number(
    whole: int, cents: int, is_german: bool
) -> None:
    """250.00 is no 250,000."""
    source = f"{whole:,}.{cents:02}"
    target = f"{source}0".translate(str.maketrans(",.", ".,") if is_german else {})
    assert unmatched(find_numbers(source), find_numbers(target)) != ([], [])


@given(st.integers(1000, 10**7))
def test_three_zeros_behind_a_comma_make_another_number(whole: int) -> None:
    """3500 is no 3500,000, but 3500.000."""
    numbers = find_numbers(str(whole))
    assert unmatched(numbers, find_numbers(f"{whole},000")) != ([], [])
    assert unmatched(numbers, find_numbers(f"{whole}.000")) == ([], [])


@given(st.integers(1, 60))
def test_below_zero_is_below_zero(degrees: int) -> None:
    source = find_numbers(f"气温零下{degrees}度。")
    for right in ("-{} degrees", "minus {} degrees", "{} degrees below zero", "{}°C unter null"):
        assert unmatched(source, find_numbers(right.format(degrees))) == ([], [])
    lost = unmatched(source, find_numbers(f"{degrees} degrees"))
    assert lost == ([str(degrees)], [str(degrees)])
    (carried,) = find_amounts(f"气温零下{degrees}度。", "zh", "en")
    assert carried == (2, 4 + len(str(degrees)), f"-{degrees}")


HALVES = {
    "zh": (("早上{}点", "上午{}:30", "凌晨{}时"), ("下午{}点", "晚上{}：30", "{late}:30")),
    "en": (("{} a.m.", "{}:30 in the morning"), ("{} p.m.", "{}:30 pm", "{late}:30")),
    "de": (("{} Uhr morgens", "{}:30 Uhr früh"), ("{} Uhr abends", "{late} Uhr", "{late}:30")),
}


@pytest.mark.parametrize("pair", [*itertools.permutations(HALVES, 2)])
def test_an_hour_stays_in_its_half_of_the_day(pair: tuple[str, str]) -> None:
    own, other = (HALVES[language] for language in pair)
    for hour, half in itertools.product(range(1, 12), (0, 1)):
        for written, same, opposite in itertools.product(own[half], other[half], other[1 - half]):
            source, right, wrong = (
                text.format(hour, late=hour + 12) for text in (written, same, opposite)
            )
            assert lost_halves(source, right, pair) == []
            assert lost_halves(source, f"{wrong}, {right}", pair) == []
            assert lost_halves(source, "10", pair) == []
            (lost,) = lost_halves(source, wrong, pair)
            assert lost in source


@pytest.mark.parametrize("part", ["上午", "早上", "凌晨"])
def test_an_hour_of_the_evening_is_in_no_morning(part: str) -> None:
    for hour in range(13, 24):
        for source in (f"at {hour}:00", f"at {hour - 12} p.m."):
            assert lost_halves(source, f"晚上{hour}点", ("en", "zh")) == []
            (lost,) = lost_halves(source, f"{part}{hour}点", ("en", "zh"))
            assert lost in source


def test_an_hour_of_the_other_half_of_the_day_is_told() -> None:
    assert check("凌晨三点半", "3:30 p.m.", "zh", "en") == [("number", ["凌晨三点"], [])]
    assert check("早上八點半開門。", "Opens at 8:30 p.m.", "zh", "en") == [
        ("number", ["早上八點"], [])
    ]
    assert check("晚上12点", "12 a.m.", "zh", "en") == []


@pytest.mark.parametrize("locale", ["en", "de", "fr", "fr_CH"])
def test_numbers_and_months_are_spelled_as_in_other_tables(locale: str) -> None:
    spelled = [(name, n) for n, name in get_month_names("wide", locale=locale).items()]
    spelled += [(name, n) for n, name in get_month_names("abbreviated", locale=locale).items()]
    spelled += [(num2words(n, lang=locale), n) for n in range(100)]
    spelled += [(num2words(n, lang=locale, to="ordinal"), n) for n in range(20)]
    for words, value in spelled:
        assert value in {number.value for number in number_words(words)}, words


@pytest.mark.parametrize("text", ["三五百", "hundertwasser", "bund", "tausendfach", "und"])
def test_what_is_no_number_has_no_large_value(text: str) -> None:
    assert all(word.value < 1000 for word in number_words(text))


NUMBERISH = "٣\U00010d400123456789.,'/:- 年月万亿百千一二三abhundertthousand\u00a0世纪年代pm"


@given(st.text(alphabet=NUMBERISH, max_size=200))
def test_any_text_matches_itself(text: str) -> None:
    numbers = find_numbers(text)
    assert unmatched(numbers, numbers) == ([], [])


LANGUAGES = ("en", "de", "fr", "zh", "ja")
TEXTS = st.text(
    st.sampled_from("0123456789.,:/-  \u202f万亿千月年ab%$Millionbillionx５٣") | st.characters(),
    max_size=40,
)


def spelled(text: str, source: str, target: str) -> list[tuple[str, str]]:
    return [(text[a.start : a.end], a.new) for a in find_amounts(text, source, target)]


@pytest.mark.parametrize(
    ("source", "target", "text", "expected"),
    [
        ("en", "de", "7 of 1,234.5, 1,000,000 or 2.5", ["7", "1.234,5", "1.000.000", "2,5"]),
        ("de", "en", "4,3 und 1.234,56 von 12.000", ["4.3", "1,234.56", "12,000"]),
        ("en", "de", "45 million, 2.5 billion", ["45 Millionen", "2,5 Milliarden"]),
        ("en", "de", "1 million", ["1 Million"]),
        ("de", "en", "10 Milliarden, 1 Mio. Euro", ["10 billion", "1 million"]),
        ("de", "en", "2,3 Bio. \ufffc, 1 Bio. Euro", ["2.3 trillion", "1 trillion"]),
        ("de", "en", "3 Billiarden, 2 Trillionen", ["3 quadrillion", "2 quintillion"]),
        ("en", "de", "3 quadrillion, 2 quintillion", ["3 Billiarden", "2 Trillionen"]),
        ("en", "zh", "45 million, 1.2 billion, 3 thousand", ["4500万", "12亿", "3000"]),
        ("zh", "en", "2000万盆，1.2亿，3千人，5百", ["20 million", "120 million", "3000", "500"]),
        ("zh", "en", "12345万", ["123.45 million"]),
        ("zh", "en", "123456万", ["1,234,560,000"]),
        ("zh", "en", "2018年12月7日在13月5号", ["December 7, 2018", "5"]),
        ("en", "zh", "Aug. 9, 2014, 3rd of May, May 5:30", ["2014年8月9日", "5月3日", "5:30"]),
        ("de", "en", "am 1. Juli, 24. Dez. 2020", ["July 1", "December 24, 2020"]),
        ("en", "de", "on May 5, 2024 and 7 June", ["5. Mai 2024", "7. Juni"]),
        ("en", "de", "May 18th - 19th, 5 to 7 July 2001", ["18.–19. Mai", "5. bis 7. Juli 2001"]),
        ("en", "fr", "May 5", ["5"]),
        ("fr", "en", "3 milliards, 1,5 million", ["3 billion", "1.5 million"]),
        ("fr", "en", "12\u202f000", ["12,000"]),
        ("en", "fr", "12,000", ["12\u202f000"]),
        ("de", "en", "am 24.12.2024 um 9:30 Uhr", ["December 24, 2024", "9:30"]),
        ("de", "en", "am 12./13. Mai, zum 1.4. und § 1.4.", ["May 12 and 13", "April 1", "1.4"]),
        ("de", "en", "bis 2.6.11 und ab 3.4.", ["2.6.11", "April 3"]),
        ("de", "en", "von 1.4. bis 31.10.", ["April 1", "October 31"]),
        ("de", "en", "Do., 12.12. um 8", ["December 12", "8"]),
        ("de", "en", "am 8.5.24, 01.02.85 10", ["May 8, 2024", "February 1, 1985", "10"]),
        ("de", "en", "Version 01.02.24, 1.2.24, § 8.5.", ["01.02.24", "1.2.24", "8.5"]),
        ("zh", "en", "五月十二日和十三日，8月3号到17号", ["May 12 and 13", "August 3 to 17"]),
        ("en", "zh", "May 3 to May 5, May 6, 7 or 8", ["5月3日", "5月5日", "5月6日、7日或8日"]),
        ("en", "zh", "21:25, 3-4, 007, 1/2", ["21:25", "3-4", "007", "1/2"]),
        ("zh", "en", "2015年9月3日，9个月", ["September 3, 2015", "9"]),
        ("en", "de", "A2, S-500x, 25th, 5km, x_3, 3D", []),
        ("en", "ja", "5 of 1,000", ["5"]),
        ("en", "de", "-5 or 3-4 at 3 p.m. - 5", ["-5", "3-4", "15:00", "5"]),
        ("en", "de", "from 6 -7 p.m.", ["18:00", "19:00"]),
        ("zh", "de", "为-1.5元，氦-3", ["-1,5", "3"]),
        ("en", "zh", "5 apples, $20, 50%.", ["5", "20", "50"]),
    ],
)  # fmt: skip
def test_numbers_are_written_as_the_target_language_does(
    source: str, target: str, text: str, expected: list[str]
) -> None:
    assert [after for _, after in spelled(text, source, target)] == expected


@given(
    st.lists(st.integers(1, 31), min_size=1, max_size=3),
    st.integers(1, 12),
    st.sampled_from(["", "2024"]),
    st.sampled_from(["to", "and", "or", "-"]),
    st.sampled_from(["en", "de", "zh"]),
)
def test_days_of_a_month_are_found_as_they_are_written(
    days: list[int], month: int, year: str, joint: str, language: str
) -> None:
    joints = (*[","] * (len(days) - 2), *[joint] * (len(days) > 1))
    if len(days) > 2 and joint in ("to", "-"):
        joints = (",", "and")
    written = Date(0, 0, year, month, tuple(days), joints).written(language)
    (found,) = find_dates(f"{written} x", language)
    assert (found.year, found.month, found.days) == (year, month, tuple(days))
    assert found.written(language) == written


@given(
    st.lists(st.tuples(st.integers(1, 31), st.integers(1, 12)), min_size=1, max_size=5),
    st.sampled_from([" und ", " oder ", " bis ", " bis zum ", "–", "-", " - "]),
    st.sampled_from(["am ", "vom ", "Am "]),
    st.sampled_from(["", "2026"]),
)
def test_short_german_dates_are_found_in_lists_and_ranges(
    dates: list[tuple[int, int]], joint: str, before: str, year: str
) -> None:
    *others, last = [f"{day}.{month}." for day, month in dates]
    listed = f"{before}{joint.join(filter(None, [', '.join(others), last]))}{year}"
    text = f"Es ist {listed} offen."
    found = [*find_dates(text, "de")]
    assert [(one.month, one.days) for one in found] == [(month, (day,)) for day, month in dates]
    written = ", ".join(one.written("en") for one in found)
    assert unmatched(find_numbers(text), find_numbers(written)) == ([], [])
    assert lost_dates(text, written, ("de", "en")) == []
    assert lost_dates(text, listed, ("de", "en")) == lost_dates(text, "", ("de", "en"))


def test_what_only_looks_like_short_dates_stays() -> None:
    text = "§ 1.4. und 2.3., Kapitel 3.1. bis 3.4., Punkt 3.1. oder 4.2.2."
    assert [*find_dates(text, "de")] == []


def test_a_number_with_its_word_is_one_amount() -> None:
    assert spelled("It is 45 million years", "en", "zh") == [("45 million", "4500万")]
    assert spelled("It is 45 years", "en", "zh") == [("45", "45")]
    assert spelled("$2.5  billion", "en", "zh") == [("2.5", "2.5")]  # two spaces
    assert spelled("July 9th - 12th: x", "en", "de") == [("July 9th - 12th", "9.–12. Juli")]


@settings(deadline=None)
@given(st.decimals(0, 10**9, places=2), st.booleans(), st.sampled_from(LANGUAGES[:4]))
def test_a_value_is_the_same_in_every_language(value: Decimal, is_whole: bool, target: str) -> None:
    written = f"{int(value):,}" if is_whole else f"{value:,}"
    ((_, after),) = spelled(f"About {written} metres", "en", target)
    assert unmatched(find_numbers(written), find_numbers(after)) == ([], [])


@settings(deadline=None)
@given(TEXTS, st.sampled_from(LANGUAGES), st.sampled_from(LANGUAGES))
def test_amounts_stand_in_order_and_have_digits(text: str, source: str, target: str) -> None:
    found = list(find_amounts(text, source, target))
    assert all(before.end <= after.start for before, after in itertools.pairwise(found))
    for start, end, after in found:
        assert text[start:end].lstrip("-−")[0].isdecimal()
        assert text[start:end].strip() == text[start:end]
        assert any(char.isdecimal() for char in after)


def test_minutes_and_scales_of_two_characters_are_compared_by_value() -> None:
    pairs = [
        ("下午3点半", "at half past three"),
        ("八点一刻到九点三刻", "from 8:15 to 9:45"),
        ("八点一刻", "a quarter past eight"),
        ("3.2万亿，5百万", "3.2 trillion, 5 million"),
        ("30-50万", "300,000 to 500,000"),
        ("民国99年，一百零七年", "2010, 2018"),
    ]
    for source, target in pairs:
        assert unmatched(find_numbers(source), find_numbers(target)) == ([], [])
    assert unmatched(find_numbers("民国99年"), find_numbers("99")) == (["99"], ["99"])
    assert unmatched(find_numbers("3点半"), find_numbers("3 o'clock"))[0] == ["半"]
