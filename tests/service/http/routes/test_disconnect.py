"""A client that leaves: its work ends with it, and nothing else does."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from service.app import create_app
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
