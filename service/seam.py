"""What the service needs of model.runner.Runner and model.tokenizer.Tokenizer.

Spelled out as protocols, so that nothing above imports torch or sentencepiece and tests can bring
fakes. The records that cross are model.sentence's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from model.sentence import SourceSentence, StepResult

TAG_AND_EOS = 2
"""Tokens that encode_source may add to a sentence's own."""


class Runner(Protocol):
    """One model's batch. Only the engine's thread may call it."""

    max_slots: int
    max_rows: int
    max_beam_size: int
    max_source_tokens: int
    max_target_tokens: int

    @property
    def num_free_slots(self) -> int: ...

    @property
    def num_free_rows(self) -> int: ...

    def admit(self, sentences: Sequence[SourceSentence]) -> list[int]:
        """Take sentences into the batch -> a handle each; an exception takes none of them."""
        ...

    def share_cores(self, sharers: int) -> None:
        """So many runners compute now, each in a thread of its own: take a share of the cores."""
        ...

    @property
    def can_leave_out(self) -> bool:
        """Whether a step of some sentences costs less than one of all."""
        ...

    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        """Give the hypotheses of these sentences their next token; None: of all."""
        ...

    def release(self, handle: int) -> None:
        """Abandon a running sentence."""
        ...


class StreamDecoder(Protocol):
    """The text of one sentence whose ids come little by little."""

    def push(self, token: int) -> str:
        """The text that this token settles, possibly empty."""
        ...


class Tokenizer(Protocol):
    """Text to ids and back."""

    def encode_source(
        self, text: str, target_language: str, source_language: str | None = None
    ) -> list[int]: ...

    def target_start(self, target_language: str) -> list[int]: ...

    def encode_source_batch(self, texts: Sequence[str]) -> list[list[int]]: ...

    def encode_target_batch(self, texts: Sequence[str]) -> list[list[int]]: ...

    def decode(self, ids: Sequence[int]) -> str: ...

    def pieces(self, ids: Sequence[int]) -> list[str]: ...

    def stream(self) -> StreamDecoder: ...


def count_source_tokens(tokenizer: Tokenizer, text: str) -> int:
    """Without what `encode_source` adds."""
    return len(tokenizer.encode_source_batch([text])[0])
