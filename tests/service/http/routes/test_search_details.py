"""details: "search" gives a student every step of one sentence's beam search, within bounds."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings
from service.translation import inspection
from service.translation.inspection import InspectedModel
from tests.service.fakes import (
    FAKE_CONFIG,
    FakeRunner,
    fake_attention,
    fake_model,
)

BODY: dict[str, Any] = {"source": "en", "target": "de", "details": "search"}


def refused(client: TestClient, **fields: Any) -> str:
    answer = client.post("/translate", json={**BODY, **fields})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_field")
    return str(answer.json()["error"])


def test_the_steps_of_a_sentence_have_the_texts_of_their_tokens(client: TestClient) -> None:
    answer = client.post("/translate", json={**BODY, "q": "Hi"}).json()
    (sentence,) = answer["details"][0]["sentences"]
    assert "attention" not in sentence
    found = sentence["search"]
    assert (found["beam_size"], found["path"], found["agrees"]) == (4, [0, 0, 0], True)
    first = {
        "parent": 0, "token": "H", "log_prob": -0.5, "total": -0.5, "fate": "kept", "place": 0
    }  # fmt: skip
    assert found["steps"][0]["candidates"][0] == first
    assert found["steps"][0]["likeliest"] == [[["H", 0.6], ["*", 0.2]]]
    assert found["steps"][-1]["candidates"][0]["fate"] == "ended"


def test_a_search_that_found_something_else_says_so() -> None:
    runner = FakeRunner()
    runner.garbled = {"I": "J"}
    with TestClient(create_app(Settings(), [fake_model(runner)])) as client:
        answer = client.post("/translate", json={**BODY, "q": "Hi"}).json()
    assert answer["details"][0]["sentences"][0]["search"]["agrees"] is False


def test_a_search_of_too_many_steps_is_refused_before_it_is_translated(
    client: TestClient, runner: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "MAX_CANDIDATES", 191)
    assert refused(client, q="Hi", beam_size=4) == (
        'details "search" gives at most 191 candidates, and a beam of 4 with up to 24 steps may '
        "need 192"
    )
    assert runner.admitted == []


def test_a_search_without_finite_scores_is_an_error_of_that_request_alone() -> None:
    def failing(source: object, max_target: int) -> Any:
        raise ValueError("the network gave no finite scores")

    inspected = InspectedModel(FAKE_CONFIG, fake_attention, failing)
    model = dataclasses.replace(fake_model(FakeRunner()), inspected=inspected)
    with TestClient(create_app(Settings(), [model]), raise_server_exceptions=False) as client:
        answer = client.post("/translate", json={**BODY, "q": "Hi"})
        assert answer.json()["code"] == "internal_error"
        assert client.post("/translate", json={**BODY, "q": "Hi", "details": True}).is_success
