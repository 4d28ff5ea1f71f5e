"""What comes with a request or a websocket before its body: the headers by name, and a future of
its connection."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import Scope

CONNECTION_LOST = "dragoman.connection_lost"
"""The ASGI extension of our own server: a future that is done once the connection is lost."""
FORWARDED_PREFIX = b"x-forwarded-prefix"
"""The header of a proxy that removes the beginning of paths."""
RECORD_REFUSED = "dragoman.record_refused"
"""The state of the app's lifespan that is a function for requests that our own server refuses."""
HeaderValues = Mapping[bytes, bytes]
"""The first value of each header, by its name in lower case, as ASGI gives it."""


def headers_of(scope: Scope) -> HeaderValues:
    return dict(reversed(scope["headers"]))


def has_body(headers: HeaderValues) -> bool:
    """Whether a request with these headers has a body that is not empty."""
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
