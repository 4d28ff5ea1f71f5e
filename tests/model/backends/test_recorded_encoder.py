"""Encodings recorded by bucket: the same memory, few recordings, and what happens if one fails.

A recording is a stand-in that runs the operations again; `test_simulated_gpu.py` has a stricter
one.
"""

from __future__ import annotations

import itertools
import logging
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from model.backends.recording import Recorded
from model.backends.source_encoder import (
    EncodedShape,
    RecordedEncoder,
    SourceEncoder,
    all_buckets,
    bucket_for,
    source_table,
)
from model.backends.torch_cache import MemoryCache
from model.decoding.network_interface import Capacity
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.device_lost import DeviceLost
from model.network.transformer import Transformer
from model.runner import Runner
from tests.model.backends.simulated_gpu import network_of
from tests.model.network.reference import EOS, PAD, run_to_end, tiny_model, tiny_runner
from tests.model.test_runner import mixed_sentences, texts

CAPACITY = Capacity(max_slots=6, max_rows=24, max_source_tokens=40, max_target_tokens=48)


class Rerun:
    """Replays by running again, then spoils what was written; some recordings fail."""

    def __init__(
        self, spoil: Callable[[], object] = lambda: None, failing: Sequence[int] = ()
    ) -> None:
        self._spoil, self._failing = spoil, failing
        self.num_tried = self.num_replays = 0

    def record(self, run: Callable[[], Any]) -> Recorded[Any]:
        self.num_tried += 1
        if self.num_tried in self._failing:
            raise RuntimeError("operation not permitted when stream is capturing\nmore")

        def replay() -> None:
            self.num_replays += 1
            run()
            self._spoil()

        return Recorded(replay, None)


def recorded_runner(model: Transformer, recorder: Rerun) -> Runner:
    runner = tiny_runner(model, backend="graphs")
    encoder_of(runner)._recorder = recorder
    return runner


def encoder_of(runner: Runner) -> RecordedEncoder:
    encoder = network_of(runner)._encoder
    assert isinstance(encoder, RecordedEncoder)
    return encoder


@pytest.mark.parametrize(
    "capacity", [CAPACITY, Capacity(1024, 1024, 1024, 9), Capacity(1, 1, 3, 9)]
)
def test_what_fits_has_one_of_a_few_buckets_and_is_padded_to_at_most_four_times(
    capacity: Capacity,
) -> None:
    buckets = all_buckets(capacity)
    assert len(buckets) == len(set(buckets)) <= 50
    for count in range(1, capacity.max_slots + 1):
        for length in {1, 2, 3, 17, 39, 40, 1000} & set(range(1, capacity.max_source_tokens + 1)):
            bucket = bucket_for(count, length, capacity)
            if bucket is None:
                assert 4 * count * max(length, 16) > 4096
                continue
            assert bucket in buckets
            assert count <= bucket.n_sentences <= min(2 * count, capacity.max_slots)
            assert length <= bucket.n_tokens <= capacity.max_source_tokens
            assert bucket.n_tokens <= max(16, 2 * length)
            assert bucket_for(*bucket, capacity) == bucket


@torch.inference_mode()
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "alibi"])
def test_a_sentences_memory_does_not_depend_on_its_bucket(positions: str) -> None:
    model = tiny_model(seed=4, positions=positions, norm="pre")
    source = [5, 7, 12, 9, EOS]
    stored = []
    for is_recorded, others, length in itertools.product((False, True), (0, 1, 4), (1, 20, 40)):
        memory = MemoryCache(model.config, 6, 40, model.output.weight)
        encoder = RecordedEncoder(model, memory, CAPACITY, recorder := Rerun())
        if is_recorded:
            encoder.warm_up()
        before = recorder.num_replays
        sources = [source, *[[8] * (length - 1) + [EOS]] * others]
        shape = encoder.shape_for(len(sources), max(map(len, sources)))
        table = torch.from_numpy(source_table(range(6), sources, shape, PAD))
        memory.keys.fill_(float("nan"))
        encoder.encode(table)
        stored.append(torch.stack([memory.keys[:, 0, :, :5], memory.values[:, 0, :, :5]]))
        assert recorder.num_replays == before + is_recorded
        assert (shape != (len(sources), max(map(len, sources)))) == is_recorded or length == 40
    for one in stored:
        torch.testing.assert_close(one, stored[0], atol=1e-5, rtol=1e-4)


def test_crowds_meet_no_new_bucket_after_warm_up_and_are_translated_alike() -> None:
    model, sentences = tiny_model(seed=5), mixed_sentences(12, seed=6)
    expected = texts(run_to_end(tiny_runner(model), sentences))
    recorder = Rerun()
    runner = recorded_runner(model, recorder)
    runner.warm_up([])
    known = recorder.num_tried
    assert known == encoder_of(runner).num_recorded == 10
    assert texts(run_to_end(runner, sentences)) == expected
    rng = random.Random(1)
    for _ in range(8):
        count = rng.randint(1, 16)
        ids = [[*[5] * rng.randint(0, 31), EOS] for _ in range(count)]
        options = DecodingOptions(beam_size=1, max_length=2)
        run_to_end(runner, [SourceSentence(one, options) for one in ids])
    assert recorder.num_tried == known
    assert recorder.num_replays == 2 * known + 1 + 8  # recorded and proven, the crowd, and these


def test_an_encoding_without_a_bucket_is_neither_padded_nor_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("model.backends.source_encoder._MOST_TOKENS", 64)
    model, recorder = tiny_model(), Rerun()
    memory = MemoryCache(model.config, 6, 40, model.output.weight)
    encoder = RecordedEncoder(model, memory, CAPACITY, recorder)
    encoder.warm_up()
    before = recorder.num_replays
    assert (recorder.num_tried, encoder.shape_for(3, 16)) == (6, (4, 16))
    shape = encoder.shape_for(3, 33)
    assert shape == EncodedShape(3, 33)
    table = torch.from_numpy(source_table(range(3), [[5] * 32 + [EOS]] * 3, shape, PAD))
    for _ in range(3):
        encoder.encode(table)
    assert recorder.num_replays == before
    assert memory.lengths[:3].tolist() == [33, 33, 33]


def test_a_bucket_that_cannot_be_recorded_is_tried_once_and_encodes_without_padding(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = tiny_model(seed=3)
    sentences = [SourceSentence([5, 7, EOS], DecodingOptions(beam_size=2))]
    expected = texts(run_to_end(tiny_runner(model), sentences))
    recorder = Rerun(failing=[1])
    runner = recorded_runner(model, recorder)
    runner.warm_up([])
    before = recorder.num_tried, recorder.num_replays
    assert encoder_of(runner).shape_for(1, 3) == (1, 3)
    assert encoder_of(runner).shape_for(2, 3) == (2, 16)
    for _ in range(4):
        assert texts(run_to_end(runner, sentences)) == expected
    assert (recorder.num_tried, recorder.num_replays) == before
    (record,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert record.message == (
        "an encoding of 1 times 16 tokens cannot be recorded and is slower: "
        "operation not permitted when stream is capturing"
    )


def test_warm_up_says_that_nothing_can_be_recorded_and_stops_where_memory_ends() -> None:
    runner = recorded_runner(tiny_model(), Rerun(failing=range(99)))
    with pytest.raises(RuntimeError, match="3 of 3 shapes of encodings were refused"):
        runner.warm_up([])
    recorder = Rerun(failing=range(5, 99))
    runner = recorded_runner(tiny_model(), recorder)
    runner.warm_up([])
    assert (recorder.num_tried, encoder_of(runner).num_recorded) == (5, 4)


def test_warm_up_tells_its_progress(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("model.backends.recording._LOG_SECONDS", 0.0)
    caplog.set_level(logging.INFO)
    recorded_runner(tiny_model(), Rerun()).warm_up([])
    assert "recorded 3 of 10 shapes of encodings" in caplog.text
    assert "recorded 10 shapes of encodings in " in caplog.text


@pytest.mark.parametrize("lost", ["nothing is stored", "another value"])
def test_a_bucket_whose_replay_stores_other_numbers_is_refused(lost: str) -> None:
    runner: Runner

    def spoil() -> None:
        memory = network_of(runner)._memory
        if lost == "nothing is stored":
            memory.keys.zero_()
        else:
            memory.values[-1, 0, 0, 1, 0] += 0.5

    runner = recorded_runner(tiny_model(), Rerun(spoil))
    with pytest.raises(RuntimeError, match="3 of 3 shapes of encodings"):
        runner.warm_up([])
    assert encoder_of(runner).num_recorded == 0


def test_a_device_that_is_lost_is_no_bucket_that_cannot_be_recorded() -> None:
    def lose() -> None:
        raise DeviceLost("cuda:0")

    runner = recorded_runner(tiny_model(), Rerun(lose))
    with pytest.raises(DeviceLost):
        runner.warm_up([])


def test_a_plain_encoder_has_nothing_to_warm_up() -> None:
    runner = tiny_runner(tiny_model(), backend="eager")
    runner.warm_up([DecodingOptions()])
    assert type(network_of(runner)._encoder) is SourceEncoder
