"""/v2/glossaries: this server stores none, and says so in DeepL's format."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from service.errors import NotOffered, UnknownGlossary

router = APIRouter(include_in_schema=False)
PATH = "/v2/glossaries"


@router.get(PATH)
async def list_glossaries() -> dict[str, list[Any]]:
    return {"glossaries": []}


@router.post(PATH)
async def create_glossary() -> None:
    """400, because clients repeat a request that gets 501."""
    raise NotOffered("this server does not store glossaries")


@router.get(PATH + "/{glossary_id}")
@router.delete(PATH + "/{glossary_id}")
@router.get(PATH + "/{glossary_id}/entries")
async def find_glossary(glossary_id: str) -> None:
    raise UnknownGlossary("there is no such glossary")
