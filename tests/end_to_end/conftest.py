"""The bundled models, loaded once: in a server, behind a test client, and without a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from service.app import create_app
from service.loading import load_models
from service.offline import OfflineOptions, OfflineTranslator
from service.settings import BUNDLED, Settings
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
