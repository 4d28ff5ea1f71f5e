"""Metrics, log line and trace of a finished request. None of them contains a text."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import structlog
from starlette.datastructures import Headers

from service.errors import LimitExceeded, Overloaded, outcome_of
from service.observability.metrics import Metrics
from service.translation.results import SentenceDetail, TranslationResult

REQUEST_ID_HEADER = "X-Request-ID"
_SANE_ID = re.compile(r"(?!.*drg_)[A-Za-z0-9._:-]{1,128}")
"""Without an API key, which begins with drg_."""
_FREQUENT = ("/health", "/metrics", "/page/")
_FREQUENT_STATUSES = (LimitExceeded.status, Overloaded.status)
_logger = logging.getLogger(__name__)
_lines: structlog.typing.FilteringBoundLogger = structlog.get_logger()


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

    @property
    def seconds(self) -> float:
        return self.ended_seconds - self.started_seconds

    @property
    def outcome(self) -> str:
        return outcome_of(self.status)

    def sentences(self) -> Iterator[tuple[str, SentenceDetail]]:
        """(model, sentence) pairs; the first hop of a pivot comes first."""
        for translation in self.translations:
            if pivot := translation.pivot:
                yield from ((pivot.model, sentence) for sentence in pivot.sentences)
            yield from ((translation.model, sentence) for sentence in translation.sentences)


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
        self._metrics.count_request(record.endpoint, record.outcome, record.seconds)
        level = logging.DEBUG if _is_frequent(record) else logging.INFO
        if _logger.isEnabledFor(level):
            _lines.log(level, "request", **_facts(record), logger=__name__)
        if self._tracer is not None:
            self._tracer.trace(record)

    def close(self) -> None:
        if self._tracer is not None:
            self._tracer.close()


def _is_frequent(record: RequestRecord) -> bool:
    """Whether it is a probe, a part of the page, or was rejected for overload or a limit; logged at
    debug level."""
    return record.endpoint.startswith(_FREQUENT) or record.status in _FREQUENT_STATUSES


def request_id_of(headers: Headers) -> str:
    """The client's id if it is safe in logs and headers, else a random one."""
    return sane_id(headers.get(REQUEST_ID_HEADER, ""))


def sane_id(given: str) -> str:
    """`given` if it is safe in logs and headers and holds no API key, else a random id."""
    return given if _SANE_ID.fullmatch(given) else secrets.token_hex(16)


def _facts(record: RequestRecord) -> dict[str, object]:
    facts: dict[str, object] = {
        "request_id": record.request_id,
        "endpoint": record.endpoint,
        "outcome": record.outcome,
        "status": record.status,
        "seconds": round(record.seconds, 6),
    }
    return facts | _work_facts(list(record.sentences()))


def _work_facts(sentences: Sequence[tuple[str, SentenceDetail]]) -> dict[str, object]:
    """Models, sentence and token counts, and the longest time of each phase."""
    if not sentences:
        return {}
    times = [sentence.times for _, sentence in sentences]
    return {
        "models": list(dict.fromkeys(model for model, _ in sentences)),
        "sentences": len(sentences),
        "target_tokens": sum(len(sentence.tokens) for _, sentence in sentences),
        "max_queue_seconds": round(max(t.queue for t in times), 6),
        "max_encode_seconds": round(max(t.encode for t in times), 6),
        "max_decode_seconds": round(max(t.decode for t in times), 6),
    }
