"""Translate many sentences offline with a runner: files, evaluation, benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

from model.decoding.sentence import Finished, SourceSentence
from model.runner import Runner


def translate_all(runner: Runner, sentences: Sequence[SourceSentence]) -> list[Finished]:
    """Translate every sentence -> results in input order.

    Admits the longest sentences first, so the batch stays full until the end. The runner must be
    idle.
    """
    waiting = sorted(range(len(sentences)), key=lambda i: len(sentences[i].ids))
    index_of: dict[int, int] = {}
    results: dict[int, Finished] = {}
    while waiting or index_of:
        if chosen := _take_fitting(runner, sentences, waiting):
            handles = runner.admit([sentences[i] for i in chosen])
            index_of |= dict(zip(handles, chosen, strict=True))
        for finished in runner.step().finished:
            results[index_of.pop(finished.handle)] = finished
    return [results[i] for i in range(len(sentences))]


def _take_fitting(
    runner: Runner, sentences: Sequence[SourceSentence], waiting: list[int]
) -> list[int]:
    slots, rows = runner.num_free_slots, runner.num_free_rows
    chosen: list[int] = []
    while waiting and slots > len(chosen):
        rows -= sentences[waiting[-1]].options.beam_size
        if rows < 0 and (chosen or runner.num_running):
            break
        chosen.append(waiting.pop())
    return chosen
