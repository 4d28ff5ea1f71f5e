"""Bounds the work that waits for a slot. The event loop and the workers' threads share it."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Collection
from dataclasses import dataclass

from service.engine.sentence_task import EngineRequest, SentenceTask

_MOST_TOLD = 100


@dataclass
class Crowd:
    """What waits if it is at least half of what may. `num_requests`: of each client that waits, for
    at most 100 of the `num_clients`."""

    num_sentences: int
    max_sentences: int
    num_clients: int
    num_requests: dict[str, int]

    def why_full(self, client: str) -> str:
        """Why not one more sentence of a client may wait; empty if it may, as far as is known."""
        waiting, limit = self.num_sentences, self.max_sentences
        num_told = len(self.num_requests) + (client not in self.num_requests)
        num_shares = max(self.num_clients, num_told) * (self.num_requests.get(client, 0) + 1)
        if waiting < limit or num_shares <= limit:
            return ""
        return _why_full("sentences", 1, waiting, limit)

    def add(self, num_sentences: int, client: str, *, is_new: bool) -> None:
        """Count sentences that are sent; `is_new`: the first of their request."""
        self.num_sentences += num_sentences
        self.num_requests[client] = self.num_requests.get(client, 0) + is_new


class AdmissionControl:
    """Counts waiting sentences and the most tokens that they may need, with a bound for each.

    Beyond a bound a request is accepted if it is no larger than an equal share of it, so no request
    and no client can shut out others. A share is the bound divided by the clients that wait, and by
    the requests of the same client that wait, itself included.
    """

    def __init__(self, max_sentences: int, max_tokens: int) -> None:
        self.max_sentences, self.max_tokens = max_sentences, max_tokens
        self.num_sentences = 0
        self.num_tokens = 0
        self._waiting: set[SentenceTask] = set()
        self._clients: dict[str, dict[EngineRequest, int]] = {}
        """The number of waiting tasks of each request, by client."""
        self._lock = threading.Lock()

    def why_full(self, num_sentences: int, num_tokens: int = 0, client: str = "") -> str:
        """Why this many more may not wait now; empty if they may.

        An empty queue accepts any one request, so a short queue still accepts one long request;
        the server bounds its characters. The check runs before the texts are read, and again on
        the resulting sentences.
        """
        num_clients = len(self._clients) + (client not in self._clients)
        num_shares = num_clients * (len(self._clients.get(client, ())) + 1)
        for noun, added, waiting, limit in (
            ("sentences", num_sentences, self.num_sentences, self.max_sentences),
            ("tokens", num_tokens, self.num_tokens, self.max_tokens),
        ):
            if waiting and waiting + added > limit and added * num_shares > limit:
                return _why_full(noun, added, waiting, limit)
        return ""

    def crowd(self) -> Crowd | None:
        """None if fewer than half of the sentences wait that may."""
        if self.num_sentences < self.max_sentences / 2:
            return None
        with self._lock:
            told = itertools.islice(self._clients.items(), _MOST_TOLD)
            num_requests = {client: len(requests) for client, requests in told}
            num_clients = len(self._clients)
            return Crowd(self.num_sentences, self.max_sentences, num_clients, num_requests)

    def enter(self, tasks: Collection[SentenceTask]) -> None:
        with self._lock:
            self._waiting.update(tasks)
            self._count(tasks, 1)

    def leave(self, tasks: Collection[SentenceTask]) -> None:
        """Stop counting tasks that were admitted or closed; ignore those that do not wait."""
        with self._lock:
            gone = self._waiting.intersection(tasks)
            self._waiting -= gone
            self._count(gone, -1)

    def _count(self, tasks: Collection[SentenceTask], sign: int) -> None:
        self.num_sentences += sign * len(tasks)
        for task in tasks:
            request, client = task.request, task.request.ticket.client
            self.num_tokens += sign * task.most_work
            requests = self._clients.setdefault(client, {})
            requests[request] = requests.get(request, 0) + sign
            if not requests[request]:
                del requests[request]
            if not requests:
                del self._clients[client]


def _why_full(noun: str, added: int, waiting: int, limit: int) -> str:
    return (
        f"{waiting} {noun} are waiting, and of {added} more not all fit: "
        f"at most {limit} may wait; try again later"
    )
