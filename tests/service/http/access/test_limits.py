"""Limits of keys and addresses, quotas, what is counted, and the minute's windows."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits.aio.storage import RedisStorage
from limits.errors import StorageError
from redis.exceptions import AuthenticationError, ResponseError
from websockets.sync.client import connect

from model.decoding.options import DecodingOptions
from service.commons.windows import BoundedMemory, MinuteWindows
from service.engine.sentence_task import expected_work, most_work
from service.http.translate_request import TranslateRequest
from service.stores.keys import KeyStore, Used, month_of
from tests.service.fakes import Clock, FakeRunner, sentence, until
from tests.service.http.access.conftest import (
    MakeKey,
    Serve,
    bearer,
    last_of,
    stream_url,
    translate,
    used,
)
from tests.service.http.clients import EVENTS, FIELDS
from tests.service.http.wire_client import head
from tests.service.served import Served

KIND = "Content-Type: application/json"
MAX_TARGET = 256


def test_requests_over_the_limit_are_told_which_and_when_to_come_back(serve: Serve) -> None:
    server = serve(requests_per_minute=3)
    assert [translate(server).status_code for _ in range(3)] == [200] * 3
    answer = translate(server)
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_requests")
    words = "Slowdown: 3 requests per minute are allowed for this address"
    assert answer.json()["error"] == words
    assert 1 <= int(answer.headers["Retry-After"]) <= 120
    assert server.count('dragoman_rejected_total{reason="too_many_requests"}') == 1
    assert httpx.get(f"{server.url}/health").status_code == 200


def test_who_is_refused_and_asks_again_at_once_is_slowed_down(serve: Serve) -> None:
    server = serve(requests_per_minute=2, api_keys="optional")
    answers = [translate(server, key) for key in ("", "x", "")]
    assert [answer.status_code for answer in answers] == [200, 403, 429]
    assert min(answer.elapsed.total_seconds() for answer in answers[1:]) > 0.09


def test_characters_are_counted_by_the_work_that_is_asked_for(serve: Serve) -> None:
    """The fake model's own beam has 4 hypotheses, or 1; wider ones cost as many times."""
    server = serve(characters_per_minute=300)
    usual = server.app.state.server.dispatcher.default_beam_size
    assert translate(server, q="x" * 40).status_code == 200
    assert translate(server, q="x" * 40, beam_size=4 * usual).status_code == 200
    answer = translate(server, q="x" * 40, alternatives=4 * usual - 1)
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_characters")
    assert "300 characters per minute" in answer.json()["error"]
    assert translate(server, q="x" * 40).status_code == 200
    answer = translate(server, q="x" * 80, beam_size=4 * usual)
    assert (answer.status_code, answer.json()["code"]) == (413, "text_too_long")
    assert "counts as 320 characters" in answer.json()["error"]


def test_a_glossary_counts_as_the_work_of_its_terms(serve: Serve) -> None:
    """Its terms are read, and its translations are written instead of them."""
    server = serve(characters_per_minute=1000)
    terms = [{"source": f"w{number}", "target": "x" * 100} for number in range(10)]
    assert translate(server, q="w1 w2", glossary=terms[:1]).status_code == 200
    answer = translate(server, q="w1 w2", glossary=terms)
    assert (answer.status_code, answer.json()["code"]) == (413, "text_too_long")
    assert "counts as 2750 characters" in answer.json()["error"]


def test_a_file_counts_as_the_work_of_reading_it(serve: Serve) -> None:
    """Markdown of numbers has next to nothing to translate."""
    server = serve(characters_per_minute=1000)
    form = {"source": "en", "target": "de"}
    for num_lines, status in ((1, 200), (20_000, 413)):
        file = {"file": ("a.md", b"- 1\n" * num_lines + b"a")}
        answer = httpx.post(f"{server.url}/translate_file", data=form, files=file, timeout=60)
        assert answer.status_code == status
    assert answer.json()["code"] == "text_too_long"


def test_a_key_has_limits_of_its_own(serve: Serve, make_key: MakeKey) -> None:
    free, narrow = make_key(requests_per_minute=0), make_key(requests_per_minute=1)
    plain = make_key()
    server = serve(api_keys="optional", requests_per_minute=2)
    assert [translate(server, free).status_code for _ in range(5)] == [200] * 5
    assert [translate(server, narrow).status_code for _ in range(2)] == [200, 429]
    assert [translate(server, plain).status_code for _ in range(3)] == [200, 200, 429]
    assert [translate(server).status_code for _ in range(3)] == [200, 200, 429]
    assert "for this key" in translate(server, narrow).json()["error"]


def test_requests_at_the_same_time_are_bounded_and_their_places_come_back(
    serve: Serve, runner: FakeRunner
) -> None:
    server = serve(concurrent_requests=2)
    runner.gate.clear()
    try:
        with ThreadPoolExecutor() as threads:
            running = [threads.submit(translate, server, q=f"Hi {n}.") for n in range(2)]
            until(lambda: server.app.state.server.dispatcher.num_in_progress == 2)
            answer = translate(server)
            assert (answer.status_code, answer.json()["code"]) == (429, "too_many_at_once")
            assert answer.headers["Retry-After"] == "1"
            runner.gate.set()
            assert [one.result().status_code for one in running] == [200, 200]
    finally:
        runner.gate.set()
    assert translate(server).status_code == 200


def test_a_client_that_does_not_send_its_body_holds_a_place_and_is_counted(serve: Serve) -> None:
    server = serve(concurrent_requests=1, requests_per_minute=2)
    places = server.app.state.server.access.commons.places
    with server.connect() as client:
        client.sendall(head("/translate", "Content-Length: 9", KIND) + b"{")
        until(lambda: bool(places._num_taken))
        assert translate(server).json()["code"] == "too_many_at_once"
    until(lambda: not places._num_taken)
    assert [translate(server).status_code for _ in range(2)] == [200, 429]


def test_what_the_quota_leaves_goes_to_one_of_two_that_race_for_it(
    serve: Serve, make_key: MakeKey, runner: FakeRunner
) -> None:
    key = make_key(characters_per_month=10)
    server = serve(api_keys="required")
    runner.gate.clear()
    both = threading.Barrier(2)

    def race(text: str) -> int:
        both.wait()
        return translate(server, key, q=text).status_code

    try:
        with ThreadPoolExecutor() as threads:
            racing = [threads.submit(race, text) for text in ("Hello.", "Hallo.")]
            until(lambda: any(one.done() for one in racing))
            runner.gate.set()
            assert sorted(one.result() for one in racing) == [200, 429]
    finally:
        runner.gate.set()
    assert used(server, key) == 6
    assert translate(server, key, q="four").status_code == 200
    answer = translate(server, key)
    words = "Quota exceeded: 10 characters a month are allowed for this key"
    assert (answer.status_code, answer.json()["error"]) == (429, words)
    assert int(answer.headers["Retry-After"]) > 0
    usage = httpx.get(f"{server.url}/v2/usage", headers=bearer(key)).json()
    assert usage == {"character_count": 10, "character_limit": 10}


class Steps:
    """A gate of a fake runner that lets as many steps pass as it is told."""

    def __init__(self) -> None:
        self._allowed = threading.Semaphore(0)

    def allow(self, count: int) -> None:
        self._allowed.release(count)

    def wait(self, timeout: float) -> None:
        self._allowed.acquire(timeout=timeout)


ENDS: dict[str, Callable[[Served, FakeRunner], object]] = {
    "answered": lambda server, runner: None,
    "failed": lambda server, runner: setattr(runner, "fail_next_step", True),
    "drained": lambda server, runner: server.app.state.server.models.pool.engines["fake"].stop(),
}


@pytest.fixture
def steps(runner: FakeRunner) -> Iterator[Steps]:
    steps = Steps()
    runner.gate = steps  # type: ignore[assignment]
    yield steps
    steps.allow(10**6)


@contextlib.contextmanager
def events(server: Served, key: str, **fields: Any) -> Iterator[Iterator[str]]:
    """The kinds of the events of a stream."""
    headers = {**bearer(key), **EVENTS}
    url, sent = f"{server.url}/translate", {**FIELDS, **fields}
    with httpx.stream("POST", url, json=sent, headers=headers, timeout=60) as stream:
        lines = stream.iter_lines()
        yield (line[7:] for line in lines if line.startswith("event:"))


@contextlib.contextmanager
def messages(server: Served, key: str, **fields: Any) -> Iterator[Iterator[str]]:
    """The types of the messages of a request on a websocket."""
    with connect(f"{stream_url(server)}?api_key={key}") as socket:
        socket.send(json.dumps({"id": 1, **FIELDS, **fields}))
        yield (str(json.loads(message)["type"]) for message in socket)


@pytest.mark.parametrize("way", [events, messages])
@pytest.mark.parametrize("end", [*ENDS, "deadline", "left"])
def test_a_stream_that_delivered_is_charged_once_however_it_ends(
    serve: Serve, make_key: MakeKey, runner: FakeRunner, steps: Steps, way: Any, end: str
) -> None:
    key = make_key()
    server = serve(api_keys="required")
    deadline = {"deadline_ms": 500} if end == "deadline" else {}
    with way(server, key, q="Hello there.", **deadline) as kinds:
        steps.allow(4)
        assert next(kinds) == "token"
        if end in ENDS:
            ending = threading.Thread(target=ENDS[end], args=(server, runner))
            ending.start()
            if end == "failed":  # before the steps that would end it otherwise
                ending.join()
            steps.allow(10**6)
        if end != "left":
            last = next(kind for kind in kinds if kind != "token")
            assert last == ("final" if end == "answered" else "error")
    until(lambda: used(server, key) != 0)
    assert used(server, key) == len("Hello there.")
    until(lambda: not server.app.state.server.access.commons.usage._reserved)


def test_who_leaves_before_an_answer_has_used_its_characters(
    serve: Serve, make_key: MakeKey, steps: Steps
) -> None:
    key = make_key()
    server = serve(api_keys="required")
    in_progress = server.app.state.server.dispatcher
    body = json.dumps(FIELDS).encode()
    with server.connect() as client:
        sent = f"Content-Length: {len(body)}", f"Authorization: Bearer {key}"
        client.sendall(head("/translate", KIND, *sent) + body)
        until(lambda: in_progress.num_in_progress == 1)
    until(lambda: in_progress.num_in_progress == 0)
    until(lambda: used(server, key) == 3)
    steps.allow(10**6)


def test_what_is_refused_or_fails_before_it_delivers_uses_nothing(
    serve: Serve, make_key: MakeKey, runner: FakeRunner
) -> None:
    key = make_key()
    server = serve(api_keys="required")
    assert translate(server, key, target="zz").status_code == 400
    for kind in (events, messages):
        runner.fail_next_step = True
        with kind(server, key) as kinds:
            assert list(itertools.islice(kinds, 1)) == ["error"]
    runner.fail_next_step = True
    assert translate(server, key).status_code == 500
    assert translate(server, key, beam_size=99).status_code == 422
    assert translate(server, key, q="x" * 30_000).status_code == 413
    runner.gate.clear()
    assert translate(server, key, deadline_ms=20).status_code == 504
    runner.gate.set()
    assert used(server, key) == 0
    assert translate(server, key).status_code == 200
    assert used(server, key) == 3


def test_what_the_server_has_no_room_for_leaves_the_minute_as_it_was(
    serve: Serve, make_key: MakeKey, runner: FakeRunner
) -> None:
    """The engine refuses it when its sentences are counted, which is after its characters are."""
    free, narrow = make_key(), make_key(characters_per_minute=60)
    server = serve(api_keys="required", max_waiting_sentences=4)
    admission = server.app.state.server.models.pool.engines["fake"].admission
    wanted = [20 * letter for letter in "xyz"]
    runner.gate.clear()
    try:
        with ThreadPoolExecutor() as threads:
            count = itertools.count()
            while admission.num_sentences < 3:
                threads.submit(translate, server, free, q=f"text {next(count)}")
                time.sleep(0.02)
            answers = [translate(server, narrow, q=wanted) for _ in range(3)]
            runner.gate.set()
    finally:
        runner.gate.set()
    assert [answer.json()["code"] for answer in answers] == ["overloaded"] * 3
    assert [translate(server, narrow, q=wanted).status_code for _ in range(2)] == [200, 429]


def test_usage_is_stored_and_is_there_after_a_restart(
    serve: Serve, make_key: MakeKey, store: KeyStore
) -> None:
    key = make_key(characters_per_month=5)
    server = serve(api_keys="required")
    assert translate(server, key).status_code == 200
    (key_id,) = store.read_keys()

    def stored() -> Used | None:
        month = month_of(time.time())
        return store.read_usage(month).get((key_id, month))

    until(lambda: stored() == Used(1, 3))
    other = serve(api_keys="required")
    assert used(other, key) == 3
    assert translate(other, key).json()["code"] == "quota_exceeded"


def test_forwarded_addresses_count_only_from_trusted_proxies(serve: Serve) -> None:
    direct = serve(requests_per_minute=1)

    def post(server: Served, forwarded: str) -> int:
        headers = {"X-Forwarded-For": forwarded}
        return httpx.post(f"{server.url}/translate", json=FIELDS, headers=headers).status_code

    assert [post(direct, f"198.51.100.{n}") for n in range(3)] == [200, 429, 429]
    behind = serve(("127.0.0.1",), requests_per_minute=1)
    assert [post(behind, f"198.51.100.{n}") for n in range(3)] == [200] * 3
    spoofed = [post(behind, f"203.0.113.{n}, 198.51.100.9") for n in range(3)]
    assert spoofed == [200, 429, 429]  # only the last entry is the proxy's own


def test_a_forwarded_prefix_counts_only_from_trusted_proxies(serve: Serve) -> None:
    for trusted, is_believed in (((), False), (("10.0.0.0/8",), False), (("127.0.0.1",), True)):
        server = serve(trusted)
        document = httpx.get(
            f"{server.url}/openapi.json", headers={"X-Forwarded-Prefix": "/mt"}
        ).json()
        assert (document.get("servers") == [{"url": "/mt"}]) == is_believed


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (json.dumps({"id": 1, **FIELDS}), "final"),
        ("{", "invalid_json"),
        (b"{}", "invalid_message"),
        ('{"id": []}', "invalid_message"),
        ('{"id": 1}', "missing_field"),
        ('{"id": 1, "cancel": true}', "unknown_id"),
    ],
)
def test_every_message_of_a_websocket_is_counted_like_a_request(
    serve: Serve, message: str | bytes, code: str
) -> None:
    server = serve(requests_per_minute=4)
    with connect(stream_url(server)) as socket:  # the first
        codes = []
        for _ in range(4):
            socket.send(message)
            answer = last_of(socket)
            codes.append(answer.get("code", answer["type"]))
    assert codes == [code] * 3 + ["too_many_requests"]
    assert answer["retry_after"] >= 1


def test_messages_beside_a_running_one_are_counted_too(serve: Serve, runner: FakeRunner) -> None:
    server = serve(requests_per_minute=5, max_streams=1)
    runner.gate.clear()
    try:
        with connect(stream_url(server)) as socket:  # the first
            for number in (1, 1, 2, 3, 4):
                socket.send(json.dumps({"id": number, **FIELDS}))
            codes = [json.loads(socket.recv())["code"] for _ in range(4)]
            assert codes == ["duplicate_id", *["too_many_streams"] * 2, "too_many_requests"]
            socket.send(json.dumps({"id": 1, "cancel": True}))  # free
            assert json.loads(socket.recv())["code"] == "cancelled"
    finally:
        runner.gate.set()


def test_messages_at_the_same_time_are_bounded_and_their_places_come_back(
    serve: Serve, runner: FakeRunner
) -> None:
    server = serve(concurrent_requests=1)
    runner.gate.clear()
    try:
        with connect(stream_url(server)) as socket:
            socket.send(json.dumps({"id": 1, **FIELDS}))
            until(lambda: server.app.state.server.dispatcher.num_in_progress == 1)
            socket.send(json.dumps({"id": 2, **FIELDS}))
            assert json.loads(socket.recv())["code"] == "too_many_at_once"
            socket.send(json.dumps({"id": 1, "cancel": True}))
            assert json.loads(socket.recv())["code"] == "cancelled"
            until(lambda: server.app.state.server.dispatcher.num_in_progress == 0)
            runner.gate.set()
            socket.send(json.dumps({"id": 3, **FIELDS}))
            assert last_of(socket)["type"] == "final"
    finally:
        runner.gate.set()


@pytest.fixture
def clock(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(time, "time", clock)
    return clock


@pytest.mark.parametrize("amount", [1, 3, 10])
@pytest.mark.parametrize("gap_seconds", [0.0, 7.5, 40.0])
async def test_after_the_time_that_is_told_the_amount_is_taken_and_not_a_second_before(
    clock: Clock, amount: int, gap_seconds: float
) -> None:
    windows = MinuteWindows()
    for _ in range(10):
        while await windows.count("a", 10) is None:
            clock.seconds += gap_seconds / 10
        waits = await windows.count("a", 10, amount)
        if waits is None:
            continue
        assert 1 <= waits <= 120
        clock.seconds += waits - 1.01
        assert waits == 1 or await windows.count("a", 10, amount, is_test=True) is not None
        clock.seconds += 1.01
        assert await windows.count("a", 10, amount) is None


async def test_a_test_counts_nothing(clock: Clock) -> None:
    windows = MinuteWindows()
    assert [await windows.count("a", 1, is_test=True) for _ in range(3)] == [None] * 3
    assert await windows.count("a", 1) is None
    assert await windows.count("a", 1, is_test=True) is not None
    assert await windows.count("b", 1, is_test=True) is None


@pytest.mark.parametrize("jump_seconds", [-3600.0, -86_400.0 * 40, 86_400.0 * 40])
async def test_a_clock_that_is_moved_locks_nobody_out(clock: Clock, jump_seconds: float) -> None:
    windows = MinuteWindows()
    while await windows.count("a", 5) is None:
        pass
    clock.seconds += jump_seconds
    assert [await windows.count("a", 5) for _ in range(5)] == [None] * 5
    waits = await windows.count("a", 5)
    assert waits is not None
    assert waits <= 120


async def test_a_million_addresses_take_bounded_memory_and_bounded_time(clock: Clock) -> None:
    memory = BoundedMemory(max_counters=1000)
    for number in range(20_000):
        assert await memory.acquire_sliding_window_entry(f"{number}", 1, 60)
        assert len(memory.storage) <= 1001
        assert memory.timer is None  # the library's search through all counters
    clock.seconds += 121
    await memory.incr("one", 60)
    assert (len(memory.storage), len(memory.expirations)) == (1, 1)
    assert not memory.locks


@pytest.mark.parametrize("url", ["localhost:6379", "http://localhost", "memory://", ""])
def test_what_is_no_url_of_redis_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must begin with redis://"):
        MinuteWindows(url)


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (StorageError(AuthenticationError("invalid password")), "fails (invalid password)"),
        (StorageError(ConnectionError("Connection refused")), "fails (Connection refused)"),
        (StorageError(ResponseError("no EVALSHA, with args address/192.0.2.7")), "(no EVALSHA)"),
        (TimeoutError(), "does not answer within 0.25 s"),
    ],
)
async def test_the_log_says_why_redis_does_not_count(
    failure: Exception, told: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object) -> bool:
        raise failure

    monkeypatch.setattr(RedisStorage, "acquire_sliding_window_entry", fail)
    windows = MinuteWindows("redis://127.0.0.1")
    assert await windows.count("address/192.0.2.7", 1) is None
    assert await windows.count("address/192.0.2.7", 1) is not None
    (line,) = caplog.messages
    assert line.startswith("limits are counted in memory: Redis ")
    assert told in line
    assert "192.0.2.7" not in line


async def test_without_a_redis_each_process_counts_for_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    windows = MinuteWindows("redis://127.0.0.1:9")
    assert await windows.count("a", 1) is None
    assert await windows.count("a", 1) is not None
    await windows.close()
    (line,) = caplog.messages
    assert line.startswith("limits are counted in memory: Redis ")


@given(
    st.integers(1, 120),
    st.sampled_from((1, 4, 16)),
    st.sampled_from(("temperature", "repetition_penalty", "length_penalty")),
    st.none() | st.integers(1, 1000),
)
def test_what_counts_for_the_minute_is_within_ten_times_what_the_engine_may_do(
    size: int, beam_size: int, option: str, max_length: int | None
) -> None:
    """For sentences of any length whose translations do not end by themselves."""
    fields: dict[str, Any] = {"beam_size": 1 if option == "temperature" else beam_size}
    if max_length is not None:
        fields["max_length"] = max_length
    text, languages = "x" * size, {"source": "en", "target": "de"}
    request = TranslateRequest.model_validate({"q": text, **languages, **fields, option: 2.0})
    work = most_work(sentence(text, **fields), MAX_TARGET) / expected_work(
        sentence(text, beam_size=DecodingOptions().beam_size)
    )
    weighted = request.weighted(size, DecodingOptions().beam_size, MAX_TARGET)
    assert work <= 10 * weighted / size
