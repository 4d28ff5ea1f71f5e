"""HTTP/1.1 as a rude client speaks it, to a server process."""

from __future__ import annotations

import socket

import pytest

from tests.service.fakes import until
from tests.service.http.protocols.wire import ServerProcess, answer_of, read_to_end

LIVE = b"GET /health/live HTTP/1.1\r\nHost: test\r\n"
POST = b"POST /translate HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
LAST = b"Connection: close\r\n\r\n"
MOST_CPU_SECONDS = 0.05
MILLION = 1_000_000


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(LIVE + b"a:b\r\n" * MILLION + b"\r\n", id="a million headers"),
        pytest.param(LIVE + b"a:b\r\n" * 100 + b"\r\n", id="101 headers"),
        pytest.param(LIVE + b"a: " + b"x" * 20 * MILLION, id="a value without end"),
        pytest.param(LIVE + b"x" * 20 * MILLION, id="a name without end"),
        pytest.param(b"GET /" + b"x" * 20 * MILLION, id="a URL without end"),
        pytest.param(LIVE + (b"a: " + b"x" * 1000 + b"\r\n") * 40 + b"\r\n", id="40 KB"),
    ],
)
def test_a_head_over_the_bounds_is_answered_with_431_and_blocks_nobody(
    server: ServerProcess, head: bytes
) -> None:
    server.longest_turn_seconds()
    status, body = answer_of(server.exchange(head))
    assert (status, body["code"]) == (431, "head_too_large")
    assert set(body) == {"error", "code", "request_id"}
    assert server.longest_turn_seconds() < MOST_CPU_SECONDS


@pytest.mark.parametrize(
    ("url", "names"),
    [
        (b"/v2/translate?x=1", {"message"}),
        (b"/v1/translate", {"code", "message"}),
        (b"/language/translate/v2", {"error"}),
        (b"/translate", {"error", "code", "request_id"}),
    ],
)
def test_a_refusal_of_a_head_has_the_shape_of_its_api(
    server: ServerProcess, url: bytes, names: set[str]
) -> None:
    head = b"POST " + url + b" HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 200 + b"\r\n"
    status, body = answer_of(server.exchange(head))
    assert (status, set(body)) == (431, names)


def test_a_head_within_the_bounds_is_answered(server: ServerProcess) -> None:
    head = LIVE + (b"a: " + b"x" * 300 + b"\r\n") * 98 + LAST
    assert len(head) > 29_000
    assert server.exchange(head).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"1\r\nx\r\n0\r\n" + b"a:b\r\n" * MILLION + b"\r\n", id="a million trailers"),
        pytest.param(b"1\r\nx\r\n0\r\na: " + b"x" * 20 * MILLION, id="a trailer without end"),
        pytest.param(b"1;" + b"x" * 20 * MILLION, id="a chunk extension without end"),
        pytest.param(b"1\r\nx\r\n" * MILLION, id="a million chunks"),
    ],
)
def test_a_body_that_is_mostly_framing_is_refused_and_blocks_nobody(
    server: ServerProcess, body: bytes
) -> None:
    server.longest_turn_seconds()
    status, answer = answer_of(server.exchange(CHUNKED + body))
    assert (status, answer["code"]) == (431, "head_too_large")
    assert server.longest_turn_seconds() < MOST_CPU_SECONDS


def test_a_body_in_small_chunks_with_trailers_is_read(server: ServerProcess) -> None:
    body = b'{"q": "abc", "source": "en", "target": "de"}'
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    request = CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + chunks
    received = server.exchange(request + b"0\r\nChecksum: 1\r\nSource: me\r\n\r\n")
    assert b'{"translatedText":"ABC"}' in received


def test_trailers_do_not_become_headers(server: ServerProcess) -> None:
    body = b'5\r\n{"q":\r\n1\r\n \r\n0\r\nX-Request-ID: from-a-trailer\r\n\r\n'
    received = server.exchange(CHUNKED + body + LIVE + LAST)
    assert received.count(b"HTTP/1.1 ") == 2
    assert b"from-a-trailer" not in received


def test_a_million_bytes_in_one_body_are_read(server: ServerProcess) -> None:
    text = b" " * (2**20 - 100) + b'{"q": "abc", "source": "en", "target": "de"}'
    request = POST + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(text) + text
    assert b'{"translatedText":"ABC"}' in server.exchange(request)


def test_what_is_not_http_is_answered_with_400_as_json(server: ServerProcess) -> None:
    status, body = answer_of(server.exchange(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"))
    assert (status, body["code"]) == (400, "invalid_http")


def test_what_is_wrong_behind_a_request_is_not_taken_for_its_answer(server: ServerProcess) -> None:
    body = b'{"q": "abc", "source": "en", "target": "de"}'
    request = POST + b"Content-Length: %d\r\n\r\n" % len(body) + body
    received = server.exchange(request + b"\x00\x01\x02 nonsense\r\n\r\n")
    assert not received.startswith(b"HTTP/1.1 400")


def test_pipelined_requests_are_all_answered_and_block_nobody(server: ServerProcess) -> None:
    server.longest_turn_seconds()
    received = server.exchange((LIVE + b"\r\n") * 5000 + LIVE + LAST)
    assert received.count(b"HTTP/1.1 200") == 5001
    assert server.longest_turn_seconds() < MOST_CPU_SECONDS


def test_no_request_is_worked_on_behind_one_that_closes_the_connection(
    server: ServerProcess,
) -> None:
    def num_asked() -> float:
        lines = server.get("/metrics").text.splitlines()
        counted = 'dragoman_requests_total{endpoint="/languages"'
        return sum(float(line.split()[-1]) for line in lines if line.startswith(counted))

    before = num_asked()
    ignored = b"GET /languages HTTP/1.1\r\nHost: test\r\n\r\n" * 1000
    assert server.exchange(LIVE + LAST + ignored).count(b"HTTP/1.1 ") == 1
    assert num_asked() - before < 200


@pytest.mark.parametrize(
    ("sent", "part"),
    [
        (b"GET /health/live HTTP/1.1\r\nHost: te", "head"),
        (POST + b"Content-Length: 100\r\n\r\n{", "body"),
        (CHUNKED + b"5\r\n{", "body"),
    ],
)
def test_a_request_that_does_not_arrive_is_answered_with_408(
    impatient: ServerProcess, sent: bytes, part: str
) -> None:
    with impatient.connect() as client:
        client.sendall(sent)
        status, body = answer_of(read_to_end(client))
    assert (status, body["code"]) == (408, "request_timeout")
    assert part in body["error"]


@pytest.mark.parametrize("sent", [b"", b"\r\n", LIVE + b"\r\n"])
def test_a_connection_that_asks_for_nothing_is_closed(
    impatient: ServerProcess, sent: bytes
) -> None:
    with impatient.connect() as client:
        client.sendall(sent)
        received = read_to_end(client)
    assert received.count(b"HTTP/1.1") == sent.count(b"HTTP/1.1")


def test_a_body_that_drips_is_ended_though_it_never_stops(impatient: ServerProcess) -> None:
    with impatient.connect() as client:
        client.sendall(POST + b"Content-Length: 1000000\r\n\r\n")
        client.settimeout(0.1)
        received = b""
        while not received:
            client.sendall(b" ")
            try:
                received = client.recv(65536)
            except TimeoutError:
                continue
        assert received.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("accept", [b"application/json", b"text/event-stream"])
def test_an_answer_that_nobody_reads_ends_the_connection(
    impatient: ServerProcess, accept: bytes
) -> None:
    """A response that is streamed, and ones that are written at once."""
    text = b'{"q": "%s", "source": "en", "target": "de", "beam_size": 1}' % (b"x" * 15_000)
    request = POST + b"Accept: %s\r\nContent-Length: %d\r\n\r\n" % (accept, len(text)) + text
    until(lambda: impatient.num_connections == 0)
    with impatient.connect(receive_buffer_bytes=2048) as client:
        client.setblocking(False)
        for _ in range(20):
            try:
                client.send(request)
            except BlockingIOError:
                break
        until(lambda: impatient.num_connections == 1)
        until(lambda: impatient.num_connections == 0)
    until(lambda: 'dragoman_running{model="fake"} 0.0' in impatient.get("/metrics").text)


def test_a_slow_reader_that_reads_gets_its_answer(impatient: ServerProcess) -> None:
    request = b"GET /openapi.json HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
    with impatient.connect(receive_buffer_bytes=2048) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.sendall(request)
        received = read_to_end(client)
    assert received.rstrip().endswith(b"}")
