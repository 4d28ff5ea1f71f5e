"""The minute's windows in memory: how long to wait, the clock moved, and their memory."""

from __future__ import annotations

import time

import pytest

from service.http.access.windows import BoundedMemory, MinuteWindows


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 1_000_000_007.0
        monkeypatch.setattr(time, "time", lambda: self.seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.parametrize("amount", [1, 3, 10])
@pytest.mark.parametrize("gap_seconds", [0.0, 7.5, 40.0])
async def test_after_the_time_that_is_told_the_amount_is_taken_and_not_a_second_before(
    clock: Clock, amount: int, gap_seconds: float
) -> None:
    windows = MinuteWindows()
    for _ in range(10):
        while await windows.take("a", 10) is None:
            clock.seconds += gap_seconds / 10
        waits = await windows.take("a", 10, amount)
        if waits is None:
            continue
        assert 1 <= waits <= 120
        clock.seconds += waits - 1.01
        assert waits == 1 or await windows.take("a", 10, amount, is_test=True) is not None
        clock.seconds += 1.01
        assert await windows.take("a", 10, amount) is None


async def test_a_test_counts_nothing(clock: Clock) -> None:
    windows = MinuteWindows()
    assert [await windows.take("a", 1, is_test=True) for _ in range(3)] == [None] * 3
    assert await windows.take("a", 1) is None
    assert await windows.take("a", 1, is_test=True) is not None
    assert await windows.take("b", 1, is_test=True) is None


@pytest.mark.parametrize("jump_seconds", [-3600.0, -86_400.0 * 40, 86_400.0 * 40])
async def test_a_clock_that_is_moved_locks_nobody_out(clock: Clock, jump_seconds: float) -> None:
    windows = MinuteWindows()
    while await windows.take("a", 5) is None:
        pass
    clock.seconds += jump_seconds
    assert [await windows.take("a", 5) for _ in range(5)] == [None] * 5
    waits = await windows.take("a", 5)
    assert waits is not None
    assert waits <= 120


async def test_a_million_addresses_take_bounded_memory_and_bounded_time(clock: Clock) -> None:
    memory = BoundedMemory(max_counters=1000)
    for number in range(20_000):
        assert await memory.acquire_sliding_window_entry(f"{number}", 1, 60)
        assert len(memory.storage) <= 1001
        assert memory.timer is None  # the library's search through all counters
    clock.seconds += 121
    await memory.incr("one", 60)
    assert (len(memory.storage), len(memory.expirations)) == (1, 1)
    assert not memory.locks


@pytest.mark.parametrize("url", ["localhost:6379", "http://localhost", "memory://", ""])
def test_what_is_no_url_of_redis_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must begin with redis://"):
        MinuteWindows(url)
