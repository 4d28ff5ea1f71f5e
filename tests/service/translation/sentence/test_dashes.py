"""A translation has the dashes of its sentence."""

from __future__ import annotations

import pytest

from service.translation.sentence.stages import leave
from tests.service.translation.sentence.test_stages import prepared, to_itself


@pytest.mark.parametrize("written", ["-", "--", "–", "—"])
@pytest.mark.parametrize("dash", ["-", "--", "–", "—"])
@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Teil 1 / Einleitung", "Part 1 / introduction"),
        ("Mein Vater / ein Lehrer / wohnt hier.", "My father / a teacher / lives here."),
        ("Der gut-gelaunte Tom / 3-mal da", "The good-humoured Tom / there 3 times"),
        ("Er kam / und ging.", "He came and left."),
        ("Er kam / und ging.", "He / the man / came and left."),
    ],
)
def test_they_are_those_of_the_source_if_as_many(
    source: str, target: str, dash: str, written: str
) -> None:
    _, (entry,) = prepared(source.replace("/", dash), pair=("de", "en"))
    draft = leave(entry.stages, to_itself(target.replace("/", written)))
    is_usual = source.count("/") != target.count("/") or f"{dash}{written}" in (
        "—–",
        "--–",
        "--—",
        "-–",
        "-—",
    )
    assert draft is not None
    assert draft.text == target.replace("/", written if is_usual else dash)
