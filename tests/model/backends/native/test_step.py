"""The laws of the compiled step: any options give what the tensors give."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from model.decoding.options import DecodingOptions
from model.decoding.sentence import Finished, SourceSentence
from tests.model.network.reference import EOS, run_to_end, tiny_model, tiny_runner


def any_options(rng: random.Random) -> DecodingOptions:
    is_drawn = rng.random() < 0.4
    return DecodingOptions(
        beam_size=1 if is_drawn else rng.randint(1, 5),
        sampling=is_drawn,
        seed=rng.getrandbits(63),
        temperature=rng.choice([0.3, 1.0, 1.7]),
        top_k=rng.choice([0, 1, 3, 500]),
        top_p=rng.choice([0.0, 0.4, 0.95, 1.0]),
        repetition_penalty=rng.choice([1.0, 1.0, 1.3, 0.8]),
        no_repeat_ngram_size=rng.choice([0, 0, 1, 2, 4]),
        max_length=rng.choice([1, 5, 20, 30]),
    )


def any_sentence(rng: random.Random) -> SourceSentence:
    options = any_options(rng)
    ids = [*rng.choices(range(4, 13), k=rng.randint(1, 9)), EOS]
    limit = options.max_length or 1
    prefix = rng.choices(range(4, 13), k=rng.choice([0, 0, min(3, limit - 1)]))
    return SourceSentence(ids, options, prefix=prefix)


def assert_same(found: Sequence[Finished], expected: Sequence[Finished]) -> None:
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.error == theirs.error
        assert [h.ids for h in mine.hypotheses] == [h.ids for h in theirs.hypotheses]
        for a, b in zip(mine.hypotheses, theirs.hypotheses, strict=True):
            assert a.log_probs == pytest.approx(b.log_probs, abs=1e-4)
            assert a.score == pytest.approx(b.score, abs=1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_any_options_give_what_pytorch_gives(seed: int) -> None:
    rng, model = random.Random(seed), tiny_model(seed=seed)
    sentences = [any_sentence(rng) for _ in range(14)]
    found = run_to_end(tiny_runner(model, backend="native", max_rows=80), sentences)
    expected = run_to_end(tiny_runner(model, backend="eager", max_rows=80), sentences)
    assert_same(found, expected)
