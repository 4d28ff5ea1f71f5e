"""The batches as small JSON for the page, made at most four times a second for all who watch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from pydantic_core import to_json

from service.engine.batch_loop import BatchEntry
from service.engine.engine import Engine

_PERIOD_SECONDS = 0.2
_RECENT_SECONDS = 1.5
_MOST_ENTRIES = 512


class EngineView:
    """Renders the entries of all engines; in between it gives the last answer again."""

    def __init__(
        self, engines: Mapping[str, Engine], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._engines, self._clock = engines, clock
        self._made_seconds = float("-inf")
        self._rendered = b""

    def render(self) -> bytes:
        """JSON: `models` by name, each a list of workers, each a list of entries [number, rows,
        source tokens, steps, when it joined, when it left or null]; `waiting` sentences by
        model; `now`. Times are monotonic milliseconds."""
        now = self._clock()
        if now - self._made_seconds >= _PERIOD_SECONDS:
            self._made_seconds, self._rendered = now, to_json(self._describe(now))
        return self._rendered

    def _describe(self, now: float) -> dict[str, object]:
        since = now - _RECENT_SECONDS
        return {
            "now": _milliseconds(now),
            "models": {
                name: [
                    [_numbers(entry) for entry in entries[:_MOST_ENTRIES]]
                    for entries in engine.batch_entries(since)
                ]
                for name, engine in self._engines.items()
            },
            "waiting": {name: engine.num_waiting for name, engine in self._engines.items()},
        }


def _numbers(entry: BatchEntry) -> list[int | None]:
    left = None if entry.left is None else _milliseconds(entry.left)
    steps = entry.num_steps
    return [
        entry.number,
        entry.num_rows,
        entry.num_tokens,
        steps,
        _milliseconds(entry.joined),
        left,
    ]


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
