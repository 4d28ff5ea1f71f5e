"""How often the clients come: as fast as they are answered, or at random moments at a rate."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping

from benchmarks.soak import rude
from benchmarks.soak.others import (
    keep_a_glossary,
    look_around,
    same_as_first,
    suggest,
    translate_a_document,
    translate_a_file,
)
from benchmarks.soak.scene import Result, Scene, Visit
from benchmarks.soak.tally import Tally
from benchmarks.soak.translations import (
    as_events,
    as_form,
    as_multipart,
    as_plain_text,
    in_query,
    over_json,
    over_websocket,
)

_PATIENCE_SECONDS = 120.0
_MOST_UNDER_WAY = 8000
Traffic = Mapping[str, tuple[float, Visit]]
SHORT = "short"
TIMED: Traffic = {
    SHORT: (30, over_json("short")),
    "sentence": (16, over_json("sentence")),
    "paragraph": (4, over_json("paragraph", "list")),
    "options": (6, over_json("options", "html", "auto", "pivot", "glossary")),
    "counted": (4, over_json("sentence", who="counted")),
    "events": (8, as_events),
    "websocket": (8, over_websocket),
    "form": (3, as_form),
    "multipart": (2, as_multipart),
    "query": (1, in_query),
    "plain text": (1, as_plain_text),
    "deepl": (3, over_json("deepl")),
    "google": (3, over_json("google")),
    "others": (2, over_json("deeplx", "immersive")),
}
"""Translations, with the weights of their shares."""
SPIKE: Traffic = {name: TIMED[name] for name in (SHORT, "sentence", "deepl", "google", "events")}


async def all_traffic(scene: Scene) -> Traffic:
    """Everything that clients do. Asks what later answers are compared with."""
    repeated = same_as_first(scene)
    for visit in repeated.values():
        await visit.ask_all(scene)
    return {
        **TIMED,
        **{name: (1.0, visit) for name, visit in repeated.items()},
        **{name: (1.0, visit) for name, visit in rude.VISITS.items()},
        "look around": (1, look_around),
        "glossary": (0.3, keep_a_glossary),
        "suggest": (0.2, suggest),
        "file": (0.3, translate_a_file),
        "document": (0.3, translate_a_document),
        "limited": (0.5, over_json("short", who="limited")),
    }


class Load:
    """Sends visits of some traffic, and counts how they end."""

    def __init__(self, scene: Scene, tally: Tally, rng: random.Random) -> None:
        self._scene, self._tally, self._rng = scene, tally, rng
        self._under_way: set[asyncio.Task[None]] = set()
        self.num_offered = 0

    @property
    def num_under_way(self) -> int:
        return len(self._under_way)

    async def closed(self, traffic: Traffic, num_clients: int, seconds: float) -> float:
        """Clients that each wait for their answer -> visits a second."""
        before, started = self._num_ended(), time.perf_counter()

        def is_over() -> bool:
            return time.perf_counter() >= started + seconds

        await asyncio.gather(*(self.come_again(traffic, is_over) for _ in range(num_clients)))
        return (self._num_ended() - before) / (time.perf_counter() - started)

    async def come_again(self, traffic: Traffic, is_over: Callable[[], bool]) -> None:
        """One client, whose visits follow each other."""
        while not is_over():
            await self._visit(traffic, self._choose(traffic))

    async def open(self, traffic: Traffic, rate: float, seconds: float) -> None:
        """Visits at random moments, `rate` a second, whether they are answered or not."""
        moment = time.perf_counter()
        ends = moment + seconds
        while moment < ends:
            moment += self._rng.expovariate(rate)
            if (early := moment - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            self.num_offered += 1
            if self.num_under_way >= _MOST_UNDER_WAY:
                self._tally.count("held back", Result.LEFT)
                continue
            task = asyncio.create_task(self._visit(traffic, self._choose(traffic)))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def finish(self) -> None:
        """Wait for what is under way; nothing takes longer than the patience."""
        await asyncio.gather(*self._under_way)

    def _num_ended(self) -> int:
        return self._tally.counts.total()

    def _choose(self, traffic: Traffic) -> str:
        weights = [weight for weight, _ in traffic.values()]
        return self._rng.choices(list(traffic), weights)[0]

    async def _visit(self, traffic: Traffic, name: str) -> None:
        started = time.perf_counter()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                result = await traffic[name][1](self._scene)
        except OSError as error:  # a TimeoutError is one
            self._scene.on_problem({"kind": name, "lost": repr(error)})
            result = Result.LOST
        except Exception as error:  # an answer of another shape
            self._scene.on_problem({"kind": name, "error": repr(error)})
            result = Result.UNEXPECTED
        self._tally.count(name, result)
        if result is Result.RIGHT and name in TIMED:
            self._tally.time(time.perf_counter() - started, is_short=name == SHORT)
