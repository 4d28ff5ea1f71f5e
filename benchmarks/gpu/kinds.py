"""Every kind of sentence through recorded steps, against the plain path in the same precision."""

from __future__ import annotations

import dataclasses
import random

from benchmarks.gpu.figures import note
from benchmarks.gpu.models import (
    graphed_step,
    half,
    random_model,
    random_sentences,
    runner_of,
    shapes_for,
)
from model.decoding.decoder import Precision
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.network.config import ModelConfig
from model.offline import translate_all
from model.runner import Runner

_SLOTS = 16


def kinds(device: str) -> None:
    """Prefixes, guards, sampling and streams, three rounds: run, recorded, replayed."""
    config = next(iter(shapes_for(device).values()))
    model = random_model(config, device)
    sentences_of = kinds_of(config, *((16, 16) if device != "cpu" else (4, 8)))
    precisions: list[Precision] = ["float32", half(device), "bfloat16"]
    for precision in dict.fromkeys(precisions if device != "cpu" else precisions[:1]):
        recorded = runner_of(model, _SLOTS, 4, precision)
        plain = runner_of(model, _SLOTS, 4, precision, "eager")
        for name, sentences in sentences_of.items():
            expected = _ids(plain, sentences)
            rounds = [_ids(recorded, sentences) for _ in range(3)]
            otherwise = [sum(a != b for a, b in zip(expected, r, strict=True)) for r in rounds]
            note(
                "kinds", kind=name, precision=precision, sentences=len(sentences),
                otherwise=otherwise,
            )  # fmt: skip
        step = graphed_step(recorded)
        streams = _streams_and_cancels(recorded, sentences_of["streams"])
        note(
            "kinds", precision=precision, recorded=step.num_recorded, refused=step.num_refused,
            wrong_streams=streams,
        )  # fmt: skip


def kinds_of(config: ModelConfig, count: int, length: int) -> dict[str, list[SourceSentence]]:
    """So many sentences of every kind, with translations of one length."""
    given = random_sentences(config, count, 4, target=length)
    greedy = random_sentences(config, count, 1, target=length)

    def with_options(**options: float) -> list[SourceSentence]:
        values = {"beam_size": 1, "max_length": length, **options}
        return [dataclasses.replace(s, options=DecodingOptions.from_dict(values)) for s in greedy]

    made = {
        "greedy": greedy,
        "beam": given,
        "prefix": [dataclasses.replace(s, prefix=(15, 16, 17)) for s in given],
        "repetition": with_options(repetition_penalty=1.3, no_repeat_ngram_size=3),
        "sampling": with_options(temperature=1.0, seed=5),
        "streams": [dataclasses.replace(s, is_streamed=True) for s in given],
        "aligned": [dataclasses.replace(s, is_aligned=True) for s in given],
    }
    mixed = [sentence for sentences in made.values() for sentence in sentences[: count // 4]]
    random.Random(4).shuffle(mixed)
    return {**made, "mixed": mixed}


def _ids(runner: Runner, sentences: list[SourceSentence]) -> list[tuple[int, ...]]:
    results = translate_all(runner, sentences)
    return [tuple(r.hypotheses[0].ids) if r.hypotheses else () for r in results]


def _streams_and_cancels(runner: Runner, sentences: list[SourceSentence]) -> int:
    """Streamed sentences of which every third is cancelled -> how many of the others did not end
    with what they streamed."""
    expected = _ids(runner, sentences)
    waiting, running = list(enumerate(sentences)), dict[int, int]()
    streamed: dict[int, list[int]] = {}
    wrong = num_steps = 0
    while waiting or running:
        while waiting and runner.num_free_slots and runner.num_free_rows >= 4:
            place, sentence = waiting.pop(0)
            running[runner.admit([sentence])[0]] = place
        result = runner.step()
        for handle, ids in result.streamed.items():
            streamed.setdefault(running[handle], []).extend(ids)
        for finished in result.finished:
            place = running.pop(finished.handle)
            ids = list(finished.hypotheses[0].ids) if finished.hypotheses else []
            told = streamed.get(place, [])
            wrong += told[: len(ids)] != ids[: len(told)] or tuple(ids) != expected[place]
        num_steps += 1
        if num_steps % 7 == 0 and (third := [h for h, p in running.items() if p % 3 == 0]):
            runner.release(third[0])
            del running[third[0]]
    return wrong
