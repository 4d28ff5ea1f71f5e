"""An answer's head and body leave together, and neither is late, lost or out of order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from service.app import create_app
from service.http.protocols.joined import JoinedWrites
from service.settings import Settings
from tests.service.fakes import FakeRunner, fake_model
from tests.service.http.protocols.wire import read_to_end
from tests.service.served import served

BODY = json.dumps({"q": "Hi.", "source": "en", "target": "de"}).encode()


class RecordingTransport(asyncio.Transport):
    """Keeps what is written, one entry a system call."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.is_closed
        self.written.append(bytes(data))

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed


def written_by(
    use: Callable[[JoinedWrites, RecordingTransport], None],
) -> tuple[list[bytes], list[bytes]]:
    """What has been written at once, and at the end of the event loop's turn."""

    async def scenario() -> tuple[list[bytes], list[bytes]]:
        transport = RecordingTransport()
        use(JoinedWrites(transport, asyncio.get_running_loop()), transport)
        at_once = list(transport.written)
        await asyncio.sleep(0)
        return at_once, transport.written

    return asyncio.run(scenario())


def test_head_and_body_are_written_together_and_all_else_at_once() -> None:
    def answer(joined: JoinedWrites, _: RecordingTransport) -> None:
        for part in (b"head ", b"body", b"more", b"last"):
            joined.write(part)

    together = [b"head body", b"more", b"last"]
    assert written_by(answer) == (together, together)


def test_a_head_without_a_body_leaves_at_the_end_of_the_turn() -> None:
    assert written_by(lambda joined, _: joined.write(b"head")) == ([], [b"head"])


def test_closing_sends_the_head_first() -> None:
    def answer(joined: JoinedWrites, _: RecordingTransport) -> None:
        joined.write(b"head")
        joined.close()

    assert written_by(answer) == ([b"head"], [b"head"])


def test_nothing_is_written_to_a_connection_that_was_ended_meanwhile() -> None:
    def answer(joined: JoinedWrites, transport: RecordingTransport) -> None:
        joined.write(b"head")
        transport.close()

    assert written_by(answer) == ([], [])


def test_answers_with_and_without_bodies_come_in_order() -> None:
    head = b"HEAD /languages HTTP/1.1\r\nHost: x\r\n\r\n"
    fields = b"Host: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % len(BODY)
    post = b"POST /translate HTTP/1.1\r\n" + fields + b"\r\n" + BODY
    patient = b"POST /translate HTTP/1.1\r\n" + fields + b"Expect: 100-continue\r\n\r\n" + BODY
    last = b"GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    app = create_app(Settings(), [fake_model(FakeRunner())])
    with served(app) as server, server.connect() as client:
        client.sendall(head + post + head + head + patient + post + last)
        received = read_to_end(client)
    statuses = [int(part.split()[0]) for part in received.split(b"HTTP/1.1 ")[1:]]
    assert [status for status in statuses if status != 100] == [200, 200, 200, 200, 200, 200, 404]
    assert received.count(b'{"translatedText":"HI."}') == 3


def test_a_client_gets_the_whole_answer_with_its_first_read() -> None:
    app = create_app(Settings(), [fake_model(FakeRunner())])
    with served(app) as server, server.connect() as client:
        client.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
        head, _, body = client.recv(65536).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert body


def test_without_memory_for_a_copy_head_and_body_are_written_one_after_the_other() -> None:
    class Large(bytes):
        def __radd__(self, _: bytes) -> bytes:
            raise MemoryError

    def answer(joined: JoinedWrites, _: RecordingTransport) -> None:
        joined.write(b"head ")
        joined.write(Large(b"body"))

    assert written_by(answer)[0] == [b"head ", b"body"]
