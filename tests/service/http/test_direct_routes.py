"""POST /translate skips the router; what the router does for it stays."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model

FIELDS = {"q": "Hi.", "source": "en", "target": "de"}


@pytest.fixture
def short() -> TestClient:
    """A server that takes texts of at most five characters."""
    return TestClient(create_app(Settings(max_characters=5), [fake_model(FakeRunner())]))


def test_a_post_never_meets_the_router(short: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    with short:

        async def fail(*_: object) -> None:
            raise AssertionError("the router was called")

        monkeypatch.setattr("starlette.routing.Route.handle", fail)
        assert short.post("/translate", json=FIELDS).json() == {"translatedText": "HI."}


def test_a_refused_post_is_counted_once(short: TestClient) -> None:
    with short:
        answer = short.post("/translate", json={**FIELDS, "q": "Hello."})
        assert (answer.status_code, answer.json()["code"]) == (413, "text_too_long")
        lines = short.get("/metrics").text.splitlines()
    assert 'dragoman_rejected_total{reason="text_too_long"} 1.0' in lines
    assert 'dragoman_requests_total{endpoint="/translate",outcome="rejected"} 1.0' in lines


def test_other_methods_of_the_path_still_meet_the_router(short: TestClient) -> None:
    with short:
        answer = short.get("/translate")
        assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
        preflight = short.options("/translate")
        assert preflight.status_code == 405


def test_an_unforeseen_error_is_answered_once(
    short: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("nobody knows")

    with short:
        monkeypatch.setattr("service.suggestions.SuggestedTranslations.translate", fail)
        answer = short.post("/translate", json=FIELDS)
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "nobody" not in answer.text
