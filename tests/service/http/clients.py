"""Clients of an app with the fake model: every way to ask for a translation, and what is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketTestSession

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model

FIELDS: dict[str, Any] = {"q": "Hi.", "source": "en", "target": "de"}
STREAM = "/translate/stream"
JSON = {"Content-Type": "application/json"}
EVENTS = {"Accept": "text/event-stream"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
Post = Callable[..., dict[str, Any]]


def client_of(runner: FakeRunner | None = None, **settings: Any) -> TestClient:
    """A client of a server with these settings, which runs while the client is entered."""
    return TestClient(create_app(Settings(**settings), [fake_model(runner or FakeRunner())]))


def routes_of(app: FastAPI) -> list[tuple[str, str]]:
    """Method and path of every route; WS for a websocket."""
    return sorted(
        (method, re.sub(r":\w+}", "}", route.path))
        for route in iter_route_contexts(app.routes)
        if route.path is not None
        for method in route.methods or {"WS"}
    )


def multipart(**parts: Any) -> dict[str, Any]:
    """For httpx's `files`: fields, and files as name and content."""
    return {name: part if isinstance(part, tuple) else (None, part) for name, part in parts.items()}


def error_members(path: str, method: str = "POST") -> set[str]:
    """The members of an error, by the method and the prefix of an API."""
    if path == "/listPairs" or (path, method) in (("/translate", "GET"), ("/translate", "HEAD")):
        return {"status", "code", "message", "explanation"}
    members = {
        ("/v2/", "/v3/"): {"message"},
        ("/v1/translate",): {"code", "message"},
        ("/v1/", "/language/", "/api/"): {"error"},
    }
    found = (names for prefixes, names in members.items() if path.startswith(prefixes))
    return next(found, {"error", "code", "request_id"})


def events_of(body: str) -> list[tuple[str, dict[str, Any]]]:
    """Every event's name and data, read by the rules of the format."""
    events = []
    for block in body.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        events.append((fields["event"], json.loads(fields["data"])))
    return events


def last_message(socket: WebSocketTestSession) -> dict[str, Any]:
    """The next message that is no token."""
    while (message := socket.receive_json())["type"] == "token":
        pass
    last: dict[str, Any] = message
    return last


def by_json(client: TestClient, **fields: Any) -> dict[str, Any]:
    response = client.post("/translate", json={**FIELDS, **fields})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def by_form(client: TestClient, **fields: Any) -> dict[str, Any]:
    answer: dict[str, Any] = client.post("/translate", data={**FIELDS, **fields}).json()
    return answer


def by_events(client: TestClient, **fields: Any) -> dict[str, Any]:
    """The final event, if the pieces join to it."""
    body = client.post("/translate", json={**FIELDS, **fields}, headers=EVENTS).text
    *tokens, (_, final) = events_of(body)
    assert "".join(data["text"] for _, data in tokens) == final["translatedText"]
    return final


def by_websocket(client: TestClient, **fields: Any) -> dict[str, Any]:
    """The final message, if the pieces join to it."""
    with client.websocket_connect(STREAM) as socket:
        socket.send_json({"id": 1, **FIELDS, **fields})
        pieces = ""
        while (message := socket.receive_json())["type"] == "token":
            pieces += message["text"]
    assert pieces == message["translatedText"]
    found: dict[str, Any] = message
    return found
