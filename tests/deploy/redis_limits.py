"""Limits in a real Redis, by `make redis-test`, because it needs redis-server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from service.app import create_app
from service.commons import windows
from service.commons.windows import MinuteWindows
from service.settings import Settings
from tests.end_to_end.process import free_port, is_up
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.served import Served, served

FIELDS = {"q": "Hi.", "source": "en", "target": "de"}


@contextlib.contextmanager
def redis(port: int, directory: Path) -> Iterator[None]:
    """A redis-server on the port."""
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL)
    try:
        until(lambda: is_up(port))
        yield
    finally:
        process.kill()
        process.wait()


def server(redis_port: int, requests_per_minute: int) -> AbstractContextManager[Served]:
    url = SecretStr(f"redis://127.0.0.1:{redis_port}/0")
    settings = Settings(limits_url=url, requests_per_minute=requests_per_minute)
    return served(create_app(settings, [fake_model(FakeRunner())]))


def statuses(url: str, count: int) -> list[int]:
    answers = [httpx.post(f"{url}/translate", json=FIELDS, timeout=60) for _ in range(count)]
    return [answer.status_code for answer in answers]


def test_two_servers_count_together(tmp_path: Path) -> None:
    port = free_port()
    with redis(port, tmp_path), server(port, 4) as one, server(port, 4) as other:
        assert statuses(one.url, 2) == [200, 200]
        assert statuses(other.url, 3) == [200, 200, 429]
        answer = httpx.post(f"{one.url}/translate", json=FIELDS)
        assert answer.status_code == 429
        assert 1 <= int(answer.headers["Retry-After"]) <= 120


async def test_more_requests_at_once_than_connections_are_counted_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(windows, "_REDIS_SECONDS", 30)  # for slow machines
    port = free_port()
    with redis(port, tmp_path):
        both = [MinuteWindows(f"redis://127.0.0.1:{port}/0") for _ in range(2)]
        counted = [one.count("a", 300) for one in both for _ in range(250)]
        assert (await asyncio.gather(*counted)).count(None) == 300
        for one in both:
            await one.close()


def test_without_redis_each_server_counts_for_itself_and_answers(tmp_path: Path) -> None:
    port = free_port()
    with contextlib.ExitStack() as stack:
        with redis(port, tmp_path):
            url = stack.enter_context(server(port, 2)).url
            assert statuses(url, 1) == [200]
        assert statuses(url, 3) == [200, 200, 429]
        with redis(port, tmp_path):
            until(lambda: statuses(url, 1) == [200])  # the new Redis has counted nothing


def test_a_silent_redis_holds_nobody_up() -> None:
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))  # never answers
        alone = stack.enter_context(server(listener.getsockname()[1], 2))
        assert statuses(alone.url, 3) == [200, 200, 429]
