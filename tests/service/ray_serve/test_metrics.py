"""The metrics of all replicas are one valid page."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from service.observability.metrics import Metrics
from service.ray_serve.metrics import render_all


def counted(requests: int) -> Metrics:
    metrics = Metrics()
    for _ in range(requests):
        metrics.count_request("/translate", "ok", 0.1)
    return metrics


def test_one_page_has_every_series_of_every_replica() -> None:
    replicas = {"a": counted(2), "b": counted(3)}
    page = render_all({name: m.registry.collect() for name, m in replicas.items()}).decode()
    for name, metrics in replicas.items():
        for line in metrics.render().decode().splitlines():
            if line.startswith("dragoman_requests_total"):
                assert line.replace("}", f',replica="{name}"' + "}") in page
        own = list(text_string_to_metric_families(metrics.render().decode()))
        samples = {s.name for family in own for s in family.samples}
        seen = text_string_to_metric_families(page)
        assert samples == {s.name for f in seen for s in f.samples if s.labels["replica"] == name}


def test_each_metric_is_described_once_and_its_sum_is_the_sum_of_the_replicas() -> None:
    page = render_all({"a": counted(2).registry.collect(), "b": counted(3).registry.collect()})
    lines = page.decode().splitlines()
    assert lines.count("# TYPE dragoman_requests_total counter") == 1
    assert len(set(lines)) == len(lines)
    family = next(
        f for f in text_string_to_metric_families(page.decode()) if f.name == "dragoman_requests"
    )
    assert sum(s.value for s in family.samples if s.name == "dragoman_requests_total") == 5


def test_a_replica_of_another_version_brings_its_own_metrics() -> None:
    page = render_all({"new": counted(1).registry.collect(), "old": []}).decode()
    assert 'replica="new"' in page
    assert 'replica="old"' not in page
