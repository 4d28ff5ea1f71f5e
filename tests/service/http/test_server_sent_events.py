"""POST /translate with Accept: text/event-stream."""

from __future__ import annotations

import json
from typing import Any

from fastapi.testclient import TestClient

from tests.service.fakes import FakeRunner, until

HEADERS = {"Accept": "text/event-stream"}


def events_of(body: str) -> list[tuple[str, dict[str, Any]]]:
    """Every event's name and data, read by the rules of the format."""
    events = []
    for block in body.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        events.append((fields["event"], json.loads(fields["data"])))
    return events


def test_pieces_join_to_the_final_text(client: TestClient) -> None:
    q = "one two. three\n\n four! 😀"
    response = client.post(
        "/translate",
        json={"q": q, "source": "en", "target": "de", "beam_size": 1},
        headers=HEADERS,
    )
    assert response.headers["content-type"].startswith("text/event-stream")
    events = events_of(response.text)
    assert [name for name, _ in events[:-1]] == ["token"] * (len(events) - 1)
    name, final = events[-1]
    assert name == final["type"] == "final"
    assert final["translatedText"] == q.upper()
    assert "".join(data["text"] for _, data in events[:-1]) == q.upper()
    assert len(events) > 5


def test_the_final_event_has_what_the_plain_answer_has(client: TestClient) -> None:
    fields = {"q": ["ab", "", "cd. ef"], "source": "en", "target": "de", "details": True}
    plain = client.post("/translate", json=fields).json()
    events = events_of(client.post("/translate", json=fields, headers=HEADERS).text)
    final = {k: v for k, v in events[-1][1].items() if k != "type"}
    for answer in (plain, final):
        for text in answer["details"]:
            for sentence in text["sentences"]:
                assert set(sentence.pop("times_ms")) == {"queue", "encode", "decode"}
    assert final == plain
    for index, text in enumerate(plain["translatedText"]):
        pieces = [d["text"] for _, d in events[:-1] if d["index"] == index]
        assert "".join(pieces) == text


def test_what_is_wrong_at_once_is_an_ordinary_error(client: TestClient) -> None:
    response = client.post(
        "/translate", json={"q": "a", "source": "en", "target": "xx"}, headers=HEADERS
    )
    assert response.status_code == 400
    assert response.json()["code"] == "unsupported_language"


def test_a_sentence_that_fails_ends_the_stream_with_an_error_event(
    client: TestClient, runner: FakeRunner
) -> None:
    runner.poison = ord("b")
    response = client.post(
        "/translate",
        json={"q": "good. bad day.", "source": "en", "target": "de"},
        headers=HEADERS,
    )
    name, data = events_of(response.text)[-1]
    assert (name, data["code"]) == ("error", "translation_failed")
    until(lambda: runner.num_free_slots == runner.max_slots)
