"""Profiles of hypothesis: a few examples in every test run, more with
`pytest tests/fuzz --hypothesis-profile fuzz`, as many as DRAGOMAN_FUZZ_EXAMPLES says."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.fuzz.tiny_server import tiny_server
from tests.service.served import Served

_ALL = list(HealthCheck)
MOST_CHARACTERS = 100_000
settings.register_profile(
    "fuzz",
    max_examples=int(os.environ.get("DRAGOMAN_FUZZ_EXAMPLES", "2000")),
    deadline=None,
    suppress_health_check=_ALL,
    print_blob=True,
)
settings.register_profile(
    "few", max_examples=10, deadline=None, suppress_health_check=_ALL, derandomize=True
)


@pytest.fixture(scope="session")
def fuzz_profile(request: pytest.FixtureRequest) -> settings:
    """The profile that was asked for on the command line, else a few fixed examples."""
    is_asked = request.config.getoption("--hypothesis-profile", None)
    return settings.get_profile(is_asked or "few")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Tiny models, small messages, few requests of a websocket."""
    scratch = tmp_path_factory.mktemp("tiny")
    with tiny_server(
        scratch,
        database=scratch / "server.db",
        max_characters=MOST_CHARACTERS,
        max_body_bytes=1_048_576,
        max_streams=4,
    ) as server:
        yield server
