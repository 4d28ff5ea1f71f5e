"""A replica that stops ends its websockets after their work."""

from __future__ import annotations

import asyncio

import pytest
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from service.app import create_app
from service.ray_serve.draining import DrainingWebsockets
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model, until

STREAM = "/translate/stream"


def test_a_websocket_is_closed_when_the_server_leaves_and_its_work_is_done() -> None:
    runner = FakeRunner()
    app = create_app(Settings(), [fake_model(runner)])
    is_leaving = asyncio.Event()
    app.add_middleware(DrainingWebsockets, is_leaving=is_leaving)
    with TestClient(app) as client, client.websocket_connect(STREAM) as socket:
        assert client.portal is not None
        runner.gate.clear()
        socket.send_json({"id": 1, "q": "hello", "source": "en", "target": "de"})
        assert runner.is_stepping.wait(60)
        client.portal.call(is_leaving.set)
        runner.gate.set()
        while (message := socket.receive_json())["type"] == "token":
            pass
        assert message["translatedText"] == "HELLO"
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 1012
        until(lambda: "dragoman_open_streams 0.0" in client.get("/metrics").text)


def test_requests_over_http_are_still_taken() -> None:
    app = create_app(Settings(), [fake_model(FakeRunner())])
    is_leaving = asyncio.Event()
    is_leaving.set()
    app.add_middleware(DrainingWebsockets, is_leaving=is_leaving)
    with TestClient(app) as client:
        body = {"q": "hello", "source": "en", "target": "de"}
        assert client.post("/translate", json=body).json() == {"translatedText": "HELLO"}
