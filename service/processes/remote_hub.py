"""The front end's side of the hub: what all front ends have in common."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

from service.commons.commons import Commons
from service.commons.file_store import Intake
from service.commons.local import has_minute_limits, make_windows
from service.commons.spool import Spool
from service.commons.stored_file import StoredFile
from service.errors import NotReady
from service.observability.metrics import Metrics
from service.processes.messages import families_fields
from service.processes.questions import Conversation
from service.settings import Settings
from service.stores.keys import Used

_NAME = "the process that counts for all front ends"


class RemoteHub:
    """The hub, which may end and come back. Used on the event loop."""

    def __init__(self, metrics: Metrics) -> None:
        """`metrics`: of this process, which the hub asks for."""
        self._answers: dict[str, Callable[..., Any]] = {
            "metrics": lambda: families_fields(metrics.registry.collect())
        }
        self._conversation: Conversation | None = None
        self.is_there = asyncio.Event()

    async def connect(self, connected: socket.socket, lost: Callable[[], None]) -> None:
        """Ask the process at the other end of this socket until it ends, which calls `lost`."""
        conversation = Conversation(self._answers, lost, _NAME)
        await conversation.connect(connected)
        self._conversation = conversation
        self.is_there.set()

    def close(self) -> None:
        if self._conversation is not None:
            self._conversation.close()

    async def ask(self, question: str, kind: Any, *arguments: Any) -> Any:
        """Raises NotReady without a hub."""
        if self._conversation is None:
            raise NotReady(f"{_NAME} is not running; try again later")
        return await self._conversation.ask(question, kind, *arguments)

    def tell(self, question: str, *arguments: Any) -> None:
        """A hub that has ended has forgotten what this is about."""
        if self._conversation is not None:
            self._conversation.tell(question, *arguments)

    def answer(self, question: str, act: Callable[..., Any]) -> None:
        """Do this when the hub asks."""
        self._answers[question] = act

    async def render_metrics(self) -> bytes:
        """The metrics of all processes. Raises NotReady."""
        page = await self.ask("page", bytes)
        assert isinstance(page, bytes)
        return page

    def commons(self, settings: Settings) -> Commons:
        """What the hub counts and keeps; with Redis it counts no minutes. All processes have the
        same directory of files. Raises StartupError."""
        assert settings.documents_dir is not None  # the parent chose one
        windows = make_windows(settings) if settings.limits_url else _Windows(self)
        return Commons(
            windows if has_minute_limits(settings) else None,
            _Places(self),
            None if settings.api_keys == "off" else _Usage(self),
            _Files(self),
            Spool(settings.documents_dir),
        )


class _Windows:
    def __init__(self, hub: RemoteHub) -> None:
        self._hub = hub

    async def count(
        self, name: str, limit: int, amount: int = 1, *, is_test: bool = False
    ) -> int | None:
        seconds = await self._hub.ask("count", int | None, name, limit, amount, is_test)
        assert seconds is None or isinstance(seconds, int)
        return seconds

    async def close(self) -> None:
        return


class _Places:
    def __init__(self, hub: RemoteHub) -> None:
        self._hub = hub

    async def take(self, client: str, limit: int) -> bool:
        taking = self._hub.ask("take", bool, client, limit)
        return await _taken(taking, lambda: self.leave(client))

    def leave(self, client: str) -> None:
        self._hub.tell("leave", client)


class _Usage:
    def __init__(self, hub: RemoteHub) -> None:
        self._hub = hub

    async def used(self, key_id: str) -> Used:
        used = await self._hub.ask("used", Used, key_id)
        assert isinstance(used, Used)
        return used

    async def reserve(self, key_id: str, num_characters: int, quota: int) -> bool:
        reserving = self._hub.ask("reserve", bool, key_id, num_characters, quota)
        return await _taken(reserving, lambda: self.settle(key_id, num_characters, is_used=False))

    def settle(self, key_id: str, num_characters: int, *, is_used: bool) -> None:
        self._hub.tell("settle", key_id, num_characters, is_used)

    @contextlib.asynccontextmanager
    async def kept_current(self) -> AsyncGenerator[None]:
        yield


class _Files:
    def __init__(self, hub: RemoteHub) -> None:
        self._hub = hub

    def follow(self, cancel: Callable[[str], None]) -> None:
        self._hub.answer("cancel", cancel)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        yield

    async def add(self, file: StoredFile) -> Intake:
        room: Intake = await self._hub.ask("add", Intake, file)
        return room

    async def find(self, name: str) -> StoredFile | None:
        file = await self._hub.ask("find", StoredFile | None, name)
        assert file is None or isinstance(file, StoredFile)
        return file

    def progress(self, name: str, num_done: int, num_characters: int) -> None:
        self._hub.tell("progress", name, num_done, num_characters)

    async def keep(self, name: str, num_bytes: int) -> bool:
        is_kept = await self._hub.ask("keep", bool, name, num_bytes)
        assert isinstance(is_kept, bool)
        return is_kept

    async def finish(self, name: str, source: str) -> None:
        await self._hub.ask("finish", None, name, source)

    def fail(self, name: str, code: str, message: str, source: str = "") -> None:
        self._hub.tell("fail", name, code, message, source)

    def remove(self, name: str) -> None:
        self._hub.tell("remove", name)


async def _taken(taking: Coroutine[Any, Any, bool], give_back: Callable[[], None]) -> bool:
    """Whether something could be taken. Who leaves before it is known gives it back."""

    def leave(done: asyncio.Future[bool]) -> None:
        if done.exception() is None and done.result():
            give_back()

    asked = asyncio.ensure_future(taking)
    try:
        return await asyncio.shield(asked)
    except asyncio.CancelledError:
        asked.add_done_callback(leave)
        raise
