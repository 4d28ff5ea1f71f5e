"""The field that names the languages which a caller expects, for source "auto" and /detect."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from model.text.languages import MAX_CODE_CHARACTERS

_MAX_LANGUAGES = 20


def _check(value: object) -> object:
    codes = value if isinstance(value, list) else [value]
    are_codes = all(isinstance(code, str) and len(code) <= MAX_CODE_CHARACTERS for code in codes)
    if are_codes and len(codes) <= _MAX_LANGUAGES:
        return value
    raise PydanticCustomError(
        "codes",
        f"must be a string or a list of at most {_MAX_LANGUAGES} strings, each of at most "
        f"{MAX_CODE_CHARACTERS} characters",
    )


_Code = Annotated[str, Field(max_length=MAX_CODE_CHARACTERS)]
PreferredLanguages = Annotated[
    _Code | Annotated[list[_Code], Field(max_length=_MAX_LANGUAGES)] | None,
    BeforeValidator(_check),
    Field(
        description="Languages to expect when detecting, such as those of the user's browser: the "
        "odds of all others are divided by ten. "
        f"At most {_MAX_LANGUAGES} codes; unknown ones are ignored."
    ),
]


def listed(value: str | list[str] | None) -> list[str]:
    """The field's value as a list."""
    return [value] if isinstance(value, str) else value or []
