"""Random crowds on a simulated asynchronous GPU are translated as alone on the CPU.

They join, end, are cancelled, stream and overflow, while recordings are made, fail and replay.
"""

from __future__ import annotations

import dataclasses
import random

import pytest

from model.backends.source_encoder import RecordedEncoder
from model.decoding.sentence import Finished, SourceSentence
from model.runner import Runner
from tests.model.backends.simulated_gpu import Stream, network_of, record_on, simulated_gpu
from tests.model.backends.test_overflow import bad_sentence, overflowing_model
from tests.model.network.reference import EOS, tiny_runner
from tests.model.test_runner import mixed_sentences

NUM_SENTENCES = 14


def some_sentences(seed: int, rng: random.Random) -> list[SourceSentence]:
    """Some overflow, some stream."""
    sentences = [
        bad_sentence("encoder", rng.choice([1, 4])) if rng.random() < 0.15 else sentence
        for sentence in mixed_sentences(NUM_SENTENCES, seed)
    ]
    return [dataclasses.replace(s, is_streamed=i % 3 > 0) for i, s in enumerate(sentences)]


class Crowd:
    """Sentences that join and leave a runner at random, and what becomes of them."""

    def __init__(
        self,
        runner: Runner,
        sentences: list[SourceSentence],
        rng: random.Random,
        leaving: float = 0.1,
    ) -> None:
        """`leaving`: how often one is cancelled after a step, 0 to 1."""
        self._runner, self._sentences, self._rng, self._leaving = runner, sentences, rng, leaving
        self._waiting = list(range(len(sentences)))
        self._running: dict[int, int] = {}
        self.results: dict[int, Finished] = {}
        self.streamed: list[list[int]] = [[] for _ in sentences]

    def run(self) -> None:
        while self._waiting or self._running:
            self._admit()
            result = self._runner.step()
            for handle, ids in result.streamed.items():
                self.streamed[self._running[handle]].extend(ids)
            for finished in result.finished:
                self.results[self._running.pop(finished.handle)] = finished
            if self._running and self._rng.random() < self._leaving:
                handle = self._rng.choice(sorted(self._running))
                self._runner.release(handle)
                self._running.pop(handle)

    def _admit(self) -> None:
        runner = self._runner
        while self._waiting and self._rng.random() < 0.6 and runner.num_free_slots:
            sentence = self._sentences[self._waiting[0]]
            if runner.num_free_rows < sentence.options.beam_size:
                return
            (handle,) = runner.admit([sentence])
            self._running[handle] = self._waiting.pop(0)


def outcome_of(finished: Finished) -> str | list[list[int]]:
    return finished.error or [hypothesis.ids for hypothesis in finished.hypotheses]


def one_after_the_other(runner: Runner, sentences: list[SourceSentence]) -> Crowd:
    """None is cancelled. `runner` has one slot."""
    crowd = Crowd(runner, sentences, random.Random(0), leaving=0.0)
    crowd.run()
    return crowd


def check_streams(crowd: Crowd, alone: Crowd, sentences: list[SourceSentence]) -> None:
    """Each stream tells the tokens that it tells alone, and all of a greedy translation; a
    cancelled one may end early. The last may be the end of the sentence."""
    for i, told in enumerate(crowd.streamed):
        if not alone.results[i].hypotheses:
            continue
        best, expected = alone.results[i].hypotheses[0].ids, _without_end(alone.streamed[i])
        assert told == [*best, EOS][: len(told)]
        found = _without_end(told)
        assert found == (expected if i in crowd.results else expected[: len(found)])
        if sentences[i].is_streamed and sentences[i].options.beam_size == 1:
            assert expected == best


def _without_end(ids: list[int]) -> list[int]:
    return ids[:-1] if ids[-1:] == [EOS] else ids


@pytest.mark.parametrize("failing", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(2))
def test_a_crowd_on_a_simulated_gpu_translates_as_alone(
    seed: int, failing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    model, sentences = overflowing_model("encoder"), some_sentences(seed, rng)
    one = tiny_runner(model, max_slots=1, max_rows=7, backend="native")
    alone = one_after_the_other(one, sentences)
    stream = Stream(seed, eagerness=rng.choice([0.0, 0.01, 0.05]))

    def make_runner() -> Runner:
        return tiny_runner(model, max_slots=5, max_rows=18, backend="graphs")

    with simulated_gpu(monkeypatch, stream, make_runner) as (runner, device):
        recorder = record_on(runner, device, rng, failing)
        network_of(runner).warm_up()
        num_warm = recorder.num_replays
        crowd = Crowd(runner, sentences, rng)
        crowd.run()
        encoder = network_of(runner)._encoder
    assert {i: outcome_of(finished) for i, finished in crowd.results.items()} == {
        i: outcome_of(alone.results[i]) for i in crowd.results
    }
    check_streams(crowd, alone, sentences)
    assert sum(map(len, crowd.streamed)) > 10
    assert recorder.num_replays > num_warm
    assert isinstance(encoder, RecordedEncoder)
    assert encoder.num_recorded > (0 if failing else 4)
    assert recorder.num_failed == 0 or failing
    assert stream.most_queued > 50
