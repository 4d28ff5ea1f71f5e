"""OpenAI's chat completions below /v1: the last message of the user is translated."""

from __future__ import annotations

import functools
import time
from collections.abc import AsyncGenerator
from typing import Any

from fastapi import Request
from fastapi.sse import format_sse_event
from pydantic import Field
from pydantic_core import to_json

from service.errors import NotFound, shown
from service.http.bodies import JSON
from service.http.chats import MOST_NAMED, Chat, model_names
from service.http.error_answers import openai_error
from service.http.request_fields import RequestModel
from service.http.request_log import RequestRecord
from service.http.requests import read_request
from service.http.routers import READ, foreign_router
from service.http.state import server_state
from service.http.translating import event_stream, stream_error, translate_texts
from service.translation.translator import Pieces

PATH, MODELS = "/v1/chat/completions", "/v1/models"
router = foreign_router()


class ChatRequest(RequestModel):
    """The fields that count; options of language models have no effect."""

    model: str = Field("", max_length=MOST_NAMED)
    messages: Any
    stream: bool = False
    stream_options: Any = None
    response_format: Any = None

    @functools.cached_property
    def chat(self) -> Chat:
        schema: Any = self.response_format
        for name in ("json_schema", "schema"):
            schema = schema.get(name) if isinstance(schema, dict) else None
        return Chat(self.model, self.messages, schema)

    @property
    def wants_usage(self) -> bool:
        """Whether a stream ends with the usage."""
        options = self.stream_options
        return isinstance(options, dict) and options.get("include_usage") is True


@router.api_route(MODELS, methods=[*READ])
async def models(request: Request) -> dict[str, Any]:
    """The models that a client may choose from."""
    names = model_names(server_state(request).dispatcher.routes)
    return {"object": "list", "data": list(map(_model, names))}


@router.api_route(MODELS + "/{name}", methods=[*READ])
async def model(request: Request, name: str) -> dict[str, Any]:
    """A model that is listed. Raises NotFound."""
    if name not in model_names(server_state(request).dispatcher.routes):
        raise NotFound(f"model must be a pair of languages such as en-de, got {shown(name)}")
    return _model(name)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "dragoman"}


@router.post(PATH)
async def complete(request: Request) -> Any:
    """The translation as the assistant's message, whole or in chunks."""
    state, record = server_state(request), request.state.record
    asked = await read_request(request, ChatRequest, (JSON,))
    wanted = await asked.chat.wanted(state)
    base = {"id": record.request_id, "created": int(time.time()), "model": asked.model}
    if asked.stream:
        job = await state.admit(request.state.caller, wanted)
        return await event_stream(
            job, state, record, lambda found: _chunks(base, found, record, asked)
        )
    translations = await translate_texts(request, wanted)
    answer = {"role": "assistant", "content": asked.chat.content(translations)}
    choice = {"index": 0, "message": answer, "finish_reason": "stop"}
    usage = _usage(asked.chat, answer["content"])
    return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}


def _usage(chat: Chat, *answered: str) -> dict[str, int]:
    """What this server counts, which is characters, as tokens. Clients add these numbers up."""
    num_asked, num_answered = len(chat.text), sum(map(len, answered))
    return {
        "prompt_tokens": num_asked,
        "completion_tokens": num_answered,
        "total_tokens": num_asked + num_answered,
    }


async def _chunks(
    base: dict[str, Any], pieces: Pieces, record: RequestRecord, asked: ChatRequest
) -> AsyncGenerator[bytes]:
    base = {**base, "object": "chat.completion.chunk"}
    answered = list[str]()

    def rendered(delta: dict[str, str], reason: str | None = None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        return _event({**base, "choices": choices})

    try:
        yield rendered({"role": "assistant", "content": ""})
        async for part in asked.chat.contents(pieces, record):
            answered.append(part)
            yield rendered({"content": part})
        yield rendered({}, "stop")
        if asked.wants_usage:
            yield _event({**base, "choices": [], "usage": _usage(asked.chat, *answered)})
        yield b"data: [DONE]\n\n"
    except Exception as failure:
        error = stream_error(failure, record)
        yield _event(openai_error(error.status, error, str(error)))


def _event(content: dict[str, Any]) -> bytes:
    return format_sse_event(data_str=to_json(content).decode())
