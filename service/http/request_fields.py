"""The fields of a request in any of the ways that clients send them."""

from __future__ import annotations

import itertools
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from fastapi import Request

from service.http.access.credentials import key_of_fields
from service.http.ignored_fields import report_ignored
from service.http.multipart import SentFile, read_multipart
from service.http.request_body import (
    FORM,
    JSON,
    MULTIPART,
    NO_BODY,
    media_type_of,
    parse_form,
    parse_json,
    read_body,
)
from service.http.request_model import RequestModel
from service.http.state import Limits

_Model = TypeVar("_Model", bound=RequestModel)
FIELD_TYPES = (JSON, FORM, MULTIPART)
Strings = Mapping[str, str | list[str]]


@dataclass(frozen=True)
class RequestFields:
    """Fields as JSON or as strings, files, and names of query parameters that are not used."""

    json: object = None
    strings: Strings | None = None
    unused: Iterable[str] = ()
    files: Mapping[str, SentFile] = field(default_factory=dict)

    def parse(self, request: Request, model: type[_Model], quiet: Collection[str] = ()) -> _Model:
        """The model of the fields. Unknown fields are reported before known ones are checked.

        `quiet`: names of fields and files that need no report. Raises MissingField or InvalidField.
        """
        report_ignored(request, self._unknown(model, quiet), model.model_fields)
        if self.strings is None:
            wanted = model.from_json(self.json)
        else:
            wanted = model.from_strings(self.strings)
        if idle := wanted.without_effect():
            effective = (name for name in model.model_fields if name not in idle)
            names = itertools.chain(idle, self._unknown(model, quiet))
            report_ignored(request, names, effective)
        return wanted

    def _unknown(self, model: type[RequestModel], quiet: Collection[str]) -> Iterator[str]:
        values = self.json if self.strings is None else self.strings
        names = itertools.chain(model.unknown_fields(values), self.unused, self.files)
        return (name for name in names if name not in quiet)


async def read_fields(
    request: Request,
    limits: Limits,
    allowed: Collection[str] = FIELD_TYPES,
    max_form_bytes: int | None = None,
) -> RequestFields:
    """Read JSON, a form, a multipart form, or the query string if these have no field, and
    identify the request's caller.

    `allowed`: media types; `max_form_bytes`: of a multipart form, if not as of other bodies. Raises
    a ServiceError.
    """
    fields = await _read(request, limits, allowed, max_form_bytes)
    values = fields.json if fields.strings is None else fields.strings
    await request.state.caller.identify(key_of_fields(values))
    return fields


async def _read(
    request: Request, limits: Limits, allowed: Collection[str], max_form_bytes: int | None
) -> RequestFields:
    media_type = media_type_of(request, tuple(allowed))
    query = parse_form(request.scope["query_string"], limits)
    if media_type == NO_BODY:
        return RequestFields(strings=query)
    if media_type == MULTIPART:
        form = await read_multipart(request, limits, max_form_bytes or limits.max_body_bytes)
        if not form.fields and not form.files:
            return RequestFields(strings=query)
        return RequestFields(strings=form.fields, unused=query, files=form.files)
    body = (await read_body(request, limits.max_body_bytes)).removeprefix(BOM_UTF8)
    if media_type == JSON:
        return RequestFields(json=parse_json(body, limits), unused=query)
    fields = parse_form(body, limits)
    return RequestFields(strings=fields, unused=query) if fields else RequestFields(strings=query)
