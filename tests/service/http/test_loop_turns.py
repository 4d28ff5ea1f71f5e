"""An event loop that stays behind lets in only what fits into a short turn."""

from __future__ import annotations

import asyncio
import time

from service.http.loop_turns import LONG_SECONDS, SUSTAINED_SECONDS, LoopTurns


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def spend(turns: LoopTurns, clock: Clock, seconds: float, num_requests: int, times: int) -> None:
    for _ in range(times):
        clock.now += seconds
        turns.observe(clock.now, seconds, num_requests)


def num_let_in(turns: LoopTurns, most: int = 2000) -> int:
    """How many of so many requests the next turn lets in."""
    turns.num_let_in = 0
    while not turns.is_full() and turns.num_let_in < most:
        turns.num_let_in += 1
    return turns.num_let_in


def test_one_long_turn_is_a_burst() -> None:
    turns = LoopTurns(clock := Clock())
    spend(turns, clock, 3.0, 5000, 1)
    assert num_let_in(turns) == 2000


def test_a_short_turn_between_long_ones_starts_anew() -> None:
    turns = LoopTurns(clock := Clock())
    for _ in range(10):
        spend(turns, clock, LONG_SECONDS * 1.1, 500, 2)
        spend(turns, clock, 0.01, 5, 1)
    assert num_let_in(turns) == 2000


def test_turns_that_stay_long_let_in_as_many_as_a_short_one_takes() -> None:
    turns = LoopTurns(clock := Clock())
    spend(turns, clock, 0.5, 500, 4)
    assert num_let_in(turns) == 100
    spend(turns, clock, 0.2, 100, 1)
    assert num_let_in(turns) == 50
    spend(turns, clock, 10.0, 50, 1)
    assert num_let_in(turns) == 16


def test_the_bound_ends_when_nothing_was_refused_for_a_while() -> None:
    turns = LoopTurns(clock := Clock())
    spend(turns, clock, 0.5, 500, 4)
    assert num_let_in(turns) == 100
    spend(turns, clock, 0.1, 90, 5)
    assert num_let_in(turns) < 2000
    spend(turns, clock, SUSTAINED_SECONDS * 1.1, 90, 3)
    assert num_let_in(turns) == 2000


def test_turns_of_a_loop_are_measured_with_the_work_that_they_start() -> None:
    async def check() -> None:
        turns = LoopTurns()

        async def block() -> None:
            time.sleep(LONG_SECONDS * 1.2)

        async with asyncio.timeout(30):
            is_full = False
            while not is_full:
                while turns.num_let_in < 17 and not (is_full := turns.is_full()):
                    turns.let_in()
                await asyncio.gather(block())

    asyncio.run(check())
