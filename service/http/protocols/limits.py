"""Limits of one connection."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WireLimits:
    """Limits of one connection, in bytes, counts and seconds.

    The head is the request line and headers. A body's framing is its chunk sizes, chunk extensions
    and trailers. Every `receive_seconds`, a body must deliver `body_step_bytes` or end.
    """

    head_bytes: int = 32 * 1024
    headers: int = 100
    spare_framing_bytes: int = 16 * 1024  # framing limit: this plus the body's size
    receive_seconds: float = 20.0
    body_step_bytes: int = 16 * 1024
    idle_seconds: float = 75.0  # longer than the 60 s of load balancers
    send_seconds: float = 30.0  # the send buffer must shrink within this time
    linger_seconds: float = 2.0  # time to read an error before the close
    control_frames_per_second: int = 50
    spare_fragments: int = 64  # limit: this plus one per fragment_bytes
    fragment_bytes: int = 256
    connections_per_address: int = 0  # 0 is no limit
    proxies: tuple[str, ...] = ()  # whose connections are not limited
