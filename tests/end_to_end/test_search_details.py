"""The search that a student sees is the one that translated, on the bundled models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.loading import load_models
from service.settings import Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    settings = Settings(model=(ROOT / "checkpoints" / "zh-en",), max_slots=8, max_rows=64)
    with TestClient(create_app(settings, load_models(settings))) as client:
        yield client


def sentences(count: int) -> list[str]:
    lines = (ROOT / "tests" / "data" / "sentences.zh.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.count("。") == 1 and len(line) < 40][:count]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_the_best_hypothesis_of_each_of_20_sentences_is_the_translation(
    client: TestClient, beam_size: int
) -> None:
    texts = sentences(20)
    assert len(texts) == 20
    for text in texts:
        fields = {"q": text, "source": "zh", "target": "en", "beam_size": beam_size}
        translated = client.post("/translate", json=fields).json()["translatedText"]
        answer = client.post("/translate", json={**fields, "details": "search"}).json()
        assert answer["translatedText"] == translated
        (sentence,) = answer["details"][0]["sentences"]
        found = sentence["search"]
        assert found["agrees"], text
        steps = zip(found["steps"], found["path"], strict=False)
        tokens = [step["candidates"][index]["token"] for step, index in steps]
        assert tokens[: len(sentence["tokens"])] == sentence["tokens"]
        assert found["score"] == pytest.approx(sentence["score"], abs=1e-3)
