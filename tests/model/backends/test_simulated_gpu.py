"""Random crowds on a simulated asynchronous GPU are translated as alone on the CPU.

They join, end, are cancelled, stream and overflow, while recordings are made, fail and replay.
"""

from __future__ import annotations

import dataclasses
import random

import pytest

from model.backends.recorded_encoder import RecordedEncoder
from model.decoding.sentence import Finished, SourceSentence
from model.runner import Runner
from tests.model.backends.simulated_gpu import Stream, network_of, record_on, simulated_gpu
from tests.model.backends.test_overflow import bad_sentence, overflowing_model
from tests.model.network.reference import EOS, run_to_end, tiny_runner
from tests.model.test_runner import mixed_sentences

NUM_SENTENCES = 14


def some_sentences(seed: int, rng: random.Random) -> list[SourceSentence]:
    """Some overflow, some stream."""
    sentences = [
        bad_sentence("encoder", rng.choice([1, 4])) if rng.random() < 0.15 else sentence
        for sentence in mixed_sentences(NUM_SENTENCES, seed)
    ]
    return [dataclasses.replace(s, is_streamed=i % 3 == 0) for i, s in enumerate(sentences)]


class Crowd:
    """Sentences that join and leave a runner at random, and what becomes of them."""

    def __init__(self, runner: Runner, sentences: list[SourceSentence], rng: random.Random) -> None:
        self._runner, self._sentences, self._rng = runner, sentences, rng
        self._waiting = list(range(len(sentences)))
        self._running: dict[int, int] = {}
        self.results: dict[int, Finished] = {}
        self.streamed: dict[int, list[int]] = {}

    def run(self) -> None:
        while self._waiting or self._running:
            self._admit()
            result = self._runner.step()
            for handle, ids in result.streamed.items():
                self.streamed.setdefault(self._running[handle], []).extend(ids)
            for finished in result.finished:
                self.results[self._running.pop(finished.handle)] = finished
            if self._running and self._rng.random() < 0.1:
                handle = self._rng.choice(sorted(self._running))
                self._runner.release(handle)
                self.streamed.pop(self._running.pop(handle), None)

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


@pytest.mark.parametrize("failing", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(2))
def test_a_crowd_on_a_simulated_gpu_translates_as_alone(
    seed: int, failing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    model, sentences = overflowing_model("encoder"), some_sentences(seed, rng)
    one = tiny_runner(model, max_slots=1, max_rows=7, backend="native")
    alone = [outcome_of(run_to_end(one, [sentence])[0]) for sentence in sentences]
    stream = Stream(seed, eagerness=rng.choice([0.0, 0.01, 0.05]))

    def make_runner() -> Runner:
        fast_paths = ("recorded_encoder",)
        return tiny_runner(model, max_slots=5, max_rows=18, backend="graphs", fast_paths=fast_paths)

    with simulated_gpu(monkeypatch, stream, make_runner) as (runner, device):
        recorder = record_on(runner, device, rng, failing)
        network_of(runner).warm_up()
        num_warm = recorder.num_replays
        crowd = Crowd(runner, sentences, rng)
        crowd.run()
        encoder = network_of(runner)._encoder
    assert {i: outcome_of(finished) for i, finished in crowd.results.items()} == {
        i: alone[i] for i in crowd.results
    }
    for i, ids in crowd.streamed.items():
        if crowd.results[i].hypotheses:
            assert ids == [*crowd.results[i].hypotheses[0].ids, EOS][: len(ids)]
    assert recorder.num_replays > num_warm
    assert isinstance(encoder, RecordedEncoder)
    assert encoder.num_recorded > (0 if failing else 4)
    assert recorder.num_failed == 0 or failing
    assert stream.most_queued > 50
