"""The table of words decides the language of short texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.translation.language.short_texts import (
    OTHER,
    ShortTexts,
)

TABLE = ShortTexts(
    languages=("en", "de", "zh"),
    words={"the": (15.0, 2.0, 0.0), "die": (4.0, 15.0, 0.0), "我": (0.0, 0.0, 14.0)},
    trigrams={"^th": (12.0, 5.0, -1.0, 6.0)},
    rare=(-1.0, -1.0, -1.0, -1.0),
    weights=(0.5, 0.5, 1.0, 0.5, 0.0, 0.0, 0.0),
)
SCORES = {"en": 0.25, "de": 0.25, "zh": 0.25, "fr": 0.2, "nl": 0.05}


@pytest.mark.parametrize(("text", "best"), [("the", "en"), ("Die!", "de"), ("我", "zh")])
def test_the_table_decides_where_the_scores_are_alike(text: str, best: str) -> None:
    found = TABLE.probabilities(text, SCORES)
    assert max(found, key=lambda code: found[code]) == best


def test_other_languages_share_what_is_left_as_the_scores_say() -> None:
    found = TABLE.probabilities("qqq", SCORES)
    assert found["fr"] / found["nl"] == pytest.approx(4)
    assert found["fr"] > 0.2


def test_a_script_excludes_languages() -> None:
    assert set(TABLE.features("the", SCORES) or ()) == {"en", "de", OTHER}
    assert set(TABLE.features("我", SCORES) or ()) == {"zh", OTHER}
    assert set(TABLE.features("the 我", SCORES) or ()) == {"en", "de", "zh", OTHER}


@given(st.text(max_size=90))
def test_probabilities_sum_to_one(text: str) -> None:
    found = TABLE.probabilities(text, SCORES)
    assert sum(found.values()) == pytest.approx(1)
    assert all(0 <= value <= 1 for value in found.values())
