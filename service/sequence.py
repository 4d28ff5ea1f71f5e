"""One sentence being translated, and the request that it belongs to: the only mutable records.

The engine's thread alone changes them; the event loop only makes them and awaits the future.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence as Items
from dataclasses import dataclass, field

from model.sentence import Hypothesis, SourceSentence


@dataclass(frozen=True)
class Outcome:
    """How a sentence ended: hypotheses, best first, or an error and none."""

    hypotheses: Items[Hypothesis]
    error: str | None = None


@dataclass(eq=False)
class Sequence:
    """One sentence; waits until it has a handle, runs until it has an outcome."""

    sentence: SourceSentence
    request: Request
    handle: int | None = None
    outcome: Outcome | None = None

    @property
    def num_rows(self) -> int:
        return self.sentence.options.beam_size


@dataclass(eq=False)
class Request:
    """All sentences of one call; done when each has its outcome."""

    future: asyncio.Future[list[Outcome]]
    arrived_seconds: float
    sequences: list[Sequence] = field(default_factory=list)
    num_unsettled: int = 0
    is_cancelled: bool = False

    def add(self, sentences: Items[SourceSentence]) -> None:
        self.sequences += [Sequence(sentence, self) for sentence in sentences]
        self.num_unsettled = len(self.sequences)

    def outcomes(self) -> list[Outcome]:
        """Every sentence's outcome, in the order given; only for a request that is done."""
        return [seq.outcome for seq in self.sequences if seq.outcome is not None]
