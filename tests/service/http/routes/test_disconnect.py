"""A client that leaves: its work ends with it, and nothing else does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fastapi import Request

from service.app import create_app
from service.errors import ClientGone
from service.http.translations import until_disconnected
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model


def test_a_client_that_hangs_up_frees_its_slot() -> None:
    async def scenario() -> None:
        runner = FakeRunner()
        runner.gate.clear()
        app = create_app(Settings(), [fake_model(runner)])
        body = json.dumps({"q": "x" * 30, "source": "en", "target": "de"}).encode()
        messages: list[dict[str, Any]] = [{"type": "http.request", "body": body}]
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/translate",
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
        }

        async def receive() -> dict[str, Any]:
            if messages:
                return messages.pop()
            while not runner.is_stepping.is_set():
                await asyncio.sleep(0.001)
            return {"type": "http.disconnect"}

        async def send(_: Any) -> None:
            pass

        async with app.router.lifespan_context(app):
            await asyncio.wait_for(app(scope, receive, send), timeout=60)
            runner.gate.set()
            while runner.num_free_slots < runner.max_slots:
                await asyncio.sleep(0.001)
            assert runner.num_steps <= 2
        exported = app.state.server.metrics.render().decode()
        assert 'endpoint="/translate",outcome="cancelled"} 1.0' in exported
        assert 'finish_reason="cancelled",model="fake"} 1.0' in exported

    asyncio.run(scenario())


def request_that(receive: Callable[[], Awaitable[dict[str, Any]]]) -> Request:
    return Request({"type": "http"}, receive)


async def hang_up() -> dict[str, Any]:
    return {"type": "http.disconnect"}


async def break_down() -> dict[str, Any]:
    raise RuntimeError("the connection is broken")


async def stay() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


async def num_other_tasks() -> int:
    """Once every task that was cancelled has ended."""
    await asyncio.sleep(0)
    return len(asyncio.all_tasks()) - 1


@pytest.mark.parametrize("leave", [hang_up, break_down])
def test_work_ends_with_the_client_and_the_task_goes_on(
    leave: Callable[[], Awaitable[dict[str, Any]]],
) -> None:
    async def scenario() -> None:
        with pytest.raises(ClientGone):
            await until_disconnected(request_that(leave), asyncio.Event().wait())
        async with asyncio.timeout(60):
            assert await num_other_tasks() == 0
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    asyncio.run(scenario())


@pytest.mark.parametrize("is_client_gone_too", [False, True])
def test_a_cancellation_from_outside_stays_one(is_client_gone_too: bool) -> None:
    async def scenario() -> None:
        leaving = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await leaving.wait()
            return await hang_up()

        request = request_that(receive)
        task = asyncio.ensure_future(until_disconnected(request, asyncio.Event().wait()))
        await asyncio.sleep(0.001)
        if is_client_gone_too:
            leaving.set()
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await num_other_tasks() == 0

    asyncio.run(scenario())
