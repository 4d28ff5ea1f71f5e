"""OpenTelemetry traces of requests, built from the engine's timings.

A request's span has three child spans per sentence: queue, encode and decode.
"""

from __future__ import annotations

import threading
import time

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.util.re import parse_env_headers

from service.http.request_log import RequestRecord
from service.translation.results import SentenceDetail

Facts = dict[str, str | int]
_WORK = "translate"
"""In the path of most routes that translate, of any API."""
_NANOSECONDS = 1_000_000_000
_CLOSE_SECONDS = 2.0


class OpenTelemetryTracer:
    """Sends spans of finished translation requests to an OTLP endpoint, in the background.

    The SDK's OTEL_* variables, such as OTEL_TRACES_SAMPLER, also apply. If the endpoint does not
    answer, spans are lost; requests are not affected.
    """

    def __init__(self, endpoint: str, headers: str, version: str) -> None:
        """`headers`: comma-separated name=value pairs."""
        about = Resource.create({SERVICE_NAME: "dragoman", SERVICE_VERSION: version})
        self._exporter = OTLPSpanExporter(
            endpoint, headers=parse_env_headers(headers, liberal=True)
        )
        self._provider = TracerProvider(resource=about, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._tracer = self._provider.get_tracer("dragoman", version)

    def trace(self, record: RequestRecord) -> None:
        if _WORK not in record.endpoint and not record.translations:
            return
        epoch = time.time() - time.monotonic()
        span = self._tracer.start_span(
            f"{record.method} {record.endpoint}",
            _caller(record),
            SpanKind.SERVER,
            _facts(record),
            start_time=_nanoseconds(epoch + record.started_seconds),
        )
        if record.outcome == "error":
            span.set_status(StatusCode.ERROR)
        for index, (model, sentence) in enumerate(record.sentences()):
            self._trace_sentence(set_span_in_context(span), epoch, index, model, sentence)
        span.end(_nanoseconds(epoch + record.ended_seconds))

    def close(self) -> None:
        """Send buffered spans, for at most two seconds. The SDK would try ten for each 512."""
        sending = threading.Thread(target=self._provider.force_flush, daemon=True)
        sending.start()
        sending.join(_CLOSE_SECONDS)
        self._exporter.shutdown()  # type: ignore[no-untyped-call]  # it tries no more

    def _trace_sentence(
        self, parent: Context, epoch: float, index: int, model: str, sentence: SentenceDetail
    ) -> None:
        times = sentence.times
        facts: Facts = {"dragoman.model": model, "dragoman.sentence": index}
        results: Facts = {
            "dragoman.target_tokens": len(sentence.tokens),
            "dragoman.finish_reason": sentence.finish_reason,
        }
        named = ("queue", facts), ("encode", facts), ("decode", facts | results)
        begins = epoch + times.arrived
        for (name, attributes), seconds in zip(named, times.phases, strict=True):
            span = self._tracer.start_span(
                name, parent, attributes=attributes, start_time=_nanoseconds(begins)
            )
            begins += seconds
            span.end(_nanoseconds(begins))


def _caller(record: RequestRecord) -> Context:
    """The parent span from the traceparent header (W3C Trace Context), if any."""
    carrier = {"traceparent": record.traceparent} if record.traceparent else {}
    return TraceContextTextMapPropagator().extract(carrier)


def _facts(record: RequestRecord) -> Facts:
    facts: Facts = {
        "http.request.method": record.method,
        "http.route": record.endpoint,
        "dragoman.request_id": record.request_id,
        "dragoman.outcome": record.outcome,
    }
    if record.status is not None:
        facts["http.response.status_code"] = record.status
    return facts


def _nanoseconds(seconds: float) -> int:
    return int(seconds * _NANOSECONDS)
