"""The line between the parent of a server's processes and one of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import NamedTuple, Self

_MOST_BYTES = 256
READY, LOST, ALIVE, _LINK = "ready", "lost", "alive", "link"
_ALIVE_SECONDS = 1.0
_ORPHANED = 1
"""The exit code of a process whose parent has ended."""


class Peer(NamedTuple):
    """A process that another is connected with."""

    name: str
    pid: int


class ParentEnd:
    """The parent's end. Nothing blocks, and nothing fails if the child has ended. Sending raises
    OSError if the system has no room for it."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        connected.setblocking(False)

    @classmethod
    def pair(cls) -> tuple[Self, ChildEnd]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return cls(ours), ChildEnd(theirs)

    def send(self, command: str) -> None:
        with contextlib.suppress(ConnectionError):
            self._socket.send(command.encode())

    def link(self, peer: Peer, connected: socket.socket) -> None:
        """Give the child a connection to this process."""
        message = f"{_LINK} {peer.pid} {peer.name}"
        with contextlib.suppress(ConnectionError):
            socket.send_fds(self._socket, [message.encode()], [connected.fileno()])

    def said(self) -> Iterator[tuple[str, Peer | None]]:
        """What the child has said since the last call: that it is `READY`, is `ALIVE`, or has
        `LOST` the connection to a process."""
        try:
            while message := self._socket.recv(_MOST_BYTES):
                word, _, rest = message.decode().partition(" ")
                yield word, _peer_of(rest) if rest else None
        except OSError:
            return

    def close(self) -> None:
        self._socket.close()


class ChildEnd:
    """The child's end."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._loop: asyncio.AbstractEventLoop | None = None
        self._saying: asyncio.TimerHandle | None = None
        self._lost: list[Peer] = []
        """What it has lost the connection to and could not say yet."""

    def say_ready(self) -> None:
        """What the process is for works now."""
        self._socket.send(READY.encode())

    def say_lost(self, peer: Peer) -> None:
        """The connection to a process has ended. If the process has not, the parent connects them
        again. Said later if the system has no room for it."""
        self._lost.append(peer)
        self._say_lost()

    def _say_lost(self) -> None:
        with contextlib.suppress(OSError):
            for peer in list(self._lost):
                self._socket.send(f"{LOST} {peer.pid} {peer.name}".encode())
                self._lost.remove(peer)

    def follow(
        self,
        link: Callable[[Peer, socket.socket], Awaitable[None]],
        commands: Mapping[str, Callable[[], None]],
    ) -> None:
        """Use each connection, and do each command, on the running event loop, and say as long as
        it runs that the process is alive. The process ends with its parent."""
        loop = self._loop = asyncio.get_running_loop()
        linking = set[asyncio.Future[None]]()

        def read() -> None:
            message, descriptors = self._received()
            word, _, rest = message.decode().partition(" ")
            if word != _LINK:
                commands[word]()
                return
            if not descriptors:  # the system drops one for which this process has no room
                self.say_lost(_peer_of(rest))
                return
            task = asyncio.ensure_future(link(_peer_of(rest), socket.socket(fileno=descriptors[0])))
            linking.add(task)
            task.add_done_callback(linking.discard)

        self._socket.setblocking(False)
        loop.add_reader(self._socket, read)
        self._say_alive(loop)

    def _received(self) -> tuple[bytes, list[int]]:
        """A message and its descriptors. The process ends with its parent, at whose end the system
        resets the connection if the parent has not read everything."""
        with contextlib.suppress(ConnectionResetError):
            message, descriptors, _, _ = socket.recv_fds(self._socket, _MOST_BYTES, 1)
            if message:
                return message, descriptors
        os._exit(_ORPHANED)

    def _say_alive(self, loop: asyncio.AbstractEventLoop) -> None:
        with contextlib.suppress(OSError):
            self._socket.send(ALIVE.encode())
        self._say_lost()
        self._saying = loop.call_later(_ALIVE_SECONDS, self._say_alive, loop)

    def close(self) -> None:
        """Follow no more."""
        if self._loop is not None:
            self._loop.remove_reader(self._socket)
        if self._saying is not None:
            self._saying.cancel()
        self._socket.close()


def _peer_of(written: str) -> Peer:
    pid, _, name = written.partition(" ")
    return Peer(name, int(pid))
