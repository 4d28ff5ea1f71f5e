"""Reads and writes documents, each in a process of its own.

A hostile document makes any reader slow or large. Its process has bounds of time and memory, ends
when nobody waits for it, and gives its memory back to the system. Processes are forks of Python's
fork server, which imports this module once: that takes longer than to read most documents. The fork
server ends with the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import itertools
import json
import logging
import multiprocessing
import os
import resource
import signal
import socket
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from service.documents.formats import MODULES, parse_file
from service.documents.segments import FileOptions, ParsedFile, Segment
from service.errors import DocumentTooLarge, InvalidDocument, StorageFailed
from service.exhaustion import EXHAUSTED
from service.translation.markup.coded_text import Code, CodedText, Text
from service.translation.text_work import text_work

if TYPE_CHECKING:
    from service.translation.job import SplitSentences, TextFormat

_MAX_PROCESSES = 4
_NICER = 5
"""As the workers' threads: the event loop goes first."""
_PART_TEXTS, _PART_CHARACTERS = 32, 2000
_DONE, _REFUSED, _FAILED = b"d", b"r", b"f"
"""How an answer begins. `_REFUSED` is followed by an error's code and message in JSON, `_FAILED` by
a traceback. A process that was killed at one of its bounds has no answer."""
_ERRORS = {error.code: error for error in (InvalidDocument, DocumentTooLarge)}


@dataclass(frozen=True)
class DocumentBounds:
    """What a document may have to translate, and what its process may take: seconds of CPU time,
    bytes of memory."""

    max_characters: int
    max_seconds: int = 20
    max_bytes: int = 2**30


@dataclass(frozen=True)
class SentDocument:
    """A document to read and to write. `name`: its ending tells the format."""

    name: str
    content: bytes
    options: FileOptions
    bounds: DocumentBounds | None = None


class DocumentPart(NamedTuple):
    """Neighbouring texts that are written alike, and the number of their characters."""

    format: TextFormat
    split_sentences: SplitSentences
    texts: Sequence[Text]
    num_characters: int


class ReadDocument(NamedTuple):
    """What is to be translated, and the seconds of CPU time that reading took."""

    parts: Sequence[DocumentPart]
    seconds: float


class DocumentProcesses:
    """At most four processes at a time, and one of each client, whose documents take turns."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(_MAX_PROCESSES)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def read(self, client: str, document: SentDocument) -> ReadDocument:
        """Raises InvalidDocument or DocumentTooLarge."""
        answer = await self._run(client, document, None)
        return await text_work(len(answer), lambda: _unpacked(answer))

    async def write(
        self, client: str, document: SentDocument, translations: Sequence[Text]
    ) -> bytes:
        """The document with the translations of all texts of its parts. Raises InvalidDocument or
        DocumentTooLarge."""
        return await self._run(client, document, translations)

    async def _run(
        self, client: str, document: SentDocument, translations: Sequence[Text] | None
    ) -> bytes:
        turn = self._turns.setdefault(client, asyncio.Lock())
        async with turn, self._places:
            ours, theirs = socket.socketpair()
            starting = asyncio.to_thread(_start, theirs, document, translations)
            started = asyncio.ensure_future(starting)  # closes its end also if nobody waits
            reader, writer = await asyncio.open_unix_connection(sock=ours)
            try:
                await asyncio.shield(started)
                answer = await reader.read()
            except ConnectionError:
                answer = b""
            finally:
                writer.transport.abort()
        return _result(answer, document.bounds)


def _start(
    connection: socket.socket, document: SentDocument, translations: Sequence[Text] | None
) -> None:
    """Start a process that answers over the connection."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", __name__, *MODULES])
    with connection:
        try:
            arguments = connection, document, translations
            context.Process(target=_serve, args=arguments, daemon=True).start()
        except (EOFError, ConnectionError):  # the fork server had no room, and has ended
            raise BlockingIOError(errno.EAGAIN, "no process could be started") from None
        except OSError as error:
            if error.errno in EXHAUSTED:
                raise
            reason = error.strerror or str(error)  # of the directory for temporary files
            raise StorageFailed(f"no process can read the file: {reason}") from error


def _result(answer: bytes, bounds: DocumentBounds | None) -> bytes:
    """What a process answers if it is done; else the error that it ended with is raised."""
    status, rest = answer[:1], answer[1:]
    if status == _DONE:
        return rest
    if status == _REFUSED:
        code, message = json.loads(rest)
        raise _ERRORS[code](message)
    if status == _FAILED:
        raise RuntimeError(rest.decode())
    most = "memory than there is"
    if bounds is not None:
        allowed = f"{bounds.max_seconds} seconds or {bounds.max_bytes >> 20} MiB of memory"
        most = f"than {allowed}, or than the machine has free"
    raise DocumentTooLarge(f"to read or write the file takes more {most}")


def _serve(
    connection: socket.socket, document: SentDocument, translations: Sequence[Text] | None
) -> None:
    """The process of a document."""
    try:
        _yield_to_the_server()
        threading.Thread(target=_exit_when_closed, args=(connection,), daemon=True).start()
        if document.bounds is not None:
            _limit(document.bounds)
        answer = _DONE + _done(document, translations)
    except (InvalidDocument, DocumentTooLarge) as error:
        answer = _REFUSED + json.dumps([error.code, str(error)]).encode()
    except MemoryError:
        answer = b""
    except Exception:
        answer = _FAILED + traceback.format_exc().encode()
    with contextlib.suppress(OSError):
        connection.sendall(answer)
    os._exit(0)  # freeing every object takes time


def _yield_to_the_server() -> None:
    """Let the server go first, and the process end with its client, not at a signal to all."""
    for name in signal.SIGINT, signal.SIGTERM:
        signal.signal(name, signal.SIG_IGN)
    os.nice(_NICER)
    with contextlib.suppress(OSError):  # without memory the kernel ends a document, not the server
        Path("/proc/self/oom_score_adj").write_text("1000")
    gc.disable()  # the process ends before its garbage matters
    logging.disable()  # pypdf's


def _exit_when_closed(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.recv(1)
    os._exit(1)


def _limit(bounds: DocumentBounds) -> None:
    limits = ((resource.RLIMIT_AS, bounds.max_bytes), (resource.RLIMIT_CPU, bounds.max_seconds))
    for kind, most in limits:
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(hard, most)
        resource.setrlimit(kind, (most, most))


def _done(document: SentDocument, translations: Sequence[Text] | None) -> bytes:
    """The document with the translations; or its parts, and the CPU time until then, in JSON."""
    began = time.process_time()
    if translations is not None:
        return write_document(document, translations)
    found = read_parts(document)
    num_characters = sum(part.num_characters for part in found)
    if document.bounds is not None and num_characters > document.bounds.max_characters:
        raise DocumentTooLarge(
            f"the file has {num_characters} characters to translate, at most "
            f"{document.bounds.max_characters} are allowed"
        )
    return _packed(ReadDocument(found, time.process_time() - began))


def read_parts(document: SentDocument) -> list[DocumentPart]:
    """Raises InvalidDocument or DocumentTooLarge."""
    return list(parts(_parsed(document).segments))


def write_document(document: SentDocument, translations: Sequence[Text]) -> bytes:
    """Raises InvalidDocument or DocumentTooLarge."""
    return _parsed(document).write(translations)


def _parsed(document: SentDocument) -> ParsedFile:
    return parse_file(document.content, document.name, document.options)


def parts(segments: Iterable[Segment]) -> Iterator[DocumentPart]:
    """A few segments at a time."""
    groups = itertools.groupby(segments, key=lambda one: (one.format, one.split_sentences))
    for (text_format, split_sentences), group in groups:
        texts: list[Text] = []
        size = 0
        for text, *_ in group:
            if texts and (len(texts) >= _PART_TEXTS or size + len(text) > _PART_CHARACTERS):
                yield DocumentPart(text_format, split_sentences, texts, size)
                texts, size = [], 0
            texts.append(text)
            size += len(text)
        yield DocumentPart(text_format, split_sentences, texts, size)


def _packed(read: ReadDocument) -> bytes:
    """What was read, as JSON."""
    return json.dumps(read, default=lambda text: text.parts).encode()


def _unpacked(packed: bytes) -> ReadDocument:
    found, seconds = json.loads(packed)
    parts = (DocumentPart(*part) for part in found)
    return ReadDocument([part._replace(texts=[*map(_text, part.texts)]) for part in parts], seconds)


def _text(packed: Any) -> Text:
    """A text; one with codes is a list of its parts."""
    if isinstance(packed, str):
        return packed
    return CodedText(tuple(p if isinstance(p, str) else Code(*p) for p in packed))
