"""What one connection may do before it is ended."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WireLimits:
    """Bounds of one connection, in bytes, counts and seconds.

    A head is a request's first line and headers. The framing of a body is its chunk sizes, chunk
    extensions and trailers. A body must bring `body_step_bytes` or its end every `receive_seconds`.
    """

    head_bytes: int = 32 * 1024
    headers: int = 100
    spare_framing_bytes: int = 16 * 1024  # a body's framing may have this and the body's own size
    receive_seconds: float = 20.0
    body_step_bytes: int = 16 * 1024
    idle_seconds: float = 75.0  # a connection may ask for nothing; balancers close theirs after 60
    send_seconds: float = 30.0  # what waits to be sent must become less within this time
    linger_seconds: float = 2.0  # a refused client may read the refusal for this long
    control_frames_per_second: int = 50
    spare_fragments: int = 64  # a message may have these and one for each fragment_bytes
    fragment_bytes: int = 256
