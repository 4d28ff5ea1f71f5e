"""Files through the engine: in parts, beside others, cancelled, refused and counted; each document
is read in a process of its own: within bounds, in turns, and as long as somebody waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace

import psutil
import pytest

from service.documents.file_translator import FileJob, FileTranslator
from service.documents.processes import DocumentBounds, DocumentProcesses, SentDocument
from service.engine.ticket import Ticket
from service.errors import (
    DeadlineExceeded,
    DocumentTooLarge,
    Draining,
    TranslationFailed,
    UnsupportedLanguage,
)
from service.http.error_answers import unexpected_error
from service.models.local_models import LocalModels
from service.observability.metrics import Metrics
from service.settings import Settings
from service.translation.job import TranslationJob
from tests.service.documents.samples import OPTIONS, SAMPLES, member
from tests.service.fakes import FakeRunner, eventually, fake_model

JOB = TranslationJob([], "en", "de")


class Wired:
    """A translator of files on the fake model."""

    def __init__(self, max_characters: int, max_waiting: int) -> None:
        self.runner = FakeRunner()
        settings = Settings(max_waiting_sentences=max_waiting)
        models = LocalModels(settings, [fake_model(self.runner)], Metrics())
        self.dispatcher = models.dispatcher
        (self.engine,) = models.pool.engines.values()
        self.files = FileTranslator(self.dispatcher, DocumentBounds(max_characters))


@contextlib.asynccontextmanager
async def running(max_characters: int = 100_000, max_waiting: int = 500) -> AsyncIterator[Wired]:
    wired = Wired(max_characters, max_waiting)
    wired.engine.start()
    try:
        yield wired
    finally:
        wired.runner.gate.set()
        wired.engine.stop()


def file(content: bytes, name: str = "a.txt", job: TranslationJob = JOB) -> FileJob:
    return FileJob(name, content, job)


LINES = "".join(f"line {number} is here\n" for number in range(300)).encode()


async def test_a_file_comes_back_with_its_progress() -> None:
    seen: list[tuple[int, int]] = []
    async with running() as wired:
        done = await wired.files.translate(file(LINES), lambda n, of: seen.append((n, of)))
    assert done.content == LINES.upper()
    assert done.num_characters == len(LINES)
    assert seen[-1] == (len(LINES), len(LINES))
    assert len(seen) > 2
    assert seen == sorted(seen)


async def test_the_marks_of_a_format_pass_the_engine_and_the_file_names_its_language() -> None:
    async with running() as wired:
        word, markdown, catalogue = [
            (await wired.files.translate(file(SAMPLES[name], name, job))).content
            for name, job in (("a.docx", JOB), ("a.md", JOB), ("a.ts", replace(JOB, target="deu")))
        ]
    text = member(word, "word/document.xml")
    assert b"<w:t>THE TITLE</w:t>" in text
    assert b"<w:rPr><w:b/></w:rPr><w:t>BOLD</w:t>" in text
    assert b"SOME **BOLD TEXT** AND A [LINK TO IT](https://a.b/c" in markdown
    assert b"SEE `code here`." in markdown
    assert b'language="de"' in catalogue


async def test_the_language_is_detected_once_for_a_file() -> None:
    text = b"Das ist ein deutscher Satz, der lang genug ist.\n\nok\n"
    job = TranslationJob([], "auto", "de")
    async with running() as wired:
        done = await wired.files.translate(file(text, job=job))
    assert done.content == text  # German to German


async def test_a_short_request_does_not_wait_for_a_file() -> None:
    async with running() as wired:
        long = asyncio.ensure_future(wired.files.translate(file(LINES * 20)))
        await eventually(lambda: wired.runner.num_steps > 5)
        (short,) = await wired.dispatcher.translate(replace(JOB, texts=["hi"]))
        assert short.text == "HI"
        assert not long.done()
        assert wired.engine.num_waiting < 600
        long.cancel()
        await eventually(lambda: not wired.runner.running)
        await eventually(lambda: wired.dispatcher.num_in_progress == 0)


async def test_a_file_that_is_accepted_is_not_refused_later() -> None:
    async with running(max_waiting=40) as wired:
        long = asyncio.ensure_future(wired.files.translate(file(LINES)))
        await eventually(lambda: wired.runner.num_steps > 3)
        wired.engine.refuse_new_work()
        with pytest.raises(Draining):
            await wired.files.translate(file(b"another"))
        assert (await long).content == LINES.upper()


async def test_a_bad_sentence_or_language_fails_the_file_and_frees_the_engine() -> None:
    async with running() as wired:
        wired.runner.poison = ord("q")
        with pytest.raises(TranslationFailed):
            await wired.files.translate(file(LINES + b"a q b\n" + LINES))
        for source in ("en", "auto"):  # also if nothing is to be translated
            with pytest.raises(UnsupportedLanguage):
                await wired.files.translate(file(b"", job=replace(JOB, source=source, target="zz")))
        await eventually(lambda: not wired.runner.running)
        await eventually(lambda: wired.dispatcher.num_in_progress == 0)


async def test_the_deadline_counts_for_the_whole_file() -> None:
    async with running() as wired:
        wired.runner.gate.clear()
        job = replace(JOB, ticket=Ticket.issued("", 0.2))
        with pytest.raises(DeadlineExceeded):
            await wired.files.translate(file(LINES, job=job))


LONG = SentDocument("a.html", b"<p>" * 20_000_000, OPTIONS)
"""It takes minutes."""
SHORT = SentDocument("a.txt", b"One.\nTwo.", OPTIONS, DocumentBounds(100))


def documents() -> list[psutil.Process]:
    """The processes of the fork server."""
    return [one for server in psutil.Process().children() for one in server.children()]


@pytest.mark.parametrize(
    ("bounds", "sentence"),
    [
        (DocumentBounds(100, max_seconds=1), "more than 1 seconds or 1024 MiB"),
        (DocumentBounds(100, max_bytes=2**27), "more than 20 seconds or 128 MiB"),
    ],
)
async def test_a_document_beyond_its_bounds_is_refused(
    bounds: DocumentBounds, sentence: str
) -> None:
    document = SentDocument("a.html", b"<a>" * 1_500_000, OPTIONS, bounds)
    processes = DocumentProcesses()
    with pytest.raises(DocumentTooLarge, match=sentence):
        await processes.read("a", document)
    assert (await processes.read("a", SHORT)).parts


@pytest.mark.parametrize("lacking", ["descriptors", "threads"])
async def test_a_document_is_not_called_too_large_where_its_process_finds_no_room(
    lacking: str,
) -> None:
    processes = DocumentProcesses()
    assert (await processes.read("a", SHORT)).parts
    started = psutil.Process().children()
    (server,) = [one for one in started if "forkserver" in " ".join(one.cmdline())]
    kind, most = psutil.RLIMIT_NOFILE, 3
    if lacking == "threads":  # less than the stack of one
        kind, most = psutil.RLIMIT_AS, server.memory_info().vms + 2**21
    before = server.rlimit(kind)
    server.rlimit(kind, (most, before[1]))
    with pytest.raises((BlockingIOError, RuntimeError)) as caught:
        await processes.read("a", SHORT)
    assert unexpected_error(caught.value).code == "exhausted"
    if lacking == "descriptors":  # it ends, and another takes its place
        await eventually(lambda: server.status() == psutil.STATUS_ZOMBIE)
    else:
        server.rlimit(kind, before)
    assert (await processes.read("a", SHORT)).parts


async def test_a_client_waits_for_its_own_documents_only() -> None:
    processes = DocumentProcesses()
    long = [asyncio.ensure_future(processes.read("a", LONG)) for _ in range(8)]
    for client in "bcd":
        assert (await processes.read(client, SHORT)).parts
    assert not any(one.done() for one in long)
    await eventually(lambda: len(documents()) == 1)
    for one in long:
        one.cancel()
    await asyncio.gather(*long, return_exceptions=True)
    await eventually(lambda: not documents())


def sockets() -> set[str]:
    """Those of this process that are open."""
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    return {link for link in found if link.startswith("socket:")}


async def test_a_document_that_is_cancelled_at_any_moment_leaves_no_connection() -> None:
    processes = DocumentProcesses()
    assert (await processes.read("a", SHORT)).parts
    before = sockets()
    for num_turns in range(8):
        reading = asyncio.ensure_future(processes.read("a", SHORT))
        for _ in range(num_turns):
            await asyncio.sleep(0)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    await eventually(lambda: sockets() <= before)


async def test_documents_end_when_the_server_is_killed() -> None:
    code = f"import asyncio, {__name__} as t; asyncio.run(t.DocumentProcesses().read('a', t.LONG))"
    server = subprocess.Popen([sys.executable, "-c", code])
    process = psutil.Process(server.pid)
    await eventually(lambda: len(process.children(recursive=True)) == 3)
    started = process.children(recursive=True)
    server.kill()
    await eventually(lambda: not any(map(psutil.Process.is_running, started)))
    server.wait()
