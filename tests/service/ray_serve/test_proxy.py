"""ErrorForm around stand-ins for Ray's proxy, which answer as it does by itself."""

from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from service.ray_serve.proxy import ErrorForm

ID = "given-by-the-client"


async def lost(scope: Scope, receive: Receive, send: Send) -> None:
    """The replica has died before it answered."""


async def lost_in_a_stream(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    body = b'event: token\ndata: {"text": "a"}\n\n'
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def lost_on_a_websocket(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.accept"})


def saying(status: int, headers: dict[str, str] | None = None) -> ASGIApp:
    return PlainTextResponse("Ray's own words", status, headers)


def client_of(app: ASGIApp) -> TestClient:
    return TestClient(ErrorForm(app), headers={"X-Request-ID": ID})


@pytest.mark.parametrize(
    ("app", "status", "code", "retry_after"),
    [
        (lost, 502, "replica_lost", "1"),
        (saying(503, {"Retry-After": "1"}), 503, "overloaded", "1"),
        (saying(503), 503, "not_ready", "5"),
        (saying(408), 504, "deadline", None),
    ],
)
def test_what_ray_says_has_the_form_of_our_errors(
    app: ASGIApp, status: int, code: str, retry_after: str | None
) -> None:
    answer = client_of(app).post("/translate")
    assert answer.status_code == status
    assert answer.headers.get("Retry-After") == retry_after
    assert answer.headers.get_list("X-Request-ID") == [ID]
    body = answer.json()
    assert (body["code"], body["request_id"]) == (code, ID)
    assert "Ray's own words" not in body["error"]


@pytest.mark.parametrize(
    ("path", "members"),
    [("/v2/translate", {"message"}), ("/language/translate/v2", {"error"})],
)
def test_what_ray_says_has_the_form_of_the_paths_api(path: str, members: set[str]) -> None:
    answer = client_of(saying(503, {"Retry-After": "1"})).post(path)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert answer.json().keys() == members


@pytest.mark.parametrize(
    "app",
    [
        JSONResponse({"error": "q is missing"}, 422),
        JSONResponse({"error": "full"}, 503, {"Retry-After": "1"}),
        PlainTextResponse("eine Übersetzung"),
    ],
)
def test_what_a_replica_says_goes_through_as_it_is(app: JSONResponse | PlainTextResponse) -> None:
    answer = client_of(app).post("/translate")
    assert (answer.status_code, answer.content) == (app.status_code, app.body)
    assert answer.headers.get("Retry-After") == app.headers.get("Retry-After")


def test_a_stream_whose_replica_is_lost_ends_with_an_error_event() -> None:
    events = client_of(lost_in_a_stream).post("/translate").text.strip().split("\n\n")
    assert events[0].startswith("event: token")
    kind, data = events[1].splitlines()
    assert kind == "event: error"
    assert json.loads(data.removeprefix("data: "))["code"] == "replica_lost"
    assert len(events) == 2


def test_a_websocket_whose_replica_is_lost_is_closed_so_that_the_client_comes_again() -> None:
    with (
        client_of(lost_on_a_websocket).websocket_connect("/translate/stream") as socket,
        pytest.raises(WebSocketDisconnect) as closed,
    ):
        socket.receive_json()
    assert closed.value.code == 1012
