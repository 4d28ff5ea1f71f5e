"""Schedules compared in simulation, with the step costs that were measured on a real runner.

The same Poisson arrivals of mixed requests are served by the server's own batch loop with

first-come    every step takes all that run, at most 32 sentences
least-served  least attained service, which knows nothing of lengths
short-first   the server's: a level from the length of the source, then feedback
oracle        shortest remaining work first, with the true lengths of the translations

    python -m benchmarks.scheduling --picture docs/images/scheduling.svg

With `--least-tokens 41` all shorter requests are left out, and the others come when they would come
among them: what they only add is work.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.sentences import percentile
from service.engine.sentence_task import SentenceTask
from service.engine.step_policy import StepPolicy
from tests.service.engine.simulation import Arrival, Policy, Served, Simulation, random_arrivals

CLASSES = {"1-5": 5, "6-10": 10, "11-20": 20, "21-40": 40, "41-100": 100, "over 100": 10**9}
"""Tokens of a request's translation: the largest number of each class."""


class ShortestRemaining(StepPolicy):
    """Fills each batch by the true remaining work of the requests' sentences."""

    def take_short(self) -> list[SentenceTask]:
        return []

    def take_batch(self) -> list[SentenceTask] | None:
        if self._all_cost <= self.most_cost:
            return super().take_batch()
        order = sorted(self._by_wait, key=_remaining)
        return self._stepped(list(self._filled({}, 0.0, order, self.most_cost)[0]))


def _remaining(task: SentenceTask) -> int:
    """Steps of the sentence's rows that are left, if it were its request's only one, times those
    of the request."""
    return task.num_rows * (task.sentence.ids[0] - task.num_steps) * len(task.request.tasks)


def _true_work(arrival: Arrival, beam_size: int) -> int:
    return sum(arrival.num_source_tokens) + beam_size * sum(arrival.num_target_tokens)


POLICIES = {
    "first-come": Policy(is_preemptive=False, max_slots=32),
    "least-served": Policy(expected_work=lambda arrival, beam_size: 1),
    "short-first": Policy(),
    "oracle": Policy(make_policy=ShortestRemaining, expected_work=_true_work),
}


def by_class(served: Sequence[Served]) -> dict[str, list[float]]:
    """The slowdowns of each class of lengths."""
    classes: dict[str, list[float]] = {name: [] for name in CLASSES}
    for one in served:
        name = next(name for name, most in CLASSES.items() if one.arrival.num_tokens <= most)
        classes[name].append(one.slowdown)
    return classes


def capacity(count: int) -> float:
    """Requests a second of first come, first served, when all come at once."""
    simulation = Simulation(POLICIES["first-come"])
    simulation.serve(random_arrivals(count, rate=1e6, seed=1))
    return count / simulation.runner.now


def compare(load: float, count: int, least_tokens: int) -> dict[str, dict[str, list[float]]]:
    """Serve arrivals at this share of the capacity with each policy; print what came of it."""
    everything = random_arrivals(count, load * capacity(count), seed=1)
    arrivals = [arrival for arrival in everything if arrival.num_tokens >= least_tokens]
    results = {}
    print(f"load {load:.2f}: slowdown p50 / p99 by tokens of the translation")
    for name, policy in POLICIES.items():
        simulation = Simulation(policy)
        results[name] = by_class(simulation.serve(arrivals))
        cells = (
            f"{percentile(values, 50):5.1f} /{percentile(values, 99):6.1f}"
            for values in results[name].values()
            if values
        )
        print(f"{name:<13}", " | ".join(cells), f"| busy until {simulation.runner.now:.1f} s")
    return results


def draw(results: dict[float, dict[str, dict[str, list[float]]]], path: Path) -> None:
    """The 99th percentile of the slowdown by length, a chart for each load."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(results), 3.4), layout="constrained")
    charts = figure.subplots(1, len(results), sharey=True)
    for axes, (load, policies) in zip(charts, results.items(), strict=True):
        for name, classes in policies.items():
            high = [percentile(values, 99) for values in classes.values()]
            axes.plot(list(classes), high, marker="o", markersize=3, label=name)
        axes.set_title(f"{load:.0%} load")
        axes.set_yscale("log")
        axes.tick_params(axis="x", rotation=40)
    charts[0].set_ylabel("slowdown, p99")
    charts[0].legend(fontsize=7)
    figure.supxlabel("tokens of the translation", fontsize=9)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=4000, help="requests of one run")
    parser.add_argument("--loads", type=float, nargs="*", default=[0.5, 0.8, 1.0, 1.5])
    parser.add_argument("--least-tokens", type=int, default=0, help="of a translation")
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    print("classes:", ", ".join(CLASSES))
    results = {
        load: compare(load, arguments.count, arguments.least_tokens) for load in arguments.loads
    }
    if arguments.picture:
        draw(results, arguments.picture)


if __name__ == "__main__":
    main()
