"""The hub: a process that counts and keeps what is common to several front ends."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from service.commons.commons import Commons, Files, Places, Usage
from service.commons.file_store import FILE_LOST, Intake
from service.commons.local import local_commons, open_keys
from service.commons.stored_file import StoredFile
from service.models.served import ModelState, states_of_all
from service.observability.metrics import Metrics
from service.processes.control import ChildEnd, Peer
from service.processes.gathered_metrics import GatheredMetrics, answers
from service.processes.questions import Answers, Conversation
from service.processes.supervisor import END
from service.settings import Settings


def run_hub(
    name: str, settings: Settings, models: Sequence[str], engines: Sequence[str], line: ChildEnd
) -> int:
    """Work until the parent ends it -> the exit code.

    `name`: of the process; `models`: of those in memory; `engines`: the names of the processes that
    have them. Raises DatabaseError and StorageFailed.
    """
    gc.freeze()
    keys = open_keys(settings)
    commons = local_commons(settings.model_copy(update={"limits_url": None}), keys)
    hub = Hub(name, commons, GatheredMetrics(engines, lambda: models), engines, line)
    asyncio.run(hub.serve())
    if keys is not None:
        keys.close()
    return 0


class Hub:
    """Answers front ends, and asks all processes for their metrics. Used on the event loop."""

    def __init__(
        self,
        name: str,
        commons: Commons,
        gathered: GatheredMetrics,
        engines: Sequence[str],
        line: ChildEnd,
    ) -> None:
        self._name, self._commons, self._line = name, commons, line
        self._gathered, self._engines = gathered, engines
        self._metrics = Metrics()
        self._conversations: dict[str, Conversation] = {}
        """With the processes that are there, by name."""
        self._held_files: list[_HeldFiles] = []
        commons.files.follow(self._cancel)

    async def serve(self) -> None:
        """Work until the parent says to end."""
        is_ending = asyncio.Event()
        async with contextlib.AsyncExitStack() as stack:
            if self._commons.usage is not None:
                await stack.enter_async_context(self._commons.usage.kept_current())
            await stack.enter_async_context(self._commons.files.running())
            self._line.follow(self.connect, {END: is_ending.set})
            self._line.say_ready()
            await is_ending.wait()

    async def connect(self, peer: Peer, connected: socket.socket) -> None:
        """Work with the process at the other end of this socket until it ends."""
        files = _HeldFiles(self._commons.files)
        held: list[_HeldPlaces | _HeldUsage | _HeldFiles] = [
            _HeldPlaces(self._commons.places),
            files,
        ]
        if self._commons.usage is not None:
            held.append(_HeldUsage(self._commons.usage))

        def end() -> None:
            for one in held:
                one.give_back()
            self._held_files.remove(files)
            if peer.name in self._engines:  # front ends say it themselves
                self._line.say_lost(peer)
            if self._conversations.get(peer.name) is conversation:
                del self._conversations[peer.name]
                self._gathered.end(peer)

        own_answers = {**self._answers()}
        for one in held:
            own_answers |= one.answers()
        conversation = Conversation(own_answers, end, peer.name)
        files.tell = conversation.tell
        self._held_files.append(files)
        await conversation.connect(connected)
        self._conversations[peer.name] = conversation

    def _answers(self) -> Answers:
        files = self._commons.files
        return {
            "count": self._count,
            "find": files.find,
            "remove": self._remove,
            "page": self._render_metrics,
            "states": self._states,
            "look": self._look,
        }

    def _front_ends(self) -> list[Conversation]:
        return [one for name, one in self._conversations.items() if name not in self._engines]

    async def _states(self) -> list[ModelState]:
        """Of the models, as all front ends see them."""
        asks = {str(place): one.ask for place, one in enumerate(self._front_ends())}
        return states_of_all((await answers(asks, "states", list[ModelState])).values())

    def _look(self, model: str) -> None:
        """Tell all front ends that one has a new version of this model."""
        for front_end in self._front_ends():
            front_end.tell("look", model)

    def _cancel(self, name: str) -> None:
        """Tell the front end that has this file in work."""
        for files in self._held_files:
            files.cancel(name)

    async def _remove(self, name: str) -> None:
        """In its turn: the file may be one whose `add` was asked just before."""
        self._commons.files.remove(name)

    async def _count(self, name: str, limit: int, amount: int, is_test: bool) -> int | None:
        assert self._commons.windows is not None  # front ends have the same settings
        return await self._commons.windows.count(name, limit, amount, is_test=is_test)

    async def _render_metrics(self) -> bytes:
        asks = {name: one.ask for name, one in self._conversations.items()}
        return await self._gathered.render(asks, {self._name: [*self._metrics.registry.collect()]})


class _HeldPlaces:
    """The places of one front end's requests, which are given back when it ends."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._num_taken: Counter[str] = Counter()

    def answers(self) -> Answers:
        return {"take": self._take, "leave": self._leave}

    def give_back(self) -> None:
        for client in list(self._num_taken.elements()):
            self._leave(client)

    async def _take(self, client: str, limit: int) -> bool:
        if is_taken := await self._places.take(client, limit):
            self._num_taken[client] += 1
        return is_taken

    def _leave(self, client: str) -> None:
        """Places that were taken from a hub that has ended are unknown."""
        if not self._num_taken[client]:
            return
        self._places.leave(client)
        self._num_taken[client] -= 1
        if not self._num_taken[client]:
            del self._num_taken[client]


class _HeldUsage:
    """The reservations of one front end's requests, which are given back when it ends."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._num_reserved: Counter[str] = Counter()

    def answers(self) -> Answers:
        return {"used": self._usage.used, "reserve": self._reserve, "settle": self._settle}

    def give_back(self) -> None:
        while self._num_reserved:
            self._usage.settle(*self._num_reserved.popitem(), is_used=False)

    async def _reserve(self, key_id: str, num_characters: int, quota: int) -> bool:
        is_reserved = await self._usage.reserve(key_id, num_characters, quota)
        self._num_reserved[key_id] += is_reserved * num_characters
        return is_reserved

    async def _settle(self, key_id: str, num_characters: int, is_used: bool) -> None:
        """What a hub that has ended had set aside is set aside again first."""
        if (missing := num_characters - self._num_reserved[key_id]) > 0:
            await self._reserve(key_id, missing, 0)
        self._num_reserved[key_id] -= num_characters
        self._usage.settle(key_id, num_characters, is_used=is_used)


class _HeldFiles:
    """The files that one front end has in work, which fail when it ends."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._names: set[str] = set()
        self.tell: Callable[..., None] | None = None
        """Tells the front end something."""

    def answers(self) -> Answers:
        return {
            "add": lambda fields: self._add(msgspec.convert(fields, StoredFile)),
            "progress": self._files.progress,
            "keep": self._files.keep,
            "finish": self._finish,
            "fail": self._fail,
        }

    def give_back(self) -> None:
        for name in list(self._names):
            self._fail(name, *FILE_LOST)

    def cancel(self, name: str) -> None:
        """If the front end has this file, tell it that nobody wants it any more."""
        if name in self._names and self.tell is not None:
            self._names.remove(name)
            self.tell("cancel", name)

    async def _add(self, file: StoredFile) -> Intake:
        if (room := await self._files.add(file)) == "taken":
            self._names.add(file.name)
        return room

    async def _finish(self, name: str, source: str) -> None:
        self._names.discard(name)
        await self._files.finish(name, source)

    def _fail(self, name: str, code: str, message: str, source: str = "") -> None:
        self._names.discard(name)
        self._files.fail(name, code, message, source)
