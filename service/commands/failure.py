"""How a command ends that cannot do its work."""

from __future__ import annotations

from typing import NoReturn

import click

_FAILED = 2


def fail(message: str) -> NoReturn:
    """End the process with one line on stderr and exit code 2."""
    click.echo(f"dragoman: {' '.join(message.split())}", err=True)
    raise SystemExit(_FAILED)
