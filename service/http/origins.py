"""Refuses the requests of web pages that are not this server's own.

A browser lets any page send forms and plain texts to any server and open websockets to it: it only
keeps the answers from the page. By DNS rebinding a page makes its own host name lead to this server
and is then of the same origin, so the names by which the server is called are checked as well.
Starlette's TrustedHostMiddleware cannot allow all IP addresses, which no page can rebind, and
answers in no API's format.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import ForeignPage, InvalidHttp, ServiceError, UnknownHost, shown
from service.http.error_handlers import error_response
from service.http.request_log import request_id_of
from service.observability.metrics import Metrics

EVERY = "*"
_LOCALHOST = "localhost"
_OWN_SITES = ("same-origin", "none")
"""What browsers say of the server's own pages, of its user, and of extensions that have permission
for the server. A page cannot change it. It is missing in old browsers, for addresses without TLS
that are not this machine's, and for websockets."""
_EXTENSION = re.compile(r"[a-z]+-extension://.*")
_PORT = re.compile(r":\d*$")


class OriginMiddleware:
    """Answers 403 to pages of other origins, except on open paths, 421 to a host name that is not
    the server's, and 400 to HTTP/1.1 without a host. Stands inside RequestMiddleware.

    `origins`: other pages that may use the server. `hosts`: the server's names besides localhost
    and IP addresses; empty means any. EVERY stands for all.
    """

    def __init__(
        self,
        app: ASGIApp,
        origins: Collection[str],
        hosts: Collection[str],
        is_open: Callable[[str], bool],
        metrics: Metrics,
    ) -> None:
        self._app, self._is_open, self._metrics = app, is_open, metrics
        self._origins, self._hosts = frozenset(origins), frozenset(hosts or (EVERY,))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] != "lifespan" and (error := self._error(scope)) is not None:
            if error.is_rejection:
                self._metrics.count_rejected(error.code)
            app = error_response(error, _id_of(scope), scope["path"])
        await app(scope, receive, send)

    def _error(self, scope: Scope) -> ServiceError | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 and scope.get("http_version") == "1.1":
            return InvalidHttp(f"an HTTP/1.1 request must have one Host, got {len(hosts)}")
        if hosts and not self._is_known(name := _PORT.sub("", hosts[0].lower())):
            return UnknownHost(f"{shown(name)} is no name of this server (setting allowed_hosts)")
        if self._is_open(scope["path"]) or self._is_own(headers):
            return None
        origin = shown(headers.get("origin", "another origin"))
        return ForeignPage(f"no page of {origin} may use this server (setting cors_origins)")

    def _is_known(self, name: str) -> bool:
        return not self._hosts.isdisjoint((EVERY, name)) or name == _LOCALHOST or _is_address(name)

    def _is_own(self, headers: Headers) -> bool:
        """Whether a request comes from no page, from one of this server or from an allowed one."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if not self._origins.isdisjoint((EVERY, (origin or "").lower())):
            return True
        if site is not None:
            return site in _OWN_SITES
        if origin is None or _EXTENSION.fullmatch(origin):
            return True
        return origin.lower().partition("://")[2] == headers.get("host", "").lower() != ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _id_of(scope: Scope) -> str:
    """The request's id; a websocket has none yet."""
    given: str | None = scope.get("state", {}).get("request_id")
    return given or request_id_of(Headers(scope=scope))
