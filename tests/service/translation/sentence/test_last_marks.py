"""As many marks end a translation as its sentence."""

from __future__ import annotations

import pytest

from service.translation.sentence.last_marks import enter_last_marks
from service.translation.sentence.stages import Draft, leave
from tests.service.translation.sentence.test_stages import prepared

MARKS = ["...", "…", "!!", "??", "!?"]


@pytest.mark.parametrize("marks", MARKS)
@pytest.mark.parametrize("written", [".", "..", "....", "…", "….", "!", "!!", "?", "?!", "!!!!"])
def test_a_sentence_keeps_the_marks_at_its_end(marks: str, written: str) -> None:
    _, (entry,) = prepared(f"He never came{marks}", pair=("en", "de"))
    draft = leave(entry.stages, Draft(f"Er kam nie{written}"))
    assert draft is not None
    is_like = {*written} <= {*".…", *marks}
    assert draft.text == f"Er kam nie{marks if is_like else written}"


@pytest.mark.parametrize("end", [".", "!", "?", "", ":"])
def test_one_mark_is_left_to_the_network(end: str) -> None:
    _, (entry,) = prepared(f"He never came{end}", pair=("en", "de"))
    assert leave(entry.stages, Draft("Er kam nie....")) == Draft("Er kam nie....")


@pytest.mark.parametrize("dots", ["...", "…"])
@pytest.mark.parametrize("written", ["..", "....", "." * 30, "….", ".…", "……"])
def test_dots_within_a_sentence_are_three(dots: str, written: str) -> None:
    stage = enter_last_marks(f"Hm{dots} maybe.", "de")
    assert stage is not None
    assert stage.leave(Draft(f"Hm{written} vielleicht.")).text == f"Hm{dots} vielleicht."
    assert stage.leave(Draft(f"Vielleicht{written}")).text == "Vielleicht."
    assert stage.leave(Draft("Hm... ja, 3.5 z. B.")).text == "Hm... ja, 3.5 z. B."
    assert enter_last_marks("Hm, maybe.", "de") is None
    assert enter_last_marks("Hm... maybe!!", "zh") is None
