"""The address that stands for a client."""

from __future__ import annotations

import functools
import ipaddress

_IPV6_PREFIX = 64
UNKNOWN = "unknown"


@functools.lru_cache(4096)
def client_address(host: str | None) -> str:
    """An IPv4 address, or the network of an IPv6 address: one customer has 2^64 addresses.

    UNKNOWN for anything else, which a proxy may have forwarded.
    """
    try:
        address = ipaddress.ip_address((host or "").partition("%")[0])
    except ValueError:
        return UNKNOWN
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    network = ipaddress.ip_network((address, _IPV6_PREFIX), strict=False)
    return str(network)
