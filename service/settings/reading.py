"""Reads the settings of a process; what is wrong with them is one sentence."""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, get_args

from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsError

from service.errors import shown
from service.settings import Settings

_OTHER_VARIABLES = (
    *("DRAGOMAN_INSTRUCTION_SET", "DRAGOMAN_REPLICAS", "DRAGOMAN_MAX_REPLICAS"),
    *("DRAGOMAN_TARGET_REQUESTS", "DRAGOMAN_CPUS", "DRAGOMAN_GPUS"),
)
"""Of the CPU engine, and of a deployment on Ray."""
_SIZE = "must be a size, such as 500MB or 4GiB"
_MESSAGES = {
    "byte_size": _SIZE,
    "byte_size_unit": _SIZE,
    "string_pattern_mismatch": "must be auto, cpu, cuda, cuda:1 or cuda:0,1",
    "too_short": "must not be empty",
}
"""Instead of pydantic's, which name its types; only a device has a pattern."""
_Settings = TypeVar("_Settings", bound=Settings)


def read_settings(kind: type[_Settings], given: Mapping[str, Any]) -> _Settings:
    """Settings from `given` and the other sources; raises ValueError with one sentence."""
    names = [f"dragoman_{name}" for name in kind.model_fields]
    variables = [*(name.upper() for name in names), *_OTHER_VARIABLES]
    _require_known("variable", os.environ, variables)
    settings = _read(kind, given)
    if settings.secrets_dir is not None:
        _require_known("secret", os.listdir(settings.secrets_dir), names)
    return settings


def _require_known(what: str, given: Iterable[str], names: Sequence[str]) -> None:
    """Raises ValueError for a name with our prefix that is none of these, in any case; its value
    may be a secret."""
    known = {name.upper() for name in names}
    for one in given:
        if one.upper().startswith("DRAGOMAN_") and one.upper() not in known:
            raise ValueError(f"the {what} {one} is no setting{_hint(one, names)}")


def _read(kind: type[_Settings], given: Mapping[str, Any]) -> _Settings:
    try:
        with warnings.catch_warnings(action="error", category=UserWarning):
            return kind(**given)
    except ValidationError as error:
        raise ValueError(_sentence(kind, error.errors()[0])) from None
    except SettingsError as error:  # pydantic could not read a file
        reason = error.__cause__ or error
        if isinstance(reason, UnicodeDecodeError):
            reason = ValueError(f"a file is not UTF-8: byte {reason.start}")
        raise ValueError(f"setting secrets_dir: {reason}") from None
    except UserWarning as warning:  # pydantic would ignore a secret
        raise ValueError(f"setting secrets_dir: {warning}") from None


def _hint(name: str, names: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(name, names, n=1)
    return f"; did you mean {nearest[0]}?" if nearest else ""


def _sentence(kind: type[Settings], error: ErrorDetails) -> str:
    """The message and the value received; omits values of secrets, and of a misspelt name."""
    message = _MESSAGES.get(error["type"], error["msg"].removeprefix("Value error, "))
    if not error["loc"]:
        return message
    name = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return f"{name} is no setting{_hint(name, kind.model_fields)}"
    field = kind.model_fields.get(str(error["loc"][0]))
    is_secret = field is not None and _is_secret(field)
    return f"setting {name}: {message}" + ("" if is_secret else f" (got {shown(error['input'])})")


def _is_secret(field: FieldInfo) -> bool:
    return SecretStr in (field.annotation, *get_args(field.annotation))
