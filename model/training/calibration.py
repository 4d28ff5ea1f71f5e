"""Measure on dev data what serving needs beside the weights, and store it in config.json.

That is the heads whose attention aligns words, on a model's own translations, and how confident a
word and a sentence are. A word is right if it occurs in the reference translation, in any case, and
there at least as often as in the translation so far. A sentence is right if its chrF is at least
50. Both are strict: a good word that the reference says otherwise counts as wrong.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.chrf import CHRF

from model.checkpoint.reference import Checkpoint, load_checkpoint
from model.checkpoint.saving import describe_again
from model.decoding.confidence import (
    Calibration,
    log_probs_inside,
    sentence_features,
    word_features,
)
from model.decoding.sentence import Hypothesis, SourceSentence
from model.decoding.word_attention import Matrix, link_weights, word_attention
from model.network.attention_maps import attention_maps
from model.network.config import AttentionHead, default_heads
from model.offline import translate_all
from model.runner import Runner
from model.text.spans import Span
from model.text.tokenizer import Tokenizer
from model.text.words import has_word_characters, is_unspaced, words
from model.training.anchors import Aligner, Anchor, Pair
from model.training.data import read_pairs
from model.training.recipe import CorpusTable, DataTable, RecipeError
from model.training.recipe_file import load_recipe

_SLOTS = 32
PairKind = Literal["number", "name", "word"]
_NUMBER = r"\d+(?:[.,:]\d+)*"
_LITERAL = re.compile(rf"(?<!\w)(?:{_NUMBER}|[A-Z][A-Za-z]+)(?!\w)|(?<![\w.,:]){_NUMBER}", re.ASCII)
_LEAST_NAME_CHARACTERS = 3
_ALIGNED_PAIRS = 20_000
"""Training pairs per corpus that anchors are learned from."""
LEAST_CHRF = 50.0
_RIDGE = 1.0
_STEPS = 30
Vector = NDArray[np.float64]


class CalibrationResult(NamedTuple):
    """The chosen heads, and the number of sentences that confidence was calibrated on."""

    heads: HeadChoice
    num_sentences: int


def calibrate(directory: Path, recipe: Path, sentences: int) -> CalibrationResult:
    """Choose the heads that align words, calibrate confidence, and write both to config.json.

    `sentences`: dev sentences per corpus and direction. Raises CheckpointError, RecipeError or
    OSError; nothing is written then.
    """
    checkpoint, data = load_checkpoint(directory), load_recipe(recipe).data
    translations = list(dev_translations(checkpoint, data, sentences))
    heads = choose_heads(checkpoint, data, translations)
    fits = {
        direction: fit(checkpoint, [t for t in translations if t.direction == direction])
        for direction in data.directions
    }
    confidence = {direction: fitted for direction, fitted in fits.items() if fitted}
    info = dataclasses.replace(checkpoint.info, alignment_heads=heads.heads, confidence=confidence)
    describe_again(directory, info)
    return CalibrationResult(heads, len(translations))


class DevTranslation(NamedTuple):
    """A sentence with its reference, its source ids, and the model's translation."""

    direction: tuple[str, str]
    text: str
    reference: str
    ids: list[int]
    best: Hypothesis


def dev_translations(
    checkpoint: Checkpoint, data: DataTable, sentences: int
) -> Iterator[DevTranslation]:
    """Up to `sentences` of each corpus and direction, as the server translates them; no empty
    translations, and no sentences that a server would cut."""
    runner = _runner(checkpoint)
    for direction in data.directions:
        side = data.languages.index(direction[0])
        for corpus in data.corpora:
            pairs = some_pairs(corpus, "dev", sentences)
            sides = [(pair[side], pair[1 - side]) for pair in pairs]
            yield from _translated(checkpoint, runner, sides, direction)


def some_pairs(corpus: CorpusTable, split: str, count: int) -> list[Pair]:
    """Up to `count` pairs of a split, drawn with a fixed seed."""
    path = corpus.path(split)
    pairs = read_pairs(path) if path is not None else []
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


class KnownPair(NamedTuple):
    """An anchor: spans of the first and of the second text, and its kind."""

    kind: PairKind
    anchor: Anchor


def known_pairs(pair: Pair, aligner: Aligner) -> list[KnownPair]:
    """The anchors of a pair, no span twice.

    A number, or a word of Latin letters with a capital one first, is an anchor if it occurs
    exactly once in both texts. Other words are anchors if the aligner says so; those with a capital
    letter within the sentence are names.
    """
    found = [
        KnownPair("number" if _spelled(pair[0], anchor.first)[0].isdigit() else "name", anchor)
        for anchor in _literal(pair)
    ]
    for anchor in aligner.anchors(pair):
        if not any(anchor.overlaps(known.anchor) for known in found):
            found.append(KnownPair("name" if _is_name(pair, anchor) else "word", anchor))
    return found


def _literal(pair: Pair) -> Iterator[Anchor]:
    first, second = ({m.group(): Span(*m.span()) for m in _LITERAL.finditer(t)} for t in pair)
    counts = [Counter(m.group() for m in _LITERAL.finditer(text)) for text in pair]
    for word, span in first.items():
        is_long = word[0].isdigit() or len(word) >= _LEAST_NAME_CHARACTERS
        if is_long and counts[0][word] == counts[1][word] == 1:
            yield Anchor(span, second[word])


def _is_name(pair: Pair, anchor: Anchor) -> bool:
    """Whether the words of both texts begin with a capital letter, as far as their scripts have
    them, and one of them stands behind another word. German nouns fail: the English ones do."""
    if any(_spelled(text, span)[0].islower() for text, span in zip(pair, anchor, strict=True)):
        return False
    return any(
        _spelled(text, span)[0].isupper() and text[: span.start].rstrip()[-1:].isalnum()
        for text, span in zip(pair, anchor, strict=True)
    )


def _spelled(text: str, span: Span) -> str:
    return text[span.start : span.end]


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
    anchors: list[tuple[PairKind, list[int], list[int]]]


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
        pair for corpus in data.corpora for pair in some_pairs(corpus, "train", _ALIGNED_PAIRS)
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
    points: dict[tuple[tuple[str, str], PairKind], list[float]] = {}
    for sentence in attended:
        weights = link_weights(np.mean([sentence.attention[head] for head in heads], axis=0))
        for kind, source, target in sentence.anchors:
            is_found = int(weights[target].sum(0).argmax()) in source
            is_found_back = int(weights[:, source].sum(1).argmax()) in target
            points.setdefault((sentence.direction, kind), []).append((is_found + is_found_back) / 2)
    return 100 * sum(sum(group) / len(group) for group in points.values()) / len(points)


class Example(NamedTuple):
    """The features of a word or a sentence, and whether it is right."""

    features: list[float]
    is_right: bool


def fit(checkpoint: Checkpoint, translations: Sequence[DevTranslation]) -> Calibration | None:
    """The calibration of one direction; None without a word."""
    examples = [word for t in translations for word in word_examples(checkpoint.tokenizer, t)]
    sentences = [sentence_example(checkpoint.tokenizer, t) for t in translations]
    if not examples:
        return None
    return Calibration(fitted(examples), fitted(sentences))


def word_examples(tokenizer: Tokenizer, translation: DevTranslation) -> Iterator[Example]:
    """The words of a translation that have a letter or a digit."""
    best, text = translation.best, tokenizer.decode(translation.best.ids)
    spans = tokenizer.target_spans(best.ids)
    reference = _Reference(translation.reference)
    for start, end in words(text, spans):
        if has_word_characters(text[start:end]):
            log_probs = log_probs_inside(best.log_probs, spans, start, end)
            features = word_features(log_probs, best.log_probs)
            yield Example(features, reference.has_another(text[start:end]))


def sentence_example(tokenizer: Tokenizer, translation: DevTranslation) -> Example:
    best = translation.best
    chrf = CHRF().sentence_score(tokenizer.decode(best.ids), [translation.reference]).score
    features = sentence_features(best.log_probs, len(translation.ids))
    return Example(features, chrf >= LEAST_CHRF)


class _Reference:
    """The words of a reference that no word of the translation has taken yet."""

    def __init__(self, text: str) -> None:
        self._text = text.casefold()
        self._left = Counter(self._text[start:end] for start, end in words(self._text, []))

    def has_another(self, word: str) -> bool:
        """Take a word, if it is there. Where a script has no spaces, any stretch is a word."""
        word = word.casefold()
        if is_unspaced(word):
            before, found, after = self._text.partition(word)
            self._text = f"{before} {after}"
            return bool(found)
        self._left[word] -= 1
        return self._left[word] >= 0


def fitted(examples: Sequence[Example]) -> tuple[float, ...]:
    """Logistic regression by Newton's method, with a small penalty on large weights. There must be
    an example."""
    x = np.array([example.features for example in examples])
    y = np.array([example.is_right for example in examples], np.float64)
    weights: Vector = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-(x @ weights).clip(-30, 30)))
        gradient = x.T @ (p - y) + _RIDGE * weights
        curvature = (x.T * (p * (1 - p))) @ x + _RIDGE * np.eye(x.shape[1])
        weights = weights - np.linalg.solve(curvature, gradient)
    return tuple(round(float(weight), 5) for weight in weights)
