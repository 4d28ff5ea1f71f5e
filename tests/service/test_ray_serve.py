"""Ray Serve: a deployment's settings, its proxy's errors, and replicas that stop or are counted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from service.app import create_app
from service.observability.merging import labelled
from service.observability.metrics import Metrics
from service.ray_serve.draining import DrainingWebsockets
from service.ray_serve.proxy import ErrorForm
from service.ray_serve.settings import read_arguments
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.http.clients import FIELDS, STREAM, by_json, last_message

ID = "given-by-the-client"


def test_arguments_win_over_the_environment_and_both_over_defaults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DRAGOMAN_REPLICAS", "2")
    monkeypatch.setenv("DRAGOMAN_MAX_SLOTS", "8")
    assert read_arguments({}).replicas == 2
    settings = read_arguments({"replicas": "3", "model": "a,b"})
    assert (settings.replicas, settings.max_slots) == (3, 8)
    assert settings.model == (Path("a"), Path("b"))


def test_a_replica_has_the_servers_settings_and_its_share_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DRAGOMAN_MAX_TEXTS", "5")
    own = read_arguments({"cpus": "2.5", "max_slots": "8"}).of_one_replica()
    assert (own.max_texts, own.max_slots) == (5, 8)
    assert (own.device, own.threads) == ("cpu", 3)
    assert read_arguments({"cpus": "4", "threads": "1"}).of_one_replica().threads == 1


@pytest.mark.parametrize(
    ("given", "device", "share"),
    [
        ({}, "cpu", 1.0),
        ({"gpus": "0.5"}, "cuda", 0.5),
        ({"gpus": "0.5", "gpu_share": "0.2"}, "cuda", 0.2),
        ({"gpus": "1"}, "cuda", 1.0),
        ({"gpus": "1", "device": "cpu"}, "cpu", 1.0),
        ({"gpus": "2"}, "cuda:0,1", 1.0),
    ],
)
def test_a_replica_computes_on_all_its_gpus_and_keeps_to_its_part_of_one(
    given: dict[str, str], device: str, share: float
) -> None:
    replica = read_arguments(given).of_one_replica()
    assert (replica.device, replica.gpu_share) == (device, share)


def test_each_gpu_of_a_replica_brings_its_slots() -> None:
    two, one = read_arguments({"gpus": "2"}), read_arguments({"gpus": "1"})
    assert two.max_ongoing_requests - one.max_ongoing_requests == 1024 * len(two.model)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"replicas": "0"}, ["replicas", "1", "'0'"]),
        ({"replicas": "3", "max_replicas": "2"}, ["max_replicas", "3", "2"]),
        ({"gpus": "1.5"}, ["gpus", "1.5"]),
        ({"device": "cuda"}, ["cuda", "gpus"]),
        ({"slots": "3"}, ["slots is no setting", "max_slots"]),
        ({"port": "80"}, ["port", "http_options"]),
    ],
)
def test_wrong_arguments_are_one_sentence_with_what_was_got(
    wrong: dict[str, str], told: list[str]
) -> None:
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z") as caught:
        read_arguments(wrong)
    assert all(word in str(caught.value) for word in told)


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
def test_what_ray_says_has_the_form_of_our_errors_and_of_the_paths_api(
    app: ASGIApp, status: int, code: str, retry_after: str | None
) -> None:
    answer = client_of(app).post("/translate")
    assert answer.status_code == status
    assert answer.headers.get("Retry-After") == retry_after
    assert answer.headers.get_list("X-Request-ID") == [ID]
    body = answer.json()
    assert (body["code"], body["request_id"]) == (code, ID)
    assert "Ray's own words" not in body["error"]
    assert client_of(app).post("/v2/translate").json().keys() == {"message"}


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


def test_a_websocket_is_closed_when_the_server_leaves_and_its_work_is_done() -> None:
    runner, is_leaving = FakeRunner(), asyncio.Event()
    app = create_app(Settings(), [fake_model(runner)])
    app.add_middleware(DrainingWebsockets, is_leaving=is_leaving)
    with TestClient(app) as client, client.websocket_connect(STREAM) as socket:
        assert client.portal is not None
        runner.gate.clear()
        socket.send_json({"id": 1, **FIELDS})
        assert runner.is_stepping.wait(60)
        client.portal.call(is_leaving.set)
        runner.gate.set()
        assert last_message(socket)["translatedText"] == "HI."
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 1012
        until(lambda: "dragoman_open_streams 0.0" in client.get("/metrics").text)
        assert by_json(client) == {"translatedText": "HI."}  # over HTTP requests are still taken


def counted(requests: int) -> Metrics:
    metrics = Metrics()
    for _ in range(requests):
        metrics.count_request("/translate", "ok", 0.1)
    return metrics


def test_one_page_has_every_series_of_every_replica_and_describes_each_metric_once() -> None:
    replicas = {"a": counted(2), "b": counted(3)}
    collected = {name: metrics.registry.collect() for name, metrics in replicas.items()}
    page = labelled({**collected, "of another version": []}).decode()
    assert len(set(page.splitlines())) == len(page.splitlines())
    assert page.count("# TYPE dragoman_requests_total counter") == 1
    for name, metrics in replicas.items():
        for line in metrics.render().decode().splitlines():
            if line.startswith("dragoman_requests_total"):
                assert line.replace("}", f',replica="{name}"' + "}") in page
        own = list(text_string_to_metric_families(metrics.render().decode()))
        samples = {s.name for family in own for s in family.samples}
        seen = text_string_to_metric_families(page)
        assert samples == {s.name for f in seen for s in f.samples if s.labels["replica"] == name}
