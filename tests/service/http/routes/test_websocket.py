"""The websocket: many requests on one connection."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketTestSession

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model, until

PATH = "/translate/stream"


def ask(socket: WebSocketTestSession, request_id: str | int, q: str, **fields: Any) -> None:
    socket.send_json({"id": request_id, "q": q, "source": "en", "target": "de", **fields})


def answer(socket: WebSocketTestSession, request_id: str | int) -> list[dict[str, Any]]:
    """All messages up to the end of this request; it must be the only one in progress."""
    messages = []
    while True:
        messages.append(socket.receive_json())
        assert messages[-1]["id"] == request_id
        if messages[-1]["type"] != "token":
            return messages


def test_pieces_join_to_the_final_text(client: TestClient) -> None:
    with client.websocket_connect(PATH) as socket:
        ask(socket, "a", "one two. three", beam_size=1)
        *tokens, final = answer(socket, "a")
        assert final["type"] == "final"
        assert final["translatedText"] == "ONE TWO. THREE"
        assert "".join(token["text"] for token in tokens) == "ONE TWO. THREE"
        assert {token["segment"] for token in tokens} == {0, 1}


def test_requests_on_one_connection_are_told_apart_and_a_short_one_overtakes(
    client: TestClient, runner: FakeRunner
) -> None:
    runner.gate.clear()
    with client.websocket_connect(PATH) as socket:
        ask(socket, "long", "x" * 30, beam_size=1)
        until(runner.is_stepping.is_set)
        ask(socket, 7, "y", beam_size=1)
        until(lambda: 'dragoman_waiting{model="fake"} 1.0' in client.get("/metrics").text)
        runner.gate.set()
        texts: dict[str | int, str] = {"long": "", 7: ""}
        finals = []
        while len(finals) < 2:
            message = socket.receive_json()
            if message["type"] == "token":
                texts[message["id"]] += message["text"]
            else:
                finals.append(message["id"])
    assert texts == {"long": "X" * 30, 7: "Y"}
    assert finals == [7, "long"]


def test_a_cancelled_request_says_so_and_frees_its_slot(
    client: TestClient, runner: FakeRunner
) -> None:
    runner.gate.clear()
    with client.websocket_connect(PATH) as socket:
        ask(socket, "a", "x" * 30, beam_size=1)
        until(runner.is_stepping.is_set)
        socket.send_json({"id": "a", "cancel": True})
        assert answer(socket, "a")[-1]["code"] == "cancelled"
        runner.gate.set()
        until(lambda: runner.num_free_slots == runner.max_slots)
        ask(socket, "a", "again", beam_size=1)
        assert answer(socket, "a")[-1]["translatedText"] == "AGAIN"


def test_leaving_frees_everything(client: TestClient, runner: FakeRunner) -> None:
    runner.gate.clear()
    with client.websocket_connect(PATH) as socket:
        for number in range(6):
            ask(socket, number, "x" * 30)
        until(runner.is_stepping.is_set)
    runner.gate.set()
    until(lambda: runner.num_free_slots == runner.max_slots)
    assert "dragoman_open_streams 0.0" in client.get("/metrics").text


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", "invalid_json"),
        ('"text"', "invalid_message"),
        ('{"id": 1.5, "q": "a", "source": "en", "target": "de"}', "invalid_message"),
        ('{"id": "a"}', "missing_field"),
        ('{"id": "a", "q": "b", "source": "en", "target": "xx"}', "unsupported_language"),
    ],
)
def test_a_bad_message_is_answered_and_the_connection_goes_on(
    client: TestClient, message: str | bytes, code: str
) -> None:
    with client.websocket_connect(PATH) as socket:
        if isinstance(message, bytes):
            socket.send_bytes(message)
        else:
            socket.send_text(message)
        error = socket.receive_json()
        assert (error["type"], error["code"]) == ("error", code)
        assert error["error"]
        ask(socket, "next", "fine")
        assert answer(socket, "next")[-1]["translatedText"] == "FINE"


def test_an_id_in_progress_cannot_be_used_again(client: TestClient, runner: FakeRunner) -> None:
    runner.gate.clear()
    with client.websocket_connect(PATH) as socket:
        ask(socket, "a", "xx", beam_size=1)
        ask(socket, "a", "yy", beam_size=1)
        assert socket.receive_json()["code"] == "duplicate_id"
        runner.gate.set()
        assert answer(socket, "a")[-1]["translatedText"] == "XX"


def test_too_many_requests_an_oversize_message_and_silence_end_as_documented() -> None:
    runner = FakeRunner()
    settings = Settings(max_streams=2, max_body_bytes=1024, stream_idle_seconds=1.0)
    with TestClient(create_app(settings, [fake_model(runner)])) as client:
        with client.websocket_connect(PATH) as socket:
            runner.gate.clear()
            for number in range(3):
                ask(socket, number, "x")
            assert socket.receive_json()["code"] == "too_many_streams"
            runner.gate.set()
        with client.websocket_connect(PATH) as socket:
            socket.send_text("x" * 2000)
            assert socket.receive()["code"] == 1009
        with client.websocket_connect(PATH) as socket:
            assert socket.receive()["code"] == 1001
