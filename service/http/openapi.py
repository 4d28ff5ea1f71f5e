"""The OpenAPI description of what FastAPI does not parse: bodies with this server's limits,
languages and models, the keys, and the errors."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.errors import LimitExceeded, ServiceError
from service.http.access.caller import GOOGLE_HEADER
from service.http.bodies import JSON, MULTIPART
from service.http.error_answers import ErrorBody
from service.http.limits import RequestLimits
from service.http.request_fields import KEY_FIELDS, RequestModel, bounded, value_schema
from service.translation.job import AUTO

_MOST_EXAMPLES = 10
Schema = dict[str, Any]
_SPELLINGS = "Other spellings are understood too: en-GB, eng and eng_Latn are en."
_TEXTS = ("q", "target_prefix")
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_AUTHENTICATE = {"WWW-Authenticate": {"description": "`Bearer`.", "schema": {"type": "string"}}}
ERROR: Schema = {"$ref": f"#/components/schemas/{ErrorBody.__name__}"}
_FILE = {
    "type": "string",
    "format": "binary",
    "description": "The file; the ending of its name says the format.",
}
_HEADERS: dict[int, Schema] = {401: _AUTHENTICATE, **dict.fromkeys((429, 502, 503), _RETRY_AFTER)}
_NOT_OURS = "HTTPValidationError"
ANYWHERE = (421, 431, 500, 503)
"""What any request can get."""
WITH_ACCESS = (401, 403, 429)
"""What requests can get that need a key or count for a limit."""
WITH_ENGINE = (502, 504)
"""What requests can get that need an engine."""
WITH_BODY = (400, 408, 413, 415, 422)
"""What requests can get that have a body."""


@dataclass(frozen=True)
class Offer:
    """What this server offers, as the descriptions name it; no languages and models where these may
    change."""

    limits: RequestLimits
    languages: Sequence[str]
    models: Sequence[str]


def describe_errors(*statuses: int, schema: Schema = ERROR) -> dict[int | str, Schema]:
    """The value of FastAPI's `responses`: the meanings of each status. They name the schema of
    `describe_error_body`, since FastAPI would make a model of it for each status of each route."""
    return {
        status: {"content": {JSON: {"schema": schema}}, "description": _meaning(status)}
        | ({"headers": _HEADERS[status]} if status in _HEADERS else {})
        for status in statuses
    }


def describe_error_body(document: Schema) -> None:
    """Add the schema of errors to the document, and remove the one that FastAPI would answer to a
    wrong path."""
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas[ErrorBody.__name__] = ErrorBody.model_json_schema()
    for operations in document["paths"].values():
        for operation in operations.values():
            if _NOT_OURS in str(operation["responses"].get("422")):
                del operation["responses"]["422"]
    for name in (_NOT_OURS, "ValidationError"):
        schemas.pop(name, None)


def _meaning(status: int) -> str:
    """Each code of the status with its message. LimitExceeded is never sent itself."""
    kinds = [
        kind for kind in ServiceError.kinds() if kind.status == status and kind is not LimitExceeded
    ]
    told = {kind.code: (kind.__doc__ or "").split("\n\n")[0] for kind in reversed(kinds)}
    return " ".join(f"`{code}`: {meaning}" for code, meaning in sorted(told.items()))


def describe_body(
    model: type[RequestModel],
    offer: Offer,
    example: Schema,
    changed: Mapping[str, Schema] | None = None,
) -> Schema:
    """The value of FastAPI's `openapi_extra` for a model's fields as JSON, which clients are
    generated from; a form has the same fields.

    `changed`: schemas that replace those of the model.
    """
    fields, required = describe_fields(model, offer) | dict(changed or {}), _required(model)
    schema = {
        "title": model.__name__,
        "type": "object",
        "required": required,
        "properties": _with_null(fields, required),
    }
    content = {JSON: {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


def describe_upload(
    model: type[RequestModel], offer: Offer, unoffered: Collection[str] = ()
) -> Schema:
    """As `describe_body`, for a form with a file and the model's fields without `unoffered`."""
    fields = describe_fields(model, offer).items()
    schema = {
        "title": model.__name__,
        "type": "object",
        "required": ["file", *_required(model)],
        "properties": {"file": _FILE, **{k: one for k, one in fields if k not in unoffered}},
    }
    return {"requestBody": {"required": True, "content": {MULTIPART: {"schema": schema}}}}


def describe_file(media_type: str) -> dict[int | str, Schema]:
    """The value of FastAPI's `responses` for an answer that is a file."""
    content = {media_type: {"schema": {"type": "string", "format": "binary"}}}
    return {200: {"description": "The translated file.", "content": content}}


def _required(model: type[RequestModel]) -> list[str]:
    return [name for name, field in model.model_fields.items() if field.is_required()]


def describe_fields(model: type[RequestModel], offer: Offer) -> dict[str, Schema]:
    """The non-null schema of each field, with this server's limits, languages and models."""
    written = copy.deepcopy(_properties(model))
    fields = {name: _not_null(schema) for name, schema in written.items()}
    limits, texts = offer.limits, {"type": "string", "maxLength": offer.limits.max_characters}
    for name in fields.keys() & {*_TEXTS, "prefix"}:
        if "anyOf" in fields[name]:
            items = {"type": "array", "items": texts, "maxItems": limits.max_texts}
            fields[name] |= {"anyOf": [texts, items]}
        else:
            fields[name] = texts | fields[name]
    for name, values in (
        ("source", [AUTO, *offer.languages] if offer.languages else []),
        ("target", offer.languages),
    ):
        if name in fields:
            fields[name] = _choice(fields[name], values, _SPELLINGS)
    if "model" in fields:
        fields["model"] = _choice(fields["model"], offer.models)
    return {name: dict(bounded(name, schema, limits.greatest)) for name, schema in fields.items()}


@functools.cache
def _properties(model: type[RequestModel]) -> Mapping[str, Schema]:
    """The schema of each field, which pydantic makes anew each time."""
    properties: Mapping[str, Schema] = model.model_json_schema()["properties"]
    return properties


def _not_null(schema: Schema) -> Schema:
    """Without its null alternative, and without its title, which is the name again."""
    described = {name: schema[name] for name in ("description",) if name in schema}
    found = {**value_schema(schema), **described}
    found.pop("title", None)
    if "anyOf" in found:  # generators of clients take no values of several types in one list
        found.pop("enum", None)
    return found


def _choice(schema: Schema, values: Sequence[str], remark: str = "") -> Schema:
    """A string, such as these values. They are examples only: clients that are generated from one
    server's document are used with others."""
    description = f"{schema.get('description', '')} {remark}".strip()
    found = {"type": "string", "description": description}
    return {**found, "examples": list(values[:_MOST_EXAMPLES])} if values else found


def _with_null(fields: Mapping[str, Schema], required: Sequence[str]) -> dict[str, Schema]:
    """Allow null for optional fields, which means absent."""
    return {
        name: schema if name in required else _or_null(schema) for name, schema in fields.items()
    }


def _or_null(schema: Schema) -> Schema:
    described = {name: schema[name] for name in ("description",) if name in schema}
    value = {name: one for name, one in schema.items() if name not in described}
    return {**described, "anyOf": [value, {"type": "null"}]}


KEY_SCHEMES: dict[str, Schema] = {
    "Bearer": {"type": "http", "scheme": "bearer", "description": "A key, as `Bearer KEY`."},
    "DeepL": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "A key as DeepL's clients send it: `DeepL-Auth-Key KEY`.",
    },
    "Google": {
        "type": "apiKey",
        "in": "header",
        "name": GOOGLE_HEADER,
        "description": "A key as Google's clients send it.",
    },
    "LibreTranslate": {
        "type": "apiKey",
        "in": "query",
        "name": KEY_FIELDS[0],
        "description": "A key as LibreTranslate's clients send it; also a field of the body, "
        "where the route has the field.",
    },
}
"""The ways to send a key to any route that may need one."""


def describe_keys(document: Schema, is_open: Callable[[str], bool], *, is_required: bool) -> None:
    """Add the ways to send a key, to every operation whose path is not open."""
    document.setdefault("components", {})["securitySchemes"] = KEY_SCHEMES
    ways: list[Schema] = [{name: []} for name in KEY_SCHEMES]
    for path, operations in document["paths"].items():
        for operation in operations.values() if not is_open(path) else ():
            operation["security"] = ways if is_required else [*ways, {}]
