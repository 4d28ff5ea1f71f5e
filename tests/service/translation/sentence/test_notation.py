"""Numbers leave with the marks of the target."""

from __future__ import annotations

import re

import pytest

from service.translation.sentence.notation import enter_notation
from service.translation.sentence.rendering import read
from service.translation.sentence.stages import leave
from tests.service.translation.sentence.test_stages import linked, prepared, to_itself


@pytest.mark.parametrize(
    ("pair", "text", "copied", "written"),
    [
        (("en", "de"), "3.4%, $5.6, 1,234, 3.1", "3.4%, $5.6, 1,234 3.1", "3,4%, $5,6, 1.234 3.1"),
        (("de", "en"), "1.961 und -3,5 von 2,4", "1.961, -3,5 of 2,4", "1,961, -3.5 of 2.4"),
        (("en", "zh"), "2,500 of 3.1, 7,8", "有2.500人 3.1, 7.8", "有2,500人 3.1, 7.8"),
        (("de", "en"), "1.234,56 am 5.6.", "1.234,56 x1.234,56", "1,234.56 x1.234,56"),
        (("en", "de"), "1 234,5 of 1.234,50", "1 234.5 von 1,234.50", "1 234,5 von 1.234,50"),
        (("en", "de"), "⟦0⟧ 0.05, ⟦1⟧ 1.5", "⟦0⟧ 0.05, ⟦1⟧ 1.5 so", "⟦0⟧ 0,05, ⟦1⟧ 1.5 so"),
        (("en", "de"), "only $9.99/mo.", "nur $9.99/mo.", "nur $9,99/mo."),
        (("de", "en"), "2,345.67 Euro", "2.345,67 euros", "2,345.67 euros"),
    ],
)  # fmt: skip
def test_a_copied_number_gets_the_marks_of_the_target(
    pair: tuple[str, str], text: str, copied: str, written: str
) -> None:
    stage = enter_notation(text, pair)
    assert stage is not None
    assert stage.leave(to_itself(text)) == to_itself(text)
    left = stage.leave(to_itself(copied))
    assert left.text == written
    assert all(len(source) <= len(target) for source, target in linked(left, copied))


@pytest.mark.parametrize(
    ("pair", "text"),
    [
        *((("en", "de"), text) for text in ("Version 3.4 of 14.2", "see 1.1", "10.05, a3.4%")),
        *((("de", "en"), text) for text in ("am 12.05.2025", "1.2.3", "10.0.0.1", "um 9.30 Uhr")),
        *((("en", "de"), text) for text in ("GTK+ 2.0", "Ruby > 2.3", "x (>= 3.10)", "⟦0⟧ 3.1")),
        (("en", "de"), "Debian 12.5 ⟦0⟧"),
        *((("de", "en"), text) for text in ("Kapitel 35.152", "f(-1,1)", "2,4-Di, 3,3'-Me")),
        *((("en", "zh"), text) for text in ("Up 3.4%", "1,2345")),
    ],
)
def test_versions_and_dates_keep_their_marks(pair: tuple[str, str], text: str) -> None:
    assert enter_notation(text, pair) is None


@pytest.mark.parametrize(
    ("pair", "text", "number"),
    [
        *(
            (("en", "de"), *row)
            for row in (("2.5", "2,5"), ("2.5.", "2,5."), ("1,234.5", "1.234,5"))
        ),
        (("de", "en"), "5,5!", "5.5!"),
    ],
)
def test_a_number_that_was_in_words_gets_the_marks_of_the_target(
    pair: tuple[str, str], text: str, number: str
) -> None:
    stage = enter_notation(text, pair, is_number=True)
    assert stage is not None
    assert stage.leave(to_itself(text)).text == number


@pytest.mark.parametrize(
    ("pair", "text"),
    [
        *((("en", "de"), text) for text in ("1.5{}2.5", "$1,000{}1,500", "0.5{}0.75{}1.5L")),
        *((("de", "en"), text) for text in ("1,5{}2,5 kg", "12,5{}2,5{}3,5x", "1.000{}1.500")),
    ],
)
@pytest.mark.parametrize("joint", ["-", "–", " x ", "; ", " l, ", " / "])
def test_if_one_of_joined_numbers_has_the_marks_of_the_target_all_have(
    pair: tuple[str, str], text: str, joint: str
) -> None:
    text = text.replace("{}", joint)
    stage = enter_notation(text, pair)
    assert stage is not None
    assert stage.leave(to_itself(text)) == to_itself(text)
    new = re.sub(r"(?<=\d)[.,](?=\d)", lambda mark: ",."[mark[0] == ","], text)
    numbers = re.findall(r"\d[\d.,]*\d", text)
    for one, written in zip(numbers, re.findall(r"\d[\d.,]*\d", new), strict=True):
        assert stage.leave(to_itself(text.replace(one, written, 1))).text == new


@pytest.mark.parametrize("currency", ["$", "€", "€ ", "EUR ", "USD ", "US$"])
def test_a_price_gets_the_marks_of_the_target_however_its_currency_is_written(
    currency: str,
) -> None:
    parsed, (entry,) = prepared(f"It costs {currency}49.90 now.")
    draft = leave(entry.stages, to_itself(entry.text.replace("now", "jetzt")))
    assert draft is not None
    assert read(parsed.sentences[0], draft) == f"It costs {currency}49,90 jetzt."
