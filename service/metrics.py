"""Every metric the server exports. One instance per app, so that tests start from zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

_PREFIX = "dragoman_"
_REQUEST_BUCKETS = (
    *(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75),
    *(1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0),
)
_STEP_BUCKETS = (
    *(0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.02, 0.03, 0.05, 0.075),
    *(0.1, 0.2, 0.5, 1.0),
)
_TOKEN_BUCKETS = (2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0, 128.0, 256.0, 512.0)
_ROW_BUCKETS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)

ENGINE_GAUGES = {
    "running": "Sentences in the batch; each takes a slot.",
    "slots": "Sentences that fit into the batch.",
    "rows_used": "Hypotheses in the batch.",
    "rows": "Hypotheses that fit into the batch.",
    "waiting": "Sentences waiting for a slot.",
    "waiting_tokens": "Source tokens of the waiting sentences.",
    "ready": "1 if the server takes requests.",
}


class Metrics:
    """Labels never hold a text, a key or an address; unknown paths count as endpoint "other"."""

    def __init__(self, model: str) -> None:
        self.registry = CollectorRegistry()
        self._model = model
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._requests = self._counter(
            "requests_total", "Answered requests.", "endpoint", "outcome"
        )
        self._sequences = self._counter(
            "sequences_total", "Sentences that left the engine.", "finish_reason"
        )
        self._rejected = self._counter("rejected_total", "Requests turned away.", "reason")
        self._cancelled = self._counter(
            "cancelled_total", "Sentences that were given up before their end.", "cause"
        )
        self._source_tokens = self._counter(
            "source_tokens_total", "Source tokens taken into the batch."
        ).labels(model)
        self._target_tokens = self._counter(
            "target_tokens_total", "Target tokens of finished sentences' best hypotheses."
        ).labels(model)
        self._source_length = self._histogram(
            "source_tokens_per_sentence", "Source tokens of an admitted sentence.", _TOKEN_BUCKETS
        ).labels(model)
        self._target_length = self._histogram(
            "target_tokens_per_sentence", "Tokens of a finished translation.", _TOKEN_BUCKETS
        ).labels(model)
        self._request_seconds = self._histogram(
            "request_seconds",
            "From a request's first byte to its answer.",
            _REQUEST_BUCKETS,
            "endpoint",
        )
        self.queue_wait_seconds = self._histogram(
            "queue_wait_seconds", "From a sentence's arrival to its admission."
        ).labels(model)
        self.open_streams = self._gauge("open_streams", "Websockets that are open.").labels(model)
        self.engine_restarts = self._counter(
            "engine_restarts_total", "Times that the engine died and was rebuilt."
        ).labels(model)
        self.step_rows = self._histogram(
            "step_rows", "Hypotheses extended by one step.", _ROW_BUCKETS
        ).labels(model)
        self.time_to_first_token_seconds = self._histogram(
            "time_to_first_token_seconds", "From a sentence's arrival to its first token."
        ).labels(model)
        self.encode_seconds = self._histogram(
            "encode_seconds", "One encoder pass over newly admitted sentences.", _STEP_BUCKETS
        ).labels(model)
        self.decode_step_seconds = self._histogram(
            "decode_step_seconds", "One step of all running sentences.", _STEP_BUCKETS
        ).labels(model)
        self.inter_token_seconds = self._histogram(
            "inter_token_seconds",
            "From one token of a running sentence to its next.",
            _STEP_BUCKETS,
        ).labels(model)

    def describe_model(
        self, version: str, device: str, precision: str, load_seconds: float
    ) -> None:
        """Facts that do not change while the server runs."""
        self._gauge("model_load_seconds", "Time to load the model.").labels(self._model).set(
            load_seconds
        )
        labels = ("version", "device", "precision")
        info = self._gauge("model_info", "Always 1; the labels tell.", *labels)
        info.labels(self._model, version, device, precision).set(1)

    def watch_engine(self, readings: Mapping[str, Callable[[], float]]) -> None:
        """Gauges that are read when they are scraped, so that a step costs nothing; `readings` has
        one for each name of ENGINE_GAUGES."""
        for name, help_text in ENGINE_GAUGES.items():
            self._gauge(name, help_text).labels(self._model).set_function(readings[name])

    def count_request(self, endpoint: str, outcome: str, seconds: float) -> None:
        self._requests.labels(self._model, endpoint, outcome).inc()
        self._request_seconds.labels(self._model, endpoint).observe(seconds)

    def count_sequence(self, finish_reason: str) -> None:
        self._sequences.labels(self._model, finish_reason).inc()

    def count_cancelled(self, cause: str, count: int = 1) -> None:
        self._cancelled.labels(self._model, cause).inc(count)

    def count_source_tokens(self, count: int) -> None:
        """Of one sentence that was admitted."""
        self._source_tokens.inc(count)
        self._source_length.observe(count)

    def count_target_tokens(self, count: int) -> None:
        """Of one sentence that was finished."""
        self._target_tokens.inc(count)
        self._target_length.observe(count)

    def count_rejected(self, reason: str) -> None:
        self._rejected.labels(self._model, reason).inc()

    def render(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(_PREFIX + name, help_text, ["model", *labels], registry=self.registry)

    def _gauge(self, name: str, help_text: str, *labels: str) -> Gauge:
        return Gauge(_PREFIX + name, help_text, ["model", *labels], registry=self.registry)

    def _histogram(
        self,
        name: str,
        help_text: str,
        buckets: tuple[float, ...] = _REQUEST_BUCKETS,
        *labels: str,
    ) -> Histogram:
        return Histogram(
            _PREFIX + name,
            help_text,
            ["model", *labels],
            buckets=buckets,
            registry=self.registry,
        )
