"""Translate a request's texts for a route."""

from __future__ import annotations

from fastapi import Request

from service.http.request_body import until_disconnected
from service.http.schemas import TranslateRequest
from service.http.state import server_state
from service.translation.results import TranslationResult


async def translate_texts(request: Request, wanted: TranslateRequest) -> list[TranslationResult]:
    """Translate unless the client disconnects; store the results in the request's record.

    Raises a ServiceError.
    """
    state = server_state(request)
    translations = await until_disconnected(request, state.dispatcher.translate(state.job(wanted)))
    request.state.record.translations = translations
    return translations
