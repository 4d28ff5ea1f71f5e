"""A sentence whose numbers overflow fails alone: its slot and rows serve the next one.

Masked attention multiplies a stale value by 0, and 0 x NaN is NaN. So no stale NaN may stay where a
later sentence reads, masked or not.
"""

from __future__ import annotations

import random

import pytest

from model.backends.selection import Backend
from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished, SourceSentence
from model.network.transformer import Transformer
from tests.model.network.reference import EOS, run_at_random, run_to_end, tiny_model, tiny_runner

BACKENDS: tuple[Backend, ...] = ("native", "eager", "graphs")
OVERFLOWING = 12


def overflowing_model(place: str) -> Transformer:
    """One in whose encoder or decoder the numbers overflow at a token."""
    model = tiny_model(seed=3, shared_embeddings="none")
    embedding = model.src_embedding if place == "encoder" else model.tgt_embedding
    embedding.tokens.weight.data[OVERFLOWING] = float("inf")
    if place == "decoder":  # never generated, only forced by a prefix
        model.output.bias.data[OVERFLOWING] = -1e4
    return model


def bad_sentence(place: str, beam_size: int = 4) -> SourceSentence:
    source = [5, OVERFLOWING, 7, 8, 9, 10, 11, 4, 5, 6, 7, EOS]
    if place == "encoder":
        return SourceSentence(source, DecodingOptions(beam_size=beam_size))
    source = [7 if token == OVERFLOWING else token for token in source]
    return SourceSentence(
        source, DecodingOptions(beam_size=beam_size), prefix=(5, 7, 8, OVERFLOWING, 7)
    )


def good_sentence(rng: random.Random) -> SourceSentence:
    source = [rng.randint(4, 11) for _ in range(rng.randint(1, 16))]
    return SourceSentence([*source, EOS], DecodingOptions(beam_size=rng.choice([1, 2, 4])))


def results(finished: list[Finished]) -> list[list[list[int]] | str]:
    return [f.error or [h.ids for h in f.hypotheses] for f in finished]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("place", ["encoder", "decoder"])
@pytest.mark.parametrize("seed", range(2))
def test_sentences_that_overflow_among_others_fail_alone(
    seed: int, place: str, backend: Backend
) -> None:
    """They join, end, are cancelled, and leave holes that others move into."""
    rng = random.Random(seed)
    model = overflowing_model(place)
    sentences = [
        bad_sentence(place, rng.choice([1, 3])) if rng.random() < 0.25 else good_sentence(rng)
        for _ in range(16)
    ]
    reference = tiny_runner(model, max_slots=1, max_rows=4, backend="native")
    alone = [results(run_to_end(reference, [sentence]))[0] for sentence in sentences]
    runner = tiny_runner(model, max_slots=5, max_rows=14, backend=backend)
    found = run_at_random(runner, sentences, rng, abandoned=0.15).results
    assert {i: results([f])[0] for i, f in found.items()} == {i: alone[i] for i in found}
    assert sum(isinstance(result, str) for result in alone) > 1
