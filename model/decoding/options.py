"""The decoding options of one sentence.

Plain values, validated on construction; runner, checkpoint and API share them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from model.values import is_whole_number, shown

ScoreNormalization = Literal["wu", "average"]


class Bounds(NamedTuple):
    """The least and the greatest value of an option, and its type."""

    low: float
    high: float
    kind: type[int] | type[float] = int


BOUNDS: Mapping[str, Bounds] = {
    "beam_size": Bounds(1, 64),
    "length_penalty": Bounds(0.0, 10.0, float),
    "lookahead": Bounds(0, 100_000),
    "temperature": Bounds(0.01, 100.0, float),
    "top_k": Bounds(0, 2**31 - 1),
    "top_p": Bounds(0.0, 1.0, float),
    "seed": Bounds(0, 2**63 - 1),
    "max_length": Bounds(1, 100_000),
    "length_ratio": Bounds(0.1, 100.0, float),
    "length_margin": Bounds(1, 100_000),
    "repetition_penalty": Bounds(0.1, 10.0, float),
    "no_repeat_ngram_size": Bounds(0, 20),
}
"""The bounds of the numbers, which API and settings share."""
_OPTIONAL = ("lookahead", "max_length")


class OptionsError(ValueError):
    """An invalid option; the message names the value and the allowed range."""


@dataclass(frozen=True)
class DecodingOptions:
    """Beam search (greedy for a beam of one) or, if `sampling`, a random draw from the model.

    `length_penalty` is alpha of Wu et al. 2016, eq. 14 ("wu"), or the exponent of the length that
    divides the log-probability ("average"); 0 compares plain log-probabilities.
    Sampling divides the logits by `temperature`, keeps the `top_k` likeliest tokens (0: all), and
    of these the nucleus of mass `top_p` (Holtzman et al. 2020).
    Beam search ends when no live hypothesis can win, even with `lookahead` more tokens of
    log-probability 0 (None: tokens up to the length limit, which is exact).
    `max_length` bounds the target in tokens, end of sentence included; None means
    `length_ratio` * source tokens + `length_margin`.
    `repetition_penalty` above 1 makes used tokens less likely; `no_repeat_ngram_size` n forbids
    repeated n-grams (0: off).
    """

    beam_size: int = 4
    n_best: int = 1
    length_penalty: float = 1.0
    normalization: ScoreNormalization = "average"
    lookahead: int | None = 3
    sampling: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    max_length: int | None = None
    length_ratio: float = 2.0
    length_margin: int = 16
    repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0

    def __post_init__(self) -> None:
        for name, bounds in BOUNDS.items():
            if (value := getattr(self, name)) is not None or name not in _OPTIONAL:
                _require(name, value, bounds)
        _require("n_best", self.n_best, Bounds(1, self.beam_size))
        if not isinstance(self.sampling, bool):
            raise OptionsError(f"sampling must be true or false, got {shown(self.sampling)}")
        if self.normalization not in get_args(ScoreNormalization):
            raise OptionsError(
                f"normalization must be one of {list(get_args(ScoreNormalization))}, "
                f"got {shown(self.normalization)}"
            )
        if self.sampling and self.beam_size != 1:
            raise OptionsError(f"sampling needs beam_size 1, got {self.beam_size}")

    def __hash__(self) -> int:
        """Of what requests set most: an engine hashes the options several times a sentence."""
        return hash((self.beam_size, self.length_penalty, self.seed))

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> DecodingOptions:
        """Build from parsed JSON or TOML. Raises OptionsError for an unknown key."""
        if not isinstance(values, dict):
            raise OptionsError(f"decoding must be a table of options, got {shown(values)}")
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(values) - known):
            raise OptionsError(
                f"unknown decoding option {shown(unknown[0])}; known: {sorted(known)}"
            )
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @property
    def is_guarded(self) -> bool:
        return self.repetition_penalty != 1.0 or self.no_repeat_ngram_size > 0

    def target_limit(self, num_source_tokens: int) -> int:
        """Maximum tokens of the translation, end of sentence included."""
        if self.max_length is not None:
            return self.max_length
        return math.ceil(self.length_ratio * num_source_tokens) + self.length_margin


def _require(name: str, value: float, bounds: Bounds) -> None:
    is_number = is_whole_number(value) or (bounds.kind is float and isinstance(value, float))
    if not is_number or not bounds.low <= value <= bounds.high:
        noun = "a number" if bounds.kind is float else "a whole number"
        raise OptionsError(
            f"{name} must be {noun} from {bounds.low} to {bounds.high}, got {shown(value)}"
        )
