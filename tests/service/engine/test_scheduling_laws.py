"""Laws of the schedule, on the real batch loop with a simulated runner and clock."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from benchmarks.sentences import percentile
from tests.service.engine.simulation import (
    MEASURED,
    Arrival,
    Cost,
    Policy,
    Served,
    Simulation,
    random_arrivals,
)

COUNT = 1200
CAPACITY = 250.0
"""Requests a second of `random_arrivals` that the simulated runner can just sustain."""
GPU = Cost(2e-3, 1e-6, 0.0, 3e-3, 1e-6)
"""A step costs nearly the same for one row and for hundreds."""
FIRST_COME = Policy(is_preemptive=False, max_slots=32)


def slowdowns(served: list[Served], at_most_tokens: int) -> list[float]:
    return [one.slowdown for one in served if one.arrival.num_tokens <= at_most_tokens]


@pytest.mark.parametrize("load", [0.3, 0.8, 1.0, 3.0])
def test_all_requests_end_and_the_runner_is_never_idle_while_one_waits(load: float) -> None:
    """Work conservation: the time is that of first come, first served, within a tenth."""
    arrivals = random_arrivals(COUNT, load * CAPACITY, seed=2)
    ours, first_come = Simulation(Policy()), Simulation(FIRST_COME)
    served = ours.serve(arrivals)
    first_come.serve(arrivals)
    assert len(served) == COUNT
    assert all(one.num_open == 0 for one in served)
    assert ours.runner.now < 1.1 * first_come.runner.now
    assert ours.runner.num_free_slots == ours.runner.max_slots
    assert ours.runner.num_free_rows == ours.runner.max_rows


@pytest.mark.parametrize("load", [0.6, 0.8, 1.0])
def test_short_work_has_a_bounded_slowdown_at_any_load(load: float) -> None:
    arrivals = random_arrivals(COUNT, load * CAPACITY, seed=3)
    served = Simulation(Policy()).serve(arrivals)
    first_come = Simulation(FIRST_COME).serve(arrivals)
    assert percentile(slowdowns(served, 10), 99) < 14
    assert percentile(slowdowns(first_come, 10), 99) > 1.5 * percentile(slowdowns(served, 10), 99)


def test_a_running_sentence_of_a_document_becomes_as_urgent_as_who_joins_it() -> None:
    simulation = Simulation(Policy())
    document, short = (simulation.add(Arrival(0.0, [10] * n, [10] * n)) for n in (50, 1))
    simulation.batch_loop.step(1)
    running = [task for task in document if task.handle is not None]
    assert running[0].level > short[0].level
    running[0].request_work = short[0].request_work
    simulation.batch_loop.renew(running[0])
    assert [task.level for task in running[:2]] == [short[0].level, document[-1].level]
    simulation.serve([])


def test_a_short_sentence_among_clients_of_long_ones_takes_a_few_times_its_time_alone() -> None:
    """The case of the targets: long texts are always there, more than a batch takes."""
    long = [Arrival(0.0, [25] * 4, [28] * 4) for _ in range(400)]
    short = [Arrival(0.02 * i, [5], [5]) for i in range(1, 200)]
    arrivals = sorted([*long, *short], key=lambda arrival: arrival.seconds)
    ours, first_come = Simulation(Policy()), Simulation(FIRST_COME)
    served, late = ours.serve(arrivals), first_come.serve(arrivals)
    assert percentile(slowdowns(served, 5), 95) < 5.5
    assert percentile(slowdowns(late, 5), 50) > 100
    assert ours.runner.now < first_come.runner.now / 0.88


def test_clients_that_keep_sending_long_texts_get_nearly_the_throughput_of_first_come() -> None:
    """And a short sentence is short among them: neither at the cost of the other."""
    ours, short = kept_busy(Policy(max_slots=32), 16, range(4, 7), 8)
    first_come, late = kept_busy(FIRST_COME, 16, range(4, 7), 8)
    assert ours > 0.95 * first_come
    assert percentile(short, 95) < 4
    assert percentile(late, 50) > 20


def test_clients_that_keep_sending_sentences_get_nearly_the_throughput_of_first_come() -> None:
    """Short ones are among them at any time, so that most steps could be of these alone."""
    ours, _ = kept_busy(Policy(max_slots=32), 32, (1, 1, 2), 4)
    first_come, _ = kept_busy(FIRST_COME, 32, (1, 1, 2), 4)
    assert ours > 0.9 * first_come


def kept_busy(
    policy: Policy, num_clients: int, num_sentences: Sequence[int], least_tokens: int
) -> tuple[int, list[float]]:
    """Tokens that clients of texts with some of these numbers of sentences got in four seconds, and
    the slowdowns of short newcomers."""
    rng, seconds = random.Random(0), 4.0

    def text(moment: float) -> Arrival:
        lengths = [rng.randint(least_tokens, 28) for _ in range(rng.choice(num_sentences))]
        return Arrival(moment, lengths, [max(2, round(n * rng.gauss(1.1, 0.2))) for n in lengths])

    def next_of(served: Served) -> Arrival | None:
        is_over = served.ended > seconds or served.arrival in short
        return None if is_over else text(served.ended)

    short = [Arrival(0.13 * i, [6], [6]) for i in range(1, int(seconds / 0.13))]
    arrivals = [*(text(0.0) for _ in range(num_clients)), *short]
    served = Simulation(policy).serve(arrivals, next_of)
    own = [one.slowdown for one in served if one.arrival in short]
    return sum(one.arrival.num_tokens for one in served if one.ended < seconds), own


def test_long_work_ends_though_short_work_alone_could_fill_the_runner() -> None:
    """A document among short sentences that come at the rate that is sustained without it."""
    document = Arrival(0.0, [25] * 40, [30] * 40)
    shorts = [Arrival(0.001 * i, [8], [8]) for i in range(4000)]
    served = Simulation(Policy()).serve([document, *shorts])
    alone = served[0].alone
    assert served[0].arrival is document
    assert served[0].latency < 24 * alone


def test_a_request_of_a_thousand_sentences_does_not_hold_back_one() -> None:
    many = Arrival(0.0, [20] * 1000, [20] * 1000)
    one = Arrival(0.5, [20], [20])
    served = Simulation(Policy()).serve([many, one])
    assert served[1].slowdown < 5


def test_a_paragraph_is_not_much_slower_than_a_sentence_where_all_that_comes_is_served() -> None:
    arrivals = random_arrivals(3 * COUNT, CAPACITY, seed=1)
    served = Simulation(Policy()).serve(arrivals)
    paragraphs = [one.slowdown for one in served if 40 < one.arrival.num_tokens <= 100]
    assert percentile(paragraphs, 95) < 2 * percentile(slowdowns(served, 40), 95)


def test_no_sentence_waits_for_ever_between_two_of_its_steps() -> None:
    simulation = Simulation(Policy())
    simulation.serve(random_arrivals(COUNT, 3 * CAPACITY, seed=4))
    assert simulation.runner.longest_wait < 80


def test_a_translation_that_runs_on_does_not_hold_back_those_of_usual_length() -> None:
    """Sources promise five tokens, and eight in a hundred translations have 200."""
    arrivals = [Arrival(0.004 * i, [5], [200 if i % 12 == 0 else 5]) for i in range(600)]
    served = Simulation(Policy()).serve(arrivals)
    assert percentile([one.slowdown for one in served if one.arrival.num_tokens == 5], 99) < 6


@pytest.mark.parametrize("can_step_subset", [True, False])
def test_full_slots_do_not_make_short_work_wait_for_long_to_end(can_step_subset: bool) -> None:
    """More long sentences than there are slots, on a runner whose rows are nearly free and on one
    that leaves tasks out."""
    policy = Policy(max_slots=16, can_step_subset=can_step_subset)
    simulation = Simulation(policy, MEASURED if can_step_subset else GPU)
    long = Arrival(0.0, [60] * 100, [500] * 100)
    short = [Arrival(0.05 + 0.05 * i, [5], [5]) for i in range(10)]
    served = simulation.serve([long, *short])
    assert max(one.slowdown for one in served[1:]) < 5


def test_where_rows_are_nearly_free_short_work_gets_the_next_slot() -> None:
    """A full runner, and more paragraphs that wait; their sentences end one after another."""
    paragraphs = [Arrival(0.0, [20] * 8, [10 + i % 20] * 8) for i in range(60)]
    shorts = [Arrival(0.01 + 0.02 * i, [5], [5]) for i in range(10)]

    def slowest(policy: Policy) -> float:
        simulation = Simulation(policy, GPU)
        return max(one.slowdown for one in simulation.serve([*paragraphs, *shorts])[-10:])

    assert slowest(Policy(max_slots=64, can_step_subset=False)) < 4
    assert slowest(Policy(False, max_slots=64, can_step_subset=False)) > 5


def test_second_translations_do_not_hold_back_a_short_newcomer() -> None:
    """Clients of long texts have a sentence of each translated again; a short newcomer does not
    wait for these."""
    for num_clients in (16, 32):
        assert percentile(newcomers_beside_second_translations(num_clients), 95) < 4.2


def newcomers_beside_second_translations(num_clients: int) -> list[float]:
    """Slowdowns of a short sentence."""
    rng = random.Random(0)

    def text(moment: float) -> Arrival:
        lengths = [rng.randint(8, 28) for _ in range(4)]
        return Arrival(moment, lengths, lengths)

    def next_of(served: Served) -> Arrival | None:
        arrival = served.arrival
        if arrival.seconds > 2.0 or arrival in short:
            return None
        if len(arrival.num_source_tokens) == 1:
            return text(served.ended)
        lengths = arrival.num_source_tokens[:1]
        return Arrival(served.ended, lengths, lengths, prior_work=2000)

    short = [Arrival(0.07 * i, [5], [5]) for i in range(1, 28)]
    served = Simulation(Policy(max_slots=32)).serve(
        [*(text(0.0) for _ in range(num_clients)), *short], next_of
    )
    return [one.slowdown for one in served if one.arrival in short]


DOCUMENT = Arrival(0.0, [20] * 200, [10 + i % 20 for i in range(200)])


def test_what_a_step_leaves_out_is_set_aside_and_ends_all_the_same() -> None:
    simulation = Simulation(Policy(max_slots=64))
    loop, most = simulation.batch_loop, 0
    simulation.add(DOCUMENT)
    while not loop.is_idle:
        loop.step(1)
        assert 0 <= loop.num_set_aside <= loop.num_running
        most = max(most, loop.num_set_aside)
    assert most > 0
    assert loop.num_set_aside == 0
    simulation.serve([])


def test_short_work_that_comes_during_an_encoding_goes_before_the_batch() -> None:
    simulation = Simulation(Policy(max_slots=64))
    loop, runner = simulation.batch_loop, simulation.runner
    simulation.add(DOCUMENT)
    num_steps = -1
    while num_steps != runner.num_steps or loop.num_rows <= 80:  # the last was an encoding
        num_steps = runner.num_steps
        loop.step(1)
    simulation.add(Arrival(0.0, [5], [5]))
    began = runner.now
    loop.step(1)
    loop.step(1)
    assert runner.num_steps == num_steps + 1
    assert runner.now - began == pytest.approx(MEASURED.of_encoding(5) + MEASURED.of_step(4, 0))
    simulation.serve([])


def test_a_watcher_sees_who_runs_and_who_left_and_only_numbers() -> None:
    simulation = Simulation(Policy())
    loop = simulation.batch_loop
    assert loop.batch_entries(0.0) == []
    simulation.add(Arrival(0.0, [5, 6], [2, 300]))
    loop.step(1)
    joined = [(0, 4, 6, 0, 0.0, None), (1, 4, 5, 0, 0.0, None)]
    assert loop.batch_entries(0.0) == joined
    loop.step(1)
    loop.step(1)
    running, left = loop.batch_entries(0.0)
    assert running == (0, 4, 6, 2, 0.0, None)
    assert left == (1, 4, 5, 2, 0.0, simulation.runner.now)
    assert loop.batch_entries(simulation.runner.now) == [running]
    simulation.serve([])
