"""What a step is told of its sentences, as they come, go and begin to stream."""

from __future__ import annotations

import random

import pytest

from model.decoding.batch import RunningBatch, StepBatch
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.decoding.slot_options import Features

MOST = 30
OPTIONS = [
    DecodingOptions(beam_size=1),
    DecodingOptions(beam_size=4, no_repeat_ngram_size=3),
    DecodingOptions(beam_size=3, repetition_penalty=1.5),
    DecodingOptions(beam_size=1, sampling=True),
]


def random_sentence(rng: random.Random) -> SourceSentence:
    ids, prefix = [1] * rng.randint(1, 30), (2,) * rng.choice((0, 0, 0, 2))
    weights = [6, 1, 1, 1]
    return SourceSentence(ids, rng.choices(OPTIONS, weights)[0], rng.random() < 0.1, prefix)


def check(batch: RunningBatch, step: StepBatch, handles: set[int]) -> None:
    """The step is told of these sentences and no others."""
    sources = [batch[handle].source for handle in handles]
    assert {handle for handle in step.handles if handle >= 0} == handles
    assert step.features == Features.union(map(Features.of, sources))
    assert step.longest_source == max(len(source.ids) for source in sources)
    oldest = min(batch[handle].first_step for handle in batch)
    assert batch.shape_of(step) == (min(batch.num_steps - oldest + 1, MOST), step.longest_source)
    drawn = [row for one in handles if batch[one].features.has_sampling for row in batch.rows(one)]
    assert {step.members.view.rows[place] for place in step.members.drawn} == set(drawn)


@pytest.mark.parametrize("can_step_subset", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_is_told_what_those_that_take_part_need(seed: int, can_step_subset: bool) -> None:
    """And of all the same until one comes, goes or streams."""
    rng, batch = random.Random(seed), RunningBatch(MOST, can_step_subset=can_step_subset)
    for _ in range(400):
        change = rng.choice(("add", "add", "remove", "stream", "step"))
        if change == "add" or not batch:
            coming = [random_sentence(rng) for _ in range(rng.randint(1, 2))]
            batch.add(coming, [MOST] * len(coming))
        elif change == "remove":
            batch.remove(rng.sample(list(batch), rng.randint(1, min(len(batch), 5))))
        elif change == "stream":
            batch.stream(rng.choice(list(batch)))
        else:
            batch.num_steps += rng.randint(1, 5)
        if not batch:
            continue
        batch.compact()
        check(batch, batch.of_step(None), set(batch))
        assert batch.of_step(list(batch)) is batch.of_step(None)
        if can_step_subset:
            some = rng.sample(list(batch), rng.randint(1, len(batch)))
            check(batch, batch.of_step(some), set(some))
