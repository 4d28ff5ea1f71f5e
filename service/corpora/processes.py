"""Engines in processes of their own, as those of a server, and processes that prepare their texts.

    this process ── texts ──> text processes ── ids ──> engine processes

All are forks of this process and end with it. If one ends before, what it works for fails, and the
run ends; of an engine without work, the others do the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple, Self

from service.corpora.translations import (
    DocumentTranslation,
    Translation,
    translate_document,
    translate_texts,
)
from service.documents.file_translator import FileJob, OnProgress
from service.errors import NotReady
from service.models.loading import LoadedModel
from service.observability.metrics import Metrics
from service.offline import cancel_everything, unbounded_files
from service.processes.control import READY, ChildEnd, ParentEnd, Peer
from service.processes.engine_process import run_engine
from service.processes.questions import Answers, Conversation
from service.processes.remote_models import RemoteModels
from service.settings import Settings
from service.translation.job import TranslationJob
from service.translation.translator import TranslationModel

_logger = logging.getLogger(__name__)
_TEXTS, _DOCUMENT, _PROGRESS = "texts", "document", "progress"
"""The first two are asked by this process, the last one is told by a text process."""
_LOOK_SECONDS = 0.02
_STATE_SECONDS = 5.0
"""In which an engine that has greeted says that it is ready."""
_FAILED = 2


class _Process(NamedTuple):
    name: str
    pid: int
    line: ParentEnd
    connected: socket.socket | None
    """To a text process."""


class TranslatorProcesses:
    """Translates inside its block."""

    def __init__(
        self,
        engines: Sequence[Settings],
        shared: Sequence[LoadedModel] | None,
        num_text_processes: int,
        models: Sequence[TranslationModel],
        template: TranslationJob,
        num_texts: int,
    ) -> None:
        """`engines`: the settings of each; `shared`: the models whose weights they share, None:
        each loads its own; `models`: as the text processes see them; `template`: a job without
        texts."""
        self.num_texts = num_texts
        self._engines = {f"engine-{place}": own for place, own in enumerate(engines)}
        self._shared, self._models, self._template = shared, models, template
        self._num_text_processes = num_text_processes
        self._processes: list[_Process] = []
        self._conversations: list[Conversation] = []
        self._num_open: list[int] = []
        """Texts and documents that each text process has."""
        self._on_progress: dict[int, OnProgress] = {}
        """Of each document, by its number."""
        self._numbers = itertools.count()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        """Start all processes. Raises ValueError if one cannot begin."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._end_processes)
            for name in self._engines:
                self._start(name, self._run_engine)
            for place in range(self._num_text_processes):
                self._start(f"texts-{place}", self._run_texts, *socket.socketpair())
            self._link()
            self._wait_until_ready()
            stack.pop_all()
        self._thread.start()
        for process in self._processes:
            if process.connected is not None:
                self._do(self._connect(process.name, process.connected)).result()
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._disconnect()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._end_processes()

    def submit(self, texts: Sequence[str], source: str | None = None) -> Future[list[Translation]]:
        return self._do(self._texts([*texts], source or self._template.source))

    def submit_document(
        self, name: str, content: bytes, on_progress: OnProgress, *, replaces: bool
    ) -> Future[DocumentTranslation]:
        return self._do(self._document(on_progress, name, content, replaces))

    async def _texts(self, texts: list[str], source: str) -> list[Translation]:
        with self._chosen(len(texts)) as conversation:
            found: list[Translation] = await conversation.ask(
                _TEXTS, list[Translation], texts, source
            )
        return found

    async def _document(self, on_progress: OnProgress, *asked: Any) -> DocumentTranslation:
        number = next(self._numbers)
        self._on_progress[number] = on_progress
        try:
            with self._chosen(1) as conversation:
                found: DocumentTranslation = await conversation.ask(
                    _DOCUMENT, DocumentTranslation, number, *asked
                )
        finally:
            del self._on_progress[number]
        return found

    @contextlib.contextmanager
    def _chosen(self, num_texts: int) -> Iterator[Conversation]:
        """The process that has the fewest texts; what is asked in the block raises NotReady if it
        ends."""
        place = min(range(len(self._num_open)), key=self._num_open.__getitem__)
        self._num_open[place] += num_texts
        try:
            yield self._conversations[place]
        finally:
            self._num_open[place] -= num_texts

    def _note_progress(self, number: int, *counts: int) -> None:
        if on_progress := self._on_progress.get(number):
            on_progress(*counts)

    def _do(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _connect(self, name: str, connected: socket.socket) -> None:
        answers = {_PROGRESS: self._note_progress}
        conversation = Conversation(answers, lambda: None, f"the process {name}")
        await conversation.connect(connected)
        self._conversations.append(conversation)
        self._num_open.append(0)

    async def _disconnect(self) -> None:
        for conversation in self._conversations:
            conversation.close()
        await cancel_everything()

    def _run_engine(self, name: str, line: ChildEnd, _: socket.socket | None) -> int:
        return run_engine(self._engines[name], self._shared, line)

    def _run_texts(self, name: str, line: ChildEnd, connected: socket.socket | None) -> int:
        assert connected is not None
        own = next(iter(self._engines.values()))
        remote = RemoteModels(own, self._models, Metrics(), name, self._engines, line, {})
        texts = _Texts(remote, self._template, self.num_texts)
        asyncio.run(texts.serve(connected, line))
        return 0

    def _start(
        self,
        name: str,
        run: Callable[[str, ChildEnd, socket.socket | None], int],
        ours: socket.socket | None = None,
        theirs: socket.socket | None = None,
    ) -> None:
        """Fork a process. `ours`, `theirs`: the two ends of its connection to this process."""
        line, child_line = ParentEnd.pair()
        if pid := os.fork():
            child_line.close()
            if theirs is not None:
                theirs.close()
            self._processes.append(_Process(name, pid, line, ours))
            return
        line.close()
        if ours is not None:
            ours.close()
        os._exit(self._run_child(name, run, child_line, theirs))

    def _run_child(
        self,
        name: str,
        run: Callable[[str, ChildEnd, socket.socket | None], int],
        line: ChildEnd,
        connected: socket.socket | None,
    ) -> int:
        """Keep nothing of the parent's, so that each process sees its parent end. Ctrl-C reaches
        the parent alone."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for other in self._processes:
            other.line.close()
            if other.connected is not None:
                other.connected.close()
        try:
            return run(name, line, connected)
        except (ValueError, OSError, MemoryError) as error:
            _logger.error("%s: %s", name, error)
        except Exception:
            _logger.exception("%s has failed", name)
        return _FAILED

    def _link(self) -> None:
        """Connect each text process with each engine."""
        for process in self._processes:
            for engine in self._processes if process.connected else ():
                if engine.connected is None:
                    first, second = socket.socketpair()
                    with first, second:
                        process.line.link(Peer(engine.name, engine.pid), first)
                        engine.line.link(Peer(process.name, process.pid), second)

    def _wait_until_ready(self) -> None:
        """Raises ValueError if a process ends first."""
        waiting = list(self._processes)
        while waiting:
            for process in self._processes:
                if os.waitpid(process.pid, os.WNOHANG)[0]:
                    self._processes.remove(process)
                    raise ValueError(f"the process {process.name} cannot begin")
                if any(word == READY for word, _ in process.line.said()):
                    waiting.remove(process)
            time.sleep(_LOOK_SECONDS)

    def _end_processes(self) -> None:
        for process in self._processes:
            os.kill(process.pid, signal.SIGKILL)
        for process in self._processes:
            os.waitpid(process.pid, 0)
            process.line.close()


class _Texts:
    """What a text process does: it translates what its parent asks until that ends."""

    def __init__(self, remote: RemoteModels, template: TranslationJob, num_texts: int) -> None:
        self._remote, self._template = remote, template
        self._files = unbounded_files(remote.dispatcher, num_texts)
        answers: Answers = {_TEXTS: self._translate, _DOCUMENT: self._translate_document}
        self._conversation = Conversation(answers, lambda: None, "the command")

    async def serve(self, connected: socket.socket, line: ChildEnd) -> None:
        async with self._remote.running():
            await _ready(self._remote)
            line.say_ready()
            await self._conversation.connect(connected)
            await asyncio.Event().wait()

    async def _translate(self, texts: list[str], source: str) -> list[Translation]:
        job = dataclasses.replace(self._template, source=source)
        with _ending_without_engine():
            return await translate_texts(self._remote.dispatcher, job, texts)

    async def _translate_document(
        self, number: int, name: str, content: bytes, replaces: bool
    ) -> DocumentTranslation:
        def tell(*counts: int) -> None:
            self._conversation.tell(_PROGRESS, number, *counts)

        work = FileJob(name, content, self._template, replaces)
        with _ending_without_engine():
            return await translate_document(self._files, work, tell)


@contextlib.contextmanager
def _ending_without_engine() -> Iterator[None]:
    try:
        yield
    except NotReady:
        os._exit(_FAILED)


async def _ready(remote: RemoteModels) -> None:
    """Wait for the engines. Raises NotReady after some seconds."""
    ends = time.monotonic() + _STATE_SECONDS
    while True:
        try:
            return remote.require_ready()
        except NotReady:
            if time.monotonic() > ends:
                raise
        await asyncio.sleep(_LOOK_SECONDS)
