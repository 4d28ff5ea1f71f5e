"""The line between the parent and a process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
from collections.abc import Iterator

from service.processes.control import ALIVE, LOST, ChildEnd, ParentEnd, Peer

_ENGINE = Peer("engine-0", 17)


@contextlib.contextmanager
def _no_free_descriptor() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def _until_said(ours: ParentEnd) -> tuple[str, Peer | None]:
    async with asyncio.timeout(30):
        while not (said := [one for one in ours.said() if one[0] != ALIVE]):
            await asyncio.sleep(0.001)
    return said[0]


async def test_a_connection_that_a_process_has_no_room_for_is_given_again() -> None:
    ours, theirs = ParentEnd.pair()
    linked: asyncio.Queue[Peer] = asyncio.Queue()

    async def link(peer: Peer, connected: socket.socket) -> None:
        connected.close()
        linked.put_nowait(peer)

    theirs.follow(link, {})
    try:
        one, other = socket.socketpair()
        with one, other:
            with _no_free_descriptor():
                ours.link(_ENGINE, one)
                assert await _until_said(ours) == (LOST, _ENGINE)
            ours.link(_ENGINE, one)
            async with asyncio.timeout(30):
                assert await linked.get() == _ENGINE
    finally:
        _close(ours, theirs)


def _close(ours: ParentEnd, theirs: ChildEnd) -> None:
    asyncio.get_running_loop().remove_reader(theirs._socket)
    theirs.close()
    ours.close()
