"""A client that asks and does not read: its work ends as any other, and so does its connection."""

from __future__ import annotations

import contextlib
import io
import itertools
import random
import socket
import zipfile
from collections.abc import Callable, Iterator
from http.client import HTTPResponse

import httpx
import psutil
import pytest

from service.app import create_app
from service.http import wire
from service.settings import Settings
from tests.service.documents.samples import DOCX, package
from tests.service.fakes import FakeRunner, fake_model, until
from tests.service.http.wire_client import TEXT, frame, open_websocket
from tests.service.served import Served, served

WORDS = ("".join(letters) for letters in itertools.product("abcdefghi", repeat=3))
TEXTS = '"' + " ".join(f"the words of {word}." for word in WORDS) + '"'
BODY = f'{{"id": 1, "q": {TEXTS}, "source": "en", "target": "de"}}'.encode()
CHAT = f'{{"model": "en-de", "stream": true, "messages": [{{"role": "user", "content": {TEXTS}}}]}}'
STREAMS = {
    "events": (b"/translate", b"Accept: text/event-stream\r\n", BODY),
    "chat": (b"/v1/chat/completions", b"", CHAT.encode()),
    "lines": (b"/api/chat", b"", CHAT.encode()),
}
FILE = package({"word/document.xml": DOCX, "picture.bin": random.Random(1).randbytes(8_000_000)})
NUM_READERS, LANGUAGES = 20, {"source": "en", "target": "de"}
Files = dict[str, tuple[str, bytes]]
ENDS = {
    "events": b"event: final",
    "chat": b"data: [DONE]",
    "lines": b'"done":true',
    "websocket": b'"type":"final"',
}


@pytest.fixture
def server() -> Iterator[Served]:
    """The system takes little of what is written to its connections."""
    with served(create_app(Settings(), [fake_model(FakeRunner())])) as running:
        (listener,) = running.server.servers[0].sockets
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        yield running


@contextlib.contextmanager
def asking(server: Served, surface: str) -> Iterator[socket.socket]:
    """A connection on which a stream was asked for, of more than the system takes."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(60)
    with client:
        client.connect(("127.0.0.1", server.port))
        if surface == "websocket":
            open_websocket(client)
            client.sendall(frame(TEXT, BODY))
        else:
            path, headers, body = STREAMS[surface]
            head = b"POST %b HTTP/1.1\r\nHost: localhost\r\n%b" % (path, headers)
            head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            client.sendall(head + body)
        until(lambda: server.count('dragoman_target_tokens_total{model="fake"}') > 0)
        yield client


def num_leases(server: Served) -> int:
    pool = server.app.state.server.models.pool
    return sum(resident.num_leases for resident in pool._residents)


@pytest.mark.parametrize("surface", ENDS)
def test_an_unread_stream_gives_its_model_back_and_is_whole_when_it_is_read(
    server: Served, surface: str
) -> None:
    with asking(server, surface) as client:
        until(lambda: not num_leases(server))
        assert server.app.state.server.dispatcher.num_in_progress == 1
        read = b""
        while ENDS[surface] not in read:
            new = client.recv(2**16)
            assert new
            read = read[-100:] + new


@pytest.mark.parametrize("surface", ENDS)
def test_the_connection_of_an_unread_stream_ends(
    server: Served, surface: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for protocol in (wire.HttpProtocol, wire.WebSocketProtocol):
        monkeypatch.setattr(protocol, "most_unread_seconds", 0.01)
    with asking(server, surface) as client:
        until(lambda: not server.app.state.server.dispatcher.num_in_progress)
        read = b""
        with contextlib.suppress(ConnectionResetError):
            while new := client.recv(2**16):
                read += new
        assert ENDS[surface] not in read


def of_documents(server: Served, files: Files) -> bytes:
    sent = httpx.post(f"{server.url}/documents", data=LANGUAGES, files=files, timeout=60).json()
    state = f"/documents/{sent['id']}"
    until(lambda: httpx.get(server.url + state).json()["status"] == "done")
    return f"GET {state}/result HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def of_translated_files(server: Served, files: Files) -> bytes:
    sent = httpx.post(
        f"{server.url}/translate_file", data=LANGUAGES, files=files, timeout=60
    ).json()
    path = httpx.URL(sent["translatedFileUrl"]).path
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


@pytest.mark.parametrize("send", [of_documents, of_translated_files])
def test_unread_files_take_no_memory(
    server: Served, send: Callable[[Served, Files], bytes]
) -> None:
    asked = send(server, {"file": ("a.docx", FILE)})
    process = psutil.Process()
    before = process.memory_info().rss
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(server.connect()) for _ in range(NUM_READERS)]
        for reader in readers:
            reader.sendall(asked)
        assert {reader.recv(12, socket.MSG_PEEK) for reader in readers} == {b"HTTP/1.1 200"}
        assert process.memory_info().rss - before < NUM_READERS * len(FILE) / 4
        answer = HTTPResponse(readers[0])
        answer.begin()
        assert zipfile.ZipFile(io.BytesIO(answer.read())).testzip() is None
