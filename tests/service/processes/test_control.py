"""The line between the parent and a process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
from collections.abc import Iterator

import pytest

from service.processes import control
from service.processes.control import ALIVE, LOST, ChildEnd, ParentEnd, Peer

_ENGINE, _HUB = Peer("engine-0", 17), Peer("hub", 18)


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


async def test_a_lost_connection_that_cannot_be_told_now_is_told_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(control, "_ALIVE_SECONDS", 0.001)
    ours, theirs = ParentEnd.pair()
    theirs.follow(_unlinked, {})
    with contextlib.suppress(BlockingIOError):
        while True:
            theirs.say_ready()
    theirs.say_lost(_ENGINE)
    theirs.say_lost(_HUB)
    told: list[tuple[str, Peer | None]] = []
    try:
        async with asyncio.timeout(30):
            while told[-1:] != [(LOST, _HUB)]:
                told += [one for one in ours.said() if one[0] == LOST]
                await asyncio.sleep(0.001)
        assert told == [(LOST, _ENGINE), (LOST, _HUB)]
    finally:
        _close(ours, theirs)


async def _unlinked(_: Peer, connected: socket.socket) -> None:
    connected.close()


def _close(ours: ParentEnd, theirs: ChildEnd) -> None:
    asyncio.get_running_loop().remove_reader(theirs._socket)
    theirs.close()
    ours.close()
