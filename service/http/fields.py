"""Error messages for invalid request fields, generated from the JSON schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import ErrorDetails, to_json

from service.errors import shown

JsonSchema = Mapping[str, Any]
NO_SPACE = r"[^\s\x1C-\x1F\x85]"
"""A character that str.strip leaves, for any dialect of regular expressions."""
_SECRETS = ("api_key", "auth_key", "secret", "document_key")
"""Fields whose values no error shows."""


def explain_invalid(
    errors: Sequence[ErrorDetails], properties: Mapping[str, JsonSchema], required: Sequence[str]
) -> str:
    """Describe the first error: the field, the allowed values and the given value.

    `properties` maps each field to its JSON schema; `required` names the required fields.
    """
    first = errors[0]
    if not first["loc"]:
        fields = " and ".join(", ".join(required).rsplit(", ", 1))
        return f"the body must be a JSON object with {fields}, got {shown(first['input'])}"
    field = str(first["loc"][0])
    if first["type"] == "string_too_long":
        most = value_schema(properties[field])["maxLength"]
        return f"{field} must have at most {most} characters, got {len(first['input'])}"
    if field in _SECRETS:
        return f"{field} must be {allowed_values(properties[field])}"
    if first["msg"].startswith("must be"):  # an error of our own
        return f"{field} {first['msg']}, got {shown(first['input'])}"
    return f"{field} must be {allowed_values(properties[field])}, got {shown(first['input'])}"


def value_schema(schema: JsonSchema) -> JsonSchema:
    """The schema without its null alternative."""
    values = [s for s in schema.get("anyOf", ()) if s.get("type") != "null"]
    return values[0] if len(values) == 1 else schema


def allowed_values(schema: JsonSchema) -> str:
    """The allowed values in words, such as "a whole number from 0 to 15"."""
    schema = value_schema(schema)
    if "enum" in schema:
        return " or ".join(to_json(value).decode() for value in schema["enum"])
    match schema.get("type"):
        case "integer":
            return f"a whole number from {schema['minimum']} to {schema['maximum']}"
        case "number":
            return f"a number from {schema['minimum']:g} to {schema['maximum']:g}"
        case "boolean":
            return "true or false"
        case "string":
            most = schema.get("maxLength")
            return f"a string of at most {most} characters" if most else "a string"
    return "a string or a list of strings"
