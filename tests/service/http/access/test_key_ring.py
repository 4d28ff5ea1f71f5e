"""Keys in memory, their usage, and a database or a clock that misbehaves."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from service.errors import InvalidKey, QuotaExceeded, StorageFailed
from service.http.access.caller import UNKNOWN, client_address
from service.http.access.key_ring import KeyRing
from service.stores.api_key import ApiKey, KeyOptions
from service.stores.keys import KeyStore, Used
from tests.service.http.access.conftest import Clock


def use(ring: KeyRing, key: ApiKey, num_characters: int) -> None:
    ring.usage.reserve(key, num_characters)
    ring.usage.settle(key, num_characters, is_used=True)


async def test_a_key_that_is_made_changed_and_revoked_elsewhere_is_known(
    store: KeyStore, tmp_path: Path, clock: Clock
) -> None:
    with closing(KeyStore(tmp_path / "server.db")) as other:
        ring = KeyRing(store, clock)
        written, key = other.create(KeyOptions())
        with pytest.raises(InvalidKey):
            ring.find(written)
        await ring.refresh()
        assert ring.find(written) == key
        other.change(key.id, KeyOptions(requests_per_minute=5, expires_seconds=clock.seconds + 50))
        await ring.refresh()
        assert ring.find(written).options.requests_per_minute == 5
        clock.seconds += 51
        with pytest.raises(InvalidKey):
            ring.find(written)
        other.change(key.id, KeyOptions())
        other.revoke(key.id)
        await ring.refresh()
        with pytest.raises(InvalidKey):
            ring.find(written)


async def test_a_quota_begins_anew_with_the_month_and_the_clock_may_go_back(
    store: KeyStore, clock: Clock
) -> None:
    _, key = store.create(KeyOptions(characters_per_month=10))
    ring = KeyRing(store, clock)
    use(ring, key, 10)
    with pytest.raises(QuotaExceeded) as refused:
        ring.usage.reserve(key, 1)
    assert refused.value.retry_after_seconds == 100
    await ring.refresh()
    clock.seconds += 100
    use(ring, key, 4)
    await ring.refresh()
    assert ring.usage.used(key) == Used(1, 4)
    clock.seconds -= 100
    await ring.refresh()
    assert ring.usage.used(key) == Used(1, 10)
    with pytest.raises(QuotaExceeded):
        ring.usage.reserve(key, 1)


async def test_what_several_servers_use_adds_up(
    store: KeyStore, tmp_path: Path, clock: Clock
) -> None:
    _, key = store.create(KeyOptions())
    with closing(KeyStore(tmp_path / "server.db")) as other:
        rings = KeyRing(store, clock), KeyRing(other, clock)
        for round_ in range(3):
            for ring in rings:
                use(ring, key, 5)
                await ring.refresh()
            await rings[0].refresh()
            assert rings[0].usage.used(key) == Used(2 * (round_ + 1), 10 * (round_ + 1))


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
    ring = KeyRing(store, clock)
    with closing(sqlite3.connect(tmp_path / "server.db", isolation_level=None)) as writer:
        for number in range(3):
            use(ring, other, 5)
            if number == 1:
                use(ring, key, 5)
                writer.execute("UPDATE api_keys SET revoked_seconds = 1 WHERE id = ?", (key.id,))
            writer.execute(trouble)
            with pytest.raises(StorageFailed):
                await ring.refresh()
            assert ring.find(written) == other
            assert ring.usage.used(other) == Used(number + 1, 5 * (number + 1))
            writer.execute(end)
        with pytest.raises(InvalidKey):
            ring.find(revoked)
    await ring.refresh()
    assert store.read_usage("2026-11") == {
        (key.id, "2026-11"): Used(1, 5),
        (other.id, "2026-11"): Used(3, 15),
    }


async def test_a_key_that_is_gone_does_not_keep_the_usage_of_others_from_being_stored(
    store: KeyStore, tmp_path: Path, clock: Clock
) -> None:
    (_, gone), (_, key) = store.create(KeyOptions()), store.create(KeyOptions())
    ring = KeyRing(store, clock)
    use(ring, gone, 5)
    use(ring, key, 5)
    with closing(sqlite3.connect(tmp_path / "server.db", isolation_level=None)) as other:
        other.execute("DELETE FROM api_keys WHERE id = ?", (gone.id,))
    await ring.refresh()
    assert store.read_usage("2026-11") == {(key.id, "2026-11"): Used(1, 5)}


async def test_the_server_stores_what_was_used_when_it_ends(
    store: KeyStore, tmp_path: Path, clock: Clock
) -> None:
    _, key = store.create(KeyOptions())
    ring = KeyRing(KeyStore(tmp_path / "server.db"), clock)
    async with ring.kept_current():
        use(ring, key, 5)
    assert list(store.read_usage("2026-11").values()) == [Used(1, 5)]


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        (None, UNKNOWN),
        ("testclient", UNKNOWN),
        ("192.0.2.7, 192.0.2.8", UNKNOWN),
    ],
)
def test_the_address_that_stands_for_a_client(host: str | None, address: str) -> None:
    assert client_address(host) == address
