"""details: "attention" and "search" give a student every layer and head, or every step of the beam
search, of one sentence, within bounds."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient

from model.decoding.sentence import AttentionTables
from service.app import create_app
from service.settings import Settings
from service.translation.study import inspection
from service.translation.study.inspection import InspectedModel, Inspector
from tests.service.fakes import (
    FAKE_CONFIG,
    FakeRunner,
    FakeTokenizer,
    eventually,
    fake_attention,
    fake_model,
    fake_search,
)
from tests.service.http.clients import EVENTS, FIELDS, by_events, by_json

BODY = {**FIELDS, "q": "Hi", "details": "attention"}


def refused(client: TestClient, **fields: Any) -> str:
    answer = client.post("/translate", json={**BODY, **fields})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_field")
    return str(answer.json()["error"])


def test_the_attention_of_a_sentence_has_rows_and_columns_with_names(client: TestClient) -> None:
    (sentence,) = by_json(client, **BODY)["details"][0]["sentences"]
    found = sentence["attention"]
    assert found["source_tokens"] == ["\x01", "H", "i", "\x02"]
    assert found["target_tokens"] == ["H", "I", "\x02"]
    sizes = {"encoder": (4, 4), "decoder": (3, 3), "memory": (3, 4)}
    for name, (rows, columns) in sizes.items():
        assert found[name] == [[[[1.0] + [0.0] * (columns - 1)] * rows]]
    assert sentence["alignment"]
    streamed = by_events(client, **BODY)["details"][0]["sentences"][0]
    assert streamed["attention"] == found


def test_attention_is_of_what_the_network_read(client: TestClient) -> None:
    (sentence,) = by_json(client, **{**BODY, "q": "See {a}"})["details"][0]["sentences"]
    assert "".join(sentence["attention"]["source_tokens"]) == "\x01See 40713\x02"


@pytest.mark.parametrize(
    ("text", "count"), [("Hi. Ho.", 2), ("", 0), ("1234", 0), (["Hi.", "Ho."], 2)]
)
def test_it_is_for_one_sentence(
    client: TestClient, runner: FakeRunner, text: str | list[str], count: int
) -> None:
    expected = f'details "attention" is for a text of one sentence, got {count}'
    for headers in ({}, EVENTS):
        answer = client.post("/translate", json={**BODY, "q": text}, headers=headers)
        assert (answer.status_code, answer.json()["error"]) == (422, expected)
    assert runner.admitted == []


def test_a_sentence_of_too_many_numbers_is_refused(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """16 of the encoder, 9 of the decoder and 12 of the memory."""
    monkeypatch.setattr(inspection, "MAX_PROBABILITIES", 37)
    assert client.post("/translate", json=BODY).status_code == 200
    monkeypatch.setattr(inspection, "MAX_PROBABILITIES", 36)
    assert refused(client) == (
        'details "attention" gives at most 36 numbers, and a sentence of 4 tokens whose '
        "translation has 3 needs 37"
    )


def serve(inspected: InspectedModel) -> Iterator[TestClient]:
    model = dataclasses.replace(fake_model(FakeRunner()), inspected=inspected)
    app = create_app(Settings(), [model])
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def test_a_model_too_large_to_be_loaded_again_refuses() -> None:
    for client in serve(InspectedModel(FAKE_CONFIG, None, None)):
        assert refused(client) == (
            'details must be true or false, got "attention", for which this model is too large'
        )
        assert client.post("/translate", json={**BODY, "details": True}).is_success


def test_many_that_ask_wait_for_each_other_and_the_rest_are_refused() -> None:
    """One is computed at a time, 15 wait, the others get 503; then all is as before."""
    gate, running = threading.Event(), threading.Semaphore(1)

    def slow(source: Sequence[int], target: Sequence[int]) -> AttentionTables:
        assert running.acquire(blocking=False), "two at once"
        gate.wait(timeout=60)
        running.release()
        return fake_attention(source, target)

    for client in serve(InspectedModel(FAKE_CONFIG, slow, fake_search)):
        with ThreadPoolExecutor(20) as pool:
            asked = [pool.submit(client.post, "/translate", json=BODY) for _ in range(20)]
            refusals = 0
            while refusals < 4:
                refusals = sum(future.done() for future in asked)
            plain = client.post("/translate", json={**BODY, "details": False})
            assert plain.status_code == 200
            gate.set()
        statuses = sorted(future.result().status_code for future in asked)
        assert statuses == [200] * 16 + [503] * 4
        assert client.post("/translate", json=BODY).status_code == 200


async def test_one_is_computed_at_a_time_though_clients_leave() -> None:
    gate, running, most = threading.Event(), [0], [0]

    def compute() -> None:
        running[0] += 1
        most[0] = max(most[0], running[0])
        gate.wait(timeout=60)
        running[0] -= 1

    inspector = Inspector(InspectedModel(FAKE_CONFIG, None, None), FakeTokenizer(), 10)
    for _ in range(4):
        left = asyncio.create_task(inspector._compute(compute))
        await eventually(lambda: bool(running[0]))
        left.cancel()
        await asyncio.wait({left})
    stays = asyncio.create_task(inspector._compute(compute))
    await asyncio.sleep(0)
    gate.set()
    await stays
    assert (running, most) == ([0], [1])


def test_the_steps_of_a_search_have_the_texts_of_their_tokens(
    client: TestClient, runner: FakeRunner
) -> None:
    (sentence,) = by_json(client, q="Hi", details="search")["details"][0]["sentences"]
    assert "attention" not in sentence
    found = sentence["search"]
    assert (found["beam_size"], found["path"], found["agrees"]) == (4, [0, 0, 0], True)
    first = {
        "parent": 0, "token": "H", "log_prob": -0.5, "total": -0.5, "fate": "kept", "place": 0
    }  # fmt: skip
    assert found["steps"][0]["candidates"][0] == first
    assert found["steps"][0]["likeliest"] == [[["H", 0.6], ["*", 0.2]]]
    assert found["steps"][-1]["candidates"][0]["fate"] == "ended"
    runner.garbled = {"I": "J"}
    (sentence,) = by_json(client, q="hI", details="search")["details"][0]["sentences"]
    assert sentence["search"]["agrees"] is False


def test_a_search_of_too_many_steps_is_refused_before_it_is_translated(
    client: TestClient, runner: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "MAX_CANDIDATES", 191)
    assert refused(client, details="search", beam_size=4) == (
        'details "search" gives at most 191 candidates, and a beam of 4 with up to 24 steps may '
        "need 192"
    )
    assert runner.admitted == []


def test_a_search_without_finite_scores_is_an_error_of_that_request_alone() -> None:
    def failing(source: object, max_target: int) -> Any:
        raise ValueError("the network gave no finite scores")

    for client in serve(InspectedModel(FAKE_CONFIG, fake_attention, failing)):
        answer = client.post("/translate", json={**BODY, "details": "search"})
        assert answer.json()["code"] == "internal_error"
        assert client.post("/translate", json={**BODY, "details": True}).is_success
