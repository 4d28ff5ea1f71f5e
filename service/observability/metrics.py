"""Every metric of the server. Each app has its own instance, so tests start from zero."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    Metric,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from service.observability.logs import num_dropped

_PREFIX = "dragoman_"
BucketBounds = tuple[float, ...]
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
    "workers": "Batches decoded side by side.",
    "running": "Sentences in the batches; each holds a slot.",
    "set_aside": "Sentences in the batches that the last step did not decode.",
    "slots": "Sentences that the batches can hold.",
    "rows_used": "Hypotheses in the batches.",
    "rows": "Hypotheses that the batches can hold.",
    "waiting": "Sentences waiting for a slot.",
    "waiting_tokens": "Tokens that the waiting sentences may need at most.",
    "ready": "1 if the server takes requests.",
    "cache_bytes": "Estimated memory of the cached sentences.",
    "refused_paths": "Fast GPU paths that failed their test at start and are off.",
}

_MODEL_GAUGES = {
    **{name: (help_text,) for name, help_text in ENGINE_GAUGES.items()},
    "model_load_seconds": ("Time of the model's last load.",),
    "model_bytes": ("Estimated memory of the model, as long as it is loaded.",),
    "model_info": (
        "Always 1; labels: version, device, precision, and instruction_set of the native backend.",
        "version",
        "device",
        "precision",
        "instruction_set",
    ),
}
_MODEL_COUNTERS = {
    "finished_total": ("Sentences that left the engine, by finish_reason.", "finish_reason"),
    "cancelled_total": ("Sentences that were cancelled, by cause.", "cause"),
    "looked_up_total": (
        "Cache lookups of sentences by result: hit, joined (it is being computed) or miss.",
        "result",
    ),
    "source_tokens_total": ("Source tokens of admitted sentences.",),
    "target_tokens_total": ("Target tokens of finished sentences' best hypotheses.",),
    "engine_restarts_total": ("Times the engine died and was rebuilt.",),
    "model_loads_total": ("Times the model was loaded.",),
    "model_load_failures_total": ("Times the model could not be loaded or taken.",),
    "model_evictions_total": ("Times the model left the memory.",),
}
_MODEL_HISTOGRAMS = {
    "queue_wait_seconds": (
        "From a sentence's arrival to its admission to the batch.",
        _REQUEST_BUCKETS,
    ),
    "time_to_first_token_seconds": (
        "From a sentence's arrival to its first token.",
        _REQUEST_BUCKETS,
    ),
    "inter_token_seconds": ("Between two tokens of a running sentence.", _STEP_BUCKETS),
    "encode_seconds": ("One encoder pass over admitted sentences.", _STEP_BUCKETS),
    "decode_step_seconds": ("One decoding step of a batch.", _STEP_BUCKETS),
    "step_rows": ("Hypotheses decoded in one step.", _ROW_BUCKETS),
    "source_tokens_per_sentence": ("Source tokens of an admitted sentence.", _TOKEN_BUCKETS),
    "target_tokens_per_sentence": ("Target tokens of a finished sentence.", _TOKEN_BUCKETS),
}
_ENGINE_SAMPLES = (
    *("model_info", "running", "slots", "rows_used", "rows", "waiting", "target_tokens_total"),
    *("looked_up_total", "time_to_first_token_seconds_bucket", "decode_step_seconds_bucket"),
)


def not_ready(models: Iterable[str]) -> Metric:
    """The gauge `ready` of models whose engine is not there to tell it."""
    family = GaugeMetricFamily(_PREFIX + "ready", ENGINE_GAUGES["ready"], labels=["model"])
    for name in models:
        family.add_metric([name], 0.0)
    return family


def ready_models(told: Iterable[Metric]) -> Iterator[str]:
    """The models that have the gauge `ready` in these metrics."""
    for family in told:
        if family.name == _PREFIX + "ready":
            yield from (sample.labels["model"] for sample in family.samples)


def restarts(models: Iterable[str]) -> Metric:
    """One more of `engine_restarts_total` for each of these models."""
    name = "engine_restarts_total"
    family = CounterMetricFamily(_PREFIX + name, _MODEL_COUNTERS[name][0], labels=["model"])
    for model in models:
        family.add_metric([model], 1.0)
    return family


class _DroppedLines(Collector):
    """Counts the dropped lines of the log; reads their number when it is scraped."""

    def collect(self) -> Iterator[Metric]:
        help_text = "Log lines that were dropped."
        yield CounterMetricFamily(_PREFIX + "log_lines_dropped", help_text, num_dropped())


class Metrics:
    """The metrics of the server and of each model's engine.

    Labels never hold a text, a key or an address; unknown paths count as endpoint "other".
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._requests = self._counter(
            "requests_total", "Requests that ended, by endpoint and outcome.", "endpoint", "outcome"
        )
        self._rejected = self._counter(
            "rejected_total", "Refused requests, by reason (the error code).", "reason"
        )
        self._request_seconds = self._histogram(
            "request_seconds", "From a request's headers to the end of its answer.", "endpoint"
        )
        self._requests_to = functools.cache(self._requests.labels)
        self._seconds_of = functools.cache(self._request_seconds.labels)
        self._rejected_for = functools.cache(self._rejected.labels)
        self.database_lost = self._gauge(
            "database_lost", "1 if the database file was moved or replaced since the start."
        )
        self.registry.register(_DroppedLines())
        self.documents_waiting = self._gauge("documents_waiting", "Files that wait.")
        self.documents_running = self._gauge(
            "documents_running", "Files that are being translated."
        )
        self._documents = self._counter(
            "documents_total", "Files that have ended, by outcome.", "outcome"
        )
        self.open_streams = self._gauge("open_streams", "Open websockets.")
        self._counters = {
            name: self._counter(name, help_text, "model", *labels)
            for name, (help_text, *labels) in _MODEL_COUNTERS.items()
        }
        self._histograms = {
            name: self._histogram(name, help_text, "model", buckets=buckets)
            for name, (help_text, buckets) in _MODEL_HISTOGRAMS.items()
        }
        self._gauges = {
            name: self._gauge(name, help_text, "model", *labels)
            for name, (help_text, *labels) in _MODEL_GAUGES.items()
        }

        self._engines = self.registry.restricted_registry(
            [_PREFIX + name for name in _ENGINE_SAMPLES]
        )

    def of_model(self, name: str) -> ModelMetrics:
        """The metrics of one model, with its name as label."""
        return ModelMetrics(name, self._counters, self._histograms, self._gauges)

    def of_loads(self, name: str) -> LoadMetrics:
        """Those of a model whose engines are in other processes."""
        return LoadMetrics(name, self._counters)

    def count_request(self, endpoint: str, outcome: str, seconds: float) -> None:
        self._requests_to(endpoint, outcome).inc()
        self._seconds_of(endpoint).observe(seconds)

    def count_rejected(self, reason: str) -> None:
        self._rejected_for(reason).inc()

    def count_document(self, outcome: str) -> None:
        self._documents.labels(outcome).inc()

    def render(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def render_engines(self) -> bytes:
        """The engines' current state, in the same format, at a sixth of the cost."""
        return generate_latest(self._engines)

    def engine_families(self) -> Iterator[Metric]:
        """The metrics of `render_engines`."""
        yield from self._engines.collect()

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(_PREFIX + name, help_text, labels, registry=self.registry)

    def _gauge(self, name: str, help_text: str, *labels: str) -> Gauge:
        return Gauge(_PREFIX + name, help_text, labels, registry=self.registry)

    def _histogram(
        self, name: str, help_text: str, *labels: str, buckets: BucketBounds = _REQUEST_BUCKETS
    ) -> Histogram:
        return Histogram(_PREFIX + name, help_text, labels, buckets=buckets, registry=self.registry)


class LoadMetrics:
    """The metrics of one model that other processes load, which tell all but failures here."""

    def __init__(self, name: str, counters: Mapping[str, Counter]) -> None:
        """Nothing has failed yet: an increase is seen only from a number that is there."""
        self._name, self._counters = name, counters
        self._load_failures = counters["model_load_failures_total"].labels(name)

    def count_load_failure(self) -> None:
        """It could not be loaded, or a version of it was not taken."""
        self._load_failures.inc()

    def count_load(self, seconds: float) -> None:
        """It was loaded."""

    def count_eviction(self) -> None:
        """It has left the memory."""

    def watch_engine(self, read: Callable[[], Mapping[str, float]], num_bytes: int) -> None:
        """The model is in memory."""

    def forget_engine(self) -> None:
        """The model is not in memory."""

    def forget_model(self) -> None:
        """The model is not offered any more."""


class ModelMetrics(LoadMetrics):
    """The metrics of one model's engine."""

    def __init__(
        self,
        name: str,
        counters: Mapping[str, Counter],
        histograms: Mapping[str, Histogram],
        gauges: Mapping[str, Gauge],
    ) -> None:
        super().__init__(name, counters)
        self._gauges = gauges
        own = {key: histogram.labels(name) for key, histogram in histograms.items()}
        self.queue_wait_seconds = own["queue_wait_seconds"]
        self.time_to_first_token_seconds = own["time_to_first_token_seconds"]
        self.inter_token_seconds = own["inter_token_seconds"]
        self.encode_seconds = own["encode_seconds"]
        self.decode_step_seconds = own["decode_step_seconds"]
        self.step_rows = own["step_rows"]
        self._source_length = own["source_tokens_per_sentence"]
        self._target_length = own["target_tokens_per_sentence"]
        self._source_tokens = counters["source_tokens_total"].labels(name)
        self._target_tokens = counters["target_tokens_total"].labels(name)
        self.engine_restarts = counters["engine_restarts_total"].labels(name)
        finished, looked_up = counters["finished_total"], counters["looked_up_total"]
        self._finished_as = functools.cache(functools.partial(finished.labels, name))
        self._looked_up_as = functools.cache(functools.partial(looked_up.labels, name))

    def describe_model(
        self,
        version: str,
        device: str,
        precision: str,
        instruction_set: str | None,
    ) -> None:
        """Set the gauges that do not change while this version of the model is in memory."""
        self._gauges["model_info"].remove_by_labels({"model": self._name})
        labels = (self._name, version, device, precision, instruction_set or "none")
        self._gauges["model_info"].labels(*labels).set(1)

    def count_load(self, seconds: float) -> None:
        self._counters["model_loads_total"].labels(self._name).inc()
        self._gauges["model_load_seconds"].labels(self._name).set(seconds)

    def count_eviction(self) -> None:
        self._counters["model_evictions_total"].labels(self._name).inc()

    def watch_engine(self, read: Callable[[], Mapping[str, float]], num_bytes: int) -> None:
        """The model is in memory, where it takes `num_bytes`. Its gauges are read when scraped, so
        a step costs nothing: `read` gives a value for each name of ENGINE_GAUGES."""
        self._gauges["model_bytes"].labels(self._name).set(num_bytes)
        for name in ENGINE_GAUGES:
            gauge = self._gauges[name].labels(self._name)
            gauge.set_function(lambda name=name: read()[name])  # type: ignore[misc]

    def forget_engine(self) -> None:
        """The model is not in memory."""
        for name in (*ENGINE_GAUGES, "model_bytes"):
            with contextlib.suppress(KeyError):
                self._gauges[name].remove(self._name)

    def forget_model(self) -> None:
        """The model is not offered any more: its gauges end. Its counters and histograms stay, so
        that sums over models never fall, and a model that returns counts on."""
        for gauge in self._gauges.values():
            gauge.remove_by_labels({"model": self._name})

    def count_finished(self, finish_reason: str, num_tokens: int | None = None) -> None:
        """Count a sentence that has ended; `num_tokens`: the target tokens of a translated one."""
        self._finished_as(finish_reason).inc()
        if num_tokens is not None:
            self._target_tokens.inc(num_tokens)
            self._target_length.observe(num_tokens)

    def count_cancelled(self, cause: str, count: int = 1) -> None:
        self._counters["cancelled_total"].labels(self._name, cause).inc(count)

    def count_looked_up(self, result: str, count: int) -> None:
        """Count sentences that were looked up in the cache."""
        if count:
            self._looked_up_as(result).inc(count)

    def count_source_tokens(self, counts: Sequence[int]) -> None:
        """Count the source tokens of each of the sentences that were admitted together."""
        self._source_tokens.inc(sum(counts))
        for count in counts:
            self._source_length.observe(count)
