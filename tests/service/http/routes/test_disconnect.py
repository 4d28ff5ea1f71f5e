"""A client that leaves: its work ends with it, and nothing else does."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest
from fastapi import Request

from service.app import create_app
from service.http.translations import until_disconnected
from service.observability.logs import configure_logs
from service.settings import Settings
from tests.service.fakes import FakeRunner, eventually, fake_model
from tests.service.http.clients import FIELDS


@pytest.mark.usefixtures("restored_logging")
@pytest.mark.parametrize("accept", [b"*/*", b"text/event-stream"])
@pytest.mark.parametrize("is_broken", [False, True])
async def test_a_client_that_leaves_frees_its_slot_and_leaves_no_task_behind(
    accept: bytes, is_broken: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether that is noticed by a message or by an error."""
    configure_logs("info", "json", sys.stderr)
    runner = FakeRunner()
    runner.gate.clear()
    app = create_app(Settings(), [fake_model(runner)])
    body = json.dumps({**FIELDS, "q": "x" * 30}).encode()
    messages: list[dict[str, Any]] = [{"type": "http.request", "body": body}]
    headers = [(b"content-type", b"application/json"), (b"accept", accept)]
    scope = {"type": "http", "method": "POST", "path": "/translate", "query_string": b""}

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await eventually(runner.is_stepping.is_set)
        if is_broken:
            raise RuntimeError("the connection is broken")
        return {"type": "http.disconnect"}

    async def send(_: Any) -> None:
        pass

    async with app.router.lifespan_context(app):
        before = asyncio.all_tasks()
        async with asyncio.timeout(60):
            await app({**scope, "headers": headers}, receive, send)
        assert asyncio.all_tasks() == before
        runner.gate.set()
        await eventually(lambda: runner.num_free_slots == runner.max_slots)
        assert runner.num_steps <= 2
    exported = app.state.server.metrics.render().decode()
    assert 'endpoint="/translate",outcome="cancelled"} 1.0' in exported
    assert 'finish_reason="cancelled",model="fake"} 1.0' in exported
    assert '"status":499' in capsys.readouterr().err


@pytest.mark.parametrize("is_client_gone_too", [False, True])
async def test_a_cancellation_from_outside_stays_one(is_client_gone_too: bool) -> None:
    leaving = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await leaving.wait()
        return {"type": "http.disconnect"}

    before = asyncio.all_tasks()
    request = Request({"type": "http"}, receive)
    task = asyncio.ensure_future(until_disconnected(request, asyncio.Event().wait()))
    await asyncio.sleep(0)
    if is_client_gone_too:
        leaving.set()
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
