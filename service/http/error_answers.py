"""Error answers: our own format, or that of the API which the request belongs to."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from http.client import responses

from pydantic import BaseModel
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from service.errors import (
    Exhausted,
    InvalidDocument,
    InvalidField,
    InvalidJson,
    InvalidKey,
    KeyRequired,
    LimitExceeded,
    MethodNotAllowed,
    NotFound,
    NotOffered,
    QuotaExceeded,
    ServiceError,
    UnsupportedFile,
    UnsupportedLanguage,
    printable,
    shown,
)
from service.exhaustion import is_exhaustion
from service.stores.glossary_rows import NO_DICTIONARY

DEEPL, DEEPL_3, DEEPLX, GOOGLE = "/v2/", "/v3/", "/v1/translate", "/language/translate/v2"
OPENAI, OLLAMA = "/v1/", "/api/"
OPUS_CAT = ("/MTRestService/", "/MtRestService/")
"""Path prefixes of the other APIs. OPUS-CAT's plugins know only the status of an error."""
APERTIUM, APERTIUM_PAIRS = "/translate", "/listPairs"
"""Apertium's paths, the first except for a POST."""
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
"""They tell browsers what they may not do with an answer."""
_NOT_OFFERED = {
    "/v2/write": "requests of DeepL Write",
    "/v3/style_rules": "style rules",
    "/v3/translation_memories": "translation memories",
    "/v3/voice": "requests of DeepL Voice",
    "/v1/responses": "OpenAI's responses, other than chat completions,",
    "/v1/completions": "OpenAI's completions, other than of chats,",
    "/v1/embeddings": "embeddings",
    "/api/embed": "embeddings",
    "/api/pull": "models to pull",
}
"""By path prefix: what clients of the other APIs may ask for; they would repeat a 501."""
_UNSUPPORTED = re.compile(r"(source|target) language (.+) is not supported;")
_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_logger = logging.getLogger(__name__)


class ErrorBody(BaseModel):
    """A message for people, a code for programs, and the request's id in the server's log.

    `detail` is there if LibreTranslate's clients expect an `error` that leaves something out,
    `detectedLanguage` if no model has the language that was detected.
    """

    error: str
    code: str
    request_id: str
    detail: str | None = None
    detectedLanguage: dict[str, str] | None = None


def error_response(
    error: ServiceError, request_id: str, path: str, method: str = "POST"
) -> Response:
    """The response to a failed request for `path`."""
    status, body = _render(_format_of(path, method), error, request_id)
    headers = {"WWW-Authenticate": "Bearer"} if status == KeyRequired.status else {}
    if isinstance(error, MethodNotAllowed):  # the router names the methods of one route only
        headers["Allow"] = ", ".join(error.allowed)
    if error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    return Response(to_json(body), status, headers, "application/json")


def is_apertium(path: str, method: str) -> bool:
    """Whether a request belongs to Apertium's API."""
    return path == APERTIUM_PAIRS or (path == APERTIUM and method in ("GET", "HEAD"))


def unexpected_error(failure: Exception) -> ServiceError:
    """The answer to an unexpected error."""
    if is_exhaustion(failure):
        return Exhausted("the server has too little memory or too few threads for this now")
    return ServiceError("something went wrong here; the request may be tried again")


def unforeseen(error: Exception, request_id: str) -> ServiceError:
    """Log an unexpected exception; return the error for the client."""
    _logger.error("request failed", exc_info=error, extra={"request_id": request_id})
    return unexpected_error(error)


def as_service_error(failure: Exception, scope: Scope) -> ServiceError | None:
    """A foreseen failure of a request: an error of the server, or one of the router."""
    if isinstance(failure, ServiceError):
        return failure
    return _unrouted(failure, scope) if isinstance(failure, HTTPException) else None


def _unrouted(failure: HTTPException, scope: Scope) -> ServiceError:
    what = f"{scope['method']} {shown(scope['path'])}"
    for prefix, name in _NOT_OFFERED.items():
        if scope["path"].startswith(prefix):
            return NotOffered(f"{name} are not offered by this server: {what}")
    if failure.status_code == MethodNotAllowed.status:
        return MethodNotAllowed(f"{what}: method not allowed", _methods_of(scope))
    return NotFound(f"{what}: not found")


def _methods_of(scope: Scope) -> list[str]:
    """The methods that the path of the request has."""
    return [
        method
        for method in _METHODS
        if any(
            route.matches({**scope, "method": method})[0] is Match.FULL
            for route in scope["app"].routes
        )
    ]


def _render(
    foreign: _Foreign | None, error: ServiceError, request_id: str
) -> tuple[int, dict[str, object]]:
    """The status and the JSON body. None of the other APIs knows a 422."""
    message = printable(str(error))
    if foreign is not None:
        render, statuses = foreign
        status = statuses.get(error.code, error.status)
        status = InvalidJson.status if status == InvalidField.status else status
        return status, render(status, error, message)
    body: dict[str, object] = {"error": message, "code": error.code, "request_id": request_id}
    if isinstance(error, UnsupportedLanguage) and error.language is not None:
        body["error"] = f"{printable(error.language)} is not supported"  # LibreTranslate's words
        body["detail"] = message
    if error.detected_language is not None:
        body["detectedLanguage"] = {"language": error.detected_language}
    return error.status, body


def _apertium(status: int, _: ServiceError, message: str) -> dict[str, object]:
    name = responses.get(status, "Error")
    return {"status": "error", "code": status, "message": name, "explanation": message}


def _deepl(_: int, error: ServiceError, message: str) -> dict[str, object]:
    """DeepL's clients look for its words."""
    if isinstance(error, UnsupportedLanguage):
        message = _UNSUPPORTED.sub(r"Value for '\1_lang' not supported: \2;", message)
    if isinstance(error, UnsupportedFile | InvalidDocument):
        message = f"Invalid file: {message}"
    if message.startswith("glossary ") and " is for " in message:
        message = f"{NO_DICTIONARY}: {message}"
    return {"message": message}


def openai_error(status: int, error: ServiceError, message: str) -> dict[str, object]:
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": error.code}}


def ollama_error(_: int, __: ServiceError, message: str) -> dict[str, object]:
    return {"error": message}


def _deeplx(status: int, error: ServiceError, message: str) -> dict[str, object]:
    return {"code": status, "message": message}


def _google(status: int, error: ServiceError, message: str) -> dict[str, object]:
    """Google's client fails on an `error` that is no object."""
    reason = error.code
    more: dict[str, object] = {}
    if error.code in _GOOGLE_REFUSALS:
        name, reason, info, words = _GOOGLE_REFUSALS[error.code]
        message = words or message
        more = {"status": name, "details": [{**_GOOGLE_ERROR_INFO, "reason": info}]}
    elif error.status == LimitExceeded.status:
        reason, more = "rateLimitExceeded", {"status": "RESOURCE_EXHAUSTED"}
    errors = [{"message": message, "domain": "global", "reason": reason}]
    return {"error": {"code": status, "message": message, "errors": errors, **more}}


_GOOGLE_ERROR_INFO = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "domain": "googleapis.com",
}
_GOOGLE_REFUSALS = {
    InvalidKey.code: (
        *("INVALID_ARGUMENT", "badRequest", "API_KEY_INVALID"),
        "API key not valid. Please pass a valid API key.",
    ),
    KeyRequired.code: (
        *("PERMISSION_DENIED", "forbidden", "API_KEY_MISSING"),
        "The request is missing a valid API key.",
    ),
    QuotaExceeded.code: ("RESOURCE_EXHAUSTED", "dailyLimitExceeded", "RATE_LIMIT_EXCEEDED", ""),
}
"""By code: Google's status, reason, reason in the details, and words if they are not ours."""
_Format = Callable[[int, ServiceError, str], dict[str, object]]
_Foreign = tuple[_Format, Mapping[str, int]]
"""The body's format, and the statuses that differ from ours."""
_APERTIUM: _Foreign = _apertium, {}
_FORMATS: Mapping[str, _Foreign] = {
    **dict.fromkeys(
        (DEEPL, DEEPL_3),
        (_deepl, {KeyRequired.code: InvalidKey.status, QuotaExceeded.code: 456}),
    ),
    DEEPLX: (_deeplx, {}),
    OPENAI: (openai_error, {InvalidKey.code: KeyRequired.status}),
    OLLAMA: (ollama_error, {}),
    GOOGLE: (_google, {KeyRequired.code: InvalidKey.status, InvalidKey.code: 400}),
}
"""By prefix; of two that a path has the first counts."""


def _format_of(path: str, method: str) -> _Foreign | None:
    """None: our own."""
    if is_apertium(path, method):
        return _APERTIUM
    return next((found for prefix, found in _FORMATS.items() if path.startswith(prefix)), None)
