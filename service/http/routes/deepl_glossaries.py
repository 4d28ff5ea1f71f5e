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

from service.errors import InvalidField, MissingField, UnknownGlossary, shown
from service.glossary_files import CSV, TSV, read_entries, write_entries
from service.http.bodies import FORM, JSON
from service.http.models import Code, RequestModel
from service.http.openapi import READ, foreign_router
from service.http.requests import read_fields, read_request
from service.http.state import ServerState, server_state
from service.stores.api_key import Owner
from service.stores.glossaries import NO_DICTIONARY, GlossaryStore, StoredGlossary
from service.translation.glossary import GlossaryEntry

GLOSSARIES, PAIRS = "/v2/glossaries", "/v2/glossary-language-pairs"
GLOSSARIES_3 = "/v3/glossaries"
_ONE_2, _ONE_3 = GLOSSARIES + "/{glossary_id}", GLOSSARIES_3 + "/{glossary_id}"
_FORMATS = {"csv": CSV, "tsv": TSV}
_PART = re.compile(r"dictionaries\[(\d{1,4})\]\.(\w+)")
_Pair = tuple[str, str]
router = foreign_router()


class PairRequest(RequestModel):
    """The languages of a dictionary."""

    source_lang: Code
    target_lang: Code

    def pair(self, state: ServerState) -> _Pair:
        """In the server's codes. Raises UnsupportedLanguage or InvalidField."""
        return state.direct_pair(self.source_lang.lower(), self.target_lang.lower())


class DictionaryRequest(PairRequest):
    """A dictionary with its entries."""

    entries: str
    entries_format: Literal["tsv", "csv"] = "tsv"

    async def read(self) -> list[GlossaryEntry]:
        return await asyncio.to_thread(read_entries, self.entries, _FORMATS[self.entries_format])


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
        return [DictionaryRequest.from_json(one) for one in given]


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
    pair, entries = asked.pair(state), await asked.read()
    return _rendered(await asyncio.to_thread(store.add, asked.name, *pair, entries, owner))


@router.api_route(_ONE_2, methods=[*READ])
async def get_glossary(request: Request, glossary_id: str) -> dict[str, Any]:
    return _rendered((await _find(request, glossary_id))[0])


@router.api_route(_ONE_2 + "/entries", methods=[*READ])
async def glossary_entries(request: Request, glossary_id: str) -> Response:
    found, store, owner = await _find(request, glossary_id)
    entries = await run_in_threadpool(store.entries, found.id, owner)
    return Response(write_entries(entries, TSV), media_type=f"{TSV}; charset=utf-8")


@router.delete(_ONE_2, status_code=204)
@router.delete(_ONE_3, status_code=204)
async def remove_glossary(request: Request, glossary_id: str) -> None:
    found, store, owner = await _find(request, glossary_id)
    await asyncio.to_thread(store.remove, found.id, owner)


@router.api_route(GLOSSARIES_3, methods=[*READ])
async def list_glossaries_3(request: Request) -> dict[str, list[dict[str, Any]]]:
    store, owner = server_state(request).glossaries, request.state.caller.owner
    if store is None:
        return {"glossaries": []}
    found = await run_in_threadpool(
        lambda: [store.dictionaries(one.id, owner) for one in store.all(owner)]
    )
    return {"glossaries": [_rendered_3(one) for one in found]}


@router.post(GLOSSARIES_3, status_code=201)
async def create_glossary_3(request: Request) -> dict[str, Any]:
    store, owner = server_state(request).glossary_store, request.state.caller.owner
    asked, dictionaries = await _read_named(request)
    if not asked.name or not dictionaries:
        missing = "dictionaries" if asked.name else "name"
        raise MissingField(f"Invalid request: missing {missing} parameter")
    (pair, entries), *others = dictionaries
    made = await asyncio.to_thread(store.add, asked.name, *pair, entries, owner)
    try:
        return await _put_all(store, made, others, owner)
    except BaseException:
        await asyncio.to_thread(store.remove, made.id, owner)
        raise


@router.api_route(_ONE_3, methods=[*READ])
async def get_glossary_3(request: Request, glossary_id: str) -> dict[str, Any]:
    found, store, owner = await _find(request, glossary_id)
    return _rendered_3(await run_in_threadpool(store.dictionaries, found.id, owner))


@router.patch(_ONE_3)
async def change_glossary(request: Request, glossary_id: str) -> dict[str, Any]:
    """Rename it, and merge entries into its dictionaries."""
    found, store, owner = await _find(request, glossary_id)
    asked, dictionaries = await _read_named(request)
    if asked.name is not None:
        found = await asyncio.to_thread(store.rename, found.id, asked.name, owner)
    return await _put_all(store, found, dictionaries, owner)


@router.api_route(_ONE_3 + "/entries", methods=[*READ])
async def dictionary_entries(request: Request, glossary_id: str) -> dict[str, list[dict[str, Any]]]:
    found, store, owner = await _find(request, glossary_id)
    pair = (await read_request(request, PairRequest)).pair(server_state(request))
    dictionaries = await asyncio.to_thread(store.dictionaries, found.id, owner)
    if pair not in [one.pair for one in dictionaries]:
        raise UnknownGlossary(NO_DICTIONARY)
    glossary = await asyncio.to_thread(store.load, found.id, owner, pair)
    text = write_entries(glossary.entries, TSV).removesuffix("\n")
    rendered = {**_languages(*pair), "entries": text, "entries_format": "tsv"}
    return {"dictionaries": [rendered]}


@router.put(_ONE_3 + "/dictionaries")
async def put_dictionary(request: Request, glossary_id: str) -> dict[str, Any]:
    found, store, owner = await _find(request, glossary_id)
    asked = await read_request(request, DictionaryRequest, (JSON, FORM))
    pair, entries = asked.pair(server_state(request)), await asked.read()
    made = await asyncio.to_thread(
        store.put_dictionary, found.id, pair, entries, owner, is_merged=False
    )
    return _rendered_dictionary(made)


@router.delete(_ONE_3 + "/dictionaries", status_code=204)
async def remove_dictionary(request: Request, glossary_id: str) -> None:
    found, store, owner = await _find(request, glossary_id)
    pair = (await read_request(request, PairRequest)).pair(server_state(request))
    await asyncio.to_thread(store.remove_dictionary, found.id, pair, owner)


async def _find(request: Request, glossary_id: str) -> tuple[StoredGlossary, GlossaryStore, Owner]:
    """Raises UnknownGlossary, and InvalidField for what is no id."""
    store, owner = server_state(request).glossary_store, request.state.caller.owner
    try:
        uuid.UUID(glossary_id)
    except ValueError:
        raise InvalidField(f"glossary_id must be an id, got {shown(glossary_id)}") from None
    return await run_in_threadpool(store.get, glossary_id, owner), store, owner


async def _read_named(
    request: Request,
) -> tuple[NamedRequest, list[tuple[_Pair, list[GlossaryEntry]]]]:
    fields = await read_fields(request, (JSON, FORM))
    if fields.strings is None:
        asked = fields.parse(request, NamedRequest)
    else:
        asked = NamedRequest.from_json(_nested(fields.strings))
    state = server_state(request)
    return asked, [(one.pair(state), await one.read()) for one in asked.parsed()]


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


async def _put_all(
    store: GlossaryStore,
    glossary: StoredGlossary,
    dictionaries: Sequence[tuple[_Pair, list[GlossaryEntry]]],
    owner: Owner,
) -> dict[str, Any]:
    for pair, entries in dictionaries:
        await asyncio.to_thread(
            store.put_dictionary, glossary.id, pair, entries, owner, is_merged=True
        )
    return _rendered_3(await asyncio.to_thread(store.dictionaries, glossary.id, owner))


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
