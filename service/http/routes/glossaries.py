"""/glossaries: the stored glossaries."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, PlainValidator
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from service.errors import MissingField
from service.http.accept import accepted
from service.http.bodies import (
    JSON,
    NO_BODY,
    decode_text,
    media_type_of,
    parse_form,
    parse_json,
    read_body,
)
from service.http.limits import RequestLimits
from service.http.openapi import WITH_ACCESS, WITH_BODY, describe_errors
from service.http.request_fields import (
    NAME_SCHEMA,
    LanguageCode,
    RequestModel,
    parse_terms,
    terms_schema,
)
from service.http.requests import IGNORED_FIELDS_HEADER
from service.http.routers import described_router, with_heads
from service.http.state import ServerState, server_state
from service.stores.glossary_files import (
    CSV,
    GLOSSARY_FILES,
    TSV,
    read_entries,
    read_terms,
    write_entries,
)
from service.stores.glossary_rows import MAX_ENTRIES, Pair, StoredGlossary
from service.translation.glossary import GlossaryEntry

PATH = "/glossaries"
_ONE = PATH + "/{name:path}"
"""A name may have slashes."""
_FORMATS = (JSON, *GLOSSARY_FILES.values())
_MOST_VALUES = 4 * MAX_ENTRIES + 1000
"""Of a glossary as JSON: each term is an object of two strings and a flag."""
_ERRORS = describe_errors(404, 409, *WITH_BODY)


def _parse_entries(value: object) -> list[GlossaryEntry]:
    return parse_terms(value, MAX_ENTRIES)


class _Description(RequestModel):
    """A glossary's name and languages."""

    name: str = ""
    source: LanguageCode
    target: LanguageCode


class _Whole(_Description):
    """A glossary as JSON."""

    entries: Annotated[list[GlossaryEntry], PlainValidator(_parse_entries)]


class GlossaryDescription(BaseModel):
    """A stored glossary. `created` is in ISO 8601."""

    model_config = ConfigDict(from_attributes=True)
    id: str
    name: str
    source: str
    target: str
    created: str
    entry_count: int = Field(validation_alias="num_entries")


_NEW: dict[str, Any] = {"model": GlossaryDescription, "description": "Stored under a new name"}


def make_router(pairs: Sequence[tuple[str, str]], *, is_on: bool) -> APIRouter:
    """Make the routes. `pairs`: the languages that a glossary may have. Without a database they are
    not described, and refuse all."""
    router = described_router("Glossaries", *WITH_ACCESS, is_described=is_on)
    router.get(PATH)(list_glossaries)
    named = _describe(pairs, name=NAME_SCHEMA)
    router.post(PATH, status_code=201, responses=_ERRORS, openapi_extra=named)(create_glossary)
    router.get(_ONE, responses=_ERRORS)(get_glossary)
    put = {**_ERRORS, 201: _NEW}
    router.put(
        _ONE,
        response_model=GlossaryDescription,
        responses=put,
        openapi_extra=_describe(pairs),
    )(put_glossary)
    router.delete(_ONE, status_code=204, responses=_ERRORS)(remove_glossary)
    return with_heads(router)


async def list_glossaries(request: Request) -> dict[str, list[GlossaryDescription]]:
    """All stored glossaries that the caller may read, by name."""
    found = await run_in_threadpool(
        server_state(request).glossary_store.all, request.state.caller.owner
    )
    return {"glossaries": [GlossaryDescription.model_validate(one) for one in found]}


async def create_glossary(request: Request) -> GlossaryDescription:
    """Store a glossary: JSON, or a file with name, source and target in the query."""
    state = server_state(request)
    store = state.glossary_store
    given_name, pair, entries = await _read(request, state)
    if not given_name:
        raise MissingField("Invalid request: missing name parameter")
    owner = request.state.caller.owner
    return GlossaryDescription.model_validate(
        await asyncio.to_thread(store.add, given_name, *pair, entries, owner)
    )


async def get_glossary(request: Request, name: str) -> Response:
    """A glossary with its entries: JSON, or CSV or TSV if Accept asks for it."""
    store, owner = server_state(request).glossary_store, request.state.caller.owner
    found, entries = await run_in_threadpool(store.read, name, owner)
    media_type = accepted(request, (JSON, CSV, TSV))
    if media_type != JSON:
        text = await asyncio.to_thread(write_entries, entries, media_type)
        return Response(text, media_type=f"{media_type}; charset=utf-8")
    return Response(await asyncio.to_thread(_rendered, found, entries), media_type=JSON)


async def put_glossary(request: Request, name: str) -> Response:
    """Store a glossary under this name, in place of one that there is. Another name in the body
    does not count."""
    state = server_state(request)
    store = state.glossary_store
    given_name, pair, entries = await _read(request, state)
    owner = request.state.caller.owner
    found, is_new = await asyncio.to_thread(store.replace, name, *pair, entries, owner)
    answer = GlossaryDescription.model_validate(found)
    has_other_name = given_name not in ("", found.name)
    headers = {IGNORED_FIELDS_HEADER: "name"} if has_other_name else {}
    return Response(to_json(answer), 201 if is_new else 200, headers, media_type=JSON)


async def remove_glossary(request: Request, name: str) -> None:
    """Remove a glossary."""
    store = server_state(request).glossary_store
    await asyncio.to_thread(store.remove, name, request.state.caller.owner)


async def _read(request: Request, state: ServerState) -> tuple[str, Pair, Sequence[GlossaryEntry]]:
    """The name, the languages and the terms."""
    media_type = media_type_of(request, _FORMATS)
    body = await read_body(request, state.limits.max_body_bytes)
    if media_type == JSON:
        whole = await asyncio.to_thread(_parse_whole, body, state.limits)
        return whole.name, state.direct_pair(whole.source, whole.target), whole.entries
    query = parse_form(request.scope["query_string"], state.limits)
    description = _Description.validated(query, is_json=False)
    pair = state.direct_pair(description.source, description.target)
    return description.name, pair, await asyncio.to_thread(_parse_file, body, media_type, pair)


def _parse_file(body: bytes, media_type: str, pair: Pair) -> list[GlossaryEntry]:
    """Raises a ServiceError."""
    if media_type in (NO_BODY, CSV, TSV):
        return read_entries(decode_text(body), media_type or CSV, pair)
    return read_terms(io.BytesIO(body), media_type, pair, MAX_ENTRIES)


def _parse_whole(body: bytes, limits: RequestLimits) -> _Whole:
    """Raises a ServiceError."""
    return _Whole.validated(parse_json(body, limits, max_values=_MOST_VALUES))


def _rendered(found: StoredGlossary, entries: list[GlossaryEntry]) -> bytes:
    description = GlossaryDescription.model_validate(found).model_dump()
    return to_json({**description, "entries": [entry._asdict() for entry in entries]})


def _describe(pairs: Sequence[tuple[str, str]], **more: dict[str, Any]) -> dict[str, Any]:
    """The body of a glossary as JSON, with `more` properties."""
    properties = {
        **more,
        "source": {"type": "string"},
        "target": {"type": "string"},
        "entries": {**terms_schema(MAX_ENTRIES), "minItems": 1},
    }
    schema: dict[str, Any] = {
        "type": "object",
        "required": list(properties),
        "properties": properties,
    }
    if pairs:
        schema["anyOf"] = [
            {"properties": {"source": {"const": source}, "target": {"const": target}}}
            for source, target in pairs
        ]
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}
