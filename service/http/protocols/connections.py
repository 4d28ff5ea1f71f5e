"""Count the connections of an address."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Iterable
from typing import Any

from service.http.access.addresses import client_address


def num_connections(address: str, connections: Iterable[Any]) -> int:
    """How many connections come from an address, or from one network of IPv6.

    `connections`: uvicorn's protocols, whose `client` is an address and a port, or None.
    """
    own = client_address(address)
    return sum(
        connection.client is not None and client_address(connection.client[0]) == own
        for connection in connections
    )


@functools.lru_cache(4096)
def is_proxy(address: str, proxies: tuple[str, ...]) -> bool:
    """Whether the address is one of these addresses and networks."""
    try:
        own = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(own in ipaddress.ip_network(proxy) for proxy in proxies)
