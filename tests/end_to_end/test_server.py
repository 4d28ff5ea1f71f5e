"""The server as a user meets it: a process with a port, the bundled models, real HTTP, signals, and
a machine that fails it."""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from service.stores.api_key import KeyOptions
from service.stores.keys import KeyStore
from tests.end_to_end.process import (
    DRAGOMAN,
    ROOT,
    START_SECONDS,
    TEXTS,
    Process,
    free_port,
    is_ready,
    server,
)
from tests.service.fakes import until

HELLO = {"q": "你好。", "source": "zh", "target": "en", "beam_size": 1}


@pytest.fixture(scope="module")
def process() -> Iterator[Process]:
    with server() as process:
        process.wait_until_ready()
        yield process


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--max-slots", "65536", "--max-rows", "65536"], ["GiB", "max_rows"]),
        (["--model", "no/such/directory"], ["no/such/directory"]),
        (["--model", "tests"], ["config.json"]),
        (["--port", "99999999"], ["port"]),
        (["--device", "cuda:99"], ["device"]),
        (["--device", "cuda", "--precision", "int8"], ["cuda"]),
        (["--host", "203.0.113.1"], ["203.0.113.1"]),
        (["--port", "TAKEN"], ["TAKEN"]),
    ],
)
def test_what_cannot_be_served_is_said_in_a_word_and_an_exit_code(
    arguments: list[str], words: list[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        given = [argument.replace("TAKEN", port) for argument in arguments]
        ended = subprocess.run(
            [DRAGOMAN, "serve", "--port", "0", *given],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=START_SECONDS,
        )
    assert ended.returncode == (75 if "TAKEN" in arguments else 2)
    assert all(word.replace("TAKEN", port) in ended.stdout for word in words)
    assert "Traceback" not in ended.stdout


def test_without_a_usable_directory_for_temporary_files_only_files_fail_and_say_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No socket has so long a path; from Python 3.14 on, another is taken."""
    directory = tmp_path / ("x" * 120)
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    with server("--documents-dir", str(tmp_path)) as process:
        process.wait_until_ready()
        answer = process.translate_file("a.txt", b"Good morning.")
        if sys.version_info < (3, 14):
            assert (answer.status_code, answer.json()["code"]) == (503, "storage_failed")
            assert "path too long" in answer.json()["error"]
        else:
            assert answer.status_code == 200
        assert process.translate(**HELLO).status_code == 200


def test_a_server_needs_no_standard_streams() -> None:
    port = free_port()
    line = f"exec {DRAGOMAN} serve --threads 2 --port {port} <&- >&- 2>&-"
    with subprocess.Popen(["sh", "-c", line], cwd=ROOT) as parent:
        until(lambda: is_ready(port) or parent.poll() is not None, START_SECONDS)
        answer = httpx.post(f"http://127.0.0.1:{port}/translate", json=HELLO, timeout=START_SECONDS)
        parent.terminate()
    assert (answer.status_code, parent.returncode) == (200, 0)


def test_a_client_that_never_reads_holds_up_nobody_and_gathers_no_memory(process: Process) -> None:
    process.translate(**HELLO)
    before = process.gauge("process_resident_memory_bytes")
    unread = socket.socket()
    unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    unread.connect(("127.0.0.1", int(process.url.rpartition(":")[2])))
    path = process.url.replace("http", "ws") + "/translate/stream"
    with connect(path, sock=unread, max_queue=1, close_timeout=1) as stuck:
        for number in range(60):
            fields = {"id": number, "q": "字" * 20_000, "source": "zh", "target": "zh"}
            stuck.send(json.dumps(fields))
        for _ in range(5):
            assert process.translate(**HELLO).status_code == 200
        assert process.gauge("dragoman_open_streams") == 1
        assert process.gauge("process_resident_memory_bytes") - before < 2**26
    until(lambda: not process.gauge("dragoman_open_streams"))


@contextlib.contextmanager
def pair() -> Iterator[tuple[Process, Process]]:
    """Two servers that share a port; each has a port of its own for metrics."""
    port = free_port()
    shared = ("--share-port", "true", "--workers", "1", "--metrics-port")
    with contextlib.ExitStack() as stack:
        first, second = (
            stack.enter_context(server(*shared, str(own), port=port, metrics_port=own))
            for own in (free_port(), free_port())
        )
        for one in (first, second):
            one.wait_until_ready()
        yield first, second


def translate_often(process: Process, times: int) -> None:
    """Each time over a connection of its own."""
    assert {process.translate(**HELLO).status_code for _ in range(times)} == {200}


def test_servers_share_a_port_that_a_draining_one_leaves_and_the_other_goes_on() -> None:
    with pair() as servers, ThreadPoolExecutor(1) as pool:
        translate_often(servers[0], 64)
        name = 'dragoman_requests_total{endpoint="/translate"'
        counted = [server.gauge(name) for server in servers]
        assert sum(counted) == 64
        assert all(counted)
        running = pool.submit(servers[0].translate)
        until(lambda: any(one.gauge("dragoman_running{") > 0 for one in servers))
        draining, other = sorted(servers, key=lambda one: -one.gauge("dragoman_running{"))
        draining.popen.send_signal(signal.SIGTERM)
        until(lambda: not draining.is_ready)
        translate_often(draining, 32)
        assert not running.done()
        assert running.result(timeout=120).status_code == 200
        assert draining.popen.wait(timeout=30) == 0
        translate_often(other, 16)


@pytest.mark.parametrize("processes", [("--one-process", "true"), ("--engines", "1")])
def test_a_start_that_fails_takes_no_connection_of_a_shared_port_and_says_not_that_it_serves(
    processes: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "damaged").write_text("no database" * 1000)
    wrong = ("--database", str(tmp_path / "damaged"), *processes, "--threads", "2")
    port, share = free_port(), ("--share-port", "true")
    with server(*share, "--one-process", "true", port=port) as good:
        good.wait_until_ready()
        until(lambda: any("dragoman serves" in line for line in good.lines()))
        with server(*share, *wrong, port=port) as bad:
            while bad.popen.poll() is None:
                translate_often(good, 8)
            assert bad.popen.returncode == 2
            assert not any("dragoman serves" in line for line in bad.lines())


def test_sigterm_finishes_running_work_refuses_new_work_and_ends_with_0() -> None:
    with server() as process, ThreadPoolExecutor(1) as pool:
        process.wait_until_ready()
        running = pool.submit(process.translate)
        until(lambda: running.done() or process.gauge("dragoman_running{") > 0)
        process.popen.send_signal(signal.SIGTERM)
        until(lambda: not process.is_ready)
        assert process.get("/health/live").status_code == 200
        refused = process.translate(**HELLO)
        assert (refused.status_code, refused.json()["code"]) == (503, "draining")
        assert not running.done()
        answer = running.result(timeout=120)
        assert answer.status_code == 200
        assert len(answer.json()["translatedText"]) == 2 * len(TEXTS)
        assert process.popen.wait(timeout=30) == 0


@contextlib.contextmanager
def busy_workers(process: Process, streams: int = 0) -> Iterator[None]:
    """A request runs, and as many streams, when the block begins."""
    process.wait_until_ready()
    with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as stack:
        pool.submit(process.translate)
        for _ in range(streams):
            stream = stack.enter_context(process.open_stream())
            fields = {"id": 1, "q": TEXTS, "source": "en", "target": "zh", "beam_size": 16}
            stream.send(json.dumps(fields))
        until(lambda: process.gauge("dragoman_running{") > 0)
        yield


@pytest.mark.parametrize(
    ("first", "second", "num_streams"),
    [
        (signal.SIGTERM, signal.SIGTERM, 3),
        (signal.SIGINT, signal.SIGINT, 0),
        (signal.SIGTERM, signal.SIGINT, 0),
    ],
)
def test_a_second_signal_ends_a_working_server_at_once_and_by_that_signal(
    first: signal.Signals, second: signal.Signals, num_streams: int
) -> None:
    with server() as process, busy_workers(process, num_streams):
        process.popen.send_signal(first)
        until(lambda: process.get("/health/ready").status_code == 503)
        process.popen.send_signal(second)
        assert process.ended() == (-second, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_streams_are_finished_before_a_server_ends_and_idle_ones_do_not_hold_it(
    number: signal.Signals,
) -> None:
    with server() as process:
        process.wait_until_ready()
        with process.open_stream() as idle, process.open_stream() as stream:
            fields = {"id": 1, "q": TEXTS[:40], "source": "en", "target": "zh"}
            stream.send(json.dumps(fields))
            stream.recv(timeout=30)
            process.popen.send_signal(number)
            messages = []
            with contextlib.suppress(ConnectionClosed):
                while True:
                    messages.append(json.loads(stream.recv(timeout=60)))
            assert messages[-1]["type"] == "final"
            with pytest.raises(ConnectionClosed):
                idle.recv(timeout=30)
        assert process.ended() == (0, "")


@pytest.mark.parametrize("mapped", ["", "libtorch", "model.safetensors"])
def test_sigterm_during_start_up_ends_the_server_at_once(mapped: str) -> None:
    """As soon as it catches signals, imports torch, and reads a model."""
    with server() as process:
        maps = Path(f"/proc/{process.popen.pid}/maps")
        until(lambda: _catches(process.popen.pid, signal.SIGTERM), START_SECONDS)
        until(lambda: mapped in maps.read_text() or process.is_ready, START_SECONDS)
        process.popen.send_signal(signal.SIGTERM)
        ended = process.ended()
        assert ended == (0 if process.has_drained else -signal.SIGTERM, "")


def _catches(pid: int, number: signal.Signals) -> bool:
    """Whether the process has a handler for the signal."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(mask, 16) >> (number - 1) & 1)


OFFLINE = """
import threading
from model.decoding.options import DecodingOptions
from model.decoding.sentence import SourceSentence
from tests.model.network.reference import EOS, tiny_model, tiny_runner

model = tiny_model(d_model=256, n_heads=8, d_ff=512, vocab_size=20000)
runner = tiny_runner(model, backend="native")
is_at_work = threading.Event()


def translate_for_ever() -> None:
    sentence = SourceSentence([5, 6, 7, EOS], DecodingOptions(beam_size=4))
    while True:
        if not runner.num_running:
            runner.admit([sentence] * 16)
        runner.step()
        is_at_work.set()


threading.Thread(target=translate_for_ever, daemon=True).start()
is_at_work.wait()
"""


def test_the_interpreter_ends_while_a_daemon_thread_steps() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", OFFLINE], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")


FIELDS = {"q": "Where is the library?", "source": "en", "target": "de"}
NUM_CONNECTIONS, NUM_SPARE = 20, 6


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
def limited(process: Process, kind: int, soft: Callable[[int], int]) -> Iterator[None]:
    """Inside the block each process of the server has no more of a resource than `soft` of its
    id."""
    before = {pid: resource.prlimit(pid, kind) for pid in process.pids}
    for pid, (_, hard) in before.items():
        resource.prlimit(pid, kind, (soft(pid), hard))
    try:
        yield
    finally:
        for pid, limits in before.items():
            resource.prlimit(pid, kind, limits)


def num_descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_without_descriptors_clients_that_are_in_are_served_and_others_later(
    stored: Stored,
) -> None:
    with server(*stored.arguments) as process, httpx.Client(headers=stored.headers) as client:
        process.wait_until_ready()
        url = f"{process.url}/translate"
        expected = client.post(url, json=FIELDS, timeout=60).json()
        address = ("127.0.0.1", int(process.url.rpartition(":")[2]))
        with limited(process, resource.RLIMIT_NOFILE, lambda pid: num_descriptors(pid) + NUM_SPARE):
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
        with limited(process, resource.RLIMIT_FSIZE, lambda _: 0):
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
