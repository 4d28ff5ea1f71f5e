"""The files that settings are read from: a TOML file, and a directory of secrets."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SecretsSettingsSource

_MOST_FILE_BYTES = 2**20


def read_secrets(kind: type[BaseSettings], directory: Path) -> PydanticBaseSettingsSource:
    """The settings in the files of a directory; raises ValueError with one sentence."""
    _require_small(directory)
    return _Secrets(kind, directory)


class _Secrets(SecretsSettingsSource):
    """Secrets read without a byte order mark."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        value, key, is_complex = super().get_field_value(field, field_name)
        is_text = isinstance(value, str)
        return value.removeprefix("\ufeff").strip() if is_text else value, key, is_complex


def _require_small(directory: Path) -> None:
    for file in directory.iterdir():
        is_ours = file.name.lower().startswith("dragoman_")
        if is_ours and file.is_file() and file.stat().st_size > _MOST_FILE_BYTES:
            raise ValueError(f"setting secrets_dir: {file} is too large to be a secret")


def read_toml(path: Path) -> dict[str, Any]:
    """The settings of a file; raises ValueError with one sentence."""
    with path.open("rb") as file:
        content = file.read(_MOST_FILE_BYTES + 1)
    if len(content) > _MOST_FILE_BYTES:
        raise ValueError(f"setting config: {path} is too large for a file of settings")
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"setting config: {path} is not UTF-8: byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"setting config: {path} is not TOML: {error}") from error
    except RecursionError as error:
        raise ValueError(f"setting config: {path} is nested too deeply") from error
