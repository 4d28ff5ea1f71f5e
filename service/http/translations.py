"""Translate a request's texts for a route."""

from __future__ import annotations

from fastapi import Request

from service.http.request_body import until_disconnected
from service.http.schemas import TranslateRequest
from service.http.state import server_state
from service.translation.results import TranslationResult


async def translate_texts(
    request: Request, wanted: TranslateRequest, num_characters: int | None = None
) -> list[TranslationResult]:
    """Translate unless the client disconnects; store the results in the request's record.

    `num_characters`: see `ServerState.admit`. Raises a ServiceError.
    """
    state = server_state(request)
    job = await state.admit(request.state.caller, wanted, num_characters)
    translations = await until_disconnected(request, state.suggested.translate(job))
    request.state.record.translations = translations
    return translations
