"""Refuses the requests of web pages that are not this server's own.

A browser lets any page send forms and plain texts to any server and open websockets to it: it only
keeps the answers from the page. By DNS rebinding a page makes its own host name lead to this server
and is then of the same origin, so the names by which the server is called are checked as well.
Starlette's TrustedHostMiddleware cannot allow all IP addresses, which no page can rebind, and
answers in no API's format.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Collection

from starlette.types import Scope

from service.errors import ForeignPage, InvalidHttp, UnknownHost, shown
from service.http.head import HeaderValues

EVERY = "*"
_LOCALHOST = "localhost"
_OWN_SITES = ("same-origin", "none")
"""What browsers say of the server's own pages, of its user, and of extensions that have permission
for the server. A page cannot change it. It is missing in old browsers, for addresses without TLS
that are not this machine's, and for websockets."""
_EXTENSION = re.compile(r"[a-z]+-extension://.*")
_MOST_TOLD = 32
_logger = logging.getLogger(__name__)
_PORT = re.compile(r":\d*$")


class OriginRule:
    """403 to pages of other origins, except on open paths, 421 to a host name that is not the
    server's, and 400 to HTTP/1.1 without a host.

    `origins`: other pages that may use the server. `hosts`: the server's names besides localhost
    and IP addresses; empty means any. EVERY stands for all.
    """

    def __init__(self, origins: Collection[str], hosts: Collection[str]) -> None:
        self._origins, self._hosts = frozenset(origins), frozenset(hosts)
        self._is_any_host = not hosts or EVERY in self._hosts
        self._told: set[str] = set()
        """The refusals that the log has: a browser shows its user neither status nor message."""

    def check(self, scope: Scope, headers: HeaderValues, *, is_open: bool) -> None:
        """`headers`: those of the scope. Raises InvalidHttp, UnknownHost or ForeignPage."""
        num_hosts = [name for name, _ in scope["headers"]].count(b"host")
        if num_hosts != 1 and scope.get("http_version") == "1.1":
            raise InvalidHttp(f"an HTTP/1.1 request must have one Host, got {num_hosts}")
        if num_hosts and not self._is_any_host:
            self._require_known(_PORT.sub("", _text(headers[b"host"]).lower()))
        if not is_open and not self._is_own(headers):
            origin = shown(_text(headers.get(b"origin", b"another origin")))
            message = f"no page of {origin} may use this server (setting cors_origins)"
            self._tell(message)
            raise ForeignPage(message)

    def _require_known(self, name: str) -> None:
        if not (name in self._hosts or name == _LOCALHOST or _is_address(name)):
            message = f"{shown(name)} is no name of this server (setting allowed_hosts)"
            self._tell(message)
            raise UnknownHost(message)

    def _tell(self, message: str) -> None:
        """Log a refusal once."""
        if message not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(message)
            _logger.info("%s", message)

    def _is_own(self, headers: HeaderValues) -> bool:
        """Whether a request comes from no page, from one of this server or from an allowed one."""
        origin, site = headers.get(b"origin"), headers.get(b"sec-fetch-site")
        if origin is None and site is None:
            return True
        name = _text(origin or b"").lower()
        if not self._origins.isdisjoint((EVERY, name)):
            return True
        if site is not None:
            return _text(site) in _OWN_SITES
        if _EXTENSION.fullmatch(_text(origin or b"")):
            return True
        return name.partition("://")[2] == _text(headers.get(b"host", b"")).lower() != ""


def names_at(host: str, names: Collection[str]) -> Collection[str]:
    """The names of a server with `names` where it listens on `host`, as `hosts` of OriginRule: only
    these on a loopback address, and any on others."""
    return names if _is_loopback(host) else ()


def _is_loopback(host: str) -> bool:
    return host == _LOCALHOST or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _text(value: bytes) -> str:
    return value.decode("latin-1")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
