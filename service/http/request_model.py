"""The base of all request models: what absent, null, unknown and spelled values mean."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json

from service.errors import InvalidField, MissingField
from service.http.fields import explain_invalid, value_schema

_MAX_NUMBER_CHARACTERS = 64


class RequestModel(BaseModel):
    """A request's fields. Unknown fields are ignored; null means absent.

    `spelled_in_json`: the numbers and flags that JSON may hold as strings; None is all of them. A
    form may spell all of them.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)
    spelled_in_json: ClassVar[frozenset[str] | None] = None

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Make the schema now: in the first request it would block the event loop."""
        super().__pydantic_init_subclass__(**kwargs)
        _spelled_fields(cls)

    @classmethod
    def from_json(cls, values: object) -> Self:
        """Validate parsed JSON. Raises MissingField or InvalidField."""
        spelled = _spelled_fields(cls)
        return cls._validated(values, spelled & (cls.spelled_in_json or spelled))

    @classmethod
    def from_strings(cls, values: Mapping[str, str | list[str]]) -> Self:
        """Validate form or query fields with numbers spelled as in JSON. Raises as `from_json`."""
        return cls._validated(values, _spelled_fields(cls))

    @classmethod
    def unknown_fields(cls, values: object) -> Iterator[str]:
        """Names in parsed JSON or a form that are not fields of the request."""
        if isinstance(values, Mapping):
            yield from (name for name in values if name not in cls.model_fields)

    def without_effect(self) -> Sequence[str]:
        """Names of given fields that are accepted but change nothing."""
        return ()

    @classmethod
    def _validated(cls, values: object, spelled: frozenset[str]) -> Self:
        given = values
        if isinstance(values, Mapping):
            known = (name for name in cls.model_fields if values.get(name) is not None)
            given = {
                name: _parse_spelled(values[name]) if name in spelled else values[name]
                for name in known
            }
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise _explained(cls, error) from error


def _explained(model: type[BaseModel], error: ValidationError) -> MissingField | InvalidField:
    errors = error.errors(include_url=False, include_context=False)
    if errors[0]["type"] == "missing":
        return MissingField(f"Invalid request: missing {errors[0]['loc'][0]} parameter")
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    return InvalidField(explain_invalid(errors, _properties(model), required))


@functools.cache
def _properties(model: type[BaseModel]) -> dict[str, dict[str, Any]]:
    properties: dict[str, dict[str, Any]] = model.model_json_schema()["properties"]
    return properties


@functools.cache
def _spelled_fields(model: type[BaseModel]) -> frozenset[str]:
    """The fields that can hold numbers or flags."""
    schemas = {name: value_schema(schema) for name, schema in _properties(model).items()}
    return frozenset(
        name
        for name, schema in schemas.items()
        if schema.get("type") in ("integer", "number", "boolean") or True in schema.get("enum", ())
    )


def _parse_spelled(text: object) -> object:
    """Parse a number, true or false as in JSON; return anything else unchanged."""
    if not isinstance(text, str) or len(text) > _MAX_NUMBER_CHARACTERS or text != text.strip():
        return text
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError:
        return text
    return value if isinstance(value, int | float) else text
