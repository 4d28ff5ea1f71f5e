"""Times and halves in words go in in digits, and no number of a text is lost by that."""

from __future__ import annotations

import itertools
import random
import re

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from service.translation.checks.dotted_times import with_colons
from service.translation.checks.numbers import find_numbers, unmatched
from service.translation.checks.spelled_out import RULES, has_spoken_numbers, in_digits
from service.translation.sentence.abbreviations import enter_abbreviations
from service.translation.sentence.numbers.amounts import find_amounts
from tests.service.translation.sentence.test_abbreviations import entered
from tests.service.translation.sentence.test_stages import prepared

HOURS = {
    "en": "one two three four five six seven eight nine ten eleven twelve",
    "de": "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
}
SPOKEN = {
    "en": {
        "half past": 30,
        "a quarter past": 15,
        "quarter to": -15,
        "ten past": 10,
        "twenty-five minutes to": -25,
    },
    "de": {
        "halb": -30,
        "Viertel nach": 15,
        "viertel vor": -15,
        "dreiviertel": -15,
        "zehn Minuten nach": 10,
        "fünf vor halb": -35,
        "zwanzig vor": -20,
    },
}


@pytest.mark.parametrize("language", SPOKEN)
def test_a_time_in_words_is_the_same_in_digits(language: str) -> None:
    for phrase, minutes in SPOKEN[language].items():
        for hour, word in enumerate(HOURS[language].split(), 1):
            total = (60 * hour + minutes) % 720
            digits = f"{total // 60 or 12}:{total % 60:02}"
            text = f"x {phrase} {word}."
            assert entered(text, language) == f"x {digits}."
            assert [one.new for one in find_amounts(text, language, "zh")] == [digits]


@pytest.mark.parametrize(
    ("language", "text", "spelled"),
    [
        ("en", "It's ten to five, or at five to six o'clock", "It's 4:50, or at 5:55"),
        ("en", "half past 3 p.m., quarter to 12 am", "15:30, 23:45"),
        (
            "en",
            "from ten to five, five to six people, a quarter to three million",
            "from ten to five, five to six people, a quarter to 3 million",
        ),
        ("en", "half of three, a half past, ten past students, past two", None),
        (
            "en",
            "2h 30m, 1h20m, 1 hr 1 min. 5hrs",
            "2 hours 30 minutes, 1 hour 20 minutes, 1 hour 1 minute. 5 hours",
        ),
        ("en", "8h ago, the 24h race, 1h", "8 hours ago, the 24 hours race, 1 hour"),
        (
            "en",
            "3w ago, 10m left, 1d 4h 5m",
            "3 weeks ago, 10 minutes left, 1 day 4 hours 5 minutes",
        ),
        ("en", "45 secs, 1 sec, 3 yrs old, 5 wks", "45 seconds, 1 second, 3 years old, 5 weeks"),
        ("en", "It took 10s, 2m 30s.", "It took 10 seconds, 2 minutes 30 seconds."),
        ("en", "in the 80s, her 20s, 5m long, sold for 5m, the 5s, -5m 3s", None),
        ("en", "h2 30m, 2h/d, 3 h, 100hr-run, 4:30h 20m", None),
        ("en", "two and a half hours, 10 and a half", "2.5 hours, 10.5"),
        ("en", "one and a half million, a year and a half", "1.5 million, a year and a half"),
        ("de", "halb 8 Uhr, um halb zwei Uhr nachts", "7:30, um 1:30 nachts"),
        ("de", "fünf nach drei Jahren, ein halb leerer, deshalb acht, halb Acht", None),
        ("de", "anderthalb Stunden, zweieinhalb, Eineinhalb", "1,5 Stunden, 2,5, 1,5"),
        (
            "de",
            "5-stündige, eine zweiwöchige Fahrt, 3-stündig",
            "5 Stunden lange, eine zwei Wochen lange Fahrt, 3 Stunden lang",
        ),
        ("de", "halbstündig, 1-stündig, dreitägig, zweiwöchentlich, viertelstündige", None),
        ("zh", "两个半小时，一年半，三个半月，10公里半", "2.5小时，1.5年，3.5个月，10.5公里"),
        ("zh", "一年半载，三天半夜，一半，第三年半，十三年半", None),
    ],
)
def test_times_and_halves_in_words_go_in_in_digits(
    language: str, text: str, spelled: str | None
) -> None:
    assert entered(text, language) == spelled


@pytest.mark.parametrize("digit", ["\U00010d41", "\U0001d7d3", "\uff15", "\u0665", "\u00b2"])
@pytest.mark.parametrize(
    ("language", "text"),
    [
        *(("de", text) for text in ("{} Uhr", "1{} bis {} Uhr {} abends", "9–{}.3{} h", "halb {}")),
        *(("en", text) for text in ("{} hrs", "{}h {}m", "{} and a half", "half past {}", '{}"')),
        *(
            ("zh", text)
            for text in ("下午{}:2{}", "{}点{}{}分", "{}个半小时", "{}小时{}分", "{}米83")
        ),
        *(("zh", text) for text in ("{}、打开", "{}.打开", "({})打开", "周一{}:20")),
    ],
)
def test_digits_of_any_script_are_no_error(language: str, text: str, digit: str) -> None:
    """Also those that this Python cannot read."""
    prepared(text.replace("{}", digit), pair=(language, "en" if language != "en" else "de"))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Come on May 5 at half past three.", "Komm am 5. Mai um 3:30 Uhr."),
        ("It took 3 men two and a half hours.", "3 Männer brauchten 2,5 Stunden."),
        ("In 2 Städten leben anderthalb Millionen.", "1.5 million live in 2 cities."),
        ("5个人用了两个半小时", "It took 5 people 2.5 hours"),
        ("Am 5. um halb acht.", "On the 5th at 7:30."),
        ("Two and a half dozen eggs", "Dreißig Eier"),
        ("Dreieinhalb Dutzend Eier", "3.5 dozen eggs"),
        ("三个半月", "trois mois et demi"),
    ],
)
def test_a_half_in_words_is_a_number(source: str, target: str) -> None:
    assert unmatched(find_numbers(source), find_numbers(target)) == ([], [])


@given(st.integers(1, 99), st.sampled_from(["en", "de"]))
def test_a_minus_in_words_is_a_sign_and_its_loss_counts(value: int, language: str) -> None:
    texts = {
        "en": ("It is minus {}.", "Minus {}", "Brr, minus {} degrees."),
        "de": ("Es ist minus {}.", "Minus {}", "Brr, minus {} Grad."),
    }
    for form in texts[language]:
        text, signed = form.format(value), regex.sub("(?i)minus ", "-", form).format(value)
        assert entered(text, language) == signed
        assert [one.new for one in find_amounts(text, language, "zh")] == [f"-{value}"]
        for right in (f"-{value}", f"零下{value}度"):
            assert unmatched(find_numbers(text), find_numbers(right)) == ([], [])
        assert unmatched(find_numbers(text), find_numbers(f"{value}")) != ([], [])


@pytest.mark.parametrize("text", ["The price minus 5 is fine.", "10 minus 3 is 7", "x minus 3"])
def test_a_minus_between_two_is_no_sign(text: str) -> None:
    assert entered(text, "en") is None


DOTTED = [
    ("de", "von {} bis {} und von {} bis {} Uhr"),
    ("de", "{}–{}, {}–{} Uhr"),
    ("de", "Mo, Mi {}-{}, Sa {} - {}"),
    ("de", "um {}, {}, {} oder {} Uhr"),
    ("en", "from {} to {} and from {} to {} on Monday"),
    ("en", "at {}, {}, {} or {}"),
]


@pytest.mark.parametrize(("language", "text"), DOTTED)
@pytest.mark.parametrize(
    "times", [("8.00", "12.30", "13.45", "17.00"), ("0.15", "9.30", "10.15", "24.00")]
)
def test_times_with_a_point_are_times(language: str, text: str, times: tuple[str, ...]) -> None:
    dotted, colons = text.format(*times), text.format(*(t.replace(".", ":") for t in times))
    assert with_colons(dotted) == colons
    assert entered(dotted, language) == (entered(colons, language) or colons)
    other = "en" if language == "de" else "de"
    amounts = (one.new for one in find_amounts(dotted, language, other))
    carried = "–".join(amount for amount in amounts if not amount.startswith("Monday"))
    assert re.split("–| bis | oder ", carried) == [time.replace(".", ":") for time in times]
    assert unmatched(find_numbers(dotted), find_numbers(colons)) == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "von 8.00 bis 12.00 Euro",
        "Kapitel 3.15-3.30",
        "CHF 8.00–12.00",
        "8.00-12.00 kg",
        "1.15.2–1.30",
        "at 7.45 percent, at 9.32, from 9.00 to 12.05, at $8.30",
    ],
)
def test_what_only_looks_like_times_stays(text: str) -> None:
    assert with_colons(text) == text


HALVES = {
    "en": [f"{word} and a half hours" for word in HOURS["en"].split()],
    "de": [f"{word}einhalb Stunden" for word in HOURS["de"].replace("eins", "ein").split()],
    "zh": [f"{word}个半小时" for word in [*"一两三四五六七八九十", "11", "12"]],
}


@pytest.mark.parametrize(("source", "target"), [*itertools.permutations(HALVES, 2)])
def test_a_half_is_compared_by_value_and_carried_without_its_unit(source: str, target: str) -> None:
    pairs = zip(HALVES[source], HALVES[target], strict=True)
    for number, (text, other) in enumerate(pairs, 1):
        written = f"{number},5" if target == "de" else f"{number}.5"
        assert [one.new for one in find_amounts(text, source, target)] == [written]
        for same in (other, f"{written} h"):
            assert unmatched(find_numbers(text), find_numbers(same)) == ([], [])
        lost, added = unmatched(find_numbers(text), find_numbers(f"{number}5 h"))
        assert lost
        assert added == [f"{number}5"]


SPELLED_OUT = {
    "en": [
        ("Five point two billion, two point oh five percent", "5.2 billion, 2.05 percent"),
        ("one hundred and five point one of them", "105.1 of them"),
        ("in nineteen eighty-four, by twenty twenty-six", "in 1984, by 2026"),
        ("since nineteen oh five, of nineteen hundred and five", "since 1905, of 1905"),
        ("the late nineteen eighties, the eighteen hundreds", "the late 1980s, the 1800s"),
        ("twenty-five hundred people, nineteen hundred and six", "2,500 people, 1,906"),
        ("the twenty-first of March, March twenty-second", "the 21st of March, March 22nd"),
        (
            "a hundred and one, between five and ten thousand",
            "101, between 5,000 and 10,000",
        ),
        ("two to three million, one to two hundred thousand", "2-3 million, 100,000-200,000"),
        ("Two or three thousand, in two thousand eight", "2,000 or 3,000, in 2008"),
        ("half a million, three quarters of a billion", "500,000, 750 million"),
        ("one million, a billion, three trillion", "1,000,000, 1 billion, 3,000 billion"),
        (
            "ten percent, half a percent, five to six per cent",
            "10 percent, 0.5 percent, 5-6 per cent",
        ),
        ("two thirds of us, a quarter of them, one-fifth", "2/3 of us, 1/4 of them, 1/5"),
        ("I read Nineteen Eighty-Four, twenty twenty-six", "I read 1984, 2026"),
        ("March the sixteenth, the thirteenth day of May", "March the 16th, the 13th day of May"),
    ],
    "de": [
        ("Fünf Komma zwei Milliarden, ein Komma null fünf", "5,2 Milliarden, 1,05"),
        ("neunzehnhundertvierundachtzig geboren", "1984 geboren"),
        (
            "zwei Millionen dreihunderttausend Menschen, zwölftausend",
            "2,3 Millionen Menschen, 12.000",
        ),
        ("eine halbe Million, fünf Billionen", "500.000, 5.000 Milliarden"),
        ("zwei bis drei Millionen, fünf bis zehn Prozent", "2-3 Millionen, 5-10 Prozent"),
        ("eine bis zwei Millionen", "1-2 Millionen"),
        ("zwischen zwei und drei Millionen", "zwischen 2 Millionen und 3 Millionen"),
        ("Zehn Prozent, ein halbes Prozent", "10 Prozent, 0,5 Prozent"),
        ("am einundzwanzigsten März, bis zum dreizehnten Mai", "am 21. März, bis zum 13. Mai"),
    ],
}


@pytest.mark.parametrize(
    ("language", "text", "digits"),
    [(language, *row) for language, rows in SPELLED_OUT.items() for row in rows],
)
def test_numbers_in_words_go_in_in_digits(language: str, text: str, digits: str) -> None:
    assert entered(text, language) == in_digits(text).text == digits
    other = "de" if language == "en" else "en"
    for part, same in zip(text.split(", "), digits.split(", "), strict=True):
        assert has_spoken_numbers(part, language)
        amounts = " ".join(one.new for one in find_amounts(same, language, other))
        assert unmatched(find_numbers(part), find_numbers(amounts))[1] == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "en",
            "At this point two left; in twenty ten-minute lessons, twelve hundred thousand",
        ),
        ("en", "the second of two, one of the first, half of them, in twenty minutes"),
        (
            "en",
            "a thousand more, one in a million, hundreds of thousands, at six thirty-five",
        ),
        (
            "en",
            "three hundred and fifty-first, a two-thousand-dollar car, two hundred",
        ),
        ("en", "by a third party, a quarter of an hour, a fifth column"),
        (
            "de",
            "Tausende, hundertprozentig, tausendmal, eine Million, hunderterste",
        ),
        ("de", "Das Komma zwei Zeilen weiter, am letzten Januar, die meisten Mai-Tage"),
    ],
)
def test_what_only_looks_like_numbers_in_words_stays(language: str, text: str) -> None:
    assert in_digits(text).text == text
    assert entered(text, language) is None


LARGE = st.integers(1, 999) | st.builds(
    lambda n, scale: n * 10**scale, st.integers(2, 99999), st.integers(0, 7)
)


@pytest.mark.parametrize("language", ["en", "de"])
@given(LARGE)
def test_a_number_in_words_has_its_value(language: str, number: int) -> None:
    """Also as the checks read it: no right translation is told of, and no wrong one is missed."""
    words = f"It is {num2words(number, lang=language)} now."
    if entered(words, language) is None:
        assert number < 1000 or number in (10**3, 10**6, 10**9)
        return
    for target in {"zh", "de", "en"} - {language}:
        (right,) = find_amounts(words, language, target)
        assert unmatched(find_numbers(words), find_numbers(f"({right.new})")) == ([], [])
        (wrong,) = find_amounts(f"It is {10 * number} now.", language, target)
        assert all(unmatched(find_numbers(words), find_numbers(f"({wrong.new})")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs 10 to 15 million.", "It costs 10 million to 15 million."),
        (
            "⟦0⟧1.2–1.5 billion, 3 or 4 million",
            "⟦0⟧1.2 billion–1.5 billion, 3 million or 4 million",
        ),
        ("Between 5 and 10 million do.", "Between 5 million and 10 million do."),
        ("It is $10 to $15 million", "It is $10 million to $15 million"),
        ("20-30 million, from 15 to 2 million, 2019 to 3 million, 5 and 10 million", None),
    ],
)
def test_into_chinese_two_numbers_have_a_scale_each(text: str, expected: str | None) -> None:
    stage = enter_abbreviations(text, "en", "zh")
    assert (stage.text if stage else None) == expected
    assert unmatched(find_numbers(text), find_numbers(expected or text)) == ([], [])


def test_into_chinese_the_word_percent_goes_in_as_its_sign() -> None:
    text = "ten percent, 2.5 per cent, one and a half percent, ⟦0⟧ percent, a small percentage"
    stage = enter_abbreviations(text, "en", "zh")
    assert stage is not None
    assert stage.text == "10%, 2.5%, 1.5%, ⟦0⟧%, a small percentage"


_WORDS = {
    "en": [
        *("one", "two", "nineteen", "twenty", "thirty", "eighty-four", "hundred", "thousand"),
        *("million", "trillion", "percent", "per cent", "point", "half a", "a quarter of a"),
        *("thirds", "a fifth of", "first", "twenty-first", "of March", "May", "in", "the", "and"),
        *("or", "to", "between", "the nineteen eighties", "two to three million"),
        "minus 5 degrees",
    ],
    "de": [
        *("ein", "zwei", "fünf", "zwanzig", "hundert", "zweitausend", "neunzehnhundertacht"),
        *("Million", "Millionen", "Milliarde", "Billion", "Billionen", "Prozent", "Komma"),
        *("eine", "halbe", "ein halbes", "bis", "oder", "und", "zwischen", "am", "ersten März"),
        "minus 5 Grad",
    ],
}


@pytest.mark.parametrize("language", _WORDS)
def test_what_a_rule_finds_has_one_of_its_hints(language: str) -> None:
    drawn = random.Random(5)
    found = set()
    for _ in range(12000):
        words = drawn.choices(_WORDS[language], k=drawn.randrange(2, 7))
        text = drawn.choice([str.lower, str, str.upper])(" ".join(words))
        for place, (hints, pattern, _) in enumerate(RULES[language]):
            if pattern.search(text):
                found.add(place)
                assert any(hint in text.lower() for hint in hints), (text, hints)
    assert found == {*range(len(RULES[language]))}


MANY = {
    "tens of thousands": ("10,000", "数万", "2000"),
    "hundreds of thousands": ("100,000", "数十万", "1万"),
    "tens of millions": ("10 million", "数千万", "100万"),
    "hundreds of millions": ("100 million", "数亿", "1000万"),
    "tens of billions": ("10 billion", "数百亿", "10亿"),
}


@pytest.mark.parametrize("words", MANY)
def test_many_of_a_scale_are_more_than_one_of_it(words: str) -> None:
    least, chinese, wrong = MANY[words]
    text = f"They have {words} of users, and {words} of them."
    stage = enter_abbreviations(text, "en", "zh")
    assert stage is not None
    assert stage.text == f"They have more than {least} users, and more than {least} of them."
    assert enter_abbreviations(text, "en", "de") is None
    assert [one.new for one in find_amounts(text, "en", "zh")] == [chinese, chinese]
    numbers = find_numbers(text)
    for right in (chinese, least):
        assert unmatched(numbers, find_numbers(f"有{right}用户")) == ([], [])
    assert unmatched(numbers, find_numbers(f"超过{wrong}用户")) == ([], [wrong.rstrip("万亿")])
