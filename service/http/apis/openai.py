"""OpenAI's chat completions below /v1: the last message of the user is translated.

The languages are those of the model's name, such as en-de or auto-de, or those that the system
message names, or the beginning of the user's: "Translate from English to German". Models of others
have names such as deepseek-chat, so a pair must be known if a message names languages, too.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from fastapi import Request
from fastapi.sse import format_sse_event
from pydantic import Field
from pydantic_core import to_json

from service.errors import InvalidField, NotFound, ServiceError, drop_frames, shown
from service.http.bodies import JSON
from service.http.error_answers import openai_error, unforeseen
from service.http.prompts import NamedLanguages, instructs, read_instruction, read_prompt
from service.http.request_fields import RequestModel
from service.http.request_log import RequestRecord
from service.http.requests import read_request
from service.http.routers import READ, foreign_router
from service.http.state import ServerState, server_state
from service.http.translate_request import TranslateRequest
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
    stream_options: Any = None
    response_format: Any = None

    @property
    def text(self) -> str:
        """What the user says. Raises InvalidField."""
        text = self._last("user")
        if text is None:
            raise InvalidField(f"messages must have one of the user, got {shown(self.messages)}")
        if not text:
            own = next(one for one in reversed(self.messages) if one.get("role") == "user")
            _require_text(own)
        return text

    @property
    def wants_usage(self) -> bool:
        """Whether a stream ends with the usage."""
        options = self.stream_options
        return isinstance(options, dict) and options.get("include_usage") is True

    @functools.cached_property
    def answer_parts(self) -> tuple[str, str]:
        """What stands before and behind the translation in the answer: JSON, if its schema has one
        field, of a string."""
        schema: Any = self.response_format
        for name in ("json_schema", "schema", "properties"):
            schema = schema.get(name) if isinstance(schema, dict) else None
        if not (isinstance(schema, dict) and len(schema) == 1):
            return "", ""
        ((name, field),) = schema.items()
        is_text = isinstance(field, dict) and field.get("type") == "string"
        return (f'{{{to_json(name).decode()}:"', '"}') if is_text else ("", "")

    def in_answer(self, text: str) -> str:
        """A part of the translation as it stands in the answer."""
        return to_json(text).decode()[1:-1] if self.answer_parts[0] else text

    def wanted(self, state: ServerState) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        text = self.text
        known = state.dispatcher.routes.known
        prompt = read_prompt(text, state.dispatcher.routes.languages)
        named = self._named(state, must_be_told=prompt is not None)
        languages = next((one for one in named if _is_known(one, known)), None)
        if prompt is not None and (
            languages is None or known(languages.target) == known(prompt.languages.target)
        ):
            languages, text = languages or prompt.languages, prompt.text
        languages = languages or next(iter(reversed(named)), None)
        if languages is None:
            raise InvalidField(
                "model must be a pair of languages such as en-de, or a message must begin as "
                f'"Translate to German: Good morning."; got {shown(self.model)} and {shown(text)}'
            )
        given = {"q": text, "source": languages.source or AUTO, "target": languages.target}
        return TranslateRequest.validated(given)

    def _named(self, state: ServerState, *, must_be_told: bool) -> list[NamedLanguages]:
        """Those of the model's name, of the parts of the text, of the system message, and of what
        the user says before the text. `must_be_told`: as of read_instruction."""
        pair = _PAIR.fullmatch(self.model)
        found = [NamedLanguages(*pair.groups())] if pair else []
        own = next(one for one in reversed(self.messages) if one.get("role") == "user")
        found += filter(None, map(_languages_of, _parts_of(own)))
        before = self._said[-2:-1] if self._said[-1][0] == "user" else []
        asked = [
            self._last("system", "developer"),
            *(text for role, text in before if role == "user" and instructs(text)),
        ]
        codes = state.dispatcher.routes.languages
        read = (read_instruction(one, codes, must_be_told=must_be_told) for one in asked if one)
        return [*found, *filter(None, read)]

    def _last(self, *roles: str) -> str | None:
        """The text of the last message of these roles."""
        return next((text for role, text in reversed(self._said) if role in roles), None)

    @functools.cached_property
    def _said(self) -> list[tuple[object, str]]:
        """The role and the text of each message, joined if it has parts."""
        if not isinstance(self.messages, list):
            raise InvalidField(f"messages must be a list, got {shown(self.messages)}")
        for one in self.messages:
            if not isinstance(one, dict):
                raise InvalidField(
                    f"a message must be an object with role and content, got {shown(one)}"
                )
        return [(one.get("role"), "\n".join(_texts_of(one))) for one in self.messages]


def _require_text(message: Mapping[str, object]) -> None:
    """Raises InvalidField if a message has no text, not even an empty one."""
    if not _texts_of(message):
        raise InvalidField(
            f"the content of the user's message must be text or have parts of text, got "
            f"{shown(message.get('content'))}"
        )


def _parts_of(message: Mapping[str, object]) -> list[dict[str, object]]:
    """The parts of a message, or its text as one."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return [part for part in parts if isinstance(part, dict)]


def _texts_of(message: Mapping[str, object]) -> list[str]:
    texts = (part.get("text") for part in _parts_of(message))
    return [text for text in texts if isinstance(text, str)]


def _languages_of(part: Mapping[str, object]) -> NamedLanguages | None:
    """The languages of a part, as TranslateGemma takes them."""
    source, target = part.get("source_lang_code"), part.get("target_lang_code")
    if not isinstance(target, str):
        return None
    return NamedLanguages(source if isinstance(source, str) else None, target)


def _is_known(languages: NamedLanguages, known: Callable[[str], str | None]) -> bool:
    source = languages.source
    is_source = source is None or source == AUTO or known(source) is not None
    return is_source and known(languages.target) is not None


@router.api_route(MODELS, methods=[*READ])
async def models(request: Request) -> dict[str, Any]:
    """A model for each pair of languages."""
    pairs = server_state(request).dispatcher.routes.pairs
    return {"object": "list", "data": [_model("-".join(pair)) for pair in pairs]}


@router.api_route(MODELS + "/{name}", methods=[*READ])
async def model(request: Request, name: str) -> dict[str, Any]:
    """A model that is listed, or of a pair whose source is detected. Raises NotFound."""
    routes = server_state(request).dispatcher.routes
    pairs = [*routes.pairs, *((AUTO, code) for code in routes.languages)]
    if name not in map("-".join, pairs):
        raise NotFound(f"model must be a pair of languages such as en-de, got {shown(name)}")
    return _model(name)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "dragoman"}


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
        return await event_stream(
            job, state, record, lambda found: _chunks(base, found, record, asked)
        )
    (translation,) = await translate_texts(request, wanted)
    before, behind = asked.answer_parts
    content = before + asked.in_answer(translation.text) + behind
    answer = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": answer, "finish_reason": "stop"}
    usage = _usage(len(text), len(translation.text))
    return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}


def _usage(num_asked: int, num_translated: int) -> dict[str, int]:
    """What this server counts, which is characters, as tokens. Clients add these numbers up."""
    return {
        "prompt_tokens": num_asked,
        "completion_tokens": num_translated,
        "total_tokens": num_asked + num_translated,
    }


async def _chunks(
    base: dict[str, Any], pieces: Pieces, record: RequestRecord, asked: ChatRequest
) -> AsyncGenerator[bytes]:
    base = {**base, "object": "chat.completion.chunk"}
    num_translated = 0

    def rendered(delta: dict[str, str], reason: str | None = None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        return _event({**base, "choices": choices})

    try:
        before, behind = asked.answer_parts
        yield rendered({"role": "assistant", "content": before})
        async for piece in pieces:
            record.has_delivered = True
            if isinstance(piece, TextPiece):
                num_translated += len(piece.text)
                yield rendered({"content": asked.in_answer(piece.text)})
            else:
                record.translations = piece
        if behind:
            yield rendered({"content": behind})
        yield rendered({}, "stop")
        if asked.wants_usage:
            yield _event({**base, "choices": [], "usage": _usage(len(asked.text), num_translated)})
        yield b"data: [DONE]\n\n"
    except Exception as failure:
        error = failure if isinstance(failure, ServiceError) else unforeseen(failure, base["id"])
        drop_frames(failure)
        record.status = error.status
        yield _event(openai_error(error.status, error, str(error)))


def _event(content: dict[str, Any]) -> bytes:
    return format_sse_event(data_str=to_json(content).decode())
