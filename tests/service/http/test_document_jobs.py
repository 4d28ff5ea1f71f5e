"""Files as jobs: each accepted one ends, whoever asks, leaves, removes, dies or stops meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import logging
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.app import create_app, drain
from service.commons.file_store import FILE_LOST
from service.commons.spool import Spool
from service.http.bodies import SentFile
from service.settings import Settings
from service.settings.startup import StartupError
from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.http.access.conftest import bearer
from tests.service.served import Served, served

LINES = "".join(f"line {number} is here\n" for number in range(300)).encode()
PAIR = {"source": "en", "target": "de"}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "documents"


@pytest.fixture(autouse=True)
def no_task_fails_unseen(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    gc.collect()
    errors = [one for one in caplog.get_records("call") if one.levelno >= logging.ERROR]
    assert not [error for error in errors if error.name == "asyncio"]


@contextlib.contextmanager
def serving(
    runner: FakeRunner, directory: Path, **settings: Any
) -> Iterator[tuple[Served, httpx.Client]]:
    app = create_app(Settings(documents_dir=directory, **settings), [fake_model(runner)])
    with served(app, settings.get("trusted_proxies", ())) as server:
        try:
            with httpx.Client(base_url=server.url, timeout=60) as client:
                yield server, client
        finally:
            runner.gate.set()


def send(client: httpx.Client, content: bytes = LINES, name: str = "a.txt", **more: Any) -> Any:
    answer = client.post("/documents", data=PAIR, files={"file": (name, content)}, **more)
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def state(client: httpx.Client, name: str, **more: Any) -> Any:
    return client.get(f"/documents/{name}", **more).json()


def ended(client: httpx.Client, name: str, **more: Any) -> Any:
    until(lambda: state(client, name, **more)["status"] in ("done", "error"))
    return state(client, name, **more)


def held(runner: FakeRunner, client: httpx.Client, count: int = 1) -> list[str]:
    """So many files, of which at least one is in the engine, where nothing moves."""
    runner.gate.clear()
    names = [send(client) for _ in range(count)]
    until(lambda: state(client, names[0])["characters"] > 0)
    return names


def test_a_file_is_accepted_at_once_and_tells_its_progress(directory: Path) -> None:
    runner = FakeRunner()
    with serving(runner, directory) as (_, client):
        (name,) = held(runner, client)
        told = state(client, name)
        assert (told["status"], told["characters_done"]) == ("translating", 0)
        assert (told["characters"], told["seconds_remaining"]) == (len(LINES), None)
        answer = client.get(f"/documents/{name}/result")
        assert (answer.status_code, answer.json()["code"]) == (503, "not_done")
        assert int(answer.headers["Retry-After"]) > 0
        runner.gate.set()
        told = ended(client, name)
        assert (told["status"], told["source"], told["name"]) == ("done", "en", "a_de.txt")
        answer = client.get(f"/documents/{name}/result")
        assert answer.content == LINES.upper()
        assert answer.headers["Content-Disposition"] == 'attachment; filename="a_de.txt"'
        assert client.delete(f"/documents/{name}").status_code == 204
        assert client.get(f"/documents/{name}").json()["code"] == "unknown_file"
        assert {path.name for path in directory.iterdir()} == {"lock"}


def test_a_file_that_is_removed_frees_the_engine_and_its_room(directory: Path) -> None:
    runner = FakeRunner()
    with serving(runner, directory) as (server, client):
        names = held(runner, client, 10)
        assert server.count("dragoman_documents_running") == 8
        assert server.count("dragoman_documents_waiting") == 2
        for name in reversed(names):
            assert client.delete(f"/documents/{name}").status_code == 204
        runner.gate.set()
        until(lambda: not runner.running)
        until(lambda: server.count("dragoman_documents_running") == 0)
        assert server.count('dragoman_documents_total{outcome="cancelled"}') == 10
        assert {path.name for path in directory.iterdir()} == {"lock"}
        assert ended(client, send(client))["status"] == "done"


def test_a_file_that_is_removed_before_its_work_begins_ends(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(FakeRunner(), directory, drain_seconds=60) as (server, client):
        documents = server.app.state.server.documents
        add = documents._queue.add

        def add_and_remove(name: str, *rest: Any) -> None:
            add(name, *rest)
            documents.remove(name)

        monkeypatch.setattr(documents._queue, "add", add_and_remove)
        send(client)
        until(lambda: server.count('dragoman_documents_total{outcome="cancelled"}') == 1)
        assert documents.num_open == 0


def test_a_file_whose_removal_is_told_after_it_is_gone_ends_as_removed(
    directory: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Another process removes it: the hub, or what cleans the directory."""
    read = Spool.read_sent

    def read_late(spool: Spool, name: str) -> bytes:
        spool.remove(name)
        return read(spool, name)

    monkeypatch.setattr(Spool, "read_sent", read_late)
    with serving(FakeRunner(), directory) as (server, client):
        assert ended(client, send(client))["error"] == "the file was removed"
        assert server.count('dragoman_documents_total{outcome="cancelled"}') == 1
        assert server.app.state.server.documents.num_open == 0
    assert "request failed" not in caplog.text


@pytest.mark.parametrize("num_cancelled", range(3))
def test_a_translation_that_is_being_written_goes_with_its_file(
    directory: Path, monkeypatch: pytest.MonkeyPatch, num_cancelled: int
) -> None:
    """Also if the work on it is cancelled more than once."""
    begun, gate, write = threading.Event(), threading.Event(), Spool.write_translated

    def slow(spool: Spool, name: str, content: bytes) -> None:
        begun.set()
        assert gate.wait(60)
        write(spool, name, content)

    monkeypatch.setattr(Spool, "write_translated", slow)
    with serving(FakeRunner(), directory) as (server, client):
        documents, name = server.app.state.server.documents, send(client)
        assert begun.wait(60)
        assert client.delete(f"/documents/{name}").status_code == 204
        for _ in range(num_cancelled):
            server.loop.call_soon_threadsafe(documents._queue.cancel, name)
            client.get("/health/live")
        assert documents.num_open == 1
        gate.set()
        until(lambda: documents.num_open == 0)
        assert {path.name for path in directory.iterdir()} == {"lock"}


def test_what_waits_is_on_disk_and_not_in_memory(directory: Path) -> None:
    """Whether a request waits for it or not."""
    runner, files = FakeRunner(), {"file": ("a.txt", LINES)}
    with serving(runner, directory) as (server, client), ThreadPoolExecutor() as pool:
        held(runner, client, 8)
        asked = pool.submit(client.post, "/translate_file", data=PAIR, files=files)
        send(client)
        until(lambda: server.count("dragoman_documents_waiting") == 2)
        gc.collect()
        held_files = [one for one in gc.get_objects() if type(one) is SentFile]
        jobs = server.app.state.server.documents._jobs.values()
        contents = {one.work.content for one in jobs}
        runner.gate.set()
        assert (asked.result().status_code, held_files, contents) == (200, [], {b""})


def test_a_file_whose_request_is_left_is_removed(directory: Path) -> None:
    runner, files = FakeRunner(), {"file": ("a.txt", LINES)}
    with serving(runner, directory) as (server, client):
        runner.gate.clear()
        with pytest.raises(httpx.ReadTimeout):
            client.post("/translate_file", data=PAIR, files=files, timeout=1)
        documents = server.app.state.server.documents
        until(lambda: documents.num_open == 0)
        assert {path.name for path in directory.iterdir()} == {"lock"}


def test_a_file_that_cannot_be_written_takes_no_room(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(spool: Spool, name: str, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with serving(FakeRunner(), directory, max_documents=1) as (_, client):
        with monkeypatch.context() as patch:
            patch.setattr(Spool, "write_sent", write)
            form = {"files": {"file": ("a.txt", b"x")}, "data": PAIR}
            answer = client.post("/documents", **form)
            assert (answer.status_code, answer.json()["code"]) == (503, "storage_failed")
            assert "No space left on device" in answer.json()["error"]
        assert {path.name for path in directory.iterdir()} == {"lock"}
        assert ended(client, send(client))["status"] == "done"


def test_a_request_for_a_file_that_is_lost_meanwhile_is_told_so(directory: Path) -> None:
    """As all are by the next hub of several front ends."""
    runner = FakeRunner()
    with serving(runner, directory) as (server, client), ThreadPoolExecutor() as pool:
        runner.gate.clear()
        files = {"file": ("a.txt", LINES)}
        asked = pool.submit(client.post, "/translate_file", data=PAIR, files=files)
        until(lambda: bool(runner.running))
        documents = server.app.state.server.documents
        (name,) = documents._jobs
        server.loop.call_soon_threadsafe(documents._files.fail, name, *FILE_LOST)
        until(lambda: state(client, name)["status"] == "error")
        runner.gate.set()
        answer = asked.result()
        assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")


def test_the_queue_is_bounded_and_a_client_has_its_share(directory: Path) -> None:
    runner = FakeRunner()
    with serving(runner, directory, max_documents=4, trusted_proxies=("127.0.0.1",)) as (_, client):
        held(runner, client, 3)

        def refused(address: str) -> tuple[int, str]:
            headers = {"X-Forwarded-For": address}
            form = {"data": {"target_lang": "DE"}, "files": {"file": ("a.txt", b"A.")}}
            answer = client.post("/v2/document", headers=headers, **form)
            assert int(answer.headers["Retry-After"]) > 0
            return answer.status_code, answer.json()["message"]

        assert refused("127.0.0.1")[0] == 429
        send(client, headers={"X-Forwarded-For": "10.0.0.1"})
        assert refused("10.0.0.2") == (503, "too many files wait to be translated; try again later")


def test_what_fails_says_why(directory: Path) -> None:
    runner = FakeRunner()
    runner.poison = ord("q")
    with serving(runner, directory, max_document_characters=9000) as (_, client):
        for content, name, code in (
            (b"no archive", "a.docx", "invalid_document"),
            (LINES * 2, "a.txt", "document_too_large"),
            (b"a q b", "a.txt", "translation_failed"),
        ):
            told = ended(client, sent := send(client, content, name))
            assert (told["status"], told["code"]) == ("error", code)
            answer = client.get(f"/documents/{sent}/result")
            assert (answer.status_code, told["error"] in answer.json()["error"]) == (404, True)
        form = {"files": {"file": ("a.doc", b"x")}, "data": PAIR}
        assert client.post("/documents", **form).json()["code"] == "unsupported_file"
        form = {"files": {"file": ("a.txt", b"x")}, "data": {"source": "en", "target": "xx"}}
        assert client.post("/documents", **form).json()["code"] == "unsupported_language"
        assert not list(directory.glob("*.sent"))


def test_what_is_not_done_within_its_time_fails(directory: Path) -> None:
    runner = FakeRunner()
    with serving(runner, directory, documents_seconds=0.5, deadline_seconds=0.001) as (_, client):
        runner.gate.clear()
        names = [send(client) for _ in range(10)]
        codes = {ended(client, name)["code"] for name in names[:1]}
        assert codes == {"deadline"}
        runner.gate.set()
        until(lambda: client.get(f"/documents/{names[0]}").status_code == 404)
    with serving(runner, directory, deadline_seconds=0.001) as (_, client):
        assert ended(client, send(client))["status"] == "done"


def test_a_request_whose_file_waits_too_long_hears_it_and_leaves_nothing(directory: Path) -> None:
    runner, files = FakeRunner(), {"file": ("a.txt", LINES)}
    with serving(runner, directory, deadline_seconds=0.5) as (server, client):
        held(runner, client, 8)
        answer = client.post("/translate_file", data=PAIR, files=files)
        assert (answer.status_code, answer.json()["code"]) == (504, "deadline")
        assert server.app.state.server.documents.num_open == 8
        assert len(list(directory.glob("*.sent"))) == 8


def test_a_translation_that_somebody_has_removed_from_the_disk_is_unknown(directory: Path) -> None:
    with serving(FakeRunner(), directory) as (_, client):
        ended(client, name := send(client))
        (directory / f"{name}.translated").unlink()
        answer = client.get(f"/documents/{name}/result")
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_file")


def test_a_full_disk_refuses_a_file_or_fails_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = FakeRunner()
    with serving(runner, directory) as (_, client):
        (name,) = held(runner, client)
        directory.rename(directory.with_name("gone"))
        form = {"files": {"file": ("a.txt", b"x")}, "data": PAIR}
        answer = client.post("/documents", **form)
        assert (answer.status_code, answer.json()["code"]) == (503, "storage_failed")
        runner.gate.set()
        assert ended(client, name)["code"] == "storage_failed"
        directory.with_name("gone").rename(directory)
        assert ended(client, send(client))["status"] == "done"


def test_a_translation_that_cannot_be_opened_now_is_not_called_gone(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EMFILE, "too many open files")

    with serving(FakeRunner(), directory) as (_, client):
        name = send(client)
        ended(client, name)
        with monkeypatch.context() as patched:
            patched.setattr(Spool, "open_translated", fail)
            answer = client.get(f"/documents/{name}/result")
        assert (answer.status_code, answer.json()["code"]) == (503, "exhausted")
        assert client.get(f"/documents/{name}/result").content == LINES.upper()


def test_a_directory_that_cannot_be_had_is_named_before_the_start(directory: Path) -> None:
    models = [fake_model(FakeRunner())]
    with serving(FakeRunner(), directory), pytest.raises(StartupError, match="another server has"):
        create_app(Settings(documents_dir=directory), models)
    (directory / "a file").touch()
    with pytest.raises(StartupError, match="cannot write to"):
        create_app(Settings(documents_dir=directory / "a file"), models)


def test_what_stops_is_finished_or_fails_and_is_there_after_a_restart(directory: Path) -> None:
    runner = FakeRunner()
    with serving(runner, directory) as (server, client):
        done = send(client, b"A day.")
        ended(client, done)
        names = held(runner, client, 10)
        finishing = asyncio.run_coroutine_threadsafe(drain(server.app, 60), server.loop)
        until(lambda: client.get("/health/ready").status_code == 503)
        form = {"files": {"file": ("a.txt", b"x")}, "data": PAIR}
        assert client.post("/documents", **form).json()["code"] == "draining"
        runner.gate.set()
        finishing.result(60)
        assert {state(client, name)["status"] for name in names} == {"done"}
    runner = FakeRunner()
    with serving(runner, directory) as (server, client):
        assert client.get(f"/documents/{done}/result").content == b"A DAY."
        names = held(runner, client, 10)
        stopping = server.app.state.server.documents.stop()  # as when the time is over
        asyncio.run_coroutine_threadsafe(stopping, server.loop).result(60)
        assert {state(client, name)["code"] for name in names} == {"draining"}
    with serving(FakeRunner(), directory) as (_, client):
        assert {state(client, name)["code"] for name in names} == {"draining"}
        assert client.get(f"/documents/{done}/result").content == b"A DAY."


def test_a_quota_and_a_minute_hold_for_files(directory: Path, tmp_path: Path) -> None:
    """A file over the quota fails; one over the minute waits for its turn, and lets others pass."""
    runner, path = FakeRunner(), tmp_path / "server.db"
    with contextlib.closing(KeyStore(path)) as store:
        small = store.create(KeyOptions(characters_per_month=10))[0]
        slow = store.create(KeyOptions(characters_per_minute=10_000))[0]
        other = store.create(KeyOptions())[0]
    settings = {"database": path, "api_keys": "required"}
    with serving(runner, directory, **settings) as (_, client):
        name = send(client, b"Hello.", headers=bearer(small))
        assert ended(client, name, headers=bearer(small))["status"] == "done"
        name = send(client, b"Hello.", headers=bearer(small))
        assert ended(client, name, headers=bearer(small))["code"] == "quota_exceeded"
        assert client.get("/v2/usage", headers=bearer(small)).json()["character_count"] == 6
        names = [send(client, b"12345678." * 1000, headers=bearer(slow)) for _ in range(9)]
        name = send(client, LINES, headers=bearer(other))
        assert ended(client, name, headers=bearer(other))["status"] == "done"
        states = [state(client, name, headers=bearer(slow))["status"] for name in names]
        assert set(states) <= {"queued", "translating", "done"}
        assert states.count("done") < 9


class SentFiles:
    """The files of several keys: what was accepted, by id, and what of it was removed."""

    def __init__(self, client: httpx.Client, rng: random.Random) -> None:
        self.accepted: dict[str, tuple[str, bytes]] = {}
        self._client, self._rng, self._removed = client, rng, set[str]()

    def send(self, key: str, content: bytes) -> None:
        form = {"files": {"file": ("a.txt", content)}, "data": PAIR}
        answer = self._client.post("/documents", headers=bearer(key), **form)
        assert answer.status_code in (202, 429, 503)
        if answer.status_code == 202:
            self.accepted[answer.json()["id"]] = key, content

    def touch(self, key: str, act: str) -> None:
        """Ask for a file of any key, fetch its translation or remove it."""
        name = self._rng.choice(sorted(self.accepted))
        is_own = self.accepted[name][0] == key and name not in self._removed
        method, end = "DELETE" if act == "remove" else "GET", "/result" if act == "fetch" else ""
        answer = self._client.request(method, f"/documents/{name}{end}", headers=bearer(key))
        assert is_own or answer.status_code == 404
        if act == "fetch" and answer.status_code == 200:
            assert answer.content == self.accepted[name][1].upper()
        if act == "remove" and is_own:
            self._removed.add(name)

    def require_done(self) -> None:
        for name in self.accepted.keys() - self._removed:
            key, content = self.accepted[name]
            assert ended(self._client, name, headers=bearer(key))["status"] == "done"
            answer = self._client.get(f"/documents/{name}/result", headers=bearer(key))
            assert answer.content == content.upper()


def test_whatever_happens_each_accepted_file_ends_and_is_its_key_s(
    directory: Path, tmp_path: Path
) -> None:
    """At random: files are sent, asked for, fetched and removed by three keys."""
    rng, runner, path = random.Random(62), FakeRunner(), tmp_path / "server.db"
    with contextlib.closing(KeyStore(path)) as store:
        keys = [store.create(KeyOptions())[0] for _ in range(3)]
    most = 4 * 200_000
    settings = {"database": path, "api_keys": "required", "max_documents": 6}
    settings |= {"max_document_bytes": 200_000, "max_documents_bytes": most}
    with serving(runner, directory, **settings) as (_, client):
        files = SentFiles(client, rng)
        for number in range(80):
            key = rng.choice(keys)
            act = rng.choice(["send"] * 4 + ["ask", "fetch", "remove", "hold"])
            if act == "send":
                files.send(key, f"file {number}\n".encode() * rng.choice([1, 3, 1000]))
            elif act == "hold":
                runner.gate.clear() if runner.gate.is_set() else runner.gate.set()
            elif files.accepted:
                files.touch(key, act)
            assert sum(file.stat().st_size for file in directory.glob("*.*d")) <= most
        runner.gate.set()
        files.require_done()
    assert not list(directory.glob("*.sent"))
    assert len(files.accepted) > 5
