"""Limits in a real Redis, by `make redis-test`, because it needs redis-server."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from service.app import create_app
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.served import served

FIELDS = {"q": "Hi.", "source": "en", "target": "de"}


class Redis:
    """A redis-server on a free port."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        self.start()

    @property
    def url(self) -> SecretStr:
        return SecretStr(f"redis://127.0.0.1:{self.port}/0")

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self._process = subprocess.Popen(
            command, cwd=self._directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(self._is_up)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def _is_up(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Redis]:
    redis = Redis(tmp_path)
    yield redis
    redis.stop()


def statuses(url: str, count: int) -> list[int]:
    answers = [httpx.post(f"{url}/translate", json=FIELDS, timeout=60) for _ in range(count)]
    return [answer.status_code for answer in answers]


def make_app(redis: Redis, requests_per_minute: int = 4) -> object:
    settings = Settings(limits_url=redis.url, requests_per_minute=requests_per_minute)
    return create_app(settings, [fake_model(FakeRunner())])


def test_two_servers_count_together(redis: Redis) -> None:
    with served(make_app(redis)) as one, served(make_app(redis)) as other:  # type: ignore[arg-type]
        assert statuses(one.url, 2) == [200, 200]
        assert statuses(other.url, 3) == [200, 200, 429]
        answer = httpx.post(f"{one.url}/translate", json=FIELDS)
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["Retry-After"]) <= 120


def test_without_redis_each_server_counts_for_itself_and_answers(redis: Redis) -> None:
    with served(make_app(redis, 2)) as server:  # type: ignore[arg-type]
        assert statuses(server.url, 1) == [200]
        redis.stop()
        assert statuses(server.url, 3) == [200, 200, 429]
        redis.start()
        until(lambda: statuses(server.url, 1) == [200])  # the new Redis has counted nothing


def test_a_silent_redis_holds_nobody_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:  # accepts and never answers
        url = SecretStr(f"redis://127.0.0.1:{listener.getsockname()[1]}")
        settings = Settings(limits_url=url, requests_per_minute=2)
        with served(create_app(settings, [fake_model(FakeRunner())])) as server:
            assert statuses(server.url, 3) == [200, 200, 429]
