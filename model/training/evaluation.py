"""BLEU and chrF by sacrebleu, on free-running translations; the loss on dev sets."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacremoses import MosesTokenizer

from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.network.transformer import Transformer
from model.offline import translate_all
from model.runner import Runner
from model.text.tokenizer import Tokenizer
from model.training.anchors import Pair
from model.training.data import BatchMaker, read_pairs
from model.training.optimisation import summed_loss, training_precision
from model.training.recipe import DataTable, RecipeError, TrainingPrecision
from model.training.recipe_file import load_recipe

Translate = Callable[[list[str], str, str], list[str]]
"""Texts, source language, target language -> translations."""
VALIDATION_SLOTS = 64
_GREEDY = DecodingOptions(beam_size=1)
_BLEU_TOKENIZERS = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}


@dataclass(frozen=True)
class Score:
    """One test set in one direction, with sacrebleu's signatures."""

    corpus: str
    direction: str
    sentences: int
    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str
    sentences_per_second: float


def evaluate(
    translate: Translate,
    recipe: Path,
    split: str,
    is_lowercase_tokenized: bool = False,
    sentences: int | None = None,
) -> list[Score]:
    """Translate a split of each of the recipe's corpora, or its first `sentences`, in the trained
    directions.

    BLEU is sacrebleu's default on raw text; with `is_lowercase_tokenized`, that of older papers.
    """
    data = load_recipe(recipe).data
    if not any(corpus.path(split) for corpus in data.corpora):
        raise RecipeError(f"{recipe} names no {split!r} file for any of its corpora")
    scores = []
    for corpus in data.corpora:
        path = corpus.path(split)
        if path is not None:
            pairs = read_pairs(path)[:sentences]
            if not pairs:
                raise RecipeError(f"{path} holds no sentence pair to measure on")
            for source, target in data.directions:
                sides = _sides(pairs, source, data.languages)
                scores.append(
                    _score(translate, corpus.name, source, target, sides, is_lowercase_tokenized)
                )
    return scores


def dev_bleu(model: Transformer, tokenizer: Tokenizer, data: DataTable, sentences: int) -> float:
    """Mean BLEU, greedy, over the first `sentences` of each dev set in each direction."""
    translator = _LineTranslator(model, tokenizer)
    scores = []
    for corpus in data.corpora:
        if corpus.dev is not None:
            pairs = read_pairs(corpus.dev)[:sentences]
            for source, target in data.directions:
                sources, references = _sides(pairs, source, data.languages)
                translations = translator.translate(sources, source, target)
                scores.append(_bleu(target).corpus_score(translations, [references]).score)
    return sum(scores) / len(scores)


@torch.no_grad()
def dev_loss(model: Transformer, batches: BatchMaker, precision: TrainingPrecision) -> float:
    """Mean cross-entropy of a target token over all dev sets in all directions."""
    model.eval()
    total, tokens = 0.0, 0
    for number, corpus in enumerate(batches.corpora):
        for side in corpus.source_sides:
            for examples in batches.everything(number, side):
                batch = batches.collate(examples)
                with training_precision(precision, model.device):
                    loss = summed_loss(model, batch.to(model.device), 0.0)
                total += loss.item()
                tokens += len(batch.places)
    return total / tokens


class _LineTranslator:
    """Translates whole lines greedily; lines over the model's limit are truncated."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        limit = model.config.max_positions
        self._runner = Runner(
            model,
            tokenizer.control_ids(),
            max_slots=VALIDATION_SLOTS,
            max_rows=VALIDATION_SLOTS,
            max_source_tokens=limit,
            max_target_tokens=limit,
            byte_ids=tokenizer.byte_ids(),
            copied_ids=tokenizer.copied_ids(),
        )

    def translate(self, texts: Sequence[str], source: str, target: str) -> list[str]:
        limit = self._runner.max_source_tokens
        encoded = [self._tokenizer.encode_source(text, target, source)[:limit] for text in texts]
        start = self._tokenizer.target_start(target)
        sentences = [SourceSentence(ids, _GREEDY, prefix=start) for ids in encoded]
        results = translate_all(self._runner, sentences)
        return [self._tokenizer.decode(result.hypotheses[0].ids) for result in results]


def bleu(
    translations: list[str], references: list[str], target: str, is_lowercase_tokenized: bool
) -> tuple[float, str]:
    """Corpus BLEU and its signature, on raw text or on text lower-cased and tokenized as in
    Moses."""
    if is_lowercase_tokenized:
        metric = BLEU(tokenize="none", lowercase=True, force=True)
        translations = _lowercase_tokenized(translations, target)
        references = _lowercase_tokenized(references, target)
    else:
        metric = _bleu(target)
    return metric.corpus_score(translations, [references]).score, str(metric.get_signature())


def _lowercase_tokenized(texts: list[str], language: str) -> list[str]:
    moses = MosesTokenizer(language)
    return [moses.tokenize(text.lower(), return_str=True, escape=False) for text in texts]


def _score(
    translate: Translate,
    corpus: str,
    source: str,
    target: str,
    sides: tuple[list[str], list[str]],
    is_lowercase_tokenized: bool,
) -> Score:
    sources, references = sides
    started = time.monotonic()
    translations = translate(sources, source, target)
    seconds = time.monotonic() - started
    value, signature = bleu(translations, references, target, is_lowercase_tokenized)
    chrf = CHRF()
    return Score(
        corpus=corpus,
        direction=f"{source}-{target}",
        sentences=len(sources),
        bleu=value,
        chrf=chrf.corpus_score(translations, [references]).score,
        bleu_signature=signature,
        chrf_signature=str(chrf.get_signature()),
        sentences_per_second=len(sources) / seconds,
    )


def _sides(
    pairs: list[Pair], source: str, languages: tuple[str, str]
) -> tuple[list[str], list[str]]:
    first = languages.index(source)
    return [pair[first] for pair in pairs], [pair[1 - first] for pair in pairs]


def _bleu(target: str) -> BLEU:
    """Raises RecipeError if the language needs a missing package."""
    try:
        return BLEU(tokenize=_BLEU_TOKENIZERS.get(target, "13a"))
    except (RuntimeError, ImportError) as error:
        raise RecipeError(
            f"BLEU of {target} needs sacrebleu[{target}] installed: {error}"
        ) from error
