"""Years before and after Christ keep their era between Chinese and English."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words

from service.translation.sentence.abbreviations import enter_abbreviations
from service.translation.sentence.latin import torn_latin
from service.translation.sentence.numbers.amounts import find_amounts
from service.translation.sentence.stages import Draft
from tests.service.translation.sentence.numbers.test_numerals import in_words
from tests.service.translation.sentence.test_abbreviations import is_looked_at
from tests.service.translation.sentence.test_stages import prepared


@given(st.integers(100, 9999), st.booleans(), st.booleans())
def test_a_year_keeps_its_era(year: int, is_before: bool, is_in_words: bool) -> None:
    written = in_words(year) if is_in_words else str(year)
    text = f"秦朝建立于公元{'前' if is_before else ''}{written}年。"
    stage = enter_abbreviations(text, "zh", "en")
    assert stage is not None
    assert stage.text == f"秦朝建立于{f'{year} BC' if is_before else f'AD {year}'}。"
    assert stage.leave(Draft(stage.text)).text == text
    assert is_looked_at(text, "zh")
    for other in ("前3世纪的公元年代", f"{year}年5月1日", f"{year}年五月"):
        assert enter_abbreviations(f"公元{other}", "zh", "en") is None


@given(st.integers(1, 20), st.sampled_from(["BC", "B.C.", "BCE", "AD", "A.D."]))
def test_an_english_year_or_century_is_carried_with_its_era(number: int, era: str) -> None:
    chinese = "公元前" if era[0] == "B" else "公元"
    ordinal = num2words(number, to="ordinal_num")
    years = {
        f"{number} {era}": f"{chinese}{number}年",
        f"{number}-{number + 5} {era}": f"{chinese}{number}–{number + 5}年",
        f"{ordinal} century {era}": f"{chinese}{number}世纪",
    }
    for written, carried in years.items():
        text = f"It was built in {written} by them."
        _, (entry,) = prepared(text, pair=("en", "zh"))
        assert entry.carriers is not None
        assert entry.carriers.shown == [carried]
        assert carried in [one.new for one in find_amounts(text, "en", "zh")]
        assert torn_latin(text, f"它建于{carried}。") == []
    _, (entry,) = prepared(f"In AD {number} it fell.", pair=("en", "zh"))
    assert entry.carriers is not None
    assert entry.carriers.shown == [f"公元{number}年"]
