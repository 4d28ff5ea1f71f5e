"""The field `glossary` of a request: a list of terms, or the name of a stored glossary."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError, from_json

from service.errors import InvalidField
from service.http.fields import NO_SPACE
from service.http.json_values import count_values
from service.translation.glossary import (
    MAX_TERM_CHARACTERS,
    MAX_TERMS,
    Glossary,
    GlossaryEntry,
    check_entries,
)

MAX_NAME_CHARACTERS = 100
_MOST_VALUES = 4 * MAX_TERMS + 1000
"""Of a list: each term is an object of two strings and a flag."""
TERM_TEXT: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_TERM_CHARACTERS,
    "pattern": NO_SPACE,
}
NAME_SCHEMA: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_NAME_CHARACTERS,
    "description": "Name of a stored glossary.",
}


def terms_schema(most: int) -> dict[str, Any]:
    """The JSON schema of a list of terms."""
    flag = {"anyOf": [{"type": "boolean"}, {"type": "null"}]}
    properties = {"source": TERM_TEXT, "target": TERM_TEXT, "case_sensitive": flag}
    term = {"type": "object", "required": ["source", "target"], "properties": properties}
    return {"type": "array", "maxItems": most, "items": term}


def parse_terms(value: object, most: int) -> list[GlossaryEntry]:
    """The entries of a parsed JSON list. Raises InvalidField, as `check_entries`."""
    if not isinstance(value, list) or not all(map(_is_term, value)):
        raise InvalidField(
            'entries must be a list of {"source", "target", "case_sensitive"?} with strings'
        )
    entries = [
        GlossaryEntry(term["source"], term["target"], term.get("case_sensitive") or False)
        for term in value
    ]
    check_entries(entries, most)
    return entries


def _is_term(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("source"), str)
        and isinstance(value.get("target"), str)
        and isinstance(value.get("case_sensitive"), bool | None)
    )


def _parse(value: object) -> Glossary | str | None:
    """A form may spell the list in JSON."""
    if value is None:
        return None
    if isinstance(value, str) and value.startswith("["):
        if count_values(value.encode(errors="replace"), _MOST_VALUES) > _MOST_VALUES:
            raise PydanticCustomError(
                "glossary", f"must be JSON of at most {_MOST_VALUES} values where it is a list"
            )
        try:
            value = from_json(value)
        except ValueError:
            raise PydanticCustomError("glossary", "must be valid JSON where it is a list") from None
    if isinstance(value, str) and 0 < len(value) <= MAX_NAME_CHARACTERS:
        return value
    if isinstance(value, str) and value:
        raise PydanticCustomError(
            "glossary", f"must be a name of at most {MAX_NAME_CHARACTERS} characters, or a list"
        )
    if not isinstance(value, list) or not all(map(_is_term, value)):
        raise PydanticCustomError(
            "glossary",
            'must be the name of a stored glossary or a list of {"source", "target", '
            '"case_sensitive"?}',
        )
    return Glossary(parse_terms(value, MAX_TERMS))


GlossaryField = Annotated[
    Glossary | str | None,
    PlainValidator(_parse),
    WithJsonSchema({"anyOf": [NAME_SCHEMA, terms_schema(MAX_TERMS)]}),
]
