"""When a server says that it has started."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI, Request, WebSocket
from starlette.applications import Starlette
from websockets.sync.client import connect

from service.server import Server, uvicorn_config
from tests.service.served import served


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


def telling_clients() -> FastAPI:
    """An app that answers with its client's address."""
    app = FastAPI()

    @app.get("/")
    async def tell(request: Request) -> str:
        assert request.client is not None
        return request.client.host

    @app.websocket("/socket")
    async def tell_socket(websocket: WebSocket) -> None:
        await websocket.accept()
        assert websocket.client is not None
        await websocket.send_json(websocket.client.host)
        await websocket.close()

    return app


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("forwarded", [None, "192.0.2.7"])
@pytest.mark.parametrize(("address", "client"), [("127.0.0.1", "127.0.0.1"), ("[::1]", "::1")])
def test_one_socket_takes_clients_and_proxies_of_both_kinds_of_addresses(
    address: str, client: str, forwarded: str | None
) -> None:
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    with served(telling_clients(), [client], host="::") as own:
        place = f"{address}:{own.port}"
        assert httpx.get(f"http://{place}/", headers=headers).json() == (forwarded or client)
        with connect(f"ws://{place}/socket", additional_headers=headers) as socket_:
            assert json.loads(socket_.recv()) == (forwarded or client)
