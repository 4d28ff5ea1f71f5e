"""Chats with a language model that ask for a translation, of any API: what is to be translated, and
the translation as the assistant says it.

The languages are those of the model's name, such as en-de or auto-de, or those that the system
message names, or the beginning of the user's: "Translate from English to German". Models of others
have names such as deepseek-chat, so a pair must be known if a message names languages, too.
"""

from __future__ import annotations

import functools
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from service.errors import InvalidField, shown
from service.http.chat_batches import Batch, read_batch
from service.http.prompts import NamedLanguages, instructs, read_instruction, read_prompt
from service.http.request_log import RequestRecord
from service.http.state import ServerState
from service.http.translate_request import TranslateRequest
from service.translation.job import AUTO
from service.translation.results import TextPiece, TranslationResult
from service.translation.routing import Routes
from service.translation.text_work import text_work
from service.translation.translator import Pieces

_PAIR = re.compile(r"([A-Za-z]{2,8}(?:[-_][A-Z][A-Za-z]{1,3})?)-([A-Za-z]{2,8}(?:[-_]\w{2,4})?)")
MOST_NAMED = 255
"""Characters of a model's name, which each part of a stream repeats."""
_ANY = "dragoman"
"""The model whose languages are those of the messages."""


def model_names(routes: Routes) -> list[str]:
    """The names that models are listed by: for any languages, for a target, for a pair."""
    targets = (f"{AUTO}-{code}" for code in routes.languages)
    return [_ANY, *targets, *map("-".join, routes.pairs)]


class Chat:
    """A chat with a model. `messages`: what the client sent as such; `schema`: that of the answer,
    if it is to be JSON."""

    def __init__(self, model: str, messages: object, schema: object = None) -> None:
        self._model, self._messages, self._schema = model, messages, schema
        self._batch: Batch | None = None
        self._source = AUTO

    @functools.cached_property
    def text(self) -> str:
        """What the user says. Raises InvalidField."""
        text = self._last("user")
        if text is None:
            raise InvalidField(f"messages must have one of the user, got {shown(self._messages)}")
        if not text:
            _require_text(self._own)
        return text

    async def wanted(self, state: ServerState) -> TranslateRequest:
        """The same as a translation request. Raises TextTooLong or InvalidField."""
        text = self.text
        state.limits.check_length("messages", [text])  # before it is searched
        return await text_work(len(text), functools.partial(self._read, state))

    def content(self, translations: Sequence[TranslationResult]) -> str:
        """The whole answer."""
        if self._batch is not None:
            return self._batch.content(translations, self._source)
        before, behind = self._around
        return before + self.in_answer(translations[0].text) + behind

    async def contents(self, pieces: Pieces, record: RequestRecord) -> AsyncGenerator[str]:
        """The parts of the answer as they come; of a batch all at once. The record is told of the
        translations."""
        before, behind = ("", "") if self._batch else self._around
        if before:
            yield before
        async for piece in pieces:
            if not isinstance(piece, TextPiece):
                record.translations = piece
                behind = self.content(piece) if self._batch else behind
            elif not self._batch:
                record.has_delivered = True
                yield self.in_answer(piece.text)
        record.has_delivered = True
        if behind:
            yield behind

    @functools.cached_property
    def _around(self) -> tuple[str, str]:
        """What stands before and behind the translation in the answer: JSON, if its schema has one
        field, of a string."""
        schema: Any = self._schema
        schema = schema.get("properties") if isinstance(schema, dict) else None
        if not (isinstance(schema, dict) and len(schema) == 1):
            return "", ""
        ((name, field),) = schema.items()
        is_text = isinstance(field, dict) and field.get("type") == "string"
        return (f'{{{to_json(name).decode()}:"', '"}') if is_text else ("", "")

    def in_answer(self, text: str) -> str:
        """A part of the translation as it stands in the answer."""
        return to_json(text).decode()[1:-1] if self._around[0] else text

    def _read(self, state: ServerState) -> TranslateRequest:
        text, routes = self.text, state.dispatcher.routes
        self._batch = read_batch(text)
        prompt = None if self._batch else read_prompt(text, routes.languages)
        named = self._named(routes.languages, must_be_told=prompt is not None)
        languages = next((one for one in named if _is_known(one, routes.known)), None)
        if prompt is not None and (
            languages is None
            or routes.known(languages.target) == routes.known(prompt.languages.target)
        ):
            languages, text = languages or prompt.languages, prompt.text
            self._batch = read_batch(text)
        if self._batch and (target := self._batch.target):
            own = routes.known(target)
            if languages is None or own not in (None, routes.known(languages.target)):
                languages = NamedLanguages(None, target)
        languages = languages or next(iter(reversed(named)), None)
        if languages is None:
            raise InvalidField(
                "model must be a pair of languages such as en-de, or a message must begin as "
                f'"Translate to German: Good morning."; got {shown(self._model)} and {shown(text)}'
            )
        self._source = languages.source or AUTO
        given: dict[str, Any] = {"q": text, "source": self._source, "target": languages.target}
        if self._batch:
            given |= {"q": self._batch.texts, "format": "auto", **self._batch.options}
        return TranslateRequest.validated(given)

    def _named(self, codes: Sequence[str], *, must_be_told: bool) -> list[NamedLanguages]:
        """Those of the model's name, of the parts of the text, of the system message, and of what
        the user says before the text. `must_be_told`: as of read_instruction."""
        pair = _PAIR.fullmatch(self._model)
        found = [NamedLanguages(*pair.groups())] if pair else []
        found += filter(None, map(_languages_of, _parts_of(self._own)))
        before = self._said[-2:-1] if self._said[-1][0] == "user" else []
        asked = [
            self._last("system", "developer"),
            *(text for role, text in before if role == "user" and instructs(text)),
        ]
        read = (read_instruction(one, codes, must_be_told=must_be_told) for one in asked if one)
        return [*found, *filter(None, read)]

    @property
    def _own(self) -> dict[str, object]:
        """The last message of the user."""
        return next(one for one in reversed(self._objects) if one.get("role") == "user")

    def _last(self, *roles: str) -> str | None:
        """The text of the last message of these roles."""
        return next((text for role, text in reversed(self._said) if role in roles), None)

    @functools.cached_property
    def _said(self) -> list[tuple[object, str]]:
        """The role and the text of each message, joined if it has parts."""
        return [(one.get("role"), "\n".join(_texts_of(one))) for one in self._objects]

    @functools.cached_property
    def _objects(self) -> list[dict[str, object]]:
        if not isinstance(self._messages, list):
            raise InvalidField(f"messages must be a list, got {shown(self._messages)}")
        for one in self._messages:
            if not isinstance(one, dict):
                raise InvalidField(
                    f"a message must be an object with role and content, got {shown(one)}"
                )
        return self._messages


def _require_text(message: Mapping[str, object]) -> None:
    """Raises InvalidField if a message has no text, not even an empty one."""
    if not any(True for _ in _texts_of(message)):
        raise InvalidField(
            f"the content of the user's message must be text or have parts of text, got "
            f"{shown(message.get('content'))}"
        )


def _parts_of(message: Mapping[str, object]) -> list[dict[str, object]]:
    """The parts of a message, or its text as one."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    return [part for part in parts if isinstance(part, dict)]


def _texts_of(message: Mapping[str, object]) -> Iterator[str]:
    texts = (part.get("text") for part in _parts_of(message))
    return (text for text in texts if isinstance(text, str))


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
