"""The process around the app: connections, freed memory, garbage collection."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
from collections.abc import Iterator

import pytest
import uvicorn
import uvloop
from starlette.applications import Starlette

from service.server import Server
from tests.service.fakes import eventually


@pytest.fixture
def _same_collector() -> Iterator[None]:
    """The collector is the process's: whatever a server did to it is undone."""
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


async def _start_and_stop() -> None:
    async def drain() -> None: ...

    config = uvicorn.Config(Starlette(), log_config=None)
    server = Server(config, drain)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.001)
        server.should_exit = True
        await serving


def test_a_busy_event_loop_accepts_several_connections_at_a_time() -> None:
    num_clients = 160

    async def scenario() -> int:
        async def drain() -> None: ...

        server = Server(uvicorn.Config(Starlette(), log_config=None), drain)
        with socket.create_server(("127.0.0.1", 0), backlog=num_clients) as listener:
            address = listener.getsockname()
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            while not server.started:
                await asyncio.sleep(0.001)
            clients = [socket.create_connection(address) for _ in range(num_clients)]
            num_iterations = 0
            while len(server.server_state.connections) < num_clients:
                await asyncio.sleep(0)
                num_iterations += 1
            server.should_exit = True
            for client in clients:
                client.close()
            await serving
        return num_iterations

    assert uvloop.run(scenario()) < num_clients / 4


def test_freed_memory_is_given_back_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    trimmed: list[bool] = []
    monkeypatch.setattr("service.server.trim_memory", lambda: trimmed.append(True))

    async def scenario() -> None:
        async def drain() -> None: ...

        server = Server(uvicorn.Config(Starlette(), log_config=None), drain)
        for tick in range(1200):
            await server.on_tick(tick)
        await eventually(lambda: len(trimmed) == 2)

    asyncio.run(scenario())


@pytest.mark.usefixtures("_same_collector")
def test_what_was_made_before_serving_is_not_searched_for_garbage_again() -> None:
    made_before: list[object] = []
    assert any(found is made_before for found in gc.get_objects())
    asyncio.run(_start_and_stop())
    assert not any(found is made_before for found in gc.get_objects())


def test_a_server_that_cannot_leave_its_shared_port_still_drains_and_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drained = []

    def fail(_: Server) -> None:
        raise OSError("no such port")

    monkeypatch.setattr(Server, "_leave_shared_port", fail)

    async def scenario() -> None:
        async def drain() -> None:
            drained.append(True)

        with socket.create_server(("127.0.0.1", 0)) as listener:
            server = Server(uvicorn.Config(Starlette(), log_config=None), drain, listener)
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            while not server.started:
                await asyncio.sleep(0.001)
            server.handle_exit(signal.SIGTERM, None)
            await asyncio.wait_for(serving, 5)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scenario())
    assert drained == [True]
