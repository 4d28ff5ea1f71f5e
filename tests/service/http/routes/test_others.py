"""Languages, probes, metrics, and what holds for every answer."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from service.http.language_names import language_name
from service.translation.dispatcher import Dispatcher


def test_languages_have_names_and_targets(client: TestClient) -> None:
    assert client.get("/languages").json() == [
        {"code": "zh", "name": "Chinese", "targets": ["en", "de"]},
        {"code": "en", "name": "English", "targets": ["zh", "de"]},
        {"code": "de", "name": "German", "targets": []},
    ]


def test_a_language_without_a_name_is_called_by_its_code() -> None:
    assert language_name("pt-BR") == "Portuguese (Brazil)"
    assert language_name("xx") == "xx"
    assert language_name("not a code") == "not a code"


def test_a_dead_engine_is_alive_but_not_ready(client: TestClient) -> None:
    paths = ["/health", "/health/live", "/health/ready"]
    assert [client.get(path).json() for path in paths] == [{"status": "ok"}] * 3
    client.app.state.server.engines["fake"].stop()
    assert [client.get(path).status_code for path in paths] == [503, 200, 503]
    assert client.get("/health/ready").json()["code"] == "not_ready"
    assert "dragoman_ready{" in client.get("/metrics").text


@pytest.mark.parametrize(
    ("given", "is_kept"), [("abc-1", True), ("a b", False), ("x" * 200, False)]
)
def test_a_sane_request_id_is_kept(client: TestClient, given: str, is_kept: bool) -> None:
    answered = client.get("/health/live", headers={"X-Request-ID": given}).headers["X-Request-ID"]
    assert (answered == given) is is_kept
    assert answered


def test_unknown_paths_and_methods_have_the_same_error_body(client: TestClient) -> None:
    missing, wrong = client.get("/nowhere"), client.get("/translate")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method_not_allowed")
    assert "POST" in wrong.headers["Allow"]


def test_what_nobody_foresaw_is_a_500_without_a_trace(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def explode(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(Dispatcher, "route", explode)
    response = client.post("/translate", json={"q": "a", "source": "en", "target": "de"})
    assert response.status_code == 500
    assert response.json()["code"] == "internal_error"
    assert response.json()["request_id"] == response.headers["X-Request-ID"]
    assert "secret" not in response.text


def test_metrics_count_outcomes_and_never_name_unknown_paths(client: TestClient) -> None:
    client.post("/translate", json={"q": "hi.", "source": "en", "target": "de"})
    client.post("/translate", json={"q": "x" * 1001, "source": "en", "target": "de"})
    client.get("/private/words")
    text = client.get("/metrics").text
    for line in (
        'dragoman_requests_total{endpoint="/translate",outcome="ok"} 1.0',
        'dragoman_requests_total{endpoint="/translate",outcome="rejected"} 1.0',
        'dragoman_requests_total{endpoint="other",outcome="client_error"} 1.0',
        'dragoman_rejected_total{reason="text_too_long"} 1.0',
        'dragoman_finished_total{finish_reason="stop",model="fake"} 1.0',
        'dragoman_source_tokens_total{model="fake"} 5.0',
        'dragoman_target_tokens_total{model="fake"} 4.0',
        'dragoman_ready{model="fake"} 1.0',
    ):
        assert line in text
    assert "private" not in text
    for name in ("queue_wait", "decode_step", "request", "model_load"):
        assert f"dragoman_{name}_seconds" in text
