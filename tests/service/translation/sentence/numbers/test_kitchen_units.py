"""Spoons and pounds are carried, and come out as the target's cooks write them."""

from __future__ import annotations

import pytest

from service.translation.sentence.rendering import read
from service.translation.sentence.stages import leave
from tests.service.translation.sentence.test_stages import prepared, to_itself
from tests.service.translation.test_assembly import assembly_of, outcome

UNITS = [("tbsp", "EL"), ("tbsp.", "EL"), ("tablespoons", "EL"), ("tsp", "TL"), ("lbs", "Pfund")]


@pytest.mark.parametrize(("unit", "german"), UNITS)
@pytest.mark.parametrize("number", ["2", "½", "1 1/2", "2.5"])
def test_a_unit_is_that_of_the_target_and_its_loss_counts(
    unit: str, german: str, number: str
) -> None:
    parsed, (entry,) = prepared(f"Add {number} {unit} oil.")
    assert unit not in entry.text
    draft = leave(entry.stages, to_itself(entry.text))
    assert draft is not None
    assert read(parsed.sentences[0], draft) == f"Add {number} {german} oil."
    assert leave(entry.stages, to_itself("Add oil.")) is None


def test_a_unit_that_was_lost_enters_again_with_its_number() -> None:
    assembly = assembly_of("Take 1 tsp salt, 1/2 lb rice and 2 cups milk.")
    assembly.read([outcome("⟦0⟧ Salz, 1/2 Reis.")])
    assert assembly.again[0].text == "Take ⟦0⟧ salt, ⟦1⟧ rice and ⟦2⟧ cups milk."


def test_without_placeholders_it_is_spelled() -> None:
    _, (entry,) = prepared("Add 2 tbsp oil.", reserved=0)
    assert entry.text == "Add 2 EL oil."
