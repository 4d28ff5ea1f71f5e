"""Laws of beam search, greedy search and their mixture."""

from __future__ import annotations

import pytest

from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.network.transformer import Transformer
from tests.model.network.reference import (
    EOS,
    best_by_enumeration,
    log_probs_after,
    penalty,
    run_to_end,
    tiny_model,
    tiny_runner,
)
from tests.model.test_runner import SOURCES


@pytest.mark.parametrize("normalization", ["wu", "average"])
@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_beam_that_holds_every_prefix_finds_what_enumeration_finds(
    seed: int, length_penalty: float, normalization: str
) -> None:
    """Three words and four positions have 27 open prefixes at most, so 64 lose none."""
    model = tiny_model(vocab_size=7, seed=seed)
    options = DecodingOptions.from_dict(
        {
            "beam_size": 64,
            "n_best": 5,
            "length_penalty": length_penalty,
            "normalization": normalization,
            "max_length": 4,
            "lookahead": None,
        }
    )
    expected = best_by_enumeration(model, [4, 5, 6, EOS], options, limit=4)[:5]
    found = run_to_end(tiny_runner(model), [SourceSentence([4, 5, 6, EOS], options)])[0].hypotheses
    assert [h.ids for h in found] == [ids for _, ids in expected]
    assert [h.score for h in found] == pytest.approx([s for s, _ in expected], abs=1e-4)


@pytest.mark.parametrize(
    ("lookahead", "alpha"), [(None, 0.0), (None, 0.6), (None, 1.0), (0, 1.0), (2, 1.0)]
)
@pytest.mark.parametrize("seed", range(2))
def test_a_search_ends_where_a_plain_beam_would(
    seed: int, lookahead: int | None, alpha: float
) -> None:
    """Without a lookahead, when nothing can win: a plain beam that runs to the limit agrees."""
    model = tiny_model(seed=seed)
    for src in SOURCES:
        options = DecodingOptions(
            beam_size=3, n_best=2, length_penalty=alpha, max_length=12, lookahead=lookahead
        )
        found = run_to_end(tiny_runner(model), [SourceSentence(src, options)])[0].hypotheses
        assert [h.ids for h in found] == _plain_beam(model, src, options, 12)


def _plain_beam(
    model: Transformer, src: list[int], options: DecodingOptions, limit: int
) -> list[list[int]]:
    """Beam search by lists; without a lookahead it always runs to the limit."""
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
    return [tokens for _, tokens in finished[: options.n_best]]
