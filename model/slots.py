"""The options of the sentences in the slots, as tensors that a step can index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from model.sentence import SourceSentence


class Features(NamedTuple):
    """What any running sentence uses, so that a step leaves out what none does."""

    has_sampling: bool
    has_guards: bool
    has_prefix: bool
    max_ngram_size: int

    @property
    def needs_logits(self) -> bool:
        """Whether choosing the next token takes more than the likeliest ones."""
        return self.has_sampling or self.has_guards or self.has_prefix

    @classmethod
    def of(cls, sentences: Sequence[SourceSentence]) -> Features:
        return cls(
            has_sampling=any(s.options.sampling for s in sentences),
            has_guards=any(s.options.is_guarded for s in sentences),
            has_prefix=any(s.prefix for s in sentences),
            max_ngram_size=max((s.options.no_repeat_ngram_size for s in sentences), default=0),
        )


@dataclass
class SlotOptions:
    """The options of each slot, (n_slots,) each."""

    beam_size: Tensor
    n_best: Tensor
    limit: Tensor
    lookahead: Tensor
    top_k: Tensor
    seed: Tensor
    is_sampling: Tensor
    is_wu: Tensor
    length_penalty: Tensor
    temperature: Tensor
    top_p: Tensor
    repetition_penalty: Tensor
    ngram_size: Tensor
    prefix_length: Tensor

    @classmethod
    def empty(cls, n_slots: int, device: torch.device) -> SlotOptions:
        def floats() -> Tensor:
            return torch.zeros(n_slots, device=device)

        def ints() -> Tensor:
            return torch.zeros(n_slots, dtype=torch.int64, device=device)

        return cls(
            beam_size=ints(),
            n_best=ints(),
            limit=ints(),
            lookahead=ints(),
            top_k=ints(),
            seed=ints(),
            is_sampling=ints().bool(),
            is_wu=ints().bool(),
            length_penalty=floats(),
            temperature=floats(),
            top_p=floats(),
            repetition_penalty=floats(),
            ngram_size=ints(),
            prefix_length=ints(),
        )

    def set(
        self, slots: Tensor, sentences: Sequence[SourceSentence], limits: Sequence[int]
    ) -> None:
        """Write the options of the sentences that go into `slots` (B,)."""
        for name, values in _columns(sentences, limits).items():
            column: Tensor = getattr(self, name)
            column[slots] = torch.tensor(values, dtype=column.dtype, device=column.device)


def _columns(sentences: Sequence[SourceSentence], limits: Sequence[int]) -> dict[str, list[float]]:
    options = [sentence.options for sentence in sentences]
    return {
        "beam_size": [o.beam_size for o in options],
        "n_best": [o.n_best for o in options],
        "limit": list(limits),
        "lookahead": [
            limit if o.lookahead is None else o.lookahead
            for o, limit in zip(options, limits, strict=True)
        ],
        "top_k": [o.top_k for o in options],
        "seed": [o.seed for o in options],
        "is_sampling": [o.sampling for o in options],
        "is_wu": [o.normalization == "wu" for o in options],
        "length_penalty": [o.length_penalty for o in options],
        "temperature": [o.temperature for o in options],
        "top_p": [o.top_p for o in options],
        "repetition_penalty": [o.repetition_penalty for o in options],
        "ngram_size": [o.no_repeat_ngram_size for o in options],
        "prefix_length": [len(sentence.prefix) for sentence in sentences],
    }
