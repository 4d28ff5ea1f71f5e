"""Running sentences: what a step of them needs, kept as they come and go."""

from __future__ import annotations

import random

import pytest

from model.decoding.batch import RunningBatch
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.decoding.slot_options import Features

MOST_TARGET = 12


def random_sentence(rng: random.Random) -> SourceSentence:
    sampling = rng.random() < 0.3
    options = DecodingOptions(
        beam_size=1 if sampling else rng.randint(1, 4),
        sampling=sampling,
        no_repeat_ngram_size=rng.choice([0, 0, 2]),
    )
    prefix = (5,) if rng.random() < 0.3 else ()
    return SourceSentence([5] * rng.randint(1, 9), options, rng.random() < 0.3, prefix)


def check(batch: RunningBatch, sentences: dict[int, SourceSentence]) -> None:
    step = batch.of_step(None)
    assert batch.of_step(None) is step
    assert sorted(step.handles) == sorted(sentences)
    assert step.features == Features.union(Features.of(one) for one in sentences.values())
    assert step.longest_source == max(len(one.ids) for one in sentences.values())
    drawn = {int(step.members.columns.slots[place]) for place in step.members.drawn}
    sampling = (handle for handle, one in sentences.items() if one.options.sampling)
    assert drawn == {batch.slot(handle) for handle in sampling}


@pytest.mark.parametrize("can_step_subset", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_a_step_of_all_is_described_as_if_nobody_had_come_or_gone(
    seed: int, can_step_subset: bool
) -> None:
    rng = random.Random(seed)
    batch = RunningBatch(MOST_TARGET, can_step_subset=can_step_subset)
    sentences: dict[int, SourceSentence] = {}
    for _ in range(30):
        new = [random_sentence(rng) for _ in range(rng.randint(0, 3))]
        sentences |= zip(batch.add(new, [MOST_TARGET] * len(new)), new, strict=True)
        gone = [handle for handle in sentences if rng.random() < 0.3]
        batch.remove(gone)
        for handle in gone:
            del sentences[handle]
        assert len(batch) == batch.num_slots == len(sentences)
        assert batch.num_rows == sum(one.options.beam_size for one in sentences.values())
        batch.compact()
        if sentences:
            check(batch, sentences)


def test_a_history_is_as_long_as_the_oldest_sentence_has_run_and_the_runner_allows() -> None:
    batch = RunningBatch(MOST_TARGET, can_step_subset=True)
    sentence = SourceSentence([5] * 3, DecodingOptions())
    first, second = (batch.add([sentence], [MOST_TARGET])[0] for _ in range(2))
    lengths = []
    for _ in range(15):
        lengths.append(batch.shape_of(batch.of_step(None)).target)
        batch.num_steps += 1
    assert lengths == [*range(1, 13), 12, 12, 12]
    (young,) = batch.add([sentence], [MOST_TARGET])
    batch.remove([first, second])
    assert batch.shape_of(batch.of_step([young])).target == 1
