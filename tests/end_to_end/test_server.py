"""The server as a user meets it: a process with a port, the bundled checkpoint, real HTTP."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

ROOT = Path(__file__).parents[2]
DRAGOMAN = str(Path(sys.executable).with_name("dragoman"))
SENTENCES = ROOT / "tests" / "data" / "sentences.en.txt"
START_SECONDS = 90
WAIT_SECONDS = 30


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(*arguments: str, output: int = subprocess.PIPE) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [DRAGOMAN, "serve", *arguments],
        cwd=ROOT,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _wait_until_ready(process: subprocess.Popen[str], url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0]
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{url}/health/ready").status_code == 200:
                return
        time.sleep(0.1)
    raise AssertionError(f"not ready after {START_SECONDS} s")


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"it never came true in {WAIT_SECONDS} s"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Its log goes nowhere: a pipe that nobody reads would stop it once it is full."""
    port = _free_port()
    process = _start("--port", str(port), output=subprocess.DEVNULL)
    try:
        _wait_until_ready(process, f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def translate(url: str, **fields: object) -> httpx.Response:
    return httpx.post(f"{url}/translate", json=fields, timeout=60)


def test_it_translates_both_ways(url: str) -> None:
    english = translate(url, q="图书馆在哪里？", source="zh", target="en").json()
    assert "library" in english["translatedText"].lower()
    chinese = translate(url, q="Where is the library?", source="en", target="zh").json()
    assert "图书馆" in chinese["translatedText"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--max-slots", "65536", "--max-rows", "65536"], ["GiB", "max_rows"]),
        (["--model", "/nowhere"], ["/nowhere"]),
        (["--device", "cuda", "--precision", "int8"], ["cuda"]),
        (["--host", "203.0.113.1"], ["203.0.113.1"]),
    ],
)
def test_what_cannot_be_served_is_one_line_and_exit_code_2(
    arguments: list[str], words: list[str]
) -> None:
    process = _start("--port", "0", *arguments)
    output = process.communicate(timeout=START_SECONDS)[0]
    assert process.returncode == 2
    assert len(output.splitlines()) == 1
    assert all(word in output for word in words)


def test_a_list_gives_a_list_in_the_same_order(url: str) -> None:
    texts = ["你好。", "", "我喜欢咖啡。"]
    answer = translate(url, q=texts, source="zh", target="en").json()["translatedText"]
    assert len(answer) == 3
    assert answer[1] == ""
    assert "coffee" in answer[2].lower()


def test_blank_lines_spaces_and_emoji_stay_where_they_are(url: str) -> None:
    text = "  你好。\n\n\t我喜欢咖啡。😀\r\n"
    answer = translate(url, q=text, source="zh", target="en").json()["translatedText"]
    assert answer.startswith("  ")
    assert "\n\n\t" in answer
    assert answer.endswith("😀\r\n")


def test_plain_text_in_plain_text_out(url: str) -> None:
    answer = httpx.post(
        f"{url}/translate",
        params={"source": "zh", "target": "en"},
        content="图书馆在哪里？".encode(),
        headers={"Content-Type": "text/plain; charset=utf-8"},
        timeout=60,
    )
    assert answer.headers["content-type"].startswith("text/plain")
    assert "library" in answer.text.lower()


def test_many_clients_at_once_get_what_each_would_get_alone(url: str) -> None:
    texts = (ROOT / "tests/data/sentences.zh.txt").read_text(encoding="utf-8").splitlines()[:24]

    def ask(text: str) -> str:
        return str(translate(url, q=text, source="zh", target="en").json()["translatedText"])

    alone = [ask(text) for text in texts]
    with ThreadPoolExecutor(12) as pool:
        assert list(pool.map(ask, texts)) == alone


def test_a_seed_repeats_a_sample(url: str) -> None:
    options = {"q": "我喜欢咖啡。", "source": "zh", "target": "en", "temperature": 1.5}
    samples = [translate(url, **options, seed=seed).json()["translatedText"] for seed in (1, 1, 2)]
    assert samples[0] == samples[1]
    many = {translate(url, **options, seed=s).json()["translatedText"] for s in range(6)}
    assert len(many) > 1


@pytest.mark.parametrize("options", [{}, {"beam_size": 1}, {"temperature": 1.0, "seed": 3}])
def test_streamed_pieces_join_to_the_answer_over_both_transports(
    url: str, options: dict[str, float]
) -> None:
    q = "图书馆在哪里？我喜欢咖啡。\n\n你叫什么名字？😀"
    fields = {"q": q, "source": "zh", "target": "en", **options}
    expected = translate(url, **fields).json()["translatedText"]

    with connect(url.replace("http", "ws") + "/translate/stream") as socket:
        socket.send(json.dumps({"id": 1, **fields}))
        messages = [json.loads(socket.recv(timeout=60))]
        while messages[-1]["type"] == "token":
            messages.append(json.loads(socket.recv(timeout=60)))
    assert messages[-1]["translatedText"] == expected
    assert "".join(message["text"] for message in messages[:-1]) == expected
    assert len(messages) > 4

    headers = {"Accept": "text/event-stream"}
    body = httpx.post(f"{url}/translate", json=fields, headers=headers, timeout=60).text
    events = [
        json.loads(line.removeprefix("data: "))
        for line in body.splitlines()
        if line.startswith("data: ")
    ]
    assert "".join(event["text"] for event in events[:-1]) == expected
    assert events[-1]["translatedText"] == expected


def test_a_client_that_hangs_up_frees_its_slots(url: str) -> None:
    with connect(url.replace("http", "ws") + "/translate/stream", close_timeout=1) as socket:
        for number in range(50):
            fields = {"q": "我喜欢咖啡。" * 20, "source": "zh", "target": "en"}
            socket.send(json.dumps({"id": number, **fields}))
        socket.recv(timeout=60)
    _until(lambda: not _gauge(url, "dragoman_running") + _gauge(url, "dragoman_waiting"))


def _gauge(url: str, name: str) -> float:
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith(name + "{"))


def metric(url: str, name: str) -> float:
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if re.match(rf"{name}[ {{]", line))


def test_a_client_that_never_reads_holds_up_nobody_and_gathers_no_memory(url: str) -> None:
    translate(url, q="你好。", source="zh", target="en")
    before = metric(url, "process_resident_memory_bytes")
    unread = socket.socket()
    unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    unread.connect(("127.0.0.1", int(url.rpartition(":")[2])))
    path = url.replace("http", "ws") + "/translate/stream"
    with connect(path, sock=unread, max_queue=1, close_timeout=1) as stuck:
        for number in range(60):
            fields = {"id": number, "q": "字" * 20_000, "source": "zh", "target": "zh"}
            stuck.send(json.dumps(fields))
        for _ in range(5):
            assert translate(url, q="你好。", source="zh", target="en").status_code == 200
        assert metric(url, "dragoman_open_streams") == 1
        assert metric(url, "process_resident_memory_bytes") - before < 2**26
    _until(lambda: not metric(url, "dragoman_open_streams"))


def test_bad_input_is_refused_and_the_server_goes_on(url: str) -> None:
    refused = [
        httpx.post(f"{url}/translate", content=b"{", headers={"Content-Type": "application/json"}),
        httpx.post(
            f"{url}/translate",
            content=b'{"q": "\\ud800", "source": "zh", "target": "en"}',
            headers={"Content-Type": "application/json"},
        ),
        translate(url, q="hi", source="en", target="xx"),
        translate(url, q=5, source="en", target="zh"),
        translate(url, q="hi", source="en", target="zh", beam_size=0),
        translate(url, q="a" * 10_000_000, source="en", target="zh"),
    ]
    for response in refused:
        assert 400 <= response.status_code < 500, response.text
        body = response.json()
        assert set(body) - {"detail"} == {"error", "code", "request_id"}
        assert body["error"]
    assert translate(url, q="你好。", source="zh", target="en").status_code == 200


def test_a_megabyte_of_spaces_comes_back_as_it_is_or_is_refused_at_once(url: str) -> None:
    started = time.monotonic()
    response = translate(url, q=" " * 1_000_000, source="en", target="zh")
    assert response.status_code in (200, 413)
    assert time.monotonic() - started < 10


def test_metrics_count_what_was_done(url: str) -> None:
    translate(url, q="你好。", source="zh", target="en")
    metrics = httpx.get(f"{url}/metrics").text
    counts = [
        float(line.split()[-1])
        for line in metrics.splitlines()
        if line.startswith("dragoman_requests_total{") and 'outcome="ok"' in line
    ]
    assert sum(counts) >= 1
    assert "你好" not in metrics


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "no/such/directory"], "no/such/directory"),
        (["--model", "tests"], "config.json"),
        (["--port", "99999999"], "port"),
        (["--device", "cuda:99"], "device"),
    ],
)
def test_what_cannot_be_served_ends_with_one_sentence_and_code_2(
    arguments: list[str], message: str
) -> None:
    process = _start(*arguments)
    output, _ = process.communicate(timeout=START_SECONDS)
    assert process.returncode == 2
    assert message in output
    assert "Traceback" not in output


def test_a_port_in_use_is_said_before_anything_is_served() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = _start("--port", str(port))
        output, _ = process.communicate(timeout=START_SECONDS)
    assert process.returncode == 2
    assert str(port) in output
    assert "Traceback" not in output


def test_servers_share_a_port_and_one_goes_on_when_the_other_ends() -> None:
    port, own = _free_port(), (_free_port(), _free_port())
    shared = ("--port", str(port), "--share-port", "true", "--workers", "1")
    servers = {
        f"http://127.0.0.1:{one}": _start(
            *shared, "--metrics-port", str(one), output=subprocess.DEVNULL
        )
        for one in own
    }
    try:
        for metrics, server in servers.items():
            _wait_until_ready(server, metrics)
        _translate_often(f"http://127.0.0.1:{port}", 64)
        counted = [_num_translated(metrics) for metrics in servers]
        assert sum(counted) == 64
        assert all(counted)
        first, second = servers.values()
        first.terminate()
        assert first.wait(timeout=30) == 0
        _translate_often(f"http://127.0.0.1:{port}", 16)
        second.terminate()
        assert second.wait(timeout=30) == 0
    finally:
        for server in servers.values():
            server.kill()
            server.wait()


def test_a_draining_server_leaves_the_port_that_it_shares() -> None:
    port, own = _free_port(), (_free_port(), _free_port())
    shared = ("--port", str(port), "--share-port", "true", "--max-characters", "100000")
    first, second = (
        _start(*shared, "--metrics-port", str(one), output=subprocess.DEVNULL) for one in own
    )
    url, metrics = f"http://127.0.0.1:{port}", [f"http://127.0.0.1:{one}" for one in own]
    try:
        for server, its_metrics in zip((first, second), metrics, strict=True):
            _wait_until_ready(server, its_metrics)
        texts = SENTENCES.read_text(encoding="utf-8").splitlines() * 5
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(translate, url, q=texts, source="en", target="zh", beam_size=16)
            _until(lambda: any(_gauge(one, "dragoman_running") > 0 for one in metrics))
            is_first = _gauge(metrics[0], "dragoman_running") > 0
            draining, its_metrics = (first, metrics[0]) if is_first else (second, metrics[1])
            draining.send_signal(signal.SIGTERM)
            _until(lambda: httpx.get(f"{its_metrics}/health/ready").status_code != 200)
            _translate_often(url, 32)
            assert not running.done()
            assert running.result(timeout=120).status_code == 200
        assert draining.wait(timeout=30) == 0
    finally:
        for server in (first, second):
            server.kill()
            server.wait()


def _translate_often(url: str, times: int) -> None:
    """Each time over a connection of its own."""
    for _ in range(times):
        assert translate(url, q="你好。", source="zh", target="en").status_code == 200


def _num_translated(metrics: str) -> float:
    lines = httpx.get(f"{metrics}/metrics").text.splitlines()
    counts = [line for line in lines if line.startswith("dragoman_requests_total{")]
    return sum(float(line.split()[-1]) for line in counts if 'endpoint="/translate"' in line)


def test_sigterm_finishes_running_work_refuses_new_work_and_ends_with_0() -> None:
    port = _free_port()
    arguments = ("--max-characters", "100000", "--drain-seconds", "120")
    process = _start("--port", str(port), *arguments, output=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    _wait_until_ready(process, url)
    texts = SENTENCES.read_text(encoding="utf-8").splitlines() * 5
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(translate, url, q=texts, source="en", target="zh", beam_size=16)
        _until(lambda: running.done() or _gauge(url, "dragoman_running") > 0)
        process.send_signal(signal.SIGTERM)
        _until(lambda: httpx.get(f"{url}/health/ready").status_code != 200)
        assert httpx.get(f"{url}/health/live").status_code == 200
        refused = translate(url, q="你好。", source="zh", target="en")
        assert (refused.status_code, refused.json()["code"]) == (503, "draining")
        assert not running.done()
        answer = running.result(timeout=120)
    assert answer.status_code == 200
    assert len(answer.json()["translatedText"]) == len(texts)
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_the_command_line_translates_line_by_line() -> None:
    result = subprocess.run(
        [DRAGOMAN, "translate", "--from", "zh", "--to", "en"],
        input="图书馆在哪里？\n\n我喜欢咖啡。\n",
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=True,
    )
    lines = result.stdout.split("\n")
    assert len(lines) == 4
    assert "library" in lines[0].lower()
    assert lines[1] == ""
    assert "coffee" in lines[2].lower()
