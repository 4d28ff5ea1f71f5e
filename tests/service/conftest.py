"""A fake runner and a client of an app that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.engine.sentence_task import EngineRequest, SentenceOutcome
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model, sentence

MakeRequest = Callable[..., EngineRequest]


@pytest.fixture
def request_of() -> Iterator[MakeRequest]:
    """Makes requests of one sequence for each beam size."""
    loop = asyncio.new_event_loop()

    def make(*beam_sizes: int) -> EngineRequest:
        future: asyncio.Future[list[SentenceOutcome]] = loop.create_future()
        request = EngineRequest(future, 0.0, len(beam_sizes))
        request.add([sentence("a", beam_size=size) for size in beam_sizes])
        return request

    yield make
    loop.close()


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def client(runner: FakeRunner) -> Iterator[TestClient]:
    """A server with small limits, started and stopped around the test."""
    settings = Settings(
        max_characters=1000,
        max_texts=5,
        max_waiting_sentences=50,
        max_document_bytes=1_050_000,
        max_document_characters=2000,
    )
    with TestClient(create_app(settings, [fake_model(runner)])) as client:
        yield client
