"""What a run translates: batches of texts, in order, whose translations are written in that order.

The output is the record of what is done. A run that goes on with one reads its input again beside
it, so that no state has to agree with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from service.corpora.translations import Translation

KeptT = TypeVar("KeptT")


@dataclass(frozen=True)
class CorpusBatch(Generic[KeptT]):
    """Records that are written together. `texts`: of each, None if it has none; `errors`: why some
    could not be read, by place; `kept`: what writing them needs; `fraction`: how much of the input
    is read, None if that is unknown."""

    texts: Sequence[str | None]
    kept: KeptT
    errors: dict[int, str] = field(default_factory=dict)
    fraction: float | None = None


class Corpus(Protocol[KeptT]):
    """An input and its output."""

    num_done: int
    """Records that an earlier run wrote."""
    num_failed: int
    """Of these."""
    batch_records: int
    """Records of a full batch."""

    def batches(self) -> Iterator[CorpusBatch[KeptT]]:
        """Those that are not written yet. Raises ValueError."""
        ...

    def write(self, batch: CorpusBatch[KeptT], translations: Sequence[Translation]) -> None:
        """Write all records of a batch. Raises ValueError, and BrokenPipeError."""
        ...

    def finish(self) -> None:
        """All batches are written."""
        ...
