"""OpenAI's chat completions below /v1: the last message of the user is translated.

The languages are those of the model's name, such as en-de or auto-de, or those that the system
message names, or the beginning of the user's: "Translate from English to German". Models of others
have names such as deepseek-chat, so a pair must be known if a message names languages, too.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import AsyncGenerator
from typing import Any

from fastapi import Request
from fastapi.sse import format_sse_event
from pydantic import Field
from pydantic_core import to_json

from service.errors import InvalidField, ServiceError, shown
from service.http.bodies import JSON
from service.http.error_answers import openai_error, unforeseen
from service.http.openapi import READ, foreign_router
from service.http.prompts import NamedLanguages, read_instruction, read_prompt
from service.http.request_fields import RequestModel
from service.http.request_log import RequestRecord
from service.http.requests import read_request
from service.http.schemas import TranslateRequest
from service.http.state import ServerState, server_state
from service.http.translating import event_stream, translate_texts
from service.translation.job import AUTO
from service.translation.results import TextPiece
from service.translation.text_work import text_work
from service.translation.translator import Pieces

PATH, MODELS = "/v1/chat/completions", "/v1/models"
_PAIR = re.compile(r"([A-Za-z]{2,8}(?:[-_][A-Z][A-Za-z]{1,3})?)-([A-Za-z]{2,8}(?:[-_]\w{2,4})?)")
_MOST_NAMED = 255
"""Characters of the model's name, which each chunk of a stream repeats."""
router = foreign_router()


class ChatRequest(RequestModel):
    """The fields that count; options of language models have no effect."""

    model: str = Field("", max_length=_MOST_NAMED)
    messages: Any
    stream: bool = False

    @property
    def text(self) -> str:
        """What the user says. Raises InvalidField."""
        text = self._last("user")
        if text is None:
            raise InvalidField("messages must have one of the user")
        return text

    def wanted(self, state: ServerState) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        text = self.text
        languages, prompt = self._languages(state), read_prompt(text, state.dispatcher.languages)
        if languages is None and prompt is None:
            raise InvalidField(
                "model must be a pair of languages such as en-de, or a message must begin as "
                f'"Translate to German: Good morning."; got {shown(self.model)} and {shown(text)}'
            )
        if prompt is not None and (
            languages is None or languages.target == prompt.languages.target
        ):
            languages, text = languages or prompt.languages, prompt.text
        assert languages is not None
        given = {"q": text, "source": languages.source or AUTO, "target": languages.target}
        return TranslateRequest.validated(given)

    def _languages(self, state: ServerState) -> NamedLanguages | None:
        """Those of the model's name, or of the system message."""
        known = state.dispatcher.routes.known
        asked = self._last("system", "developer") or ""
        named = read_instruction(asked, state.dispatcher.languages)
        if pair := _PAIR.fullmatch(self.model):
            source, target = (known(one) or one for one in pair.groups())
            is_known = (source == AUTO or known(source)) and known(target)
            if is_known or named is None:
                return NamedLanguages(source, target)
        return named

    def _last(self, *roles: str) -> str | None:
        """The text of the last message of these roles, joined if it has parts."""
        messages = self.messages if isinstance(self.messages, list) else []
        for one in reversed([one for one in messages if isinstance(one, dict)]):
            if one.get("role") in roles:
                content = one.get("content")
                parts = content if isinstance(content, list) else [{"text": content}]
                texts = [part.get("text") for part in parts if isinstance(part, dict)]
                return "\n".join(text for text in texts if isinstance(text, str))
        return None


@router.api_route(MODELS, methods=[*READ])
async def models(request: Request) -> dict[str, Any]:
    """A model for each pair of languages."""
    state = server_state(request)
    common = {"object": "model", "created": 0, "owned_by": "dragoman"}
    pairs = [(code, one) for code, found in state.dispatcher.targets.items() for one in found]
    return {"object": "list", "data": [{"id": "-".join(pair), **common} for pair in pairs]}


@router.post(PATH)
async def complete(request: Request) -> Any:
    """The translation as the assistant's message, whole or in chunks."""
    state, record = server_state(request), request.state.record
    asked = await read_request(request, ChatRequest, (JSON,))
    text = asked.text
    state.limits.check_length("messages", [text])  # before it is searched
    wanted = await text_work(len(text), functools.partial(asked.wanted, state))
    base = {"id": record.request_id, "created": int(time.time()), "model": asked.model}
    if asked.stream:
        job = await state.admit(request.state.caller, wanted)
        return await event_stream(job, state, record, lambda found: _chunks(base, found, record))
    (translation,) = await translate_texts(request, wanted)
    answer = {"role": "assistant", "content": translation.text}
    choice = {"index": 0, "message": answer, "finish_reason": "stop"}
    return {**base, "object": "chat.completion", "choices": [choice]}


async def _chunks(
    base: dict[str, Any], pieces: Pieces, record: RequestRecord
) -> AsyncGenerator[bytes]:
    def rendered(delta: dict[str, str], reason: str | None = None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        return _event({**base, "object": "chat.completion.chunk", "choices": choices})

    try:
        yield rendered({"role": "assistant", "content": ""})
        async for piece in pieces:
            record.has_delivered = True
            if isinstance(piece, TextPiece):
                yield rendered({"content": piece.text})
            else:
                record.translations = piece
        yield rendered({}, "stop")
        yield b"data: [DONE]\n\n"
    except Exception as failure:
        error = failure if isinstance(failure, ServiceError) else unforeseen(failure, base["id"])
        record.status = error.status
        yield _event(openai_error(error.status, error, str(error)))


def _event(content: dict[str, Any]) -> bytes:
    return format_sse_event(data_str=to_json(content).decode())
