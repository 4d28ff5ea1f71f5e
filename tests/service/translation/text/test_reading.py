"""Sentences that lost a kept string are translated in parts."""

from __future__ import annotations

import pytest

from service.translation.markup.flow import MARK, Kept
from service.translation.text.document import MarkedSentence
from service.translation.text.reading import parts_of


@pytest.mark.parametrize(("opening", "closing"), ["()", "[]", "“”", "„“", "«»", '""', "''"])
def test_no_part_has_half_of_a_pair_around_a_kept_string(opening: str, closing: str) -> None:
    text = f"Use {opening}{MARK}{closing} here!"
    assert parts_of(MarkedSentence(text, [Kept("a_b", "a_b")])) == ["Use", "here!"]
