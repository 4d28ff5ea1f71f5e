"""Servers with keys and limits, a real port, and the fake model."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from service.app import create_app
from service.settings import Settings
from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.service.fakes import FakeRunner, fake_model
from tests.service.served import Served, served

FIELDS = {"q": "Hi.", "source": "en", "target": "de"}
PAIRS = (("en", "de"), ("de", "en"))
Serve = Callable[..., Served]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[KeyStore]:
    """Another process's connection to the server's database."""
    with closing(KeyStore(tmp_path / "server.db")) as store:
        yield store


@pytest.fixture
def make_key(store: KeyStore) -> Callable[..., str]:
    """Store a key with these options -> the key as it is written."""
    return lambda **options: store.create(KeyOptions(**options))[0]


@pytest.fixture
def serve(tmp_path: Path, runner: FakeRunner) -> Iterator[Serve]:
    """Start a server with these settings."""
    with contextlib.ExitStack() as servers:

        def start(
            trusted_proxies: tuple[str, ...] = (),
            **settings: Any,
        ) -> Served:
            given = Settings(database=tmp_path / "server.db", **settings)
            app = create_app(given, [fake_model(runner, pairs=PAIRS)])
            return servers.enter_context(served(app, trusted_proxies))

        yield start
