"""What benchmarks/reserved.py counts as kept."""

from __future__ import annotations

import pytest

from benchmarks.reserved import are_kept
from model.text.reserved import reserved_pieces

PIECES = reserved_pieces(16)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("⟦0⟧ eats ⟦1⟧", "⟦1⟧ 被 ⟦0⟧ 吃", True),
        ("⟦0⟧ eats ⟦1⟧", "⟦0⟧吃", False),
        ("⟦0⟧ eats", "⟦0⟧⟦0⟧吃", False),
        ("It eats", "⟦0⟧吃", False),
        ("⟦1⟧ and ⟦11⟧", "⟦11⟧ und ⟦1⟧", True),
        ("⟦<0>⟧a⟦</0>⟧ b⟦<1/>⟧", "b⟦<1/>⟧ ⟦<0>⟧a⟦</0>⟧", True),
        ("⟦<0>⟧a⟦</0>⟧", "⟦</0>⟧a⟦<0>⟧", False),
        ("⟦<0>⟧a ⟦<1>⟧b⟦</1>⟧⟦</0>⟧", "⟦<0>⟧a ⟦<1>⟧b⟦</0>⟧⟦</1>⟧", False),
        ("⟦<0>⟧a⟦</0>⟧", "⟦<0>⟧a⟦</0>⟧⟦</0>⟧", False),
    ],
)
def test_pieces_are_kept_if_each_comes_once_and_tags_are_nested(
    source: str, target: str, expected: bool
) -> None:
    assert are_kept(source, target, PIECES) is expected
