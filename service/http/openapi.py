"""OpenAPI description of keys, of errors, and of POST /translate, whose body FastAPI does not
parse: fields with this server's limits, languages and models, content types, the body of every
status."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from service.errors import (
    BodyTooLarge,
    DeadlineExceeded,
    GlossaryExists,
    HeadTooLarge,
    InvalidField,
    InvalidJson,
    InvalidKey,
    KeyRequired,
    LimitExceeded,
    NotReady,
    ReplicaLost,
    ServiceError,
    UnknownFile,
    UnsupportedMediaType,
)
from service.http.access.credentials import GOOGLE_HEADER, KEY_FIELDS
from service.http.answers import TranslateResponse
from service.http.error_formats import ErrorBody
from service.http.fields import value_schema
from service.http.glossary_field import NAME_SCHEMA
from service.http.ignored_fields import IGNORED_FIELDS_HEADER
from service.http.request_body import FORM, JSON, MULTIPART, PLAIN
from service.http.schemas import TranslateRequest
from service.http.server_sent_events import EVENT_STREAM
from service.http.state import Limits

Schema = dict[str, Any]
EXAMPLE = {"q": "图书馆在哪里？", "source": "zh", "target": "en"}
EXAMPLE_TRANSLATION = "Where is the library?"
_AUTO = "auto"
_SPELLINGS = "Other spellings are understood too: en-GB, eng and eng_Latn are en."
_MEANINGS: dict[int, str] = {
    InvalidJson.status: "The body cannot be parsed, a field is missing, or the languages or the "
    "format are not served.",
    KeyRequired.status: "This server asks for an API key.",
    InvalidKey.status: "The API key is not valid, or suggestions are switched off.",
    UnknownFile.status: "There is no such thing.",
    GlossaryExists.status: "There is such a thing already.",
    BodyTooLarge.status: "The body, its texts or their number are over a limit.",
    UnsupportedMediaType.status: "The Content-Type is none of those allowed.",
    InvalidField.status: "A field holds what it may not, or fields contradict.",
    HeadTooLarge.status: "The request line and headers are over a limit.",
    ServiceError.status: "Something failed here; the request may be tried again.",
    ReplicaLost.status: "On Ray: the replica was lost.",
    LimitExceeded.status: "A limit of this client or the quota of its key is reached.",
    NotReady.status: "The server is full or stopping, a model is not ready, or its machine has too "
    "little memory or disk.",
    DeadlineExceeded.status: "The deadline has passed.",
}


def describe_translate(
    limits: Limits, languages: Sequence[str], models: Sequence[str]
) -> dict[str, Any]:
    """The value of FastAPI's `openapi_extra`."""
    fields = _fields(limits, languages, models)
    return {
        "requestBody": {
            "required": True,
            "content": {
                JSON: {"schema": _object(_with_null(fields)), "example": EXAMPLE},
                FORM: {"schema": _object(_spelled(fields)), "example": EXAMPLE},
                MULTIPART: {"schema": _object(_spelled(fields)), "example": EXAMPLE},
                PLAIN: {"schema": _text(limits), "example": EXAMPLE["q"]},
            },
        },
        "parameters": [*_query(fields), _PREFER],
        "responses": _responses(),
    }


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


ANYWHERE = (HeadTooLarge.status, ServiceError.status, NotReady.status)
"""What any request can get."""
WITH_ACCESS = (KeyRequired.status, InvalidKey.status, LimitExceeded.status)
"""What requests can get that need a key or count for a limit."""
WITH_ENGINE = (ReplicaLost.status, DeadlineExceeded.status)
"""What requests can get that need an engine."""


def describe_errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The value of FastAPI's `responses`."""
    return {
        status: {"model": ErrorBody, "description": _MEANINGS[status]}
        | ({"headers": _HEADERS[status]} if status in _HEADERS else {})
        for status in statuses
    }


def _fields(limits: Limits, languages: Sequence[str], models: Sequence[str]) -> dict[str, Schema]:
    """The non-null schema of each field, with this server's limits, languages and models."""
    written = TranslateRequest.model_json_schema()["properties"]
    fields = {name: _not_null(schema) for name, schema in copy.deepcopy(written).items()}
    texts: Schema = {
        "anyOf": [
            _text(limits),
            {"type": "array", "items": _text(limits), "maxItems": limits.max_texts},
        ]
    }
    for name in ("q", "target_prefix"):
        fields[name] = {"description": fields[name]["description"], **texts}
    fields["source"] = _choice(fields["source"], [_AUTO, *languages], _SPELLINGS)
    fields["target"] = _choice(fields["target"], languages, _SPELLINGS)
    fields["model"] = _choice(fields["model"], models)
    fields["beam_size"]["maximum"] = limits.max_beam_size
    fields["alternatives"]["maximum"] = min(
        fields["alternatives"]["maximum"], limits.max_beam_size - 1
    )
    return fields


def _not_null(schema: Schema) -> Schema:
    described = {"description": schema["description"]}
    return {**value_schema(schema), **described}


def _choice(schema: Schema, values: Sequence[str], remark: str = "") -> Schema:
    description = f"{schema['description']} {remark}".strip()
    return {"type": "string", "description": description, "enum": list(values)}


def _text(limits: Limits) -> Schema:
    return {"type": "string", "maxLength": limits.max_characters}


def _object(fields: Mapping[str, Schema]) -> Schema:
    required = ["q", "source", "target"]
    return {"type": "object", "required": required, "properties": dict(fields)}


def _with_null(fields: Mapping[str, Schema]) -> dict[str, Schema]:
    """Allow null for optional fields, which means absent."""
    return {
        name: schema
        if name in EXAMPLE
        else {
            "description": schema["description"],
            "anyOf": [
                {key: value for key, value in schema.items() if key != "description"},
                {"type": "null"},
            ],
        }
        for name, schema in fields.items()
    }


def _spelled(fields: Mapping[str, Schema]) -> dict[str, Schema]:
    """In a form a repeated field is a list, so a list has at least two items."""
    spelled = copy.deepcopy(dict(fields))
    for name in ("q", "target_prefix"):
        spelled[name]["anyOf"][1]["minItems"] = 2
    spelled["glossary"] = {
        **NAME_SCHEMA,
        "description": f"{spelled['glossary']['description']} A list is spelled in JSON.",
    }
    return spelled


def _query(fields: Mapping[str, Schema]) -> list[Schema]:
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": f"With a text/plain body: {schema['description']}",
            "schema": schema,
            **({"example": EXAMPLE[name]} if name in EXAMPLE else {}),
        }
        for name, schema in _spelled(fields).items()
        if name != "q"
    ]


def _responses() -> dict[str, Any]:
    events = "Events `token`, then `final` with the whole answer, or `error`; with Accept."
    answer = {"$ref": f"#/components/schemas/{TranslateResponse.__name__}"}
    return {
        "200": {
            "description": "The translation: JSON for JSON and forms, plain text for plain text.",
            "headers": _IGNORED_FIELDS,
            "content": {
                JSON: {"schema": answer, "example": {"translatedText": EXAMPLE_TRANSLATION}},
                PLAIN: {"schema": {"type": "string"}, "example": EXAMPLE_TRANSLATION},
                EVENT_STREAM: {"schema": {"type": "string", "description": events}},
            },
        }
    }


_RETRY_AFTER: Schema = {
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}
}
_AUTHENTICATE: Schema = {
    "WWW-Authenticate": {"description": "`Bearer`.", "schema": {"type": "string"}}
}
_HEADERS = {
    KeyRequired.status: _AUTHENTICATE,
    **dict.fromkeys((LimitExceeded.status, ReplicaLost.status, NotReady.status), _RETRY_AFTER),
}
_IGNORED_FIELDS: Schema = {
    IGNORED_FIELDS_HEADER: {
        "description": "Names of unknown fields, percent-encoded, as many as fit.",
        "schema": {"type": "string", "maxLength": 256},
    }
}
_PREFER: Schema = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "`handling=strict` refuses unknown fields instead of naming them.",
    "schema": {"type": "string"},  # unknown preferences are ignored
    "example": "handling=lenient",
}
