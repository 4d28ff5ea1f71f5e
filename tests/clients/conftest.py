"""A server with the fake model, whose translations are their sources in capitals."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model
from tests.service.served import Served, served

PAIRS = (("en", "de"), ("de", "en"), ("en", "es"), ("es", "en"), ("zh", "en"), ("en", "zh"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    runner = FakeRunner(max_source_tokens=200)
    settings = Settings(database=tmp_path_factory.mktemp("database") / "glossaries.sqlite")
    with served(create_app(settings, [fake_model(runner, pairs=PAIRS)])) as server:
        yield server
