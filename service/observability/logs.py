"""The log format: one JSON object a line, or readable text.

Modules log through the standard library with facts in `extra`; structlog renders the records. The
request log gives its facts to structlog's processors itself, at a sixth of the cost. A thread
writes the lines, so a reader of the log that stops reading delays nothing else. Lines are dropped
and counted if too many wait, or if they cannot be written.

No client's text is ever logged. An exception's message may contain one, so a traceback shows only
the exception's type and code locations, except for loggers whose code has no texts.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import select
import sys
import threading
import time
from collections.abc import Callable, Sequence
from select import PIPE_BUF
from typing import Any, TextIO

import structlog
from pydantic_core import to_json
from structlog.processors import ExceptionRenderer, JSONRenderer, TimeStamper
from structlog.stdlib import ExtraAdder, ProcessorFormatter, add_log_level, add_logger_name
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import EventDict, Processor

_STDERR = 2
_MAX_WAITING = 4096
_END_SECONDS = 2.0
_GATHER_SECONDS = 0.01
# They handle token ids only, and their messages tell an operator why a device fails.
LOGGERS_WITHOUT_TEXTS = ("service.engine.batch_loop", "service.engine.worker")


class QueuedStream:
    """A text stream whose lines a thread writes to a file descriptor.

    A Python file would not do: a thread that hangs in one keeps its lock, and with it the
    interpreter from ending. Whenever the thread wakes, it takes Python's global lock from the
    others, so it gathers the lines of some milliseconds, up to what a pipe takes in one piece
    beside the lines of other processes.
    """

    def __init__(self, descriptor: int) -> None:
        self.num_dropped = 0
        self._descriptor = descriptor
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        if self._lines.qsize() < _MAX_WAITING:
            self._lines.put(line)
        else:
            self.num_dropped += 1

    def flush(self) -> None:
        """Do nothing: a logger does not wait."""

    def close(self) -> None:
        """Write the lines that wait, within two seconds."""
        self._lines.put(None)
        self._thread.join(_END_SECONDS)

    def _write_all(self) -> None:
        gathered: list[bytes] = []
        for line in iter(self._lines.get, None):
            encoded = line.encode(errors="backslashreplace")
            if gathered and sum(map(len, gathered)) + len(encoded) > PIPE_BUF:
                self._write(gathered)
            gathered.append(encoded)
            if self._lines.empty():
                time.sleep(_GATHER_SECONDS)
            if self._lines.empty():
                self._write(gathered)
        self._write(gathered)

    def _write(self, lines: list[bytes]) -> None:
        """Write the lines, and forget them."""
        try:
            os.write(self._descriptor, b"".join(lines))
        except OSError:  # its pipe is closed or its disk is full
            self.num_dropped += len(lines)
        lines.clear()


class UnqueuedStream:
    """The same for a process that must have one thread: a line that would have to wait is
    dropped."""

    def __init__(self, descriptor: int = _STDERR) -> None:
        self._descriptor = descriptor

    def write(self, line: str) -> None:
        with contextlib.suppress(OSError):
            if select.select([], [self._descriptor], [], 0)[1]:
                os.write(self._descriptor, line.encode(errors="backslashreplace")[-PIPE_BUF:])

    def flush(self) -> None:
        """Do nothing, likewise."""


def num_dropped() -> int:
    """The lines that the log of this process has dropped."""
    streams = (getattr(handler, "stream", None) for handler in logging.getLogger().handlers)
    return sum(stream.num_dropped for stream in streams if isinstance(stream, QueuedStream))


LogStream = QueuedStream | UnqueuedStream | TextIO


def configure_logs(
    level: str, log_format: str, stream: LogStream | None = None, process: str = ""
) -> None:
    """Send all log records of this process to `stream`, by default a queued one to stderr, which
    closes when the process ends. "auto" is text on a terminal, else JSON. `process`: its name, if
    the server has several."""
    is_json = log_format == "json" or (log_format == "auto" and not sys.stderr.isatty())
    stamp, renderers = TimeStamper(fmt="iso", utc=True), _renderers(is_json)
    named = [_naming(process)] if process else []
    handler = logging.StreamHandler(stream := stream or _queued_stderr())
    handler.setFormatter(
        ProcessorFormatter(
            foreign_pre_chain=[
                ExtraAdder(),
                add_log_level,
                add_logger_name,
                stamp,
                *named,
                _drop_exception_messages,
            ],
            processors=[
                ProcessorFormatter.remove_processors_meta,
                _drop_uvicorns_colours,
                *renderers,
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # lower levels show callback arguments
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # a line for each request to a Hub
    direct: list[Processor] = [JSONRenderer(serializer=_to_json)] if is_json else [*renderers]
    writer = structlog.WriteLogger(stream)  # type: ignore[arg-type]
    structlog.configure(
        processors=[add_log_level, stamp, *named, *direct], logger_factory=lambda *_: writer
    )


def _naming(process: str) -> Processor:
    def name(_: Any, __: str, event: EventDict) -> EventDict:
        event["process"] = process
        return event

    return name


def log_line(logger: logging.Logger, level: int, make_facts: Callable[[], EventDict]) -> None:
    """Write a line about an event, if the logger has this level. Its facts change, and begin
    with `event`."""
    if not logger.isEnabledFor(level):
        return
    configuration, name = structlog.get_config(), logging.getLevelName(level).lower()
    line: Any = make_facts()
    line["logger"] = logger.name
    for process in configuration["processors"]:
        line = process(None, name, line)
    configuration["logger_factory"]().msg(line)


def _queued_stderr() -> QueuedStream:
    stream = QueuedStream(_STDERR)
    atexit.register(stream.close)
    return stream


def _drop_exception_messages(_: Any, __: str, event: EventDict) -> EventDict:
    exc_info = event.get("exc_info")
    if isinstance(exc_info, tuple) and event["logger"] not in LOGGERS_WITHOUT_TEXTS:
        error = _without_message(exc_info[1])
        event["exc_info"] = (type(error), error, error.__traceback__) if error else None
    return event


def _without_message(error: BaseException | None) -> BaseException | None:
    """An exception of the same type name and traceback, without a message."""
    if error is None:
        return None
    names = {"__module__": type(error).__module__, "__qualname__": type(error).__qualname__}
    bare: BaseException
    if isinstance(error, BaseExceptionGroup):
        kind = type(type(error).__name__, (BaseExceptionGroup,), names)
        bare = kind("", [_without_message(part) for part in error.exceptions])
    else:
        bare = type(type(error).__name__, (Exception,), names)()
    bare.__cause__ = _without_message(error.__cause__)
    bare.__context__ = _without_message(error.__context__)
    bare.__suppress_context__ = error.__suppress_context__
    return bare.with_traceback(error.__traceback__)


def _to_json(event: EventDict, default: Callable[[Any], Any]) -> str:
    return to_json(event, fallback=default).decode()


def _drop_uvicorns_colours(_: Any, __: str, event: EventDict) -> EventDict:
    event.pop("color_message", None)
    return event


def _renderers(is_json: bool) -> Sequence[Processor]:
    """Tracebacks omit the values of variables, which may contain a client's text."""
    if is_json:
        frames = ExceptionDictTransformer(show_locals=False)
        return [ExceptionRenderer(frames), JSONRenderer(ensure_ascii=False)]
    plain = structlog.dev.plain_traceback
    is_terminal = sys.stderr.isatty()
    return [structlog.dev.ConsoleRenderer(colors=is_terminal, exception_formatter=plain)]
