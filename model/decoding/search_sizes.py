"""What the tables of all searches are made for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchSizes:
    """Sentences at once, hypotheses of a beam, and tokens of a hypothesis, at most."""

    n_slots: int
    max_beam: int
    max_length: int


@dataclass(frozen=True)
class SearchTokens:
    """The tokens that a search treats apart: the end of a sentence, and one whose logit is always
    -inf."""

    eos_id: int
    filler_id: int
