"""What the service needs of model.runner.Runner and model.tokenizer.Tokenizer.

Spelled out as protocols, so that nothing above imports torch or sentencepiece and tests can bring
fakes. The records that cross are model.sentence's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from model.decoding.sentence import SourceSentence, StepResult


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
    def can_step_subset(self) -> bool:
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


class SourceEncoder:
    """Source ids of sentences, tags and eos included; a sentence that fits is tokenized once."""

    def __init__(self, tokenizer: Tokenizer, source: str, target: str, max_tokens: int) -> None:
        self._tokenizer, self._source, self._target = tokenizer, source, target
        self._max_tokens = max_tokens
        self._known: dict[str, list[int]] = {}

    def ids(self, text: str) -> list[int]:
        """The ids to translate this sentence from."""
        if (known := self._known.get(text)) is not None:
            return known
        ids = self._tokenizer.encode_source(text, self._target, self._source)
        if len(ids) <= self._max_tokens:
            self._known[text] = ids
        return ids

    def count(self, text: str) -> int:
        """How many they are."""
        return len(self.ids(text))
