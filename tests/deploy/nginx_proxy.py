"""deploy/nginx.conf with the real nginx, and deploy/dragoman.service as systemd reads it.

Run by `make proxy-test`, because it needs them.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from model.decoding.sentence import StepResult
from service.app import create_app
from service.settings import Settings
from tests.end_to_end.process import free_port, is_up
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.served import Served, served

DEPLOY = Path(__file__).parents[2] / "deploy"
CONFIGURATION, UNIT = DEPLOY / "nginx.conf", DEPLOY / "dragoman.service"
INSTALLED = "/opt/dragoman/bin/dragoman"
STEP_SECONDS = 0.02
FIELDS = {"q": "Hello there.", "source": "en", "target": "de"}


class SlowRunner(FakeRunner):
    def step(self, handles: Sequence[int] | None = None) -> StepResult:
        time.sleep(STEP_SECONDS)
        return super().step(handles)


@pytest.fixture
def server() -> Iterator[Served]:
    settings = Settings(requests_per_minute=10, trusted_proxies=("127.0.0.1",))
    app = create_app(settings, [fake_model(SlowRunner())])
    with served(app, settings.trusted_proxies) as server:
        yield server


@pytest.fixture
def port(server: Served, tmp_path: Path) -> Iterator[int]:
    """Of nginx before the server, with shorter times and its files in a directory of the test."""
    port = free_port()
    text = CONFIGURATION.read_text(encoding="utf-8")
    for old, new in (
        ("127.0.0.1:8000", f"127.0.0.1:{server.port}"),
        ("listen 8080", f"listen 127.0.0.1:{port}"),
        ("client_header_timeout 10s", "client_header_timeout 1s"),
        ("client_body_timeout 20s", "client_body_timeout 1s"),
        ("rate=50r/s", "rate=1r/s"),
        ("burst=100", "burst=20"),
    ):
        assert old in text
        text = text.replace(old, new)
    own = tmp_path / "nginx.conf"
    own.write_text(f"pid {tmp_path}/pid; daemon off; error_log {tmp_path}/error.log;\n{text}")
    process = subprocess.Popen(["nginx", "-p", str(tmp_path), "-c", str(own)])
    until(lambda: is_up(port))
    yield port
    process.terminate()
    process.wait(timeout=30)


def test_requests_streams_and_websockets_pass_as_they_come(port: int) -> None:
    url = f"http://127.0.0.1:{port}"
    answer = httpx.post(f"{url}/translate", json=FIELDS)
    assert answer.json() == {"translatedText": "HELLO THERE."}
    with connect(f"ws://127.0.0.1:{port}/translate/stream") as websocket:
        websocket.send(json.dumps({"id": 1, **FIELDS}))
        while (message := json.loads(websocket.recv()))["type"] == "token":
            pass
        assert message["translatedText"] == "HELLO THERE."
    events, uncached = {"Accept": "text/event-stream"}, {**FIELDS, "q": "Good morning."}
    with httpx.stream("POST", f"{url}/translate", json=uncached, headers=events) as stream:
        received = stream.iter_text()
        assert "event: final" not in next(received)
        assert "event: final" in "".join(received)


def test_a_client_cannot_choose_the_address_that_its_limits_are_counted_for(port: int) -> None:
    url = f"http://127.0.0.1:{port}/translate"
    headers = [{"X-Forwarded-For": f"198.51.100.{number}"} for number in range(12)]
    with httpx.Client(transport=httpx.HTTPTransport(local_address="127.0.0.2")) as client:
        answers = [client.post(url, json=FIELDS, headers=forged) for forged in headers]
    assert answers[0].status_code == 200
    assert answers[-1].json()["code"] == "too_many_requests"


def test_a_slow_head_and_a_slow_body_end(port: int) -> None:
    head = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
    for sent in (head, head + b"\r\n{"):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(sent)
            assert b"200" not in client.recv(65536)


def test_a_large_body_and_too_many_requests_are_refused(port: int) -> None:
    url = f"http://127.0.0.1:{port}"
    assert httpx.post(f"{url}/translate", content=b"x" * (12 * 2**20)).status_code == 413
    with httpx.Client() as client:
        statuses = [client.get(f"{url}/health/live").status_code for _ in range(60)]
    assert set(statuses) == {200, 429}


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("dragoman")
    text = UNIT.read_text(encoding="utf-8")
    own = tmp_path / UNIT.name
    own.write_text(text.replace(f"ExecStart={INSTALLED}", f"ExecStart={program}"))
    found = subprocess.run(["systemd-analyze", "verify", own], capture_output=True, text=True)
    assert (found.returncode, found.stdout + found.stderr) == (0, "")
