"""Between a number and so many stands the word of the target."""

from __future__ import annotations

import pytest

from service.translation.sentence.stages import leave
from tests.service.translation.sentence.test_stages import prepared, to_itself


@pytest.mark.parametrize(
    ("pair", "text", "said", "expected"),
    [
        *(
            (("en", "de"), f"Page 3{of}10", f"Seite 3{said}10", "Seite 3 von 10")
            for of in (" of ", " out of ")
            for said in (". ", " von ", " aus ", " der ")
        ),
        *(
            (("de", "en"), "Schritt 3 von 10", f"Step 3{said}10", "Step 3 of 10")
            for said in (" of ", " from ")
        ),
        (
            ("en", "de"),
            "1 of 2, 3 of 4",
            "3. 4, 1. 2, 5. 6 und 3. 45",
            "3 von 4, 1 von 2, 5. 6 und 3. 45",
        ),
        (("en", "de"), "Flat 3, 12 Old Street", "Flat 3. 12 Old Street", "Flat 3, 12 Old Street"),
        (("en", "de"), "1, 2, 3 of 4", "1. 2. 3. 4", "1, 2, 3 von 4"),
        (("en", "de"), "on 3, 12 came", "am 3 um 12, am 3. 12", "am 3 um 12, am 3, 12"),
        (("en", "de"), "I ate 3 of 10.", "Von 10 aß ich 3.", "Von 10 aß ich 3."),
        (("en", "de"), "Page 3 of 10", "Page 3 of 10", "Page 3 of 10"),
        (("de", "en"), "von 3 bis 10 und 3 von 10,5", "3 from 10", "3 from 10"),
    ],
)
def test_the_numbers_have_the_word_of_the_target_between_them(
    pair: tuple[str, str], text: str, said: str, expected: str
) -> None:
    _, (entry,) = prepared(text, pair=pair)
    draft = leave(entry.stages, to_itself(said))
    assert draft is not None
    assert draft.text == expected


@pytest.mark.parametrize("of", [" of ", " out of "])
@pytest.mark.parametrize(("first", "second"), [("%d", "%d"), ("{n}", "{m}"), ("3", "{m}")])
@pytest.mark.parametrize("form", ["{}", "Page {}", "{} files copied", "Showing 1 to {} entries"])
def test_placeholders_of_so_many_stay_in_their_order_in_chinese(
    of: str, first: str, second: str, form: str
) -> None:
    """Nobody sees that %d of %d changed their places."""
    _, (entry,) = prepared(form.format(f"{first}{of}{second}"), pair=("en", "zh"))
    assert of not in entry.text
    assert "⟧/⟦" in entry.text or "3/⟦" in entry.text


@pytest.mark.parametrize("text", ["The {a} of {b}", "We like {a} of {b}.", "One of {a}"])
def test_other_placeholders_keep_the_word_between_them(text: str) -> None:
    _, (entry,) = prepared(text, pair=("en", "zh"))
    assert " of ⟦" in entry.text


@pytest.mark.parametrize("number", ["24", "5", "1st", "22nd", "3rd", "19th"])
@pytest.mark.parametrize("noun", ["hour", "core", "century"])
def test_into_chinese_a_number_goes_in_without_its_hyphen(number: str, noun: str) -> None:
    """Networks copy it, and 24-hour with it."""
    _, (entry,) = prepared(f"a {number}-{noun} thing", pair=("en", "zh"))
    assert f"{number} {noun} thing" in entry.text
    _, (entry,) = prepared(f"a {number}-{noun} thing", pair=("en", "de"))
    assert f"{number}-{noun} thing" in entry.text


@pytest.mark.parametrize("text", ["a 3-in-1 thing", "a 10-year-old boy", "call 1-800-flowers now"])
def test_other_hyphens_stay(text: str) -> None:
    _, (entry,) = prepared(text, pair=("en", "zh"))
    assert entry.text == text
