"""Bounds the work that waits for a slot. The event loop and the workers' threads share it."""

from __future__ import annotations

import threading
from collections.abc import Collection

from service.engine.sentence_task import SentenceTask
from service.errors import Overloaded


class AdmissionControl:
    """Counts waiting sentences and their source tokens, with a bound for each."""

    def __init__(self, max_sentences: int, max_tokens: int) -> None:
        self.max_sentences, self.max_tokens = max_sentences, max_tokens
        self.num_sentences = 0
        self.num_tokens = 0
        self._waiting: set[SentenceTask] = set()
        self._lock = threading.Lock()

    def require_room(self, num_sentences: int, num_tokens: int = 0) -> None:
        """Raise Overloaded if this many more may not wait now.

        An empty queue accepts any one request, so a short queue still accepts one long request;
        the server bounds its characters. The check runs on the texts before they are split and
        tokenized, and again on the resulting sentences.
        """
        for noun, added, waiting, limit in (
            ("sentences", num_sentences, self.num_sentences, self.max_sentences),
            ("source tokens", num_tokens, self.num_tokens, self.max_tokens),
        ):
            if waiting and waiting + added > limit:
                raise Overloaded(
                    f"{waiting} {noun} are waiting, and of {added} more not all fit: "
                    f"at most {limit} may wait; try again later"
                )

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
        self.num_tokens += sign * sum(task.num_tokens for task in tasks)
