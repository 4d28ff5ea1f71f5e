"""Many objects are freed in parts, also when the work with them fails."""

from __future__ import annotations

import asyncio
import itertools
import weakref

import pytest

from service.freeing import AT_ONCE, freed_in_parts

MANY = 3 * AT_ONCE + 7


class Part:
    """Something that weak references can watch."""


def test_many_objects_are_freed_in_several_turns_of_the_event_loop() -> None:
    async def scenario() -> list[int]:
        alive: weakref.WeakSet[Part] = weakref.WeakSet()
        with freed_in_parts() as held:
            parts = [Part() for _ in range(MANY)]
            alive.update(parts)
            held.hold(parts)
            del parts
        counts = [len(alive)]
        while counts[-1]:
            await asyncio.sleep(0)
            counts.append(len(alive))
        return counts

    counts = asyncio.run(scenario())
    assert counts[0] == MANY - AT_ONCE
    freed = [before - after for before, after in itertools.pairwise(counts)]
    assert max(freed) <= AT_ONCE


def fail(alive: weakref.WeakSet[Part]) -> None:
    with freed_in_parts() as held:
        parts = [Part()]
        alive.update(parts)
        held.hold(parts)
        raise KeyError


def test_a_failure_is_raised_and_what_was_held_is_freed() -> None:
    async def scenario() -> int:
        alive: weakref.WeakSet[Part] = weakref.WeakSet()
        with pytest.raises(KeyError):
            fail(alive)
        return len(alive)

    assert asyncio.run(scenario()) == 0


def test_few_objects_need_no_event_loop() -> None:
    with freed_in_parts() as held:
        held.hold([Part()], (Part(),))
