"""Long work of several clients: in turns, a few at a time, cancelled, paused and ended."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.documents.fair_queue import FairQueue
from tests.service.fakes import eventually

MAX_RUNNING, MAX_OF_CLIENT = 4, 3


class Works:
    """Works that run until they are told to end, in a queue."""

    def __init__(self) -> None:
        self.queue = FairQueue(MAX_RUNNING, MAX_OF_CLIENT)
        self.waiting: list[str] = []
        self.running: dict[str, asyncio.Event] = {}
        self.ended: list[str] = []

    async def run(self, name: str) -> None:
        own = Counter(one[0] for one in self.running)
        fewest = min(own[one[0]] for one in self.waiting if own[one[0]] < MAX_OF_CLIENT)
        assert own[name[0]] == fewest
        assert name == next(one for one in self.waiting if one[0] == name[0])
        self.waiting.remove(name)
        self.running[name] = end = asyncio.Event()
        try:
            await end.wait()
        finally:
            del self.running[name]
            self.ended.append(name)

    def add(self, name: str) -> None:
        self.waiting.append(name)
        self.queue.add(name, name[0], lambda: self.run(name))


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(["add", "end", "cancel"]), st.integers(0, 9))))
async def test_a_turn_is_of_the_client_with_the_fewest_running(
    acts: list[tuple[str, int]],
) -> None:
    works = Works()
    for number, (act, index) in enumerate(acts):
        known = sorted([*works.running, *works.waiting])
        if act == "add":
            works.add(f"{'abc'[index % 3]}{number:03}")
        elif act == "end" and works.running:
            sorted(works.running.items())[index % len(works.running)][1].set()
        elif known:
            name = known[index % len(known)]
            if works.queue.cancel(name):
                works.waiting.remove(name)
        await settled()
        own = Counter(one[0] for one in works.running)
        assert max(own.values(), default=0) <= MAX_OF_CLIENT
        assert len(works.running) <= MAX_RUNNING
        has_place = len(works.running) < MAX_RUNNING
        assert not (has_place and any(own[one[0]] < MAX_OF_CLIENT for one in works.waiting))
        assert works.queue.num_waiting == len(works.waiting)
        assert works.queue.num_running == len(works.running)
    running = set(works.running)
    assert sorted(await works.queue.cancel_all()) == sorted(works.waiting)
    assert running <= set(works.ended)
    assert works.queue.num_waiting == works.queue.num_running == 0


async def test_ten_works_of_one_client_do_not_hold_back_the_one_of_another() -> None:
    works = Works()
    for number in range(10):
        works.add(f"a{number}")
    await settled()
    works.add("b0")
    await settled()
    assert sorted(works.running) == ["a0", "a1", "a2", "b0"]
    await works.queue.cancel_all()


async def test_clients_have_turns_one_after_the_other() -> None:
    queue, begun = FairQueue(1, 1), list[str]()

    async def work(client: str) -> None:
        begun.append(client)

    for client in "zaaabbbccc":  # z runs when the others come
        queue.add(f"{client}{len(begun)}{queue.num_waiting}", client, partial(work, client))
    await eventually(lambda: len(begun) == 10)
    assert begun == [*"zabcabcabc"]


async def test_work_that_pauses_lets_others_run() -> None:
    works, goes_on = Works(), asyncio.Event()

    async def pause() -> None:
        with works.queue.pausing():
            await goes_on.wait()

    for name in "abcd":
        works.queue.add(name, name, pause)
    works.add("e0")
    await eventually(lambda: "e0" in works.running)
    goes_on.set()
    await eventually(lambda: works.queue.num_running == 1)
    for name in "fghi":
        works.add(f"{name}0")
    await settled()
    assert works.queue.num_running == MAX_RUNNING
    await works.queue.cancel_all()


@pytest.mark.parametrize("num_turns", range(4))
@pytest.mark.parametrize("are_all", [False, True])
async def test_work_that_is_cancelled_ends_or_is_said_never_to_run(
    num_turns: int, are_all: bool
) -> None:
    """However many turns of the event loop after it was added or had its turn."""
    works = Works()
    names = [f"a{number}" for number in range(MAX_OF_CLIENT + 2)]
    for name in names:
        works.add(name)
    for _ in range(num_turns):
        await asyncio.sleep(0)
    if are_all:
        never = await works.queue.cancel_all()
    else:
        never = [name for name in names if works.queue.cancel(name)]
        await settled()
    assert works.queue.num_waiting == works.queue.num_running == 0
    assert sorted(works.ended + never) == names
