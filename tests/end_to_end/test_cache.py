"""The bundled checkpoint over HTTP with the cache on and off: the same answers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.loading import load_models
from service.settings import Settings

ROOT = Path(__file__).parents[2]


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
    lines = (ROOT / "tests" / "data" / "sentences.zh.txt").read_text(encoding="utf-8").splitlines()
    options: list[dict[str, Any]] = [
        {},
        {"beam_size": 1},
        {"alternatives": 2},
        {"details": True},
        {"top_p": 0.9},
        {"top_p": 0.9, "seed": 7},
        {"target_prefix": "The"},
    ]
    return [
        {"q": rng.choice(lines[:8]), "source": "zh", "target": "en", **rng.choice(options)}
        for _ in range(60)
    ]


def is_alike(answer: Any, expected: Any) -> bool:
    """Whether two answers differ at most in the times that they took, and in the last digits of
    scores: the order of additions depends on the rows of a step."""
    if isinstance(answer, dict):
        names = {name for name in answer if not name.endswith("_ms")}
        return names == {name for name in expected if not name.endswith("_ms")} and all(
            is_alike(answer[name], expected[name]) for name in names
        )
    if isinstance(answer, list):
        return len(answer) == len(expected) and all(map(is_alike, answer, expected))
    if isinstance(answer, float):
        return bool(answer == pytest.approx(expected, abs=2e-3))
    return bool(answer == expected)


def answer_of(client: TestClient, request: dict[str, Any]) -> Any:
    response = client.post("/translate", json=request)
    assert response.status_code == 200, response.text
    return response.json()


def test_answers_are_the_same_with_any_cache_and_schedule(clients: dict[str, TestClient]) -> None:
    """One after the other, and many at the same time."""
    given = requests()
    expected = [answer_of(clients["off"], request) for request in given]
    for name in ("on", "tiny", "first-come"):
        one_by_one = [answer_of(clients[name], request) for request in given]
        with ThreadPoolExecutor(16) as pool:
            together = list(pool.map(lambda r, c=clients[name]: answer_of(c, r), given))
        for answers in (one_by_one, together):
            assert all(is_alike(a, e) for a, e in zip(answers, expected, strict=True))
