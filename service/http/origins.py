"""Which web pages may open a websocket. Browsers apply no same-origin rule to websockets."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.datastructures import Headers

EVERY_ORIGIN = "*"


@dataclass(frozen=True)
class AllowedOrigins:
    """The origins of pages that may use the server; EVERY_ORIGIN stands for all."""

    origins: frozenset[str]

    def allow(self, headers: Headers) -> bool:
        """Whether the request comes from no page, from a page of this host, or from an allowed
        one."""
        origin = headers.get("origin")
        if origin is None or EVERY_ORIGIN in self.origins or origin.lower() in self.origins:
            return True
        host = headers.get("host", "").lower()
        return bool(host) and origin.lower().partition("://")[2] == host
