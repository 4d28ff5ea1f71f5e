"""POST /translate/next."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

ASKED = {"q": "Hi there.", "source": "en", "target": "de"}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"prefix": None, "k": 1},
        {"prefix": "HI ", "k": 10},
        {"prefix": "☃ never"},
        {"q": "", "prefix": "HI"},
        {"q": "🙂", "prefix": ""},
        {"source": "auto", "q": "Where is the library?"},
        {"q": "One. Two. Three.", "prefix": "ONE. TW"},
        {"q": "Keep {name} here.", "prefix": "KEEP {name}"},
        {"q": "ALL IN CAPITALS HERE", "prefix": "ALL"},
    ],
)
def test_whatever_is_asked_there_is_an_answer(client: TestClient, fields: dict[str, Any]) -> None:
    answer = client.post("/translate/next", json={**ASKED, **fields})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert set(body) == {"words", "end", "sentence"}
    prefix = fields.get("prefix") or ""
    for word in body["words"]:
        assert set(word) == {"text", "probability", "translation"}
        assert 0 <= word["probability"] <= 1
        assert word["translation"].startswith(prefix + word["text"])


def test_the_sentence_that_the_prefix_reaches_is_named(client: TestClient) -> None:
    asked = {**ASKED, "q": "One. Two. Three."}
    for prefix, number in (
        ("", 0),
        ("On", 0),
        ("One.", 1),
        ("One. T", 1),
        ("Eins. Zwei. Drei. Vier. Und", 2),
    ):
        answer = client.post("/translate/next", json={**asked, "prefix": prefix})
        assert answer.json()["sentence"] == number, prefix
