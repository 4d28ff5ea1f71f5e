"""A program that reads and writes documents, each in a process of its own.

Standard input is a socket with a descriptor for each process: of a socket to which the length of a
pickled Task and the Task are sent. The process answers with a status and, for a Task with
translations, the translated file; else the number of characters to translate, and a line for each
Part.
"""

from __future__ import annotations

import contextlib
import gc
import json
import logging
import os
import pickle
import resource
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from service.errors import DocumentTooLarge, InvalidDocument
from service.translation.documents.formats import parse_file
from service.translation.documents.segments import FileOptions, Segment

if TYPE_CHECKING:
    from service.translation.job import SplitSentences, TextFormat

DONE, REFUSED, FAILED, EXHAUSTED = b"d", b"r", b"f", b"e"
"""A status. `REFUSED` is followed by an error's code and message in JSON, `FAILED` by a traceback;
`EXHAUSTED`: no process could be started. Without a status it was killed at one of its bounds."""
LENGTH_BYTES = 8
_NICER = 5
"""As the workers' threads: the event loop goes first."""
_PART_TEXTS, _PART_CHARACTERS = 32, 2000


@dataclass(frozen=True)
class Bounds:
    """What a document may have to translate, and what its process may take: seconds of CPU time,
    bytes of memory."""

    max_characters: int
    max_seconds: int = 20
    max_bytes: int = 2**30


@dataclass(frozen=True)
class Task:
    """A document to read, or to write with its parts' translations, each a JSON list of texts."""

    name: str
    content: bytes
    options: FileOptions
    bounds: Bounds | None = None
    translations: Sequence[bytes] | None = None


class Part(NamedTuple):
    """Neighbouring texts that are written alike."""

    format: TextFormat
    split_sentences: SplitSentences
    texts: list[str]


def main() -> None:
    """Fork a process for each descriptor, until the socket is closed."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for name in signal.SIGINT, signal.SIGTERM:  # running documents end with the server
        signal.signal(name, signal.SIG_IGN)
    os.nice(_NICER)
    with contextlib.suppress(OSError):  # without memory the kernel ends a document, not the server
        Path("/proc/self/oom_score_adj").write_text("1000")
    gc.disable()  # a process ends before its garbage matters
    logging.disable()  # pypdf's
    control = socket.socket(fileno=sys.stdin.fileno())
    while descriptors := socket.recv_fds(control, 1, 1)[1]:
        with socket.socket(fileno=descriptors[0]) as connection:
            if _is_forked(connection):
                _serve(connection)


def _is_forked(connection: socket.socket) -> bool:
    """Whether this is a new process."""
    try:
        return os.fork() == 0
    except OSError:
        connection.sendall(EXHAUSTED)
        return False


def _serve(connection: socket.socket) -> NoReturn:
    """Answer a Task and exit; exit before if nobody waits for the answer."""
    status = FAILED
    try:
        with connection.makefile("rb") as source:
            task: Task = pickle.loads(source.read(int.from_bytes(source.read(LENGTH_BYTES))))
        threading.Thread(target=_exit_when_closed, args=(connection,), daemon=True).start()
        if task.bounds is not None:
            _limit(task.bounds)
        answer, status = b"\n".join(_done(task)), DONE
    except (InvalidDocument, DocumentTooLarge) as error:
        answer, status = json.dumps([error.code, str(error)]).encode(), REFUSED
    except MemoryError:
        answer = status = b""
    except Exception:
        answer = traceback.format_exc().encode()
    with contextlib.suppress(OSError):
        connection.sendall(status + answer)
    os._exit(0)  # freeing every object takes time


def _exit_when_closed(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.recv(1)
    os._exit(1)


def _done(task: Task) -> Iterator[bytes]:
    parsed = parse_file(task.content, task.name, task.options)
    if task.translations is not None:
        yield parsed.write([text for part in task.translations for text in json.loads(part)])
        return
    num_characters = sum(len(segment.text) for segment in parsed.segments)
    if task.bounds is not None and num_characters > task.bounds.max_characters:
        raise DocumentTooLarge(
            f"the file has {num_characters} characters to translate, at most "
            f"{task.bounds.max_characters} are allowed"
        )
    yield b"%d" % num_characters
    for part in parts(parsed.segments):
        yield json.dumps(part, ensure_ascii=False).encode()


def parts(segments: Sequence[Segment]) -> Iterator[Part]:
    """A few segments at a time."""
    part: Part | None = None
    size = 0
    for text, text_format, split_sentences in segments:
        is_full = part and (len(part.texts) >= _PART_TEXTS or size + len(text) > _PART_CHARACTERS)
        if part and (is_full or part[:2] != (text_format, split_sentences)):
            yield part
            part = None
        if part is None:
            part, size = Part(text_format, split_sentences, []), 0
        part.texts.append(text)
        size += len(text)
    if part:
        yield part


def _limit(bounds: Bounds) -> None:
    limits = ((resource.RLIMIT_AS, bounds.max_bytes), (resource.RLIMIT_CPU, bounds.max_seconds))
    for kind, most in limits:
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(hard, most)
        resource.setrlimit(kind, (most, most))
