"""The body of an error answer: our own, or that of the API which the path belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from service.errors import (
    InvalidField,
    InvalidJson,
    InvalidKey,
    KeyRequired,
    LimitExceeded,
    QuotaExceeded,
    ServiceError,
    UnsupportedLanguage,
    printable,
)

DEEPL, DEEPLX, GOOGLE = "/v2/", "/v1/", "/language/translate/v2"
"""Path prefixes of the other APIs."""


class ErrorBody(BaseModel):
    """A message for people, a code for programs, and the request's id in the server's log.

    `detail` is there if LibreTranslate's clients expect an `error` that leaves something out.
    """

    error: str
    code: str
    request_id: str
    detail: str | None = None


@dataclass(frozen=True)
class Failure:
    """What went wrong, before it has a format."""

    status: int
    message: str
    code: str
    request_id: str
    detail: str | None = None

    @classmethod
    def of(cls, error: ServiceError, request_id: str) -> Failure:
        message = printable(str(error))
        if isinstance(error, UnsupportedLanguage) and error.language is not None:
            short = f"{printable(error.language)} is not supported"  # LibreTranslate's words
            return cls(error.status, short, error.code, request_id, message)
        return cls(error.status, message, error.code, request_id)


def render_failure(path: str, failure: Failure) -> tuple[int, dict[str, object]]:
    """The status and the JSON body of the answer to a request for `path`."""
    for prefix, (render, statuses) in _FORMATS.items():
        if path.startswith(prefix):
            status = statuses.get(failure.code, failure.status)
            status = InvalidJson.status if status == InvalidField.status else status
            return status, render(status, failure)
    return failure.status, _ours(failure)


def _ours(failure: Failure) -> dict[str, object]:
    """An ErrorBody; made without validation to keep rejections cheap."""
    body: dict[str, object] = {
        "error": failure.message,
        "code": failure.code,
        "request_id": failure.request_id,
    }
    return body if failure.detail is None else {**body, "detail": failure.detail}


def _deepl(_: int, failure: Failure) -> dict[str, object]:
    return {"message": failure.detail or failure.message}


def _deeplx(status: int, failure: Failure) -> dict[str, object]:
    return {"code": status, "message": failure.detail or failure.message}


def _google(status: int, failure: Failure) -> dict[str, object]:
    """Google's client fails on an `error` that is no object."""
    message, reason = failure.detail or failure.message, failure.code
    more: dict[str, object] = {}
    if failure.code in _GOOGLE_REFUSALS:
        name, reason, info, words = _GOOGLE_REFUSALS[failure.code]
        message = words or message
        more = {"status": name, "details": [{**_GOOGLE_ERROR_INFO, "reason": info}]}
    elif failure.status == LimitExceeded.status:
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
_FORMATS: Mapping[str, tuple[Callable[[int, Failure], dict[str, object]], Mapping[str, int]]] = {
    DEEPL: (_deepl, {KeyRequired.code: InvalidKey.status, QuotaExceeded.code: 456}),
    DEEPLX: (_deeplx, {}),
    GOOGLE: (_google, {KeyRequired.code: InvalidKey.status, InvalidKey.code: 400}),
}
"""By prefix: the body's format, and the statuses that differ from ours. None knows a 422."""
