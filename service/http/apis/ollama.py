"""Ollama's API below /api: chats as OpenAI's, prompts, and the names of models.

Answers are streams unless the request says otherwise: objects in JSON, one a line.
"""

from __future__ import annotations

import hashlib
import time
from abc import abstractmethod
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

from fastapi import Request
from pydantic import Field
from pydantic_core import to_json

from service.errors import NotFound, shown
from service.http.bodies import FORM, JSON, PLAIN
from service.http.chats import MOST_NAMED, Chat, model_names
from service.http.error_answers import OLLAMA, ollama_error
from service.http.request_fields import RequestModel
from service.http.request_log import RequestRecord
from service.http.requests import read_request
from service.http.routers import READ, foreign_router
from service.http.state import server_state
from service.http.translating import event_stream, stream_error, translate_texts
from service.translation.translator import Pieces

CHAT, GENERATE = OLLAMA + "chat", OLLAMA + "generate"
MODELS, SHOW, VERSION = OLLAMA + "tags", OLLAMA + "show", OLLAMA + "version"
_LINES = "application/x-ndjson"
_TAG = ":latest"
"""Every model of Ollama has a tag, which requests may leave out."""
_FOLLOWED = "0.12.0"
"""The version of Ollama that clients take this server for."""
_NEVER = "1970-01-01T00:00:00Z"
_DETAILS = {
    "parent_model": "",
    "format": "",
    "family": "",
    "families": [],
    "parameter_size": "",
    "quantization_level": "",
}
router = foreign_router()


class OllamaModelRequest(RequestModel):
    """The name of a model."""

    model: str = Field(max_length=MOST_NAMED)


class _Completion(RequestModel):
    """The fields of both routes that count; options of language models have no effect."""

    model: str = Field(max_length=MOST_NAMED)
    stream: bool = True
    format: Any = None

    @abstractmethod
    def asked(self) -> object:
        """The messages; None if the model is only to be loaded."""

    def saying(self, text: str) -> dict[str, Any]:
        """An answer, or a part of it, without its end."""
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        return {"model": self.model, "created_at": now, **self._member(text), "done": False}

    @abstractmethod
    def _member(self, text: str) -> dict[str, Any]:
        """The field with a part of the answer."""


class OllamaChatRequest(_Completion):
    """A chat."""

    messages: Any = None

    def asked(self) -> object:
        return self.messages or None

    def _member(self, text: str) -> dict[str, Any]:
        return {"message": {"role": "assistant", "content": text}}


class OllamaPromptRequest(_Completion):
    """One prompt, and a system message."""

    prompt: str = ""
    system: str = ""

    def asked(self) -> object:
        if not self.prompt:
            return None
        said = [("system", self.system), ("user", self.prompt)]
        return [{"role": role, "content": text} for role, text in said if text]

    def _member(self, text: str) -> dict[str, Any]:
        return {"response": text}


@router.api_route(VERSION, methods=[*READ])
async def version(_: Request) -> dict[str, str]:
    """What clients ask for first."""
    return {"version": _FOLLOWED}


@router.api_route(MODELS, methods=[*READ])
async def models(request: Request) -> dict[str, Any]:
    """The models that a client may choose from."""
    return {"models": list(map(_model, model_names(server_state(request).dispatcher.routes)))}


@router.post(SHOW)
async def model(request: Request) -> dict[str, Any]:
    """A listed model. PotPlayer's plugin takes one without `model_info` for none. Raises
    NotFound."""
    asked = await read_request(request, OllamaModelRequest, (JSON, FORM, PLAIN))
    name = asked.model.partition(":")[0]
    if name not in model_names(server_state(request).dispatcher.routes):
        raise NotFound(f"model {shown(asked.model)} not found")
    return {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": _DETAILS,
        "model_info": {"general.basename": name},
        "capabilities": ["completion"],
        "modified_at": _NEVER,
    }


def _model(name: str) -> dict[str, Any]:
    return {
        "name": name + _TAG,
        "model": name + _TAG,
        "modified_at": _NEVER,
        "size": 0,
        "digest": hashlib.sha256(name.encode()).hexdigest(),
        "details": _DETAILS,
    }


@router.post(CHAT)
async def chat(request: Request) -> Any:
    """The translation as the assistant's message, whole or in parts."""
    return await _complete(request, OllamaChatRequest)


@router.post(GENERATE)
async def generate(request: Request) -> Any:
    """The translation as the answer to a prompt, whole or in parts."""
    return await _complete(request, OllamaPromptRequest)


async def _complete(request: Request, model: type[_Completion]) -> Any:
    state, record = server_state(request), request.state.record
    asked = await read_request(request, model, (JSON, FORM, PLAIN))  # curl sends a form
    messages = asked.asked()
    if messages is None:
        return {**asked.saying(""), "done": True, "done_reason": "load"}
    chat = Chat(asked.model.partition(":")[0], messages, asked.format)
    wanted = await chat.wanted(state)
    if asked.stream:
        job = await state.admit(request.state.caller, wanted)
        return await event_stream(
            job, state, record, lambda found: _lines(asked, chat, found, record), _LINES
        )
    content = chat.content(await translate_texts(request, wanted))
    return {**asked.saying(content), **_end(record, chat, len(content))}


def _end(record: RequestRecord, chat: Chat, num_answered: int) -> dict[str, Any]:
    """The end of an answer: characters as tokens, and nanoseconds."""
    nanoseconds = int((time.monotonic() - record.started_seconds) * 1e9)
    return {
        "done": True,
        "done_reason": "stop",
        "total_duration": nanoseconds,
        "load_duration": 0,
        "prompt_eval_count": len(chat.text),
        "prompt_eval_duration": 0,
        "eval_count": num_answered,
        "eval_duration": nanoseconds,
    }


async def _lines(
    asked: _Completion, chat: Chat, pieces: Pieces, record: RequestRecord
) -> AsyncGenerator[bytes]:
    num_answered = 0
    try:
        async for part in chat.contents(pieces, record):
            num_answered += len(part)
            yield _line(asked.saying(part))
        yield _line({**asked.saying(""), **_end(record, chat, num_answered)})
    except Exception as failure:
        error = stream_error(failure, record)
        yield _line(ollama_error(error.status, error, str(error)))


def _line(content: dict[str, Any]) -> bytes:
    return to_json(content) + b"\n"
