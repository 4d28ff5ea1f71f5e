"""The bundled checkpoint on real sentences: batching must not change a translation."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from model.backends.native import PackedModel
from model.checkpoint.reference import Checkpoint, load_checkpoint
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.offline import translate_all
from model.runner import Runner
from tests.model.network.reference import are_tied

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return load_checkpoint(ROOT / "checkpoints" / "zh-en")


@pytest.fixture(scope="module")
def sentences(checkpoint: Checkpoint) -> list[SourceSentence]:
    """100 Chinese and 100 English sentences of 1 to about 60 tokens, with mixed options."""
    rng = random.Random(1)
    options = [
        DecodingOptions(beam_size=1),
        checkpoint.info.decoding,
        DecodingOptions(beam_size=2, normalization="wu", length_penalty=0.6),
        DecodingOptions(beam_size=1, sampling=True, top_p=0.9, seed=5),
    ]
    texts = [(line, "en") for line in _lines("zh")] + [(line, "zh") for line in _lines("en")]
    rng.shuffle(texts)
    return [
        SourceSentence(checkpoint.tokenizer.encode_source(text, target), rng.choice(options))
        for text, target in texts
    ]


def _lines(language: str) -> list[str]:
    return (DATA / f"sentences.{language}.txt").read_text(encoding="utf-8").splitlines()


def _translate(
    checkpoint: Checkpoint,
    sentences: list[SourceSentence],
    max_slots: int,
    instruction_set: str | None = None,
) -> list[list[int]]:
    control_ids = checkpoint.tokenizer.control_ids()
    runner = Runner(
        PackedModel(checkpoint.model, control_ids, False, instruction_set),
        control_ids,
        max_slots=max_slots,
        max_rows=max_slots * 4,
        max_source_tokens=256,
        max_target_tokens=256,
    )
    return [result.hypotheses[0].ids for result in translate_all(runner, sentences)]


def test_200_real_sentences_translate_alike_alone_and_in_batches(
    checkpoint: Checkpoint, sentences: list[SourceSentence]
) -> None:
    assert len(sentences) == 200
    together = _translate(checkpoint, sentences, max_slots=32)
    assert together == _translate(checkpoint, sentences, max_slots=1)


def test_200_real_sentences_translate_alike_with_other_instructions_but_for_ties(
    checkpoint: Checkpoint, sentences: list[SourceSentence]
) -> None:
    greedy = [SourceSentence(sentence.ids, DecodingOptions(beam_size=1)) for sentence in sentences]
    found = _translate(checkpoint, greedy, 32)
    baseline = _translate(checkpoint, greedy, 32, "baseline")
    differing = [i for i in range(200) if found[i] != baseline[i]]
    assert len(differing) <= 2
    for i in differing:
        assert are_tied(checkpoint.model, greedy[i].ids, found[i], baseline[i])
