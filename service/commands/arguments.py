"""Argument types shared by several commands."""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem
from pydantic import TypeAdapter, ValidationError

from model.checkpoint.bundled import BUNDLED_NAMES, bundled_checkpoint
from model.text.languages import DETECTED, is_code
from service.commands.process import described
from service.settings import DEVICE_PATTERN
from service.settings.values import Bytes

PRECISIONS = click.Choice(["auto", "float32", "bfloat16", "float16", "int8"])


class GivenPath(click.Path):
    """A path; an empty one would be the current directory."""

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> Any:
        if not str(value).strip():
            self.fail("a path must not be empty", param, context)
        return super().convert(value, param, context)


class Device(click.ParamType[str]):
    """A device's name: auto, cpu, cuda or cuda:1."""

    name = "device"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> str:
        if not re.fullmatch(DEVICE_PATTERN, str(value)):
            self.fail(f"{value!r} is not auto, cpu, cuda or cuda:1", param, context)
        return str(value)


class LanguageCode(click.ParamType[str]):
    """A language's code, which cannot ask to detect it."""

    name = "language"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> str:
        if not is_code(value) or value.lower() == DETECTED:
            self.fail(f"{value!r} is no language such as en", param, context)
        return value


class Size(click.ParamType[int]):
    """Bytes, as in the settings: 500MB or 4GiB."""

    name = "size"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> int:
        try:
            return TypeAdapter(Bytes).validate_python(value)
        except ValidationError:
            self.fail(f"{value!r} is not a size, such as 500MB or 4GiB", param, context)


class CheckpointName(GivenPath):
    """A checkpoint's directory, or the name of a bundled one, as of `serve --model`."""

    name = "checkpoint"

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> Any:
        if str(value) in BUNDLED_NAMES and not Path(value).exists():
            value = bundled_checkpoint(str(value))
        return super().convert(value, param, context)


class ReadableFile(click.ParamType[Path]):
    """A readable file; FIFOs and devices only if `may_be_stream`."""

    name = "file"

    def __init__(self, *, may_be_stream: bool = False) -> None:
        self._may_be_stream = may_be_stream

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> Path:
        path = Path(value)
        try:
            require_readable(path, may_be_stream=self._may_be_stream)
        except ValueError as error:
            self.fail(str(error), param, context)
        return path

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


def require_readable(path: Path, *, may_be_stream: bool = True) -> None:
    """Raise ValueError for what is no readable file, or one of another kind."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            path.open("rb").close()
    except OSError as error:
        raise ValueError(described(error)) from error
    except ValueError as error:
        raise ValueError(f"{str(path)!r}: {error}") from error
    if stat.S_ISDIR(mode):
        raise ValueError(f"{path}: it is a directory, not a file")
    if not (stat.S_ISREG(mode) or may_be_stream):
        raise ValueError(f"{path}: it is not a regular file")


def require_different(source: str, target: str) -> None:
    """Raises BadParameter."""
    if source.lower() == target.lower():
        raise click.BadParameter(f"source and target language must differ, got {source} twice")


DIRECTORY = GivenPath(file_okay=False, path_type=Path)
MODEL = GivenPath(path_type=Path)
FILE_PATH = GivenPath(dir_okay=False, path_type=Path)
CHECKPOINT = CheckpointName()
DEVICES = Device()
LANGUAGE = LanguageCode()
SIZE = Size()
FILE = ReadableFile()
TEXT_FILE = ReadableFile(may_be_stream=True)
