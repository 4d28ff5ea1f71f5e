"""What keys use, and a database or a clock that misbehaves."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from service.commons.usage import UsageLedger, seconds_of_month_left
from service.errors import InvalidKey, StorageFailed
from service.http.access.key_ring import KeyRing
from service.stores.api_key import ApiKey, KeyOptions
from service.stores.keys import KeyStore, UsageKey, Used
from tests.service.fakes import Clock

BEFORE_DECEMBER = Clock.seconds


async def use(ledger: UsageLedger, key: ApiKey, num_characters: int) -> bool:
    """Whether the key may."""
    quota = key.options.characters_per_month
    if not await ledger.reserve(key.id, num_characters, quota):
        return False
    ledger.settle(key.id, num_characters, is_used=True)
    return True


async def test_a_quota_begins_anew_with_the_month_and_the_clock_may_go_back(
    store: KeyStore, clock: Clock
) -> None:
    _, key = store.create(KeyOptions(characters_per_month=10))
    ledger = UsageLedger(store, clock)
    assert await use(ledger, key, 10)
    assert not await use(ledger, key, 1)
    await ledger.refresh()
    clock.seconds += 100
    assert await use(ledger, key, 4)
    await ledger.refresh()
    assert await ledger.used(key.id) == Used(1, 4)
    clock.seconds -= 100
    await ledger.refresh()
    assert await ledger.used(key.id) == Used(1, 10)
    assert not await use(ledger, key, 1)


@pytest.mark.parametrize(("later", "left"), [(0, 100), (99.5, 1), (100, 31 * 86400)])
def test_a_quota_is_refused_until_the_month_ends(later: float, left: int) -> None:
    assert seconds_of_month_left(BEFORE_DECEMBER + later) == left


async def test_what_several_servers_use_adds_up(
    store: KeyStore, tmp_path: Path, clock: Clock
) -> None:
    _, key = store.create(KeyOptions())
    with closing(KeyStore(tmp_path / "server.db")) as other:
        ledgers = UsageLedger(store, clock), UsageLedger(other, clock)
        for round_ in range(3):
            for ledger in ledgers:
                await use(ledger, key, 5)
                await ledger.refresh()
            await ledgers[0].refresh()
            assert await ledgers[0].used(key.id) == Used(2 * (round_ + 1), 10 * (round_ + 1))


@pytest.mark.parametrize(
    ("trouble", "end"),
    [
        ("BEGIN IMMEDIATE", "ROLLBACK"),
        (
            "CREATE TRIGGER full BEFORE INSERT ON api_key_usage "
            "BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END",
            "DROP TRIGGER full",
        ),
    ],
)
async def test_a_revocation_holds_while_every_write_fails_and_usage_is_stored_later(
    store: KeyStore, tmp_path: Path, clock: Clock, trouble: str, end: str
) -> None:
    (revoked, key), (written, other) = store.create(KeyOptions()), store.create(KeyOptions())
    ring, ledger = KeyRing(store, clock), UsageLedger(store, clock)
    with closing(sqlite3.connect(tmp_path / "server.db", isolation_level=None)) as writer:
        for number in range(3):
            await use(ledger, other, 5)
            if number == 1:
                await use(ledger, key, 5)
                writer.execute("UPDATE api_keys SET revoked_seconds = 1 WHERE id = ?", (key.id,))
            writer.execute(trouble)
            with pytest.raises(StorageFailed):
                await ledger.refresh()
            await ring.refresh()
            assert ring.find(written) == other
            assert await ledger.used(other.id) == Used(number + 1, 5 * (number + 1))
            writer.execute(end)
        with pytest.raises(InvalidKey):
            ring.find(revoked)
    await ledger.refresh()
    assert store.read_usage("2026-11") == {
        (key.id, "2026-11"): Used(1, 5),
        (other.id, "2026-11"): Used(3, 15),
    }


async def test_a_key_that_is_gone_does_not_keep_the_usage_of_others_from_being_stored(
    store: KeyStore, tmp_path: Path, clock: Clock
) -> None:
    (_, gone), (_, key) = store.create(KeyOptions()), store.create(KeyOptions())
    ledger = UsageLedger(store, clock)
    await use(ledger, gone, 5)
    await use(ledger, key, 5)
    with closing(sqlite3.connect(tmp_path / "server.db", isolation_level=None)) as other:
        other.execute("DELETE FROM api_keys WHERE id = ?", (gone.id,))
    await ledger.refresh()
    assert store.read_usage("2026-11") == {(key.id, "2026-11"): Used(1, 5)}


async def test_what_is_used_while_usage_is_stored_counts_and_is_stored_next(
    store: KeyStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = store.create(KeyOptions())
    ledger, loop, add = UsageLedger(store, clock), asyncio.get_running_loop(), store.add_usage

    def add_slowly(usage: Mapping[UsageKey, Used]) -> None:
        add(usage)
        asyncio.run_coroutine_threadsafe(use(ledger, key, 3), loop).result(60)

    monkeypatch.setattr(store, "add_usage", add_slowly)
    await use(ledger, key, 5)
    for number in range(1, 4):
        await ledger.refresh()
        assert await ledger.used(key.id) == Used(number + 1, 5 + 3 * number)
        stored = store.read_usage("2026-11")
        assert stored == {(key.id, "2026-11"): Used(number, 2 + 3 * number)}


async def test_the_server_stores_what_was_used_when_it_ends(store: KeyStore, clock: Clock) -> None:
    _, key = store.create(KeyOptions())
    ledger = UsageLedger(store, clock)
    async with ledger.kept_current():
        await use(ledger, key, 5)
    assert list(store.read_usage("2026-11").values()) == [Used(1, 5)]
