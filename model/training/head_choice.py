"""Choose the heads whose attention aligns words, on a model's own translations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from model.checkpoint import Checkpoint
from model.network.attention_maps import AttentionHead, attention_maps, default_heads
from model.text.spans import Span
from model.text.words import words
from model.training.alignment import Aligner
from model.training.anchors import Kind, known_pairs
from model.training.dev_translations import DevTranslation, some_pairs
from model.training.recipe import DataTable, RecipeError
from model.word_attention import Matrix, link_weights, word_attention

_ALIGNED_PAIRS = 20_000
"""Training pairs per corpus that anchors are learned from."""


class HeadChoice(NamedTuple):
    """The chosen heads, and the percentage of anchors that they and the default ones get right."""

    heads: tuple[AttentionHead, ...]
    accuracy: float
    default_accuracy: float
    num_anchors: int


class _Attended(NamedTuple):
    """A translated sentence: the attention of all heads from target to source words (L, H, U, V),
    and its anchors as indices of source words and of target words."""

    direction: tuple[str, str]
    attention: Matrix
    anchors: list[tuple[Kind, list[int], list[int]]]


def choose_heads(
    checkpoint: Checkpoint, data: DataTable, translations: Sequence[DevTranslation]
) -> HeadChoice:
    """Add or remove one head at a time, beginning with the best layer, while more anchors are
    right. Raises RecipeError without anchors."""
    attended = list(_attended(checkpoint, data, translations))
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


def _attended(
    checkpoint: Checkpoint, data: DataTable, translations: Sequence[DevTranslation]
) -> Iterator[_Attended]:
    train = [
        pair
        for corpus in data.corpora
        for pair in some_pairs(corpus, "train", _ALIGNED_PAIRS, data)
    ]
    aligner = Aligner(train, checkpoint.tokenizer)
    for translation in translations:
        side = data.languages.index(translation.direction[0])
        yield from _with_anchors(checkpoint, translation, side, aligner)


def _with_anchors(
    checkpoint: Checkpoint, translation: DevTranslation, side: int, aligner: Aligner
) -> Iterator[_Attended]:
    """The sentence's attention if it has anchors; `side`: the source's place in a corpus pair."""
    tokenizer, (source, target) = checkpoint.tokenizer, translation.direction
    target_ids = translation.best.ids
    sides = (translation.text, tokenizer.decode(target_ids))
    source_spans = tokenizer.source_spans(translation.text, target, source)
    target_spans = tokenizer.target_spans(target_ids)
    source_words = words(translation.text, source_spans)
    target_words = words(sides[1], target_spans)
    anchors = []
    for kind, anchor in known_pairs((sides[side], sides[1 - side]), aligner):
        places = _inside(source_words, anchor[side]), _inside(target_words, anchor[1 - side])
        if all(places):
            anchors.append((kind, *places))
    if anchors:
        inputs = [checkpoint.model.config.bos_id, *target_ids[:-1]]
        memory = attention_maps(checkpoint.model, translation.ids, inputs).memory.numpy()
        mass = word_attention(memory, source_spans, source_words, target_spans, target_words)
        yield _Attended(translation.direction, mass, anchors)


def _inside(words: Sequence[tuple[int, int]], anchor: Span) -> list[int]:
    """The words that overlap an anchor's span."""
    return [i for i, (start, end) in enumerate(words) if start < anchor.end and anchor.start < end]


def _accuracy(attended: Sequence[_Attended], heads: Collection[AttentionHead]) -> float:
    """The percentage of anchors that are right, the mean over directions and kinds. Half a point if
    the target word attends most to the source word, half if that word is attended most by it."""
    points: dict[tuple[tuple[str, str], Kind], list[float]] = {}
    for sentence in attended:
        weights = link_weights(np.mean([sentence.attention[head] for head in heads], axis=0))
        for kind, source, target in sentence.anchors:
            is_found = int(weights[target].sum(0).argmax()) in source
            is_found_back = int(weights[:, source].sum(1).argmax()) in target
            points.setdefault((sentence.direction, kind), []).append((is_found + is_found_back) / 2)
    return 100 * sum(sum(group) / len(group) for group in points.values()) / len(points)
