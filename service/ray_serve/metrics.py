"""The metrics of all replicas in one page; every series has the label `replica`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector


def render_all(families_of: Mapping[str, Iterable[Metric]]) -> bytes:
    """Metrics by replica name -> Prometheus' text format."""
    merged: dict[str, Metric] = {}
    for replica, families in families_of.items():
        for family in families:
            whole = merged.setdefault(
                family.name, Metric(family.name, family.documentation, family.type, family.unit)
            )
            whole.samples += [
                sample._replace(labels={**sample.labels, "replica": replica})
                for sample in family.samples
            ]
    registry = CollectorRegistry()
    registry.register(_Page(merged.values()))
    return generate_latest(registry)


class _Page(Collector):
    """A collector of metrics collected elsewhere."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        yield from self._families
