"""The files that settings are read from: a TOML file, and a directory of secrets."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_settings import SecretsSettingsSource


class Secrets(SecretsSettingsSource):
    """The settings in the files of a directory, read without a byte order mark."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        value, key, is_complex = super().get_field_value(field, field_name)
        is_text = isinstance(value, str)
        return value.removeprefix("\ufeff").strip() if is_text else value, key, is_complex


def read_toml(path: Path) -> dict[str, Any]:
    """The settings of a file; raises ValueError with one sentence."""
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"setting config: {path} is not UTF-8: byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"setting config: {path} is not TOML: {error}") from error
    for name in ("config", "secrets_dir"):
        if name in settings:
            raise ValueError(f"setting {name}: only a flag or a variable can set it, not {path}")
    return settings
