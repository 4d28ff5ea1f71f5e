"""OpenAI's chat completions below /v1: the last message of the user is translated.

The languages are those of the model's name, such as en-de or auto-de, or those that the system
message names: "Translate from English to German", by their English names or by codes. Models of
others have names such as deepseek-chat, so a pair of languages must be known if the message names
languages, too.
"""

from __future__ import annotations

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
from service.http.language_names import language_name
from service.http.openapi import READ, foreign_router
from service.http.request_fields import RequestModel
from service.http.request_log import RequestRecord
from service.http.requests import read_request
from service.http.schemas import TranslateRequest
from service.http.state import ServerState, server_state
from service.http.translating import event_stream, translate_texts
from service.translation.job import AUTO
from service.translation.results import TextPiece
from service.translation.translator import Pieces

PATH, MODELS = "/v1/chat/completions", "/v1/models"
_PAIR = re.compile(r"([A-Za-z]{2,8}(?:[-_][A-Z][A-Za-z]{1,3})?)-([A-Za-z]{2,8}(?:[-_]\w{2,4})?)")
_ASKED = re.compile(r"\b(from|(?:in)?to)\W{1,3}(?:(?:the|simplified)\W{1,3})?([\w-]+)", re.I)
_MOST_NAMED = 255
"""Characters of the model's name, which each chunk of a stream repeats."""
_MOST_ASKED = 4096
"""Characters of a system message that are searched for languages."""
router = foreign_router()


class ChatRequest(RequestModel):
    """The fields that count; options of language models have no effect."""

    model: str = Field("", max_length=_MOST_NAMED)
    messages: Any
    stream: bool = False

    def wanted(self, state: ServerState) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        found, text = self._languages(state), self._last("user")
        if found is None or text is None:
            raise InvalidField(
                "messages must have one of the user, and model must be a pair of languages such as "
                f'en-de or the system message say "Translate to German"; got {shown(self.model)}'
            )
        source, target = found
        return TranslateRequest.from_json({"q": text, "source": source, "target": target})

    def _languages(self, state: ServerState) -> tuple[str, str] | None:
        """Source and target, known or not."""
        codes = state.dispatcher.languages
        names = {name.lower(): code for code in codes for name in (code, language_name(code))}
        asked = (self._last("system", "developer") or "")[:_MOST_ASKED]
        named = _ASKED.findall(asked) if "translat" in asked.lower() else []
        sources = [word for preposition, word in named if preposition.lower() == "from"]
        targets = [word for preposition, word in named if preposition.lower() != "from"]
        if pair := _PAIR.fullmatch(self.model):
            source, target = (names.get(one.lower(), one) for one in pair.groups())
            known = state.dispatcher.routes.known
            if not targets or ((source == AUTO or known(source)) and known(target)):
                return source, target
        if not targets:
            return None
        source = next((names[word.lower()] for word in sources if word.lower() in names), AUTO)
        found = (names[word.lower()] for word in targets if word.lower() in names)
        return source, next(found, targets[0])

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
    wanted = asked.wanted(state)
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
