"""A model's translations of the sentences of a dev or test set."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from model.checkpoint import Checkpoint
from model.decoding.sentence import Hypothesis, SourceSentence
from model.offline import translate_all
from model.runner import Runner
from model.training.alignment import Pair
from model.training.data import read_pairs
from model.training.recipe import CorpusTable, DataTable

_SLOTS = 32


class DevTranslation(NamedTuple):
    """A sentence with its reference, its source ids, and the model's translation."""

    direction: tuple[str, str]
    text: str
    reference: str
    ids: list[int]
    best: Hypothesis


def dev_translations(
    checkpoint: Checkpoint, data: DataTable, split: str, sentences: int
) -> Iterator[DevTranslation]:
    """Up to `sentences` of each corpus and direction, as the server translates them; no empty
    translations, and no sentences that a server would cut."""
    runner = _runner(checkpoint)
    for direction in data.directions:
        side = data.languages.index(direction[0])
        for corpus in data.corpora:
            pairs = some_pairs(corpus, split, sentences, data)
            sides = [(pair[side], pair[1 - side]) for pair in pairs]
            yield from _translated(checkpoint, runner, sides, direction)


def some_pairs(corpus: CorpusTable, split: str, count: int, data: DataTable) -> list[Pair]:
    """Up to `count` pairs of a split, drawn with a fixed seed."""
    path = corpus.path(split)
    pairs = read_pairs(path, data.is_lowercase) if path is not None else []
    return random.Random(0).sample(pairs, min(count, len(pairs)))


def _runner(checkpoint: Checkpoint) -> Runner:
    return Runner(
        checkpoint.model,
        checkpoint.tokenizer.control_ids(),
        max_slots=_SLOTS,
        max_rows=_SLOTS * checkpoint.info.decoding.beam_size,
        max_source_tokens=checkpoint.info.source_limit(None),
        max_target_tokens=checkpoint.model.config.max_positions,
        byte_ids=checkpoint.tokenizer.byte_ids(),
        copied_ids=checkpoint.tokenizer.copied_ids(),
    )


def _translated(
    checkpoint: Checkpoint, runner: Runner, sides: Sequence[Pair], direction: tuple[str, str]
) -> Iterator[DevTranslation]:
    tokenizer, options = checkpoint.tokenizer, checkpoint.info.decoding
    source, target = direction
    encoded = [(pair, tokenizer.encode_source(pair[0], target, source)) for pair in sides]
    fitting = [(pair, ids) for pair, ids in encoded if len(ids) <= runner.max_source_tokens]
    start = tokenizer.target_start(target)
    sentences = [SourceSentence(ids, options, prefix=start) for _, ids in fitting]
    for (pair, ids), result in zip(fitting, translate_all(runner, sentences), strict=True):
        if result.hypotheses and result.hypotheses[0].ids:
            yield DevTranslation(direction, *pair, ids, result.hypotheses[0])
