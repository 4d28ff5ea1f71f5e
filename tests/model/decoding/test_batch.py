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


@pytest.mark.parametrize(
    ("can_step_subset", "is_padded"), [(True, False), (False, False), (False, True)]
)
@pytest.mark.parametrize("seed", range(3))
def test_each_has_slot_and_rows_of_its_own_below_the_most_that_ran_at_once(
    seed: int, can_step_subset: bool, is_padded: bool
) -> None:
    """A device has memory for no more."""
    rng = random.Random(seed)
    batch = RunningBatch(MOST, can_step_subset=can_step_subset, is_padded=is_padded)
    most_slots = most_rows = 0
    for _ in range(400):
        batch.add([random_sentence(rng)], [MOST])
        widths = {handle: batch[handle].source.options.beam_size for handle in batch}
        most_slots, most_rows = max(most_slots, len(widths)), max(most_rows, sum(widths.values()))
        slots = {batch.slot(handle) for handle in batch}
        rows = [row for handle in batch for row in batch.rows(handle)]
        assert len(slots) == len(widths) == batch.num_slots
        assert len(set(rows)) == len(rows) == sum(widths.values()) == batch.num_rows
        assert max(slots) < most_slots
        assert max(rows) < most_rows
        assert all(batch.first_row(handle) == batch.rows(handle)[0] for handle in batch)
        if rng.random() < 0.5:
            batch.remove(rng.sample(list(batch), rng.randint(1, min(len(batch), 4))))
        if rng.random() < 0.5:
            batch.compact()
