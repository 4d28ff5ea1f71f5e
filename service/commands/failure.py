"""End a failed command with one line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn

import click

from service.commands.process import BROKEN_PIPE, INTERRUPTED, exiting_on_interrupt

_FAILED = 2


def fail(message: str) -> NoReturn:
    """End the command with one line on stderr and exit code 2."""
    with contextlib.suppress(OSError):
        click.echo(f"dragoman: {' '.join(message.split())}", err=True)
    raise SystemExit(_FAILED)


@contextlib.contextmanager
def failing_in_one_line() -> Iterator[None]:
    """Errors from the user's files, arguments and machine print one line and give exit code 2.
    Ctrl-C and a broken pipe end the command silently."""
    try:
        yield
    except click.BadParameter as error:
        fail(error.format_message())
    except BrokenPipeError:
        raise SystemExit(BROKEN_PIPE) from None
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except OSError as error:
        fail(described(error))
    except MemoryError as error:
        fail(f"there is not enough memory: {error}" if str(error) else "there is not enough memory")


def described(error: OSError) -> str:
    """The file and the system's message."""
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


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
        fail(f"this command needs pip install 'dragoman[{extra}]': {error}")
