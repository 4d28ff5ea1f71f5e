"""A command's process: standard streams, Ctrl-C, errors in one line, and exit."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn, Self, TextIO

from service import install_command
from service.signals import EXIT_MAY_PASS

_FAILED = 2
_INTERRUPTED = 128 + signal.SIGINT
_BROKEN_PIPE = 128 + 13  # what a shell shows for SIGPIPE
_STANDARD_STREAMS = (0, 1, 2)
_CPU_BUILD = "--extra-index-url https://download.pytorch.org/whl/cpu, without that URL for a GPU"
"""Of PyTorch, a tenth of the build with CUDA."""
_MANY_OBJECTS = 10_000
"""More than were freed since the last scan; by default 700."""


def open_missing_streams() -> None:
    """Open /dev/null where standard input, output or error is closed.

    Otherwise the next file opened would take the descriptor and receive printed text. `sys.stdin`
    and `sys.stdout` stay None, so a command can detect it.
    """
    for descriptor in _STANDARD_STREAMS:
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor: this one
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def notice_ended_children() -> None:
    """Let the system tell how a child ended: who started this process may ignore SIGCHLD."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


@contextlib.contextmanager
def exiting_on_interrupt(message: str = "") -> Iterator[None]:
    """Ctrl-C ends the process at once, with this line on stderr: imports may swallow or print a
    KeyboardInterrupt, and an object that is just freed swallows it."""
    previous = signal.getsignal(signal.SIGINT)
    if previous is not signal.default_int_handler:  # ignored, or a server's handler
        yield
        return
    signal.signal(signal.SIGINT, functools.partial(_exit_interrupted, message))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def end_process(code: str | int | None) -> None:
    """End with this exit code.

    Skips Python's shutdown, which would print errors and change the code, if a standard stream
    cannot be flushed or threads may still compute after an interrupt. Text that is lost on standard
    output is a failure; of standard error it is none.
    """
    is_written, is_reported = [*map(_is_flushed, (sys.stdout, sys.stderr))]
    if is_written and is_reported and code not in (_INTERRUPTED, _BROKEN_PIPE):
        sys.exit(code)
    if code is None or isinstance(code, int):
        os._exit(code or (0 if is_written else _FAILED))
    os._exit(_FAILED)


def _is_flushed(stream: TextIO | None) -> bool:
    """Whether nothing waits to be written."""
    try:
        if stream is not None:
            stream.flush()
    except (OSError, ValueError):
        return False
    return True


def _exit_interrupted(message: str, _: int, __: FrameType | None) -> None:
    if message:
        with contextlib.suppress(OSError):
            os.write(2, f"\ndragoman: {message}\n".encode())
    os._exit(_INTERRUPTED)


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Collect no garbage inside the block, and never scan the objects made in it: in a server a
    scan would stop every thread for 120 ms. Scan those of later seldom: what is at work looks like
    garbage that stays, and requests leave none in cycles."""
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.set_threshold(_MANY_OBJECTS)
        gc.enable()


def fail(message: str, cause: BaseException | None = None) -> NoReturn:
    """End the command with one line on stderr, and exit code 2, or 75 if the cause may pass."""
    from service.exhaustion import may_pass

    _report(message)
    raise SystemExit(EXIT_MAY_PASS if may_pass(cause) else _FAILED)


def _report(message: str) -> None:
    with contextlib.suppress(OSError):
        print(f"dragoman: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201


class Failures:
    """Errors that do not end a command, such as those of one of its files. Each prints one line;
    after the block the command ends with exit code 2 if there were any."""

    def __init__(self) -> None:
        self._are_any = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._are_any:
            self.end()

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """An error ends only this block."""
        try:
            yield
        except* ValueError as group:
            self._are_any = True
            for error in group.exceptions:
                _report(str(error))

    def end(self) -> NoReturn:
        raise SystemExit(_FAILED)


@contextlib.contextmanager
def failing_in_one_line() -> Iterator[None]:
    """Errors from the user's files, arguments and machine end the command as of `fail`. Ctrl-C and
    a broken pipe end it silently."""
    try:
        yield
    except BrokenPipeError:
        raise SystemExit(_BROKEN_PIPE) from None
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
    except OSError as error:
        fail(described(error), error)
    except ValueError as error:
        fail(str(error), error)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        _fail_without("torch", error)
    except MemoryError as error:
        reason = f": {error}" if str(error) else ""
        fail(f"there is not enough memory{reason}", error)
    except RuntimeError as error:
        from service.exhaustion import is_exhaustion

        if not is_exhaustion(error):
            raise
        fail("no more threads can be started", error)


def described(error: OSError) -> str:
    """The file and the system's message."""
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


def need_few_threads() -> None:
    """Let NumPy, which is imported later, multiply in the thread that asks: its library starts a
    thread for each core, and ends the process as by Ctrl-C if the system has no room for them."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def wait_without_computing() -> None:
    """Let threads of PyTorch, which is imported later, sleep while they wait for each other: beside
    another busy process they would take its core, and training half as many steps."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


@contextlib.contextmanager
def importing(extra: str | None = None) -> Iterator[None]:
    """For a command's imports: Ctrl-C ends it at once, a missing package fails with one line.

    `extra` is the optional dependency group that the command needs.
    """
    try:
        with exiting_on_interrupt():
            yield
    except ModuleNotFoundError as error:
        if extra is None:
            raise
        _fail_without(extra, error)


def _fail_without(extra: str, error: ModuleNotFoundError) -> NoReturn:
    fail(f"this needs {install_command(extra)} {_CPU_BUILD} ({error})")
