"""The server on a real Ray cluster, as an operator has it: `make ray-test` (about three minutes).

One node with four CPUs and one GPU, as far as Ray knows: what it shares out is not checked.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from benchmarks.server import BIN, URL, running_server
from tests.end_to_end.process import free_port

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "checkpoints" / "zh-en"
COMMITTED = yaml.safe_load((ROOT / "deploy" / "ray" / "serve.yaml").read_text("utf-8"))
(APPLICATION,) = COMMITTED["applications"]
ARGUMENTS: dict[str, object] = {"model": str(MODEL), "replicas": 2, "cpus": 0.5}
SENTENCE = "昨天下午我和朋友们一起去图书馆看书，然后在河边散步，一直走到天黑才回家"
LONG = f"{SENTENCE}。" * 4
SHORT = {"q": "你好。", "source": "zh", "target": "en"}
LONG_SENTENCE = {**SHORT, "q": SENTENCE}
SLOW = {**SHORT, "q": [LONG] * 8}
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_SERVE_HANDLE_AUTOSCALING_METRIC_PUSH_INTERVAL_S": "0.5",
    "RAY_AUTH_MODE": "disabled",
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",  # two cores that do other work too are slow
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": "service.ray_serve.proxy:middlewares",
}
_POLL_SECONDS = 0.3
_START_SECONDS = 60
_DEPLOY_SECONDS = 120


@dataclass(frozen=True)
class Cluster:
    """What an operator has of a cluster: its REST interface, and the port that it serves on."""

    api: str
    port: int
    client: httpx.Client

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def deploy(self, **arguments: object) -> None:
        """Ask for the committed application with these arguments, or with its own."""
        application = {**APPLICATION, "args": arguments or APPLICATION["args"]}
        http = {"host": "127.0.0.1", "port": self.port}
        configuration = {"http_options": http, "applications": [application]}
        url = f"{self.api}/api/serve/applications/"
        answer = self.client.put(url, json=configuration)
        assert answer.is_success, answer.text

    def replicas(self) -> dict[str, dict[str, Any]]:
        """What Ray knows of each replica (state, pid), by its name; empty before it is deployed."""
        deployments = self._application().get("deployments") or {}
        found = deployments.get(APPLICATION["name"], {}).get("replicas", [])
        return {replica["replica_id"]: replica for replica in found}

    def running(self) -> list[str]:
        return [name for name, r in self.replicas().items() if r["state"] == "RUNNING"]

    def wait_until_settled(self, count: int) -> None:
        """Until what was asked for is there: so many replicas run, and none comes or goes."""
        wait_for(lambda: self._is_settled(count), _DEPLOY_SECONDS)

    def _is_settled(self, count: int) -> bool:
        application = self._application()
        assert application.get("status") != "DEPLOY_FAILED", application
        replicas = self.replicas()
        is_whole = len(replicas) == count and len(self.running()) == count
        return is_whole and application.get("status") == "RUNNING"

    def _application(self) -> dict[str, Any]:
        details = self.client.get(f"{self.api}/api/serve/applications/").json()
        found: dict[str, Any] = details["applications"].get(APPLICATION["name"], {})
        return found


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """It serves nothing yet; all its processes end with the tests."""
    port, gcs, ray_client, dashboard, agent = (free_port() for _ in range(5))
    command = [str(BIN / "ray"), "start", "--head", "--block", "--num-cpus=4", "--num-gpus=1"]
    command += [f"--port={gcs}", f"--ray-client-server-port={ray_client}"]
    command += [f"--dashboard-port={dashboard}", f"--dashboard-agent-listen-port={agent}"]
    with (
        httpx.Client(timeout=60) as client,
        tempfile.TemporaryDirectory(prefix="ray", dir="/tmp") as directory,
    ):
        cluster = Cluster(f"http://127.0.0.1:{dashboard}", port, client)
        process = subprocess.Popen(
            [*command, f"--temp-dir={directory}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, **_ENVIRONMENT},
        )
        try:
            wait_for(lambda: _is_up(cluster, process), _START_SECONDS)
            yield cluster
            client.delete(f"{cluster.api}/api/serve/applications/")
        finally:
            process.terminate()
            process.wait(timeout=60)


def wait_for(condition: Callable[[], bool], limit_seconds: float) -> None:
    ends = time.monotonic() + limit_seconds
    while not condition():
        assert time.monotonic() < ends, f"not within {limit_seconds} s"
        time.sleep(_POLL_SECONDS)


def _is_up(cluster: Cluster, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "ray has ended; is dragoman[ray] installed?"
    with contextlib.suppress(httpx.TransportError):
        return cluster.client.get(f"{cluster.api}/api/version").is_success
    return False


@pytest.fixture
def pair(cluster: Cluster) -> Cluster:
    """With two replicas of the default settings."""
    cluster.deploy(**ARGUMENTS)
    cluster.wait_until_settled(2)
    return cluster


class Load:
    """Clients that ask again and again, and the answers that they got."""

    def __init__(self, *asks: Callable[[], object]) -> None:
        self.answers: Counter[object] = Counter()
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=[ask]) for ask in asks]

    def _work(self, ask: Callable[[], object]) -> None:
        while not self._is_over.is_set():
            self.answers[ask()] += 1

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()


def asking(cluster: Cluster, fields: dict[str, Any]) -> Callable[[], object]:
    """Asks over HTTP -> 200, or the code of the error and its Retry-After."""

    def ask() -> object:
        answer = cluster.client.post(f"{cluster.url}/translate", json=fields)
        if answer.status_code == 200:
            return 200
        return answer.json()["code"], answer.headers.get("Retry-After")

    return ask


def asking_on_a_websocket(cluster: Cluster) -> Callable[[], object]:
    """Asks on one websocket, and from when that is closed, on a new one."""
    path = cluster.url.replace("http", "ws") + "/translate/stream"
    stack = contextlib.ExitStack()
    socket = stack.enter_context(connect(path))

    def ask() -> object:
        nonlocal socket
        try:
            socket.send(json.dumps({**SHORT, "id": 1}))
            while (message := json.loads(socket.recv(timeout=60)))["type"] == "token":
                pass
        except ConnectionClosed as closed:
            socket = stack.enter_context(connect(path))
            return f"closed with {closed.rcvd.code if closed.rcvd else None}"
        return 200 if message["type"] == "final" else message["code"]

    return ask


def requests_by_replica(cluster: Cluster) -> dict[str, float]:
    """Translations that each replica has answered, from the one page that an operator scrapes."""
    page = cluster.client.get(f"{cluster.url}/metrics").text
    return {
        sample.labels["replica"]: sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == "dragoman_requests_total"
        and (sample.labels["endpoint"], sample.labels["outcome"]) == ("/translate", "ok")
    }


def test_replicas_translate_as_the_plain_server_does(pair: Cluster) -> None:
    texts = (ROOT / "tests/data/sentences.zh.txt").read_text(encoding="utf-8").splitlines()[:40]
    bodies: list[dict[str, Any]] = [{"q": q, "source": "zh", "target": "en"} for q in texts]
    bodies += [
        {"q": texts[:9], "source": "auto", "target": "en", "alternatives": 2, "beam_size": 3},
        {"q": "Where is the library?", "source": "en", "target": "zh", "beam_size": 1},
        {"q": texts[0], "source": "zh", "target": "en", "temperature": 1.2, "seed": 5},
        {"q": "", "source": "zh", "target": "en"},
        {"q": "hello", "source": "en", "target": "xx"},
    ]

    def answers(url: str) -> list[dict[str, Any]]:
        found = [httpx.post(f"{url}/translate", json=body, timeout=60).json() for body in bodies]
        return [{k: v for k, v in answer.items() if k != "request_id"} for answer in found]

    with running_server(MODEL):
        plain = answers(URL)
    assert answers(pair.url) == plain


def test_requests_are_spread_and_one_page_counts_them_all(pair: Cluster) -> None:
    before = requests_by_replica(pair)
    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(lambda _: asking(pair, SHORT)(), range(200))) == {200}
    after = requests_by_replica(pair)
    added = {name: after[name] - before.get(name, 0) for name in after}
    assert set(added) == set(pair.running())
    assert sum(added.values()) == 200
    assert min(added.values()) > 40


def test_what_is_too_much_is_refused_with_503_and_retry_after(cluster: Cluster) -> None:
    """A full engine says so itself; Ray says it for requests that not even a replica may take."""
    bounds = {"max_slots": 2, "max_rows": 16, "max_waiting_sentences": 4}
    cluster.deploy(**ARGUMENTS, **bounds)
    cluster.wait_until_settled(2)

    def ask(fields: dict[str, Any]) -> httpx.Response:
        return httpx.post(f"{cluster.url}/translate", json=fields, timeout=60)

    lists = [{**SHORT, "q": [f"{SENTENCE}{i}。" for i in range(n, 1920, 60)]} for n in range(60)]
    for asked, cause in (
        (lists, "sentences are waiting"),
        ([LONG_SENTENCE] * 60, "every replica is full"),
    ):
        with ThreadPoolExecutor(60) as pool:
            answers = list(pool.map(ask, asked))
        refused = [answer for answer in answers if answer.status_code == 503]
        assert {answer.status_code for answer in answers} == {200, 503}
        assert {answer.json()["code"] for answer in refused} == {"overloaded"}
        assert {answer.headers["Retry-After"] for answer in refused} == {"1"}
        assert any(cause in answer.json()["error"] for answer in refused)
    assert asking(cluster, SHORT)() == 200


def test_a_killed_replica_takes_only_its_own_requests_with_it(pair: Cluster) -> None:
    victim, survivor = pair.running()
    with Load(*[asking(pair, SLOW)] * 4, *[asking(pair, SHORT)] * 2) as load:
        wait_for(lambda: load.answers[200] > 10, 60)
        os.kill(pair.replicas()[victim]["pid"], signal.SIGKILL)
        wait_for(lambda: len(pair.running()) == 2 and victim not in pair.replicas(), 60)
        seen = load.answers[200]
        wait_for(lambda: load.answers[200] > seen + 10, 60)
    assert set(load.answers) <= {200, ("replica_lost", "1")}
    assert load.answers["replica_lost", "1"] <= 6
    assert survivor in pair.running()


def test_replicas_are_replaced_without_a_lost_request(pair: Cluster) -> None:
    old = set(pair.running())
    sockets = [asking_on_a_websocket(pair) for _ in range(4)]
    with Load(*[asking(pair, SLOW)] * 2, *[asking(pair, SHORT)] * 2, *sockets) as load:
        pair.deploy(**ARGUMENTS, max_texts=400)
        pair.wait_until_settled(2)
    assert set(load.answers) == {200, "closed with 1012"}
    assert not old & set(pair.running())


def test_the_committed_configuration_serves_both_bundled_models(cluster: Cluster) -> None:
    cluster.deploy()
    cluster.wait_until_settled(2)
    assert asking(cluster, {**SHORT, "target": "de"})() == 200
