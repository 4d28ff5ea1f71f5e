"""When a server says that it has started."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
from starlette.applications import Starlette

from service.server import Server, uvicorn_config


@contextlib.asynccontextmanager
async def starting(app: Starlette) -> AsyncIterator[None]:
    if app.state.fails:
        raise OSError("the directory is gone")
    yield


async def nothing() -> None:
    return


@pytest.mark.parametrize("fails", [True, False])
async def test_it_has_started_once_all_of_its_app_has(*, fails: bool) -> None:
    """A front end that fails after it said so would be started again at once, without end."""
    app, told = Starlette(lifespan=starting), list[str]()
    app.state.fails = fails
    server = Server(uvicorn_config(app, 1000), nothing)
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    server.tell_started = lambda: told.append("started")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        if fails:
            with pytest.raises(SystemExit):
                await server.startup([listener])
        else:
            await server.startup([listener])
            await server.shutdown([listener])
    assert told == ["started"] * (not fails)
