"""How a command ends that cannot do its work."""

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
    """What the user's files, arguments and machine can cause is one line and exit code 2; Ctrl-C
    and a reader that is gone end the command without a word."""
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
    """The file and the system's words."""
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


@contextlib.contextmanager
def importing(extra: str | None = None) -> Iterator[None]:
    """For the imports of a command: Ctrl-C ends it at once, and what is not installed is told.

    `extra` is the part of dragoman that the command needs besides the rest.
    """
    try:
        with exiting_on_interrupt():
            yield
    except ModuleNotFoundError as error:
        if extra is None:
            raise
        fail(f"this command needs pip install 'dragoman[{extra}]': {error}")
