"""The bundled models, loaded once: in a server, behind a test client, and without a server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from model.checkpoint.bundled import bundled_checkpoint
from service.app import create_app
from service.models.loading import load_models
from service.models.store import ModelStore
from service.offline import OfflineOptions, OfflineTranslator
from service.settings import BUNDLED, Settings
from service.translation.job import TextFormat, TranslationJob
from service.translation.results import TranslationResult
from tests.service.served import Served, served

SETTINGS = Settings(device="cpu")


@pytest.fixture(scope="session")
def server() -> Iterator[Served]:
    with served(create_app(SETTINGS, load_models(SETTINGS))) as server:
        yield server


@pytest.fixture(scope="session")
def client() -> Iterator[TestClient]:
    with TestClient(create_app(SETTINGS, load_models(SETTINGS))) as client:
        yield client


@pytest.fixture(scope="session")
def translator() -> Iterator[OfflineTranslator]:
    options = OfflineOptions("cpu", "int8", max_slots=16, max_beam_size=16)
    with OfflineTranslator(BUNDLED, options) as translator:
        yield translator


def run(translator: OfflineTranslator, job: TranslationJob) -> list[TranslationResult]:
    """The results of one job."""
    return translator.submit(lambda dispatcher: dispatcher.translate(job)).result()


def translate(
    translator: OfflineTranslator,
    text: str,
    source: str,
    target: str,
    text_format: TextFormat = "text",
) -> str:
    """The translation of one text."""
    (result,) = run(translator, TranslationJob([text], source, target, format=text_format))
    return result.text


def put_bundled(store: ModelStore, name: str) -> None:
    """Put a bundled model into a store, or a new version of it."""
    with store.scratch() as scratch:
        store.put(Path(shutil.copytree(bundled_checkpoint(name), scratch / "checkpoint")))


def streamed(client: TestClient, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The pieces of a stream of events together, and its last message."""
    answer = client.post("/translate", json=fields, headers={"Accept": "text/event-stream"})
    lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
    *pieces, last = (json.loads(line.removeprefix("data: ")) for line in lines)
    return "".join(piece["text"] for piece in pieces), last


def ask(client: TestClient, **fields: Any) -> Any:
    """POST /translate -> its answer, which is no refusal."""
    answer = client.post("/translate", json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()
