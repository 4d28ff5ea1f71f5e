"""The page of several processes."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families

from service.observability.merging import summed


def registry_of(amount: float) -> CollectorRegistry:
    registry = CollectorRegistry()
    Counter("done", "What is done.", ["kind"], registry=registry).labels("a").inc(amount)
    Gauge("held", "What is held.", registry=registry).set(amount)
    Histogram("taken", "What it took.", buckets=(1.0, 4.0), registry=registry).observe(amount)
    return registry


def test_counters_and_histograms_are_summed_and_gauges_have_their_process() -> None:
    processes = {"one": registry_of(0.5), "other": registry_of(3.0)}
    page = summed({name: registry.collect() for name, registry in processes.items()}).decode()
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }
    assert found == {
        ("done_total", "a"): 3.5,
        ("held", "one"): 0.5,
        ("held", "other"): 3.0,
        ("taken_bucket", "1.0"): 1.0,
        ("taken_bucket", "4.0"): 2.0,
        ("taken_bucket", "+Inf"): 2.0,
        ("taken_count",): 2.0,
        ("taken_sum",): 3.5,
    }
