"""What a real server does when its machine fails it."""

from __future__ import annotations

import contextlib
import resource
import signal
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.end_to_end.process import Process, server
from tests.service.fakes import until

FIELDS = {"q": "Where is the library?", "source": "en", "target": "de"}
NUM_CONNECTIONS, NUM_SPARE = 60, 6


class Stored:
    """A database with one key, and the server that has it open."""

    def __init__(self, directory: Path) -> None:
        self.database = directory / "server.db"
        with contextlib.closing(KeyStore(self.database)) as store:
            self.key = store.create(KeyOptions())[0]
        self.arguments = ["--database", str(self.database), "--api-keys", "required"]
        self.headers = {"Authorization": f"Bearer {self.key}"}

    def translate(self, process: Process) -> httpx.Response:
        url = f"{process.url}/translate"
        return httpx.post(url, json=FIELDS, headers=self.headers, timeout=60)

    def put_glossary(self, process: Process) -> httpx.Response:
        entries = [{"source": f"term {n}", "target": "Wort " * 30} for n in range(2000)]
        fields = {"source": "en", "target": "de", "entries": entries}
        url = f"{process.url}/glossaries/large"
        return httpx.put(url, json=fields, headers=self.headers, timeout=60)

    def num_used(self) -> int:
        """The requests that are stored as used."""
        with contextlib.closing(sqlite3.connect(self.database)) as connection:
            query = "SELECT coalesce(sum(requests), 0) FROM api_key_usage"
            return int(connection.execute(query).fetchone()[0])

    def is_whole(self) -> bool:
        with contextlib.closing(sqlite3.connect(self.database)) as connection:
            return connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    return Stored(tmp_path)


@contextlib.contextmanager
def limited(process: Process, kind: int, soft: int) -> Iterator[None]:
    """Inside the block the server has no more than `soft` of a resource."""
    pid = process.popen.pid
    before = resource.prlimit(pid, kind)
    resource.prlimit(pid, kind, (soft, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, kind, before)


def test_without_descriptors_clients_that_are_in_are_served_and_others_later(
    stored: Stored,
) -> None:
    with server(*stored.arguments) as process, httpx.Client(headers=stored.headers) as client:
        process.wait_until_ready()
        url = f"{process.url}/translate"
        expected = client.post(url, json=FIELDS, timeout=60).json()
        held = len(list(Path(f"/proc/{process.popen.pid}/fd").iterdir()))
        address = ("127.0.0.1", int(process.url.rpartition(":")[2]))
        with limited(process, resource.RLIMIT_NOFILE, held + NUM_SPARE):
            crowd = [socket.create_connection(address) for _ in range(NUM_CONNECTIONS)]
            for _ in range(5):
                assert client.post(url, json=FIELDS, timeout=60).json() == expected
            for one in crowd:
                one.close()
            until(lambda: process.is_ready)
            assert stored.translate(process).json() == expected


def test_with_a_full_disk_texts_are_translated_and_usage_is_stored_later(stored: Stored) -> None:
    with contextlib.closing(KeyStore(stored.database)) as keys:
        revoked, record = keys.create(KeyOptions())
    with server(*stored.arguments, "--suggestions", "true") as process:
        process.wait_until_ready()
        assert stored.translate(process).status_code == 200
        until(lambda: stored.num_used() == 1)
        with limited(process, resource.RLIMIT_FSIZE, 0):
            assert stored.translate(process).status_code == 200
            url, suggestion = f"{process.url}/suggest", {**FIELDS, "s": "Bücherei? " * 90}
            suggested = httpx.post(url, json=suggestion, headers=stored.headers, timeout=60)
            for refused in (stored.put_glossary(process), suggested):
                assert refused.status_code == 503, refused.text
                assert set(refused.json()) == {"error", "code", "request_id"}
                assert int(refused.headers["Retry-After"]) > 0
            assert stored.num_used() == 1
            with contextlib.closing(KeyStore(stored.database)) as keys:
                keys.revoke(record.id)
            until(lambda: is_refused(process, revoked))
        until(lambda: stored.num_used() == 2)
        assert stored.put_glossary(process).status_code == 201
        assert stored.is_whole()


def is_refused(process: Process, key: str) -> bool:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.get(f"{process.url}/v2/usage", headers=headers, timeout=60).status_code == 403


def test_a_killed_server_leaves_a_whole_database_for_the_next(stored: Stored) -> None:
    with server(*stored.arguments) as process:
        process.wait_until_ready()
        assert stored.put_glossary(process).status_code == 201
        assert stored.translate(process).status_code == 200
        until(lambda: stored.num_used() == 1)
        process.popen.send_signal(signal.SIGKILL)
        assert process.ended()[0] == -signal.SIGKILL
    assert stored.is_whole()
    with server(*stored.arguments) as process:
        process.wait_until_ready()
        assert stored.translate(process).status_code == 200
        glossaries = httpx.get(f"{process.url}/glossaries", headers=stored.headers).json()
        assert [one["entry_count"] for one in glossaries["glossaries"]] == [2000]
