"""Answers as bytes, for requests that the app does not answer."""

from __future__ import annotations

from collections.abc import Sequence

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from service.errors import ServiceError
from service.http.error_handlers import NO_ID, error_of, error_response
from service.http.security_headers import SECURITY_HEADERS

Headers = Sequence[tuple[bytes, bytes]]


def http_answer(status: int, headers: Headers, body: bytes) -> bytes:
    """An HTTP/1.1 answer as it goes over the wire."""
    lines = [name + b": " + value + b"\r\n" for name, value in headers]
    return b"".join([STATUS_LINE[status], *lines, b"\r\n", body])


def refusal(error: ServiceError, request_id: str, path: str, headers: Headers) -> bytes:
    """The answer to a request for `path`, after which the connection is closed."""
    response = error_response(error, request_id, path)
    own = [(b"x-request-id", request_id.encode()), (b"connection", b"close")]
    every = [*headers, *response.raw_headers, *SECURITY_HEADERS, *own]
    return http_answer(response.status_code, every, bytes(response.body))


EXHAUSTED = refusal(error_of(MemoryError()), NO_ID, "", ())
"""Made beforehand, for when there is no memory to make an answer."""
