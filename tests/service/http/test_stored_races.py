"""Many clients change what is stored at the same time: each change is done whole, or refused."""

from __future__ import annotations

import functools
import random
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.app import create_app
from service.settings import Settings
from service.stores.api_key import KeyOptions
from service.stores.glossaries import GlossaryStore
from service.stores.keys import KeyStore
from service.stores.suggestions import SuggestionStore
from tests.service.fakes import FakeRunner, fake_model
from tests.service.served import Served, served

NUM_CLIENTS, NUM_REQUESTS = 6, 120
EXPECTED = {200, 201, 204, 400, 404, 409, 422}
UNKNOWN = "00000000-0000-0000-0000-000000000000"
STORES = {"GlossaryStore": GlossaryStore, "KeyStore": KeyStore, "SuggestionStore": SuggestionStore}
Ask = Callable[[httpx.Client, random.Random], httpx.Response]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "server.db"


@pytest.fixture
def keys(path: Path) -> list[str]:
    with closing(KeyStore(path)) as store:
        return [store.create(KeyOptions())[0] for _ in range(2)]


@pytest.fixture
def server(path: Path, keys: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Its stores wait for each other as long as a slow disk takes."""
    assert keys
    monkeypatch.setattr("service.stores.database._TURNS", 100)
    for name, store in STORES.items():
        patient = functools.partial(store, wait_seconds=60.0)
        monkeypatch.setattr(f"service.app.{name}", patient)
    settings = Settings(database=path, suggestions=True, api_keys="optional")
    app = create_app(settings, [fake_model(FakeRunner())])
    with served(app) as server:
        yield server


def id_of(client: httpx.Client, rng: random.Random) -> str:
    found = client.get("/glossaries").json()["glossaries"]
    return rng.choice([*(one["id"] for one in found), UNKNOWN])


def native(rng: random.Random) -> dict[str, Any]:
    terms = [{"source": f"t{rng.randrange(50)}", "target": "x"} for _ in range(rng.randrange(1, 9))]
    return {"source": "en", "target": rng.choice(["de", "zh"]), "entries": terms}


def dictionary(rng: random.Random) -> dict[str, str]:
    made = native(rng)
    lines = "".join(f"{term['source']}\tx\n" for term in made["entries"])
    return {"source_lang": "EN", "target_lang": made["target"].upper(), "entries": lines}


def several(rng: random.Random) -> dict[str, Any]:
    count = rng.randrange(1, 4)
    return {"name": rng.choice("abc"), "dictionaries": [dictionary(rng) for _ in range(count)]}


def pair_of(rng: random.Random) -> dict[str, str]:
    return {"source_lang": "EN", "target_lang": rng.choice(["DE", "ZH"])}


def document(client: httpx.Client, rng: random.Random) -> httpx.Response:
    """Sent, and downloaded by whoever comes first."""
    form = {"data": pair_of(rng), "files": {"file": ("a.txt", b"Hi.")}}
    made = client.post("/v2/document", **form).json()  # type: ignore[arg-type]
    url = f"/v2/document/{made['document_id']}"
    key = {"document_key": made["document_key"]}
    client.post(f"{url}/result", json=key)
    return client.post(url, json=key)


ASKS: list[Ask] = [
    lambda c, r: c.post("/glossaries", json={"name": r.choice("ab"), **native(r)}),
    lambda c, r: c.put(f"/glossaries/{r.choice('ab')}", json=native(r)),
    lambda c, r: c.delete(f"/glossaries/{r.choice('ab')}"),
    lambda c, r: c.get(f"/glossaries/{r.choice('ab')}"),
    lambda c, r: c.post("/v2/glossaries", json={"name": r.choice("ab"), **dictionary(r)}),
    lambda c, r: c.get(f"/v2/glossaries/{id_of(c, r)}/entries"),
    lambda c, r: c.get("/v3/glossaries"),
    lambda c, r: c.post("/v3/glossaries", json=several(r)),
    lambda c, r: c.get(f"/v3/glossaries/{id_of(c, r)}"),
    lambda c, r: c.patch(f"/v3/glossaries/{id_of(c, r)}", json=several(r)),
    lambda c, r: c.delete(f"/v3/glossaries/{id_of(c, r)}"),
    lambda c, r: c.put(f"/v3/glossaries/{id_of(c, r)}/dictionaries", json=dictionary(r)),
    lambda c, r: c.delete(f"/v3/glossaries/{id_of(c, r)}/dictionaries", params=pair_of(r)),
    lambda c, r: c.get(f"/v3/glossaries/{id_of(c, r)}/entries", params=pair_of(r)),
    lambda c, r: c.post(
        "/translate", json={"q": "t1", "source": "en", "target": "de", "glossary": r.choice("ab")}
    ),
    lambda c, r: c.post(
        "/suggest", json={"q": r.choice("ab"), "s": r.choice("cd"), "source": "en", "target": "de"}
    ),
    document,
]


def own_keys(path: Path, stop: threading.Event) -> None:
    """What an operator's commands do to the same database."""
    with closing(KeyStore(path, 60.0)) as keys, closing(SuggestionStore(path, 60.0)) as suggestions:
        while not stop.is_set():
            _, key = keys.create(KeyOptions())
            keys.change(key.id, KeyOptions(name="changed"))
            keys.revoke(key.id)
            ids = [one.id for state in (False, True) for one in suggestions.read(is_approved=state)]
            suggestions.approve(ids)
            suggestions.remove(ids[:1])


def ask_all(server: Served, key: str, seed: int, found: Counter[int]) -> None:
    rng, headers = random.Random(seed), {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=server.url, timeout=600, headers=headers) as client:
        for _ in range(NUM_REQUESTS):
            found[rng.choice(ASKS)(client, rng).status_code] += 1


def test_every_store_answers_clients_that_change_the_same_things_at_once(
    path: Path, keys: list[str], server: Served
) -> None:
    """Half of the clients share a key. Afterwards nothing is left of what was removed, and no
    glossary is without terms."""
    found: Counter[int] = Counter()
    stop = threading.Event()
    clients = [
        threading.Thread(target=ask_all, args=(server, keys[n % 2], n, found))
        for n in range(NUM_CLIENTS)
    ]
    operator = threading.Thread(target=own_keys, args=(path, stop))
    for thread in (operator, *clients):
        thread.start()
    for thread in clients:
        thread.join()
    stop.set()
    operator.join()
    assert found.keys() <= EXPECTED, found
    assert {200, 201, 204, 404, 409} <= found.keys(), found
    with closing(sqlite3.connect(path)) as connection:
        assert not connection.execute("PRAGMA foreign_key_check").fetchall()
        empty = "SELECT id FROM glossaries WHERE id NOT IN (SELECT glossary FROM glossary_entries)"
        assert not connection.execute(empty).fetchall()
