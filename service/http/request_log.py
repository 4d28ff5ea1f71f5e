"""Metrics, log line and trace of a finished request. None of them contains a text."""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from starlette.types import Scope

from service.errors import LimitExceeded, Overloaded, outcome_label
from service.http.head import HeaderValues
from service.observability.logs import log_line
from service.observability.metrics import Metrics
from service.translation.results import SentenceDetail, TranslationResult

REQUEST_ID_HEADER = "X-Request-ID"
ID_HEADER = REQUEST_ID_HEADER.lower().encode()
_SANE_ID = re.compile(r"(?!.*drg_)[A-Za-z0-9._:-]{1,128}")
"""Without an API key, which begins with drg_."""
_FREQUENT = ("/health", "/metrics", "/page/")
_FREQUENT_STATUSES = (LimitExceeded.status, Overloaded.status)
_logger = logging.getLogger(__name__)


@dataclass
class RequestRecord:
    """One request. The route adds the translations. `status` is None until the answer starts, and
    499 if the client disconnected. It `has_delivered` once a part of a stream is sent. Times are
    monotonic seconds."""

    request_id: str
    method: str
    endpoint: str
    traceparent: str | None = None
    started_seconds: float = field(default_factory=time.monotonic)
    ended_seconds: float = 0.0
    status: int | None = None
    translations: Sequence[TranslationResult] = ()
    has_delivered: bool = False

    @classmethod
    def of(cls, scope: Scope, headers: HeaderValues, endpoint: str) -> RequestRecord:
        """That of a request or of a websocket's handshake."""
        traceparent = headers.get(b"traceparent")
        return cls(
            request_id_of(headers),
            scope.get("method", "WS"),
            endpoint,
            None if traceparent is None else traceparent.decode("latin-1"),
        )

    @property
    def outcome(self) -> str:
        return outcome_label(self.status)

    def sentences(self) -> Iterator[tuple[str, SentenceDetail]]:
        """(model, sentence) pairs; the first hop of a pivot comes first."""
        for translation in self.translations:
            if pivot := translation.pivot:
                for sentence in pivot.sentences:
                    yield pivot.model, sentence
            for sentence in translation.sentences:
                yield translation.model, sentence


class Tracer(Protocol):
    """Exports the traces of finished requests."""

    def trace(self, record: RequestRecord) -> None: ...

    def close(self) -> None:
        """Send buffered traces."""
        ...


class RequestLog:
    """Records each request once, when it ends."""

    def __init__(self, metrics: Metrics, tracer: Tracer | None = None) -> None:
        self._metrics, self._tracer = metrics, tracer

    def enter(self, record: RequestRecord) -> None:
        record.ended_seconds = time.monotonic()
        outcome = outcome_label(record.status)
        seconds = record.ended_seconds - record.started_seconds
        self._metrics.count_request(record.endpoint, outcome, seconds)
        is_frequent = record.endpoint.startswith(_FREQUENT) or record.status in _FREQUENT_STATUSES
        level = logging.DEBUG if is_frequent else logging.INFO
        log_line(_logger, level, lambda: _facts(record, outcome, seconds))
        if self._tracer is not None:
            self._tracer.trace(record)

    def close(self) -> None:
        if self._tracer is not None:
            self._tracer.close()


def request_id_of(headers: HeaderValues) -> str:
    """The client's id if it is safe in logs and headers and holds no API key, else a random one.

    That is no secret, and asking the system for random bytes would let go of Python's global lock,
    for which the workers wait.
    """
    given = headers.get(ID_HEADER, b"").decode("latin-1")
    return given if _SANE_ID.fullmatch(given) else f"{random.getrandbits(128):032x}"


def _facts(record: RequestRecord, outcome: str, seconds: float) -> dict[str, object]:
    facts: dict[str, object] = {
        "event": "request",
        "request_id": record.request_id,
        "endpoint": record.endpoint,
        "outcome": outcome,
        "status": record.status,
        "seconds": round(seconds, 6),
    }
    if record.translations:
        _add_work(facts, record)
    return facts


def _add_work(facts: dict[str, object], record: RequestRecord) -> None:
    """Models, sentence and token counts, and the longest time of each phase."""
    models, num_sentences, num_tokens = dict[str, None](), 0, 0
    queue = encode = decode = 0.0
    for model, sentence in record.sentences():
        own = sentence.times.phases
        models[model] = None
        num_sentences += 1
        num_tokens += len(sentence.tokens)
        queue, encode, decode = map(max, (queue, encode, decode), own)
    if num_sentences:
        facts["models"] = list(models)
        facts["sentences"] = num_sentences
        facts["target_tokens"] = num_tokens
        facts["max_queue_seconds"] = round(queue, 6)
        facts["max_encode_seconds"] = round(encode, 6)
        facts["max_decode_seconds"] = round(decode, 6)
