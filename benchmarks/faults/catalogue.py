"""Every fault with the promise that it tries, in the order of the docs."""

from __future__ import annotations

from benchmarks.faults import clients, ends, engines, resources, surroundings
from benchmarks.faults.promise import Promise


def promises(faketime: str | None) -> list[Promise]:
    """`faketime`: the path of libfaketime, without which the clock is not moved."""
    clock = () if faketime is None else (surroundings.clock_promise(faketime),)
    return [
        *clients.PROMISES,
        *resources.PROMISES,
        *surroundings.PROMISES,
        *clock,
        *engines.PROMISES,
        *ends.PROMISES,
    ]
