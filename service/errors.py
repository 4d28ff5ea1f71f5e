"""Every error that a client can receive.

The message is one sentence: the value received and the values allowed.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Sequence
from typing import ClassVar

from pydantic_core import to_json

_SHOWN_CHARACTERS = 60
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 2
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = _SHOWN_CHARACTERS
_REJECTIONS = (401, 403, 413, 421, 429, 431, 456, 503)


class ServiceError(Exception):
    """The server failed; its log has the request's id."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    retry_after_seconds: int | None = None
    detected_language: str | None = None

    @classmethod
    def kinds(cls) -> Iterator[type[ServiceError]]:
        """This error, and all that derive from it."""
        yield cls
        for kind in cls.__subclasses__():
            yield from kind.kinds()

    @property
    def is_rejection(self) -> bool:
        """Whether the request was rejected for its client, its size or because of load."""
        return self.status in _REJECTIONS


class InvalidHttp(ServiceError):
    """The bytes are not a valid HTTP/1.1 request."""

    status, code = 400, "invalid_http"


class InvalidJson(ServiceError):
    """The body or message is not valid JSON."""

    status, code = 400, "invalid_json"


class InvalidText(ServiceError):
    """The body is not UTF-8, or the form is not valid."""

    status, code = 400, "invalid_text"


class InvalidDocument(ServiceError):
    """A file is not what its name says, or is damaged."""

    status, code = 400, "invalid_document"


class InvalidMessage(ServiceError):
    """A websocket message is not a JSON object with an id."""

    status, code = 400, "invalid_message"


class MissingField(ServiceError):
    """A required field is missing."""

    status, code = 400, "missing_field"


class NotOffered(ServiceError):
    """A field or route of another API asks for what this server does not offer."""

    status, code = 400, "not_offered"


class DuplicateId(ServiceError):
    """A request with this id is in progress on the websocket."""

    status, code = 400, "duplicate_id"


class UnknownId(ServiceError):
    """No request with this id is in progress on the websocket."""

    status, code = 400, "unknown_id"


class UnsupportedFile(ServiceError):
    """Files of this format are not translated."""

    status, code = 400, "unsupported_file"


class UnsupportedLanguage(ServiceError):
    """No model has the language, or no route has the pair."""

    status, code = 400, "unsupported_language"

    def __init__(
        self, message: str, language: str | None = None, *, is_detected: bool = False
    ) -> None:
        """`language`: the unknown one, as the client wrote it or as it was detected; None if a
        pair is missing."""
        super().__init__(message)
        self.language = language
        self.detected_language = language if is_detected else None


class KeyRequired(ServiceError):
    """The request has no API key, and this server asks for one."""

    status, code = 401, "key_required"


class ForeignPage(ServiceError):
    """A web page of an origin that is not allowed sent the request."""

    status, code = 403, "foreign_page"


class InvalidKey(ServiceError):
    """The API key is unknown, wrong, revoked or expired."""

    status, code = 403, "invalid_key"


class SuggestionsOff(ServiceError):
    """This server does not store suggestions."""

    status, code = 403, "suggestions_off"


class NotFound(ServiceError):
    """There is nothing at this path."""

    status, code = 404, "not_found"


class UnknownFile(ServiceError):
    """There is no such file, or it has expired."""

    status, code = 404, "unknown_file"


class UnknownGlossary(ServiceError):
    """There is no such glossary."""

    status, code = 404, "unknown_glossary"


class MethodNotAllowed(ServiceError):
    """The path has other methods."""

    status, code = 405, "method_not_allowed"

    def __init__(self, message: str, allowed: Sequence[str] = ()) -> None:
        """`allowed`: the path's methods."""
        super().__init__(message)
        self.allowed = allowed


class BodyTooSlow(ServiceError):
    """The body does not come."""

    status, code = 408, "body_too_slow"


class GlossaryExists(ServiceError):
    """There is a glossary with this name."""

    status, code = 409, "glossary_exists"


class BodyTooLarge(ServiceError):
    """The body is over a limit of bytes, values or fields."""

    status, code = 413, "body_too_large"


class DocumentTooLarge(ServiceError):
    """A file is over a limit of bytes, members or characters."""

    status, code = 413, "document_too_large"


class TextTooLong(ServiceError):
    """The texts together have too many characters."""

    status, code = 413, "text_too_long"


class TooManyTexts(ServiceError):
    """The list has too many texts."""

    status, code = 413, "too_many_texts"


class UnsupportedMediaType(ServiceError):
    """The server does not accept this Content-Type or encoding."""

    status, code = 415, "unsupported_media_type"


class UnknownHost(ServiceError):
    """The Host header is not a name of this server."""

    status, code = 421, "unknown_host"


class InvalidField(ServiceError):
    """A field has a value that is not allowed, or two contradict each other."""

    status, code = 422, "invalid_field"


class TooManyStreams(ServiceError):
    """Too many requests are in progress on the websocket."""

    status, code = 429, "too_many_streams"


class LimitExceeded(ServiceError):
    """The base of the client's own limits; not sent itself."""

    status, code = 429, "limit_exceeded"

    def __init__(self, message: str, retry_after_seconds: int) -> None:
        """`message` names the limit."""
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class TooManyRequests(LimitExceeded):
    """The client has sent too many requests in the last minute."""

    code = "too_many_requests"


class TooManyCharacters(LimitExceeded):
    """The client has sent too many characters in the last minute."""

    code = "too_many_characters"


class TooManyAtOnce(LimitExceeded):
    """Too many of the client's requests are in progress."""

    code = "too_many_at_once"


class QuotaExceeded(LimitExceeded):
    """The key has used up its characters for this month."""

    code = "quota_exceeded"


class HeadTooLarge(ServiceError):
    """The request line and headers are over a limit."""

    status, code = 431, "head_too_large"


class Cancelled(ServiceError):
    """The client cancelled the request or left."""

    status, code = 499, "cancelled"


class ClientGone(Cancelled):
    """The client has disconnected."""


class TranslationFailed(ServiceError):
    """A sentence could not be translated."""

    status, code = 500, "translation_failed"


class ReplicaLost(ServiceError):
    """On Ray: the replica was lost."""

    status, code, retry_after_seconds = 502, "replica_lost", 1


class Overloaded(ServiceError):
    """The queue is full."""

    status, code, retry_after_seconds = 503, "overloaded", 1


class Exhausted(ServiceError):
    """The machine has no memory, threads or descriptors left for the request."""

    status, code, retry_after_seconds = 503, "exhausted", 5


class NotDone(ServiceError):
    """The file is not translated yet; ask again later."""

    status, code, retry_after_seconds = 503, "not_done", 1


class StorageFailed(ServiceError):
    """The database or the directory of files cannot be used, such as on a full disk."""

    status, code, retry_after_seconds = 503, "storage_failed", 5


class NotReady(ServiceError):
    """The engine is not running."""

    status, code, retry_after_seconds = 503, "not_ready", 5


class Loading(NotReady):
    """The model is not in memory, and too much is loaded before it."""

    code = "loading"

    def __init__(self, message: str, retry_after_seconds: int) -> None:
        """`retry_after_seconds`: until the model is likely loaded, by the loads so far."""
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class Draining(NotReady):
    """The server is about to stop."""

    code = "draining"

    def __init__(self, message: str = "the server is about to stop and takes no more work") -> None:
        super().__init__(message)


class DeadlineExceeded(ServiceError):
    """The deadline passed before the translation was done."""

    status, code = 504, "deadline"


def drop_frames(error: BaseException) -> None:
    """Of an error that has ended: frames may have what has the error, and would stay until a scan
    for garbage."""
    error.__traceback__ = error.__context__ = error.__cause__ = None


def outcome_label(status: int | None) -> str:
    """The metrics' outcome label of a status; None: the client left before its answer."""
    if status is None or status == Cancelled.status:
        return "cancelled"
    if status < 400:
        return "ok"
    if status in _REJECTIONS:
        return "rejected"
    if status == DeadlineExceeded.status:
        return "deadline"
    return "client_error" if status < 500 else "error"


def shown(value: object) -> str:
    """The value for an error message: shortened, and encodable as UTF-8."""
    if value is None or isinstance(value, bool):
        text = to_json(value).decode()
    elif isinstance(value, str | bytes):
        text = repr(value[: _SHOWN_CHARACTERS + 1])
    else:
        text = _SHORT.repr(value)
    if len(text) > _SHOWN_CHARACTERS:
        text = text[:_SHOWN_CHARACTERS] + "…"
    return printable(text)


def printable(text: str) -> str:
    """The text with lone surrogates as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
