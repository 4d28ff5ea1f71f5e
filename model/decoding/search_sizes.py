"""The sizes of the tables of all searches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class SearchSizes:
    """Sentences at once, hypotheses of a beam, and tokens of a hypothesis, at most."""

    n_slots: int
    max_beam: int
    max_length: int


@dataclass(frozen=True)
class SearchTokens:
    """The tokens that a search treats apart: the end of a sentence, one whose logit is always -inf,
    and those that it only copies, each with the source token of the same piece if there is one."""

    eos_id: int
    filler_id: int
    copied_ids: Mapping[int, int | None] = field(default_factory=dict)
