"""The metrics of all processes of a server as one page."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from prometheus_client import Metric

from service.observability.merging import kept, summed
from service.observability.metrics import not_ready, ready_models, restarts
from service.processes.control import Peer
from service.processes.messages import FamilyFields, family_of

ANSWER_SECONDS = 2.0
"""Of a process that does not answer in this time only what it counted before is there."""
Asks = Mapping[str, Callable[..., Awaitable[Any]]]
"""How to ask each process, by its name: the question, the kind of the answer, the arguments."""


class GatheredMetrics:
    """The metrics of processes, some of which end: what they counted stays."""

    def __init__(self, engines: Sequence[str], models: Callable[[], Iterable[str]]) -> None:
        """`engines`: the names of the engine processes; `models`: gives those of what each has in
        memory."""
        self._engines, self._models = engines, models
        self._told: dict[str, list[Metric]] = {}
        """What each told last."""
        self._last_ended: dict[str, int] = {}
        """The process that ended last, by its name."""
        self._ended: list[Metric] = []
        """What stays of those that have ended."""

    def end(self, peer: Peer) -> None:
        """This process has ended, which counts once for each model of an engine: what has ended is
        connected, and ends, again until the parent sees it."""
        told = self._told.pop(peer.name, [])
        is_counted = peer.name not in self._engines or self._last_ended.get(peer.name) == peer.pid
        lost = () if is_counted else {*self._models(), *ready_models(told)}
        self._last_ended[peer.name] = peer.pid
        self._ended = kept([self._ended, told, [restarts(lost)]])

    async def render(self, asks: Asks, own: Mapping[str, Sequence[Metric]]) -> bytes:
        """Prometheus' text format. `asks`: of the others; `own`: metrics of this process. An answer
        of a process that ends meanwhile is left out: what it told before counts already."""
        ended = dict(self._last_ended)
        answered = await families(asks, "metrics")
        told = {
            name: one
            for name, one in answered.items()
            if self._last_ended.get(name) == ended.get(name)
        }
        self._told.update(told)
        silent = [one for name, one in self._told.items() if name not in told]
        missing = {name: [not_ready(self._models())] for name in self._engines if name not in told}
        return summed({**own, **told, **missing, "": kept([self._ended, *silent])})


async def families(asks: Asks, question: str) -> dict[str, list[Metric]]:
    """The metrics of those that answer, by name."""
    told = await answers(asks, question, list[FamilyFields])
    return {name: [*map(family_of, one)] for name, one in told.items()}


async def answers(asks: Asks, question: str, kind: Any, *arguments: Any) -> dict[str, Any]:
    """The answers of those that answer, by name."""
    timed = (
        asyncio.wait_for(ask(question, kind, *arguments), ANSWER_SECONDS) for ask in asks.values()
    )
    found = await asyncio.gather(*timed, return_exceptions=True)
    return {
        name: answer
        for name, answer in zip(asks, found, strict=True)
        if not isinstance(answer, BaseException)
    }
