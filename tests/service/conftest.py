"""A fake runner, and a client of an app that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.engine.sentence_engine import AwaitedRequest
from service.engine.sentence_task import (
    SentenceOutcome,
    SentenceTask,
    expected_work,
)
from service.settings import Settings
from service.stores.keys import KeyStore
from tests.service.fakes import Clock, FakeRunner, fake_model, sentence

MakeTasks = Callable[..., list[SentenceTask]]


@pytest.fixture
def tasks_of() -> Iterator[MakeTasks]:
    """Makes the tasks of a request: a sentence for each beam size."""
    loop = asyncio.new_event_loop()

    def make(*beam_sizes: int, arrived: float = 0.0) -> list[SentenceTask]:
        sentences = [sentence("a", beam_size=size) for size in beam_sizes]
        future: asyncio.Future[list[SentenceOutcome]] = loop.create_future()
        work = sum(map(expected_work, sentences))
        request = AwaitedRequest(future, arrived, len(sentences), work)
        return [SentenceTask(one, request) for one in sentences]

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


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KeyStore]:
    """Another process's connection to the server's database."""
    with closing(KeyStore(tmp_path / "server.db")) as store:
        yield store
