"""The line between the parent of a server's processes and one of them."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Self

_MOST_BYTES = 256
_READY, _LINK = "ready", "link"
_ORPHANED = 1
"""The exit code of a process whose parent has ended."""


class ParentEnd:
    """The parent's end. Nothing blocks, and nothing fails if the child has ended."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        connected.setblocking(False)

    @classmethod
    def pair(cls) -> tuple[Self, ChildEnd]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return cls(ours), ChildEnd(theirs)

    def send(self, command: str) -> None:
        try:
            self._socket.send(command.encode())
        except OSError:
            return

    def link(self, name: str, connected: socket.socket) -> None:
        """Give the child a connection to the process of this name."""
        try:
            socket.send_fds(self._socket, [f"{_LINK} {name}".encode()], [connected.fileno()])
        except OSError:
            return

    def has_said_ready(self) -> bool:
        """Whether the child has said so since the last call."""
        try:
            return self._socket.recv(_MOST_BYTES) == _READY.encode()
        except OSError:
            return False

    def close(self) -> None:
        self._socket.close()


class ChildEnd:
    """The child's end."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def say_ready(self) -> None:
        """What the process is for works now."""
        self._socket.send(_READY.encode())

    def follow(
        self,
        link: Callable[[str, socket.socket], Awaitable[None]],
        commands: Mapping[str, Callable[[], None]],
    ) -> None:
        """Use each connection, and do each command, on the running event loop. The process ends
        with its parent."""
        loop = asyncio.get_running_loop()
        linking = set[asyncio.Future[None]]()

        def read() -> None:
            message, descriptors, _, _ = socket.recv_fds(self._socket, _MOST_BYTES, 1)
            if not message:
                os._exit(_ORPHANED)
            word, _, name = message.decode().partition(" ")
            if word != _LINK:
                commands[word]()
                return
            (descriptor,) = descriptors
            task = asyncio.ensure_future(link(name, socket.socket(fileno=descriptor)))
            linking.add(task)
            task.add_done_callback(linking.discard)

        self._socket.setblocking(False)
        loop.add_reader(self._socket, read)

    def close(self) -> None:
        self._socket.close()
