"""DecodingOptions: every option has a range, and every refusal says which."""

from __future__ import annotations

from typing import Any

import pytest

from model.decoding.options import DecodingOptions, OptionsError


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"beam_size": 0}, "beam_size must be a whole number from 1 to 64, got 0"),
        ({"beam_size": 65}, "beam_size must be a whole number from 1 to 64, got 65"),
        ({"beam_size": True}, "beam_size must be a whole number from 1 to 64, got True"),
        ({"beam_size": 2.0}, "beam_size must be a whole number from 1 to 64, got 2.0"),
        ({"beam_size": 2, "n_best": 3}, "n_best must be a whole number from 1 to 2, got 3"),
        ({"length_penalty": -0.1}, "length_penalty must be a number from 0.0 to 10.0, got -0.1"),
        ({"length_penalty": "1"}, "length_penalty must be a number from 0.0 to 10.0, got '1'"),
        ({"temperature": 0.0}, "temperature must be a number from 0.01 to 100.0, got 0.0"),
        ({"temperature": float("nan")}, "temperature must be a number .*, got nan"),
        ({"top_k": -1}, "top_k must be a whole number from 0 to 2147483647, got -1"),
        ({"top_p": 1.01}, "top_p must be a number from 0.0 to 1.0, got 1.01"),
        ({"seed": 2**63}, "seed must be a whole number from 0 to 9223372036854775807"),
        ({"max_length": 0}, "max_length must be a whole number from 1 to 100000, got 0"),
        ({"length_ratio": 0.0}, "length_ratio must be a number from 0.1 to 100.0, got 0.0"),
        ({"lookahead": -1}, "lookahead must be a whole number from 0 to 100000, got -1"),
        ({"length_margin": 0}, "length_margin must be a whole number from 1 to 100000, got 0"),
        ({"normalization": "none"}, r"normalization must be one of \['wu', 'average'\]"),
        ({"sampling": True}, "sampling needs beam_size 1, got 4"),
        ({"beams": 2}, r"unknown decoding option 'beams'; known: \['beam_size'"),
    ],
)
def test_a_bad_option_is_named_with_its_range(bad: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionsError, match=said):
        DecodingOptions.from_dict(bad)


@pytest.mark.parametrize(
    "good",
    [
        {"beam_size": 1, "sampling": True, "top_p": 0.0, "temperature": 0.01},
        {"beam_size": 64, "n_best": 64, "length_penalty": 0},
        {"seed": 2**63 - 1, "top_k": 2**31 - 1, "max_length": 1},
    ],
)
def test_the_ends_of_the_ranges_are_allowed(good: dict[str, Any]) -> None:
    assert DecodingOptions.from_dict(good).to_dict().items() >= good.items()


def test_options_survive_their_dictionary() -> None:
    options = DecodingOptions(beam_size=1, sampling=True, seed=7, max_length=9)
    assert DecodingOptions.from_dict(options.to_dict()) == options


@pytest.mark.parametrize(("source_tokens", "limit"), [(1, 18), (7, 27), (8, 28), (100, 166)])
def test_the_target_limit_grows_with_the_source(source_tokens: int, limit: int) -> None:
    options = DecodingOptions(length_ratio=1.5, length_margin=16)
    assert options.target_limit(source_tokens) == limit


def test_an_explicit_max_length_overrides_the_ratio() -> None:
    assert DecodingOptions(max_length=5).target_limit(100) == 5
