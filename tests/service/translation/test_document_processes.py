"""Each document is read in a process of its own: within bounds, in turns, and only as long as
somebody waits for it."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import psutil
import pytest

from service.errors import DocumentTooLarge
from service.translation.document_processes import Bounds, Document, DocumentProcesses
from tests.service.fakes import eventually
from tests.service.translation.documents.samples import OPTIONS

LONG = Document("a.html", b"<p>" * 20_000_000, OPTIONS)
"""It takes minutes."""
SHORT = Document("a.txt", b"One.\nTwo.", OPTIONS, Bounds(100))


def documents() -> list[psutil.Process]:
    """The processes of the fork server."""
    return [one for server in psutil.Process().children() for one in server.children()]


async def test_a_document_is_read_and_written() -> None:
    processes = DocumentProcesses()
    (part,) = await processes.read("a", SHORT)
    assert (part.format, part.texts) == ("text", ["One.\nTwo."])
    assert await processes.write("a", SHORT, ["Eins.\nZwei."]) == b"Eins.\nZwei."


@pytest.mark.parametrize(
    ("bounds", "sentence"),
    [
        (Bounds(100, max_seconds=1), "more than 1 seconds or 1024 MiB"),
        (Bounds(100, max_bytes=2**27), "more than 20 seconds or 128 MiB"),
    ],
)
async def test_a_document_beyond_its_bounds_is_refused(bounds: Bounds, sentence: str) -> None:
    document = Document("a.html", b"<a>" * 1_500_000, OPTIONS, bounds)
    processes = DocumentProcesses()
    with pytest.raises(DocumentTooLarge, match=sentence):
        await processes.read("a", document)
    assert await processes.read("a", SHORT)


async def test_a_client_waits_for_its_own_documents_only() -> None:
    processes = DocumentProcesses()
    long = [asyncio.ensure_future(processes.read("a", LONG)) for _ in range(8)]
    for client in "bcd":
        assert await processes.read(client, SHORT)
    assert not any(one.done() for one in long)
    await eventually(lambda: len(documents()) == 1)
    for one in long:
        one.cancel()
    await asyncio.gather(*long, return_exceptions=True)
    await eventually(lambda: not documents())


async def test_documents_end_when_the_server_is_killed() -> None:
    code = f"import asyncio, {__name__} as t; asyncio.run(t.DocumentProcesses().read('a', t.LONG))"
    server = subprocess.Popen([sys.executable, "-c", code])
    process = psutil.Process(server.pid)
    await eventually(lambda: len(process.children(recursive=True)) == 3)
    started = process.children(recursive=True)
    server.kill()
    await eventually(lambda: not any(map(psutil.Process.is_running, started)))
    server.wait()
