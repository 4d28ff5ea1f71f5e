"""Laws of beam search, greedy search and their mixture."""

from __future__ import annotations

import pytest

from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.network.transformer import Transformer
from tests.model.network.reference import (
    EOS,
    log_probs_after,
    penalty,
    run_to_end,
    tiny_model,
    tiny_runner,
)
from tests.model.test_runner import SOURCES


@pytest.mark.parametrize("normalization", ["wu", "average"])
@pytest.mark.parametrize(
    ("lookahead", "alpha"), [(None, 0.0), (None, 0.6), (None, 2.0), (0, 1.0), (2, 1.0)]
)
@pytest.mark.parametrize("seed", range(2))
def test_a_search_finds_what_a_plain_beam_finds(
    seed: int, lookahead: int | None, alpha: float, normalization: str
) -> None:
    """Without a lookahead it ends when nothing can win: a beam that runs to the limit agrees."""
    model = tiny_model(seed=seed)
    options = DecodingOptions.from_dict(
        {
            "beam_size": 3,
            "n_best": 2,
            "length_penalty": alpha,
            "normalization": normalization,
            "max_length": 12,
            "lookahead": lookahead,
        }
    )
    for src in SOURCES:
        found = run_to_end(tiny_runner(model), [SourceSentence(src, options)])[0].hypotheses
        expected = _plain_beam(model, src, options, 12)
        assert [h.ids for h in found] == [tokens for _, tokens in expected]
        assert [h.score for h in found] == pytest.approx([s for s, _ in expected], abs=1e-4)


def _plain_beam(
    model: Transformer, src: list[int], options: DecodingOptions, limit: int
) -> list[tuple[float, list[int]]]:
    """Beam search by lists -> scores and tokens; without a lookahead it runs to the limit."""
    live: list[tuple[float, list[int]]] = [(0.0, [])]
    finished: list[tuple[float, list[int]]] = []
    for length in range(1, limit + 1):
        extensions = []
        for total, tokens in live:
            log_probs = log_probs_after(model, src, tokens)
            extensions += [(total + float(p), [*tokens, t]) for t, p in enumerate(log_probs)]
        extensions.sort(reverse=True)
        best = extensions[: options.beam_size]
        finished += [
            (total / penalty(length, options), tokens[:-1])
            for total, tokens in best
            if tokens[-1] == EOS
        ]
        live = [e for e in extensions if e[1][-1] != EOS][: options.beam_size]
        ranked = sorted((score for score, _ in finished), reverse=True)
        if options.lookahead is not None and len(ranked) >= options.n_best:
            needed = min(length + options.lookahead, limit)
            if ranked[options.n_best - 1] >= live[0][0] / penalty(needed, options):
                break
    if not finished:
        finished = [(total / penalty(limit, options), tokens) for total, tokens in best]
    finished.sort(reverse=True)
    return finished[: options.n_best]
