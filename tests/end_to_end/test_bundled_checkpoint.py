"""The bundled checkpoint on real sentences: neither batches nor the cache change a translation."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from model.backends.native import PackedModel
from model.checkpoint.reference import Checkpoint, load_checkpoint
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from model.offline import translate_all
from model.runner import Runner
from service.app import create_app
from service.models.loading import load_models
from service.settings import Settings
from tests.end_to_end.conftest import ask
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


def client_of(**settings: Any) -> TestClient:
    chosen = Settings(model=(ROOT / "checkpoints" / "zh-en",), **settings)
    return TestClient(create_app(chosen, load_models(chosen)))


@pytest.fixture(scope="module")
def clients() -> Iterator[dict[str, TestClient]]:
    """Servers with a cache, without one, with a tiny one, and without preemption."""
    with (
        client_of() as on,
        client_of(cache_bytes=0) as off,
        client_of(cache_bytes=20_000) as tiny,
        client_of(cache_bytes=0, scheduling="first-come") as first_come,
    ):
        yield {"on": on, "off": off, "tiny": tiny, "first-come": first_come}


def requests() -> list[dict[str, Any]]:
    """Few texts with many options, so that most come again; some as streams."""
    rng = random.Random(5)
    lines = _lines("zh")
    options: list[dict[str, Any]] = [
        {},
        {"beam_size": 1},
        {"alternatives": 2},
        {"top_p": 0.9},
        {"top_p": 0.9, "seed": 7},
        {"target_prefix": "The"},
    ]
    return [
        {"q": rng.choice(lines[:8]), "source": "zh", "target": "en", **rng.choice(options)}
        for _ in range(60)
    ]


def test_answers_are_the_same_with_any_cache_and_schedule(clients: dict[str, TestClient]) -> None:
    """One after the other, and many at the same time."""
    given = requests()
    expected = [ask(clients["off"], **request) for request in given]
    for name in ("on", "tiny", "first-come"):
        one_by_one = [ask(clients[name], **request) for request in given]
        with ThreadPoolExecutor(16) as pool:
            together = list(pool.map(lambda r, c=clients[name]: ask(c, **r), given))
        assert one_by_one == together == expected
