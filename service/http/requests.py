"""The fields of a request in any of the ways that clients send them, as a model of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote

from fastapi import Request

from service.errors import InvalidField, MissingField, shown
from service.http.bodies import (
    FORM,
    JSON,
    MULTIPART,
    NO_BODY,
    PLAIN,
    SentFile,
    Strings,
    decode_text,
    media_type_of,
    parse_form,
    parse_json,
    read_body,
    read_multipart,
)
from service.http.exchange import Exchange
from service.http.limits import RequestLimits
from service.http.request_fields import KEY_FIELDS, RequestModel

_Model = TypeVar("_Model", bound=RequestModel)
FIELD_TYPES = (JSON, FORM, MULTIPART)
IGNORED_FIELDS_HEADER = "X-Ignored-Fields"
_MAX_HEADER_CHARACTERS = 256
_AND_MORE = "..."
_MOST_INDENT = 64
"""Bytes of white space before an object."""


@dataclass(frozen=True)
class RequestFields:
    """Fields as JSON or as strings, files, and names of query parameters that are not used."""

    media_type: str
    json: object = None
    strings: Strings | None = None
    unused: Iterable[str] = ()
    files: Mapping[str, SentFile] = field(default_factory=dict)

    def parse(self, request: Request, model: type[_Model]) -> _Model:
        """The model of the fields. Unknown fields are reported before known ones are checked.

        Raises MissingField or InvalidField.
        """
        is_json = self.strings is None
        values = self.json if is_json else self.strings
        given = values if isinstance(values, dict) else ()
        names = [*(name for name in given if name not in model.names), *self.unused, *self.files]
        unknown = [
            name for name in names if name not in model.unreported and name not in KEY_FIELDS
        ]
        if unknown:
            _report_ignored(request, unknown, model.model_fields)
        for name in self.files:
            if name in model.names and name not in given:
                raise MissingField(f"Invalid request: {name} must be a text field, got a file")
        greatest = request.app.state.server.limits.greatest
        wanted = model.validated(values, is_json=is_json, greatest=greatest)
        if idle := wanted.without_effect():
            effective = (name for name in model.model_fields if name not in idle)
            _report_ignored(request, [*idle, *unknown], effective)
        return wanted


async def read_request(
    request: Request, model: type[_Model], allowed: Collection[str] = FIELD_TYPES
) -> _Model:
    """Read the request as a model, as `read_fields` and `RequestFields.parse` do."""
    fields = await read_fields(request, allowed)
    return fields.parse(request, model)


async def read_fields(
    request: Request,
    allowed: Collection[str] = FIELD_TYPES,
    max_form_bytes: int | None = None,
) -> RequestFields:
    """Read JSON, or a form, a multipart form or a plain text as `q` with the fields of the query
    string that it lacks, and identify the request's caller.

    `allowed`: media types; `max_form_bytes`: of a multipart form, if not as of other bodies. Raises
    a ServiceError.
    """
    server = request.app.state.server
    limits: RequestLimits = server.limits
    fields = await _read(request, limits, allowed, max_form_bytes or limits.max_body_bytes)
    if not server.access.is_open:
        values = fields.json if fields.strings is None else fields.strings
        await request.state.caller.identify(key_of_fields(values))
    return fields


def key_of_fields(values: object) -> str | None:
    """The API key among the fields of a body or a message. An empty one stands for none."""
    if not isinstance(values, dict):
        return None
    for name in KEY_FIELDS:
        if isinstance(key := values.get(name), str) and key:
            return key
    return None


async def _read(
    request: Request, limits: RequestLimits, allowed: Collection[str], max_form_bytes: int
) -> RequestFields:
    media_type = media_type_of(request, allowed)
    written = request.scope["query_string"]
    query = parse_form(written, limits) if written else {}
    if media_type == NO_BODY:
        if PLAIN in allowed and request.headers.get("content-type", "").startswith(PLAIN):
            return RequestFields(PLAIN, strings={"q": "", **query})
        return RequestFields(media_type, strings=query)
    if media_type == MULTIPART:
        form = await read_multipart(request, limits, max_form_bytes)
        return _joined(media_type, query, form.fields, form.files)
    body = await read_body(request, limits.max_body_bytes)
    if media_type == JSON or (JSON in allowed and _is_object(media_type, body, query)):
        return RequestFields(JSON, parse_json(body, limits), unused=query)
    if media_type == PLAIN:
        return _joined(media_type, query, {"q": decode_text(body)})
    return _joined(media_type, query, parse_form(body, limits))


def _is_object(media_type: str, body: bytes, query: Strings) -> bool:
    """Whether a form or a text is an object in JSON: `curl -d` sends it as a form, and .NET as a
    text. No field of a form that a route knows begins with a brace, and a text to translate has its
    target in the query."""
    is_object = body[:_MOST_INDENT].lstrip().startswith(b"{")
    return is_object and (media_type == FORM or "target" not in query)


def _joined(
    media_type: str, query: Strings, fields: Strings, files: Mapping[str, SentFile] | None = None
) -> RequestFields:
    """The fields of the body and of the query, where those of the body count."""
    unused = [name for name in query if name in fields]
    return RequestFields(media_type, strings={**query, **fields}, unused=unused, files=files or {})


def _report_ignored(request: Request, names: Sequence[str], known: Iterable[str]) -> None:
    """List the fields in the header. Raises InvalidField with `Prefer: handling=strict`.

    Error answers have the header too, because the field may be a misspelt required field.
    """
    if _wants_strict_handling(request):
        first, known = names[0], [*known]
        if first in known:
            raise InvalidField(
                f"{first} must be a text field of the body; a file, or a query beside JSON or the "
                f"same field, does not count"
            )
        raise InvalidField(f"unknown field {shown(first)}; known fields: {', '.join(known)}")
    exchange: Exchange = request.state.exchange
    exchange.added[IGNORED_FIELDS_HEADER.lower().encode()] = _listed(names).encode()


def _listed(names: Iterable[str]) -> str:
    """As many percent-encoded names as fit, separated by commas; "..." if names are left out."""
    listed: list[str] = []
    room = _MAX_HEADER_CHARACTERS - len(_AND_MORE)
    for name in names:
        encoded = quote(name[:room], safe="")
        room -= len(encoded) + len(", ")
        if room < 0 or not encoded:
            return ", ".join([*listed, _AND_MORE])
        listed.append(encoded)
    return ", ".join(listed)


def _wants_strict_handling(request: Request) -> bool:
    """Parse the Prefer header (RFC 7240)."""
    preferences = ",".join(request.headers.getlist("prefer")).lower().split(",")
    return any(
        preference.partition(";")[0].replace(" ", "").replace('"', "") == "handling=strict"
        for preference in preferences
    )
