"""The part of model.runner.Runner that the engine uses. Both share the records of
model.decoding.sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from model.decoding.sentence import SourceSentence, StepResult
from model.decoding.step_cost import StepCost


class EngineRunner(Protocol):
    """One model's batch. Only the worker's thread may call it."""

    max_slots: int
    max_rows: int
    max_beam_size: int
    max_source_tokens: int
    max_target_tokens: int
    step_cost: StepCost | None
    """The cost of a step, if it was measured."""
    refused_paths: Sequence[str]
    """Fast paths that failed their proof at start and are switched off."""

    @property
    def num_free_slots(self) -> int: ...

    @property
    def num_free_rows(self) -> int: ...

    def admit(self, sentences: Sequence[SourceSentence]) -> list[int]:
        """Add sentences to the batch and return a handle each; on an exception, add none."""
        ...

    def share_cores(self, sharers: int) -> None:
        """Take a share of the cores: `sharers` runners compute now, each in its own thread."""
        ...

    @property
    def can_step_subset(self) -> bool:
        """Whether a step of some sentences costs less than a step of all."""
        ...

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        """Decode the next token of these sentences' hypotheses, or of all for None."""
        ...

    def stream(self, handle: int) -> None:
        """Return a running sentence's tokens as they settle, from its first one on."""
        ...

    def release(self, handle: int) -> None:
        """Evict a running sentence."""
        ...
