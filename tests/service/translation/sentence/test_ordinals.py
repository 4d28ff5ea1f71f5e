"""English ordinals leave with the ending of their number, and Chinese ones go in as such."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from service.translation.sentence.abbreviations import enter_abbreviations
from service.translation.sentence.numbers.amounts import find_amounts
from service.translation.sentence.ordinals import enter_ordinals
from tests.service.translation.sentence.test_abbreviations import is_looked_at
from tests.service.translation.sentence.test_stages import to_itself


@given(st.integers(1, 9999), st.sampled_from(["st", "nd", "rd", "th", "thth"]))
def test_an_english_ordinal_has_the_ending_of_its_number(number: int, ending: str) -> None:
    stage = enter_ordinals("Das 3. Auto", ("de", "en"))
    assert stage is not None
    left = stage.leave(to_itself(f"His {number}{ending} car"))
    assert left.text == f"His {num2words(number, to='ordinal_num')} car"
    assert len(left.links) == 3


@given(st.integers(1, 9999))
def test_an_english_ordinal_is_one_in_chinese(number: int) -> None:
    ordinal = num2words(number, to="ordinal_num")
    stage = enter_ordinals(f"the {ordinal} edition", ("en", "zh"))
    assert stage is not None
    assert stage.leave(to_itself(f"{ordinal} 版本")).text == f"第{number}版本"
    assert stage.leave(to_itself(stage.text)).text == stage.text
    (carried,) = find_amounts(stage.text, "en", "zh")
    assert carried == (4, 4 + len(ordinal), f"第{number}")


def test_ordinals_are_of_sentences_of_known_pairs() -> None:
    assert enter_ordinals("第3次", ("zh", "en")) is not None
    for text, pair in [
        ("Das 3. Auto", ("de", "fr")),
        ("3.5 Autos", ("de", "en")),
        ("", ("en", "en")),
    ]:
        assert enter_ordinals(text, pair) is None


@given(st.integers(11, 199), st.sampled_from("届次个名位任本代"), st.booleans())
def test_a_chinese_ordinal_goes_in_as_an_english_one(
    number: int, counted: str, is_in_digits: bool
) -> None:
    digits = ("", *"一二三四五六七八九")
    hundreds, tens, ones = number // 100, number // 10 % 10, number % 10
    ten = f"{digits[tens]}十" if tens else "零" if ones else ""
    words = f"{digits[hundreds]}百{ten}" if hundreds else f"{digits[tens] if tens > 1 else ''}十"
    text = f"第{number if is_in_digits else words + digits[ones]}{counted}冠军"
    stage = enter_abbreviations(text, "zh", "en")
    assert stage is not None
    unit = counted if counted == "代" else ""
    assert stage.text == f"{num2words(number, to='ordinal_num')}{unit}冠军"
    assert is_looked_at(text, "zh")


def test_months_laws_and_what_networks_know_are_no_chinese_ordinals() -> None:
    for text in ("第2个月", "第3条", "第一次", "第十名", "第3季度", "第5页"):
        assert enter_abbreviations(text, "zh", "en") is None
    assert enter_abbreviations("第3次", "zh", "de") is None
