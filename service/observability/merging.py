"""One page of the metrics of several processes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

_SUMMED = ("counter", "histogram")


def labelled(families_of: Mapping[str, Iterable[Metric]]) -> bytes:
    """Metrics by the name of their replica -> Prometheus' text format, where every series has the
    name as its label `replica`."""
    merged = _Merged()
    for name, families in families_of.items():
        for family in families:
            merged.of(family).samples += _with_label(family, "replica", name)
    return merged.render()


def summed(families_of: Mapping[str, Iterable[Metric]]) -> bytes:
    """Metrics by the name of their process -> Prometheus' text format. Counters and histograms are
    summed; each gauge has the name as its label `process`."""
    merged = _Merged()
    for name, families in families_of.items():
        for family in families:
            whole = merged.of(family)
            if family.type not in _SUMMED:
                whole.samples += _with_label(family, "process", name)
                continue
            whole.samples = _totals([*whole.samples, *family.samples])
    return merged.render()


def kept(families_of: Iterable[Iterable[Metric]]) -> list[Metric]:
    """What stays of processes that have ended: the sums of their counters and histograms, which
    would fall without them."""
    merged = _Merged()
    for families in families_of:
        for family in families:
            if family.type in _SUMMED:
                whole = merged.of(family)
                whole.samples = _totals([*whole.samples, *family.samples])
    return [*merged.collect()]


def _with_label(family: Metric, label: str, value: str) -> list[Sample]:
    """The family's samples with one label more."""
    return [one._replace(labels={**one.labels, label: value}) for one in family.samples]


def _totals(samples: Iterable[Sample]) -> list[Sample]:
    """One sample for each series: the sum; of moments of creation the first."""
    totals: dict[object, Sample] = {}
    for sample in samples:
        series = sample.name, tuple(sorted(sample.labels.items()))
        if (before := totals.get(series)) is not None:
            together = min if sample.name.endswith("_created") else operator.add
            sample = sample._replace(value=together(before.value, sample.value))
        totals[series] = sample
    return list(totals.values())


class _Merged(Collector):
    """Families by their name."""

    def __init__(self) -> None:
        self._families: dict[str, Metric] = {}

    def of(self, family: Metric) -> Metric:
        """The family of this name, without its samples at first."""
        empty = Metric(family.name, family.documentation, family.type, family.unit)
        return self._families.setdefault(family.name, empty)

    def render(self) -> bytes:
        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        yield from self._families.values()
