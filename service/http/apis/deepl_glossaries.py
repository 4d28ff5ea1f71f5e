"""DeepL's glossaries: of one pair of languages below /v2, of several below /v3.

One that was made in either version, or at /glossaries, is there in all.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Sequence
from typing import Any, Literal

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from service.errors import InvalidField, MissingField, shown
from service.http.bodies import FORM, JSON
from service.http.request_fields import LanguageCode, RequestModel
from service.http.requests import read_fields, read_request
from service.http.routers import READ, foreign_router
from service.http.state import ServerState, server_state
from service.stores.api_key import Owner
from service.stores.glossaries import GlossaryStore
from service.stores.glossary_files import CSV, TSV, read_entries, write_entries
from service.stores.glossary_rows import Dictionary, Pair, StoredGlossary

GLOSSARIES, PAIRS = "/v2/glossaries", "/v2/glossary-language-pairs"
GLOSSARIES_3 = "/v3/glossaries"
_ONE_2, _ONE_3 = GLOSSARIES + "/{glossary_id}", GLOSSARIES_3 + "/{glossary_id}"
_FORMATS = {"csv": CSV, "tsv": TSV}
_PART = re.compile(r"dictionaries\[(\d{1,4})\]\.(\w+)")
router = foreign_router()


class PairRequest(RequestModel):
    """The languages of a dictionary."""

    source_lang: LanguageCode
    target_lang: LanguageCode

    def pair(self, state: ServerState) -> Pair:
        """In the server's codes. Raises UnsupportedLanguage or InvalidField."""
        return state.direct_pair(self.source_lang.lower(), self.target_lang.lower())


class DictionaryRequest(PairRequest):
    """A dictionary with its entries."""

    entries: str
    entries_format: Literal["tsv", "csv"] = "tsv"

    def read(self, state: ServerState) -> Dictionary:
        """Raises a ServiceError. Call it from a thread."""
        return self.pair(state), read_entries(self.entries, _FORMATS[self.entries_format])


class GlossaryRequest(DictionaryRequest):
    """The fields of POST /v2/glossaries."""

    name: str
    auth_key: str | None = None


class NamedRequest(RequestModel):
    """What a glossary of several dictionaries is made of or changed to. A form spells them
    dictionaries[0].source_lang and so on."""

    name: str | None = None
    dictionaries: Any = None

    def parsed(self) -> list[DictionaryRequest]:
        """Raises InvalidField or MissingField."""
        given = self.dictionaries or []
        if not isinstance(given, list):
            raise InvalidField(f"dictionaries must be a list, got {shown(given)}")
        return [DictionaryRequest.validated(one) for one in given]


@router.api_route(PAIRS, methods=[*READ])
async def glossary_language_pairs(request: Request) -> dict[str, list[dict[str, str]]]:
    """The pairs that one model has."""
    state = server_state(request)
    pairs = state.dispatcher.routes.direct_pairs if state.glossaries else []
    found = [{"source_lang": source, "target_lang": target} for source, target in pairs]
    return {"supported_languages": found}


@router.api_route(GLOSSARIES, methods=[*READ])
async def list_glossaries(request: Request) -> dict[str, list[dict[str, Any]]]:
    """All glossaries that the caller may read; none without a database."""
    state = server_state(request)
    if state.glossaries is None:
        return {"glossaries": []}
    found = await run_in_threadpool(state.glossaries.all, request.state.caller.owner)
    return {"glossaries": [_rendered(one) for one in found]}


@router.post(GLOSSARIES, status_code=201)
async def create_glossary(request: Request) -> dict[str, Any]:
    """Without a database 404, because clients repeat a request that gets 501."""
    state, owner = server_state(request), request.state.caller.owner
    store = state.glossary_store
    asked = await read_request(request, GlossaryRequest, (JSON, FORM))
    pair, entries = await asyncio.to_thread(asked.read, state)
    return _rendered(await asyncio.to_thread(store.add, asked.name, *pair, entries, owner))


@router.api_route(_ONE_2, methods=[*READ])
async def get_glossary(request: Request, glossary_id: str) -> dict[str, Any]:
    store, owner = _store_of(request, glossary_id)
    return _rendered(await run_in_threadpool(store.get, glossary_id, owner))


@router.api_route(_ONE_2 + "/entries", methods=[*READ])
async def glossary_entries(request: Request, glossary_id: str) -> Response:
    store, owner = _store_of(request, glossary_id)
    text = await run_in_threadpool(lambda: write_entries(store.entries(glossary_id, owner), TSV))
    return Response(text, media_type=f"{TSV}; charset=utf-8")


@router.delete(_ONE_2, status_code=204)
@router.delete(_ONE_3, status_code=204)
async def remove_glossary(request: Request, glossary_id: str) -> None:
    store, owner = _store_of(request, glossary_id)
    await asyncio.to_thread(store.remove, glossary_id, owner)


@router.api_route(GLOSSARIES_3, methods=[*READ])
async def list_glossaries_3(request: Request) -> dict[str, list[dict[str, Any]]]:
    store, owner = server_state(request).glossaries, request.state.caller.owner
    if store is None:
        return {"glossaries": []}
    found = await run_in_threadpool(store.all_dictionaries, owner)
    return {"glossaries": [_rendered_3(one) for one in found]}


@router.post(GLOSSARIES_3, status_code=201)
async def create_glossary_3(request: Request) -> dict[str, Any]:
    store, owner = server_state(request).glossary_store, request.state.caller.owner
    asked, dictionaries = await _read_named(request)
    if not asked.name or not dictionaries:
        missing = "dictionaries" if asked.name else "name"
        raise MissingField(f"Invalid request: missing {missing} parameter")
    add = store.add_dictionaries
    return _rendered_3(await asyncio.to_thread(add, asked.name, dictionaries, owner))


@router.api_route(_ONE_3, methods=[*READ])
async def get_glossary_3(request: Request, glossary_id: str) -> dict[str, Any]:
    store, owner = _store_of(request, glossary_id)
    return _rendered_3(await run_in_threadpool(store.dictionaries, glossary_id, owner))


@router.patch(_ONE_3)
async def change_glossary(request: Request, glossary_id: str) -> dict[str, Any]:
    """Rename it, and merge entries into its dictionaries."""
    store, owner = await _find(request, glossary_id)
    asked, dictionaries = await _read_named(request)
    change = store.change
    return _rendered_3(
        await asyncio.to_thread(change, glossary_id, owner, asked.name, dictionaries)
    )


@router.api_route(_ONE_3 + "/entries", methods=[*READ])
async def dictionary_entries(request: Request, glossary_id: str) -> dict[str, list[dict[str, Any]]]:
    store, owner = await _find(request, glossary_id)
    pair = (await read_request(request, PairRequest)).pair(server_state(request))
    text = await run_in_threadpool(
        lambda: write_entries(store.read(glossary_id, owner, pair)[1], TSV).removesuffix("\n")
    )
    rendered = {**_languages(*pair), "entries": text, "entries_format": "tsv"}
    return {"dictionaries": [rendered]}


@router.put(_ONE_3 + "/dictionaries")
async def put_dictionary(request: Request, glossary_id: str) -> dict[str, Any]:
    store, owner = await _find(request, glossary_id)
    asked = await read_request(request, DictionaryRequest, (JSON, FORM))
    pair, entries = await asyncio.to_thread(asked.read, server_state(request))
    put = store.put_dictionary
    return _rendered_dictionary(await asyncio.to_thread(put, glossary_id, pair, entries, owner))


@router.delete(_ONE_3 + "/dictionaries", status_code=204)
async def remove_dictionary(request: Request, glossary_id: str) -> None:
    store, owner = await _find(request, glossary_id)
    pair = (await read_request(request, PairRequest)).pair(server_state(request))
    await asyncio.to_thread(store.remove_dictionary, glossary_id, pair, owner)


async def _find(request: Request, glossary_id: str) -> tuple[GlossaryStore, Owner]:
    """As `_store_of`, before the request's fields are read. Raises UnknownGlossary if there is no
    such glossary."""
    store, owner = _store_of(request, glossary_id)
    await run_in_threadpool(store.get, glossary_id, owner)
    return store, owner


def _store_of(request: Request, glossary_id: str) -> tuple[GlossaryStore, Owner]:
    """The store and the caller. Raises UnknownGlossary without a database, and InvalidField for
    what is no id."""
    store, owner = server_state(request).glossary_store, request.state.caller.owner
    try:
        uuid.UUID(glossary_id)
    except ValueError:
        raise InvalidField(f"glossary_id must be an id, got {shown(glossary_id)}") from None
    return store, owner


async def _read_named(request: Request) -> tuple[NamedRequest, list[Dictionary]]:
    fields = await read_fields(request, (JSON, FORM))
    if fields.strings is None:
        asked = fields.parse(request, NamedRequest)
    else:
        asked = NamedRequest.validated(_nested(fields.strings))
    state = server_state(request)

    def read() -> list[Dictionary]:
        return [one.read(state) for one in asked.parsed()]

    return asked, await asyncio.to_thread(read)


def _nested(form: dict[str, Any]) -> dict[str, Any]:
    """A form's dictionaries as a list of objects."""
    parts: dict[int, dict[str, Any]] = {}
    plain: dict[str, Any] = {}
    for name, value in form.items():
        if found := _PART.fullmatch(name):
            parts.setdefault(int(found[1]), {})[found[2]] = value
        else:
            plain[name] = value
    return {**plain, "dictionaries": [parts[place] for place in sorted(parts)]}


def _languages(source: str, target: str) -> dict[str, str]:
    return {"source_lang": source, "target_lang": target}


def _rendered(found: StoredGlossary) -> dict[str, Any]:
    return {
        "glossary_id": found.id,
        "name": found.name,
        "ready": True,
        **_languages(*found.pair),
        "creation_time": found.created,
        "entry_count": found.num_entries,
    }


def _rendered_3(found: Sequence[StoredGlossary]) -> dict[str, Any]:
    return {
        "glossary_id": found[0].id,
        "name": found[0].name,
        "creation_time": found[0].created,
        "dictionaries": [_rendered_dictionary(one) for one in found],
    }


def _rendered_dictionary(one: StoredGlossary) -> dict[str, Any]:
    return {**_languages(*one.pair), "entry_count": one.num_entries}
