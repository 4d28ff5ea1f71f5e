"""Types of arguments that several commands take."""

from __future__ import annotations

from pathlib import Path

import click

DEVICES = click.Choice(["auto", "cpu", "cuda"])
PRECISIONS = click.Choice(["auto", "float32", "bfloat16", "float16", "int8"])
DIRECTORY = click.Path(file_okay=False, path_type=Path)
MODEL = click.Path(path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
