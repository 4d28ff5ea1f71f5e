"""Keys in memory, and whose address a client has."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from service.errors import InvalidKey
from service.http.access.caller import UNKNOWN, client_address
from service.http.access.key_ring import KeyRing
from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.service.fakes import Clock


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
