from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def client(runner: FakeRunner) -> Iterator[TestClient]:
    """A server with small limits, started and stopped around the test."""
    settings = Settings(max_characters=1000, max_texts=5, max_waiting_sentences=50)
    with TestClient(create_app(settings, [fake_model(runner)])) as client:
        yield client
