"""/v2/glossaries and /v2/glossary-language-pairs: the stored glossaries in DeepL's format."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from service.glossary_files import CSV, TSV, read_entries, write_entries
from service.http.request_body import FORM, JSON
from service.http.request_fields import read_fields
from service.http.request_model import RequestModel
from service.http.routes.deepl.fields import Code
from service.http.state import ServerState, StateDep, direct_pair, direct_pairs, glossary_store
from service.stores.api_key import Owner
from service.stores.glossaries import StoredGlossary

router = APIRouter(include_in_schema=False)
PATH = "/v2/glossaries"
PAIRS = "/v2/glossary-language-pairs"
_FORMATS = {"csv": CSV, "tsv": TSV}


class GlossaryRequest(RequestModel):
    """The fields of POST /v2/glossaries."""

    name: str
    source_lang: Code
    target_lang: Code
    entries: str
    entries_format: Literal["tsv", "csv"] = "tsv"
    auth_key: str | None = None


@router.get(PAIRS)
@router.head(PAIRS)
async def glossary_language_pairs(state: StateDep) -> dict[str, list[dict[str, str]]]:
    """The pairs that one model has."""
    pairs = direct_pairs(state) if state.glossaries else []
    found = [{"source_lang": source, "target_lang": target} for source, target in pairs]
    return {"supported_languages": found}


@router.get(PATH)
@router.head(PATH)
async def list_glossaries(request: Request, state: StateDep) -> dict[str, list[dict[str, Any]]]:
    """All glossaries that the caller may read; none without a database."""
    if state.glossaries is None:
        return {"glossaries": []}
    found = await run_in_threadpool(state.glossaries.all, request.state.caller.owner)
    return {"glossaries": [_rendered(one) for one in found]}


@router.post(PATH, status_code=201)
async def create_glossary(request: Request, state: StateDep) -> dict[str, Any]:
    """Without a database 404, because clients repeat a request that gets 501."""
    store = glossary_store(state)
    fields = await read_fields(request, state.limits, (JSON, FORM))
    asked = fields.parse(request, GlossaryRequest)
    pair = direct_pair(state, asked.source_lang.lower(), asked.target_lang.lower())
    owner = request.state.caller.owner
    text, media_type = asked.entries, _FORMATS[asked.entries_format]
    entries = await asyncio.to_thread(read_entries, text, media_type)
    return _rendered(await asyncio.to_thread(store.add, asked.name, *pair, entries, owner))


@router.get(PATH + "/{glossary_id}")
@router.head(PATH + "/{glossary_id}")
async def get_glossary(glossary_id: str, request: Request, state: StateDep) -> dict[str, Any]:
    return _rendered(await _find(state, glossary_id, request.state.caller.owner))


@router.get(PATH + "/{glossary_id}/entries")
@router.head(PATH + "/{glossary_id}/entries")
async def glossary_entries(glossary_id: str, request: Request, state: StateDep) -> Response:
    owner = request.state.caller.owner
    found = await _find(state, glossary_id, owner)
    entries = await run_in_threadpool(glossary_store(state).entries, found.id, owner)
    return Response(write_entries(entries, TSV), media_type=f"{TSV}; charset=utf-8")


@router.delete(PATH + "/{glossary_id}", status_code=204)
async def remove_glossary(glossary_id: str, request: Request, state: StateDep) -> None:
    owner = request.state.caller.owner
    found = await _find(state, glossary_id, owner)
    await asyncio.to_thread(glossary_store(state).remove, found.id, owner)


async def _find(state: ServerState, glossary_id: str, owner: Owner) -> StoredGlossary:
    """Raises UnknownGlossary."""
    return await run_in_threadpool(glossary_store(state).get, glossary_id, owner)


def _rendered(found: StoredGlossary) -> dict[str, Any]:
    return {
        "glossary_id": found.id,
        "name": found.name,
        "ready": True,
        "source_lang": found.source,
        "target_lang": found.target,
        "creation_time": found.created,
        "entry_count": found.num_entries,
    }
