"""The bounds of one sentence in a runner."""

from __future__ import annotations

from dataclasses import dataclass

from model.decoding.sentence import SourceSentence


@dataclass(frozen=True)
class SentenceLimits:
    """The most source tokens, target tokens and hypotheses of a sentence."""

    max_source_tokens: int
    max_target_tokens: int
    max_beam_size: int

    def target_limit(self, sentence: SourceSentence) -> int:
        """The most tokens of the sentence's translation. Raises ValueError if the sentence is empty
        or too long, or if its beam or prefix does not fit."""
        if not 1 <= len(sentence.ids) <= self.max_source_tokens:
            raise ValueError(
                f"a sentence must have 1 to {self.max_source_tokens} source tokens, "
                f"got {len(sentence.ids)}"
            )
        if sentence.options.beam_size > self.max_beam_size:
            raise ValueError(
                f"beam_size must be at most {self.max_beam_size}, got {sentence.options.beam_size}"
            )
        limit = sentence.target_limit(self.max_target_tokens)
        if len(sentence.prefix) >= limit:
            raise ValueError(
                f"a target prefix must have less than {limit} tokens, got {len(sentence.prefix)}"
            )
        return limit
