"""/v2/glossaries and /v2/glossary-language-pairs: the stored glossaries in DeepL's format."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.freeing import freed_in_parts
from service.glossaries import StoredGlossary
from service.glossary_files import CSV, TSV, read_entries, write_entries
from service.http.request_body import FORM, JSON
from service.http.request_fields import read_fields
from service.http.request_model import RequestModel
from service.http.routes.deepl.fields import Code
from service.http.state import ServerState, StateDep, direct_pair, direct_pairs, glossary_store

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
async def list_glossaries(state: StateDep) -> dict[str, list[dict[str, Any]]]:
    """All glossaries; none without a database."""
    found = await asyncio.to_thread(state.glossaries.all) if state.glossaries else []
    return {"glossaries": [_rendered(one) for one in found]}


@router.post(PATH, status_code=201)
async def create_glossary(request: Request, state: StateDep) -> dict[str, Any]:
    """Without a database 404, because clients repeat a request that gets 501."""
    store = glossary_store(state)
    fields = await read_fields(request, state.limits, (JSON, FORM))
    asked = fields.parse(request, GlossaryRequest)
    pair = direct_pair(state, asked.source_lang.lower(), asked.target_lang.lower())
    with freed_in_parts() as held:
        text, media_type = asked.entries, _FORMATS[asked.entries_format]
        entries = await asyncio.to_thread(read_entries, text, media_type)
        held.hold(entries)
        return _rendered(await asyncio.to_thread(store.add, asked.name, *pair, entries))


@router.get(PATH + "/{glossary_id}")
@router.head(PATH + "/{glossary_id}")
async def get_glossary(glossary_id: str, state: StateDep) -> dict[str, Any]:
    return _rendered(await _find(state, glossary_id))


@router.get(PATH + "/{glossary_id}/entries")
@router.head(PATH + "/{glossary_id}/entries")
async def glossary_entries(glossary_id: str, state: StateDep) -> Response:
    found = await _find(state, glossary_id)
    entries = await asyncio.to_thread(glossary_store(state).entries, found.id)
    return Response(write_entries(entries, TSV), media_type=f"{TSV}; charset=utf-8")


@router.delete(PATH + "/{glossary_id}", status_code=204)
async def remove_glossary(glossary_id: str, state: StateDep) -> None:
    found = await _find(state, glossary_id)
    await asyncio.to_thread(glossary_store(state).remove, found.id)


async def _find(state: ServerState, glossary_id: str) -> StoredGlossary:
    """Raises UnknownGlossary."""
    return await asyncio.to_thread(glossary_store(state).get, glossary_id)


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
