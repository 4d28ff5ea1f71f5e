"""Choose the heads whose attention aligns words, on a model's own translations of dev sentences."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from model.checkpoint import Checkpoint, describe_again, load_checkpoint
from model.decoding.sentence import SourceSentence
from model.network.attention_maps import AttentionHead, attention_maps, default_heads
from model.offline import translate_all
from model.runner import Runner
from model.text.spans import Span
from model.training.alignment import Aligner, Pair
from model.training.anchors import Kind, known_pairs
from model.training.data import read_pairs
from model.training.recipe import CorpusTable, DataTable, RecipeError, load_recipe

_ALIGNED_PAIRS = 20_000
"""Training pairs per corpus that anchors are learned from."""
_SLOTS = 32
_FLOOR = 0.05
"""As in the service's links: see docs/alignment.md."""


class HeadChoice(NamedTuple):
    """The chosen heads, and the percentage of anchors that they and the default ones get right."""

    heads: tuple[AttentionHead, ...]
    accuracy: float
    default_accuracy: float
    num_anchors: int


class _Translated(NamedTuple):
    """A text, its source ids, and the ids of its translation."""

    text: str
    ids: list[int]
    translation: list[int]


class _Attended(NamedTuple):
    """A translated sentence: the attention of all heads to the memory (L, H, T, S), and its anchors
    as indices of source tokens and of target tokens."""

    direction: tuple[str, str]
    attention: Tensor
    anchors: list[tuple[Kind, list[int], list[int]]]


def calibrate(directory: Path, recipe: Path, sentences: int) -> HeadChoice:
    """Choose the heads on the recipe's dev sets and write them to config.json.

    `sentences`: per corpus and direction. Raises CheckpointError, RecipeError or OSError.
    """
    checkpoint = load_checkpoint(directory)
    choice = choose_heads(checkpoint, load_recipe(recipe).data, sentences)
    describe_again(directory, dataclasses.replace(checkpoint.info, alignment_heads=choice.heads))
    return choice


def choose_heads(checkpoint: Checkpoint, data: DataTable, sentences: int) -> HeadChoice:
    """Add or remove one head at a time, beginning with the best layer, while more anchors are
    right. Raises RecipeError without a dev set or anchors."""
    attended = list(_attended(checkpoint, data, sentences))
    num_anchors = sum(len(sentence.anchors) for sentence in attended)
    if not num_anchors:
        raise RecipeError("no dev sentence has a word whose translation is sure")
    config = checkpoint.model.config
    layers = [
        tuple((layer, head) for head in range(config.n_heads))
        for layer in range(config.n_decoder_layers)
    ]
    best = max(layers, key=lambda heads: _accuracy(attended, heads))
    accuracy = _accuracy(attended, best)
    while True:
        changed = [tuple(sorted({*best} ^ {head})) for layer in layers for head in layer]
        better = max(filter(None, changed), key=lambda heads: _accuracy(attended, heads))
        if (reached := _accuracy(attended, better)) <= accuracy:
            default = _accuracy(attended, default_heads(config))
            return HeadChoice(best, accuracy, default, num_anchors)
        best, accuracy = better, reached


def _attended(checkpoint: Checkpoint, data: DataTable, sentences: int) -> Iterator[_Attended]:
    corpora = [corpus for corpus in data.corpora if corpus.dev is not None]
    train = [pair for corpus in corpora for pair in _some(corpus, "train", _ALIGNED_PAIRS, data)]
    aligner = Aligner(train, checkpoint.tokenizer)
    runner = _runner(checkpoint)
    for direction in data.directions:
        side = data.languages.index(direction[0])
        for corpus in corpora:
            texts = [pair[side] for pair in _some(corpus, "dev", sentences, data)]
            for translated in _translated(checkpoint, runner, texts, direction):
                yield from _with_anchors(checkpoint, translated, direction, side, aligner)


def _with_anchors(
    checkpoint: Checkpoint,
    translated: _Translated,
    direction: tuple[str, str],
    side: int,
    aligner: Aligner,
) -> Iterator[_Attended]:
    """The sentence's attention if it has anchors; `side`: the source's place in a corpus pair."""
    text, ids, translation = translated
    tokenizer = checkpoint.tokenizer
    sides = (text, tokenizer.decode(translation))
    source_spans = tokenizer.source_spans(text, direction[1], direction[0])
    target_spans = tokenizer.target_spans(translation)
    anchors = []
    for kind, anchor in known_pairs((sides[side], sides[1 - side]), aligner):
        source = _inside(source_spans, anchor[side])
        target = _inside(target_spans, anchor[1 - side])
        if source and target:
            anchors.append((kind, source, target))
    if anchors:
        start = checkpoint.model.config.bos_id
        maps = attention_maps(checkpoint.model, ids, [start, *translation[:-1]])
        is_text = torch.tensor([end > begin for begin, end in source_spans])
        yield _Attended(direction, maps.memory * is_text, anchors)


def _some(corpus: CorpusTable, split: str, count: int, data: DataTable) -> list[Pair]:
    """Up to `count` pairs of a split, drawn with a fixed seed."""
    path = corpus.path(split)
    pairs = read_pairs(path, data.is_lowercase) if path is not None else []
    return random.Random(0).sample(pairs, min(count, len(pairs)))


def _runner(checkpoint: Checkpoint) -> Runner:
    limit = checkpoint.model.config.max_positions
    return Runner(
        checkpoint.model,
        checkpoint.tokenizer.control_ids(),
        max_slots=_SLOTS,
        max_rows=_SLOTS * checkpoint.info.decoding.beam_size,
        max_source_tokens=checkpoint.info.source_limit(None),
        max_target_tokens=limit,
        byte_ids=checkpoint.tokenizer.byte_ids(),
    )


def _translated(
    checkpoint: Checkpoint, runner: Runner, texts: Sequence[str], direction: tuple[str, str]
) -> Iterator[_Translated]:
    """The translations of texts that fit, unless empty."""
    tokenizer, options = checkpoint.tokenizer, checkpoint.info.decoding
    source, target = direction
    encoded = [(text, tokenizer.encode_source(text, target, source)) for text in texts]
    fitting = [pair for pair in encoded if len(pair[1]) <= runner.max_source_tokens]
    start = tokenizer.target_start(target)
    sentences = [SourceSentence(ids, options, prefix=start) for _, ids in fitting]
    for (text, ids), result in zip(fitting, translate_all(runner, sentences), strict=True):
        if result.hypotheses and result.hypotheses[0].ids:
            yield _Translated(text, ids, result.hypotheses[0].ids)


def _inside(spans: Sequence[Span], word: Span) -> list[int]:
    """The tokens that overlap a word."""
    return [i for i, (start, end) in enumerate(spans) if start < word.end and word.start < end]


def _accuracy(attended: Sequence[_Attended], heads: Collection[AttentionHead]) -> float:
    """The percentage of anchors that are right, the mean over directions and kinds. Half a point if
    the target word attends most to the source word, half if that word is attended most by it."""
    points: dict[tuple[tuple[str, str], Kind], list[float]] = {}
    for sentence in attended:
        weights = _weights(torch.stack([sentence.attention[head] for head in heads]).mean(0))
        for kind, source, target in sentence.anchors:
            is_found = int(weights[target].sum(0).argmax()) in source
            is_found_back = int(weights[:, source].sum(1).argmax()) in target
            points.setdefault((sentence.direction, kind), []).append((is_found + is_found_back) / 2)
    return 100 * sum(sum(group) / len(group) for group in points.values()) / len(points)


def _weights(attention: Tensor) -> Tensor:
    """Attention (T, S) times each source token's share of it, as the service weighs links."""
    of_target = attention / attention.sum(1, keepdim=True).clamp_min(1e-9)
    return of_target * of_target / (of_target.sum(0, keepdim=True) + _FLOOR)
