"""details: "attention" gives a student every layer and head of one sentence, within bounds."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient

from model.decoding.sentence import AttentionTables
from service.app import create_app
from service.settings import Settings
from service.translation import inspection
from service.translation.inspection import InspectedModel
from tests.service.fakes import FAKE_CONFIG, FakeRunner, fake_attention, fake_model, fake_search

BODY: dict[str, Any] = {"source": "en", "target": "de", "details": "attention"}


def refused(client: TestClient, **fields: Any) -> str:
    answer = client.post("/translate", json={**BODY, **fields})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_field")
    return str(answer.json()["error"])


def test_the_attention_of_a_sentence_has_rows_and_columns_with_names(client: TestClient) -> None:
    answer = client.post("/translate", json={**BODY, "q": "Hi"}).json()
    (sentence,) = answer["details"][0]["sentences"]
    found = sentence["attention"]
    assert found["source_tokens"] == ["\x01", "H", "i", "\x02"]
    assert found["target_tokens"] == ["H", "I", "\x02"]
    sizes = {"encoder": (4, 4), "decoder": (3, 3), "memory": (3, 4)}
    for name, (rows, columns) in sizes.items():
        assert found[name] == [[[[1.0] + [0.0] * (columns - 1)] * rows]]
    assert sentence["alignment"]


def test_a_stream_gives_it_in_its_last_message(client: TestClient) -> None:
    headers = {"accept": "text/event-stream"}
    streamed = client.post("/translate", json={**BODY, "q": "Hi"}, headers=headers)
    final = json.loads(streamed.text.split("data: ")[-1])
    assert len(final["details"][0]["sentences"][0]["attention"]["memory"][0][0]) == 3


@pytest.mark.parametrize(
    ("text", "count"), [("Hi. Ho.", 2), ("", 0), ("1234", 0), (["Hi.", "Ho."], 2)]
)
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_it_is_for_one_sentence(
    client: TestClient, runner: FakeRunner, text: str | list[str], count: int, accept: str
) -> None:
    answer = client.post("/translate", json={**BODY, "q": text}, headers={"accept": accept})
    expected = f'details "attention" is for a text of one sentence, got {count}'
    assert (answer.status_code, answer.json()["error"]) == (422, expected)
    assert runner.admitted == []


def test_a_sentence_of_too_many_numbers_is_refused(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """16 of the encoder, 9 of the decoder and 12 of the memory."""
    monkeypatch.setattr(inspection, "MAX_ENTRIES", 37)
    assert client.post("/translate", json={**BODY, "q": "Hi"}).status_code == 200
    monkeypatch.setattr(inspection, "MAX_ENTRIES", 36)
    assert refused(client, q="Hi") == (
        'details "attention" gives at most 36 numbers, and a sentence of 4 tokens whose '
        "translation has 3 needs 37"
    )


def serve(inspected: InspectedModel) -> Iterator[TestClient]:
    model = dataclasses.replace(fake_model(FakeRunner()), inspected=inspected)
    with TestClient(create_app(Settings(), [model])) as client:
        yield client


def test_a_model_too_large_to_be_loaded_again_refuses() -> None:
    for client in serve(InspectedModel(FAKE_CONFIG, None, None)):
        assert refused(client, q="Hi") == (
            'details must be true or false, got "attention", for which this model is too large'
        )
        assert client.post("/translate", json={**BODY, "q": "Hi", "details": True}).is_success


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
            asked = [
                pool.submit(client.post, "/translate", json={**BODY, "q": "Hi"}) for _ in range(20)
            ]
            refusals = 0
            while refusals < 4:
                refusals = sum(future.done() for future in asked)
            plain = client.post("/translate", json={**BODY, "q": "Hi", "details": False})
            assert plain.status_code == 200
            gate.set()
        statuses = sorted(future.result().status_code for future in asked)
        assert statuses == [200] * 16 + [503] * 4
        assert client.post("/translate", json={**BODY, "q": "Hi"}).status_code == 200
