"""DecodingOptions: every option has a range, and every refusal says which."""

from __future__ import annotations

from typing import Any

import pytest

from model.decoding.options import DecodingOptions, OptionsError


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"beam_size": 0}, "beam_size must be a whole number from 1 to 64, got 0"),
        ({"beam_size": True}, "beam_size must be a whole number from 1 to 64, got True"),
        ({"beam_size": 2, "n_best": 3}, "n_best must be a whole number from 1 to 2, got 3"),
        ({"temperature": float("nan")}, "temperature must be a number .*, got nan"),
        ({"seed": 2**63}, "seed must be a whole number from 0 to 9223372036854775807"),
        ({"normalization": "none"}, r"normalization must be one of \['wu', 'average'\]"),
        ({"sampling": True}, "sampling needs beam_size 1, got 4"),
        ({"seed": None}, "seed must be a whole number from 0 to 9223372036854775807, got None"),
        ({"beam_size": 1, "sampling": 1}, "sampling must be true or false, got 1"),
        (["beam_size"], r"decoding must be a table of options, got \['beam_size'\]"),
        ({"beams": 2}, r"unknown decoding option 'beams'; known: \['beam_size'"),
    ],
)
def test_a_bad_option_is_named_with_its_range(bad: Any, said: str) -> None:
    with pytest.raises(OptionsError, match=said):
        DecodingOptions.from_dict(bad)


@pytest.mark.parametrize(("source_tokens", "limit"), [(1, 18), (7, 27), (8, 28), (100, 166)])
def test_the_target_limit_grows_with_the_source(source_tokens: int, limit: int) -> None:
    options = DecodingOptions(length_ratio=1.5, length_margin=16)
    assert options.target_limit(source_tokens) == limit
