"""English ordinals leave with the ending of their number."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from service.translation.sentence.ordinals import enter_ordinals
from tests.service.translation.sentence.test_stages import to_itself


@given(st.integers(1, 9999), st.sampled_from(["st", "nd", "rd", "th", "thth"]))
def test_an_english_ordinal_has_the_ending_of_its_number(number: int, ending: str) -> None:
    stage = enter_ordinals("Das 3. Auto", ("de", "en"))
    assert stage is not None
    left = stage.leave(to_itself(f"His {number}{ending} car"))
    assert left.text == f"His {num2words(number, to='ordinal_num')} car"
    assert len(left.links) == 3


def test_ordinals_are_of_german_and_chinese_sentences() -> None:
    assert enter_ordinals("第3次", ("zh", "en")) is not None
    for text, pair in [
        ("Das 3. Auto", ("de", "fr")),
        ("3.5 Autos", ("de", "en")),
        ("", ("en", "en")),
    ]:
        assert enter_ordinals(text, pair) is None
