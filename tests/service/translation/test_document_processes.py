"""Each document is read in a process of its own: within bounds, in turns, and killed when nobody
waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator

import psutil
import pytest

from service.errors import DocumentTooLarge, InvalidDocument
from service.translation.document_processes import DocumentProcesses, part_of
from service.translation.documents import program
from service.translation.documents.program import Bounds, Task
from service.translation.documents.segments import Segment
from tests.service.fakes import eventually
from tests.service.translation.documents.samples import OPTIONS

LONG = Task("a.json", b"[" + b"1," * 10_000_000 + b"1]", OPTIONS)
"""It takes minutes."""
SHORT = Task("a.txt", b"One.\nTwo.", OPTIONS, Bounds(100))


@contextlib.asynccontextmanager
async def processes() -> AsyncIterator[DocumentProcesses]:
    running = DocumentProcesses()
    try:
        yield running
    finally:
        running.close()


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def test_a_document_is_read_and_written() -> None:
    async def test() -> None:
        async with processes() as running:
            read = await running.read("a", SHORT)
            assert read.num_characters == 9
            (part,) = map(part_of, read.lines)
            assert (part.format, part.texts) == ("text", ["One.\nTwo."])
            task = Task(SHORT.name, SHORT.content, OPTIONS, translations=[b'["Eins.\\nZwei."]'])
            assert await running.run("a", task) == b"Eins.\nZwei."

    asyncio.run(test())


@pytest.mark.parametrize(
    ("bounds", "sentence"),
    [
        (Bounds(100, max_seconds=1), "more than 1 seconds or 1024 MiB"),
        (Bounds(100, max_bytes=2**27), "more than 20 seconds or 128 MiB"),
    ],
)
def test_a_document_beyond_its_bounds_is_refused(bounds: Bounds, sentence: str) -> None:
    content = b"<a>" * 1_500_000

    async def test() -> None:
        async with processes() as running:
            with pytest.raises(DocumentTooLarge, match=sentence):
                await running.run("a", Task("a.html", content, OPTIONS, bounds))
            assert (await running.read("a", SHORT)).num_characters == 9

    asyncio.run(test())


def test_a_document_that_is_refused_says_why() -> None:
    async def test() -> None:
        async with processes() as running:
            with pytest.raises(InvalidDocument, match="not valid as a ZIP archive"):
                await running.run("a", Task("a.docx", b"a", OPTIONS))
            with pytest.raises(RuntimeError, match="ValueError"):
                await running.run("a", Task("a.txt", b"a", OPTIONS, translations=[b"[]"]))

    asyncio.run(test())


def test_a_client_waits_for_its_own_documents_only() -> None:
    async def test() -> None:
        async with processes() as running:
            long = [asyncio.ensure_future(running.run("a", LONG)) for _ in range(8)]
            for client in "bcd":
                assert (await running.read(client, SHORT)).num_characters == 9
            assert not any(one.done() for one in long)
            await eventually(lambda: len(children()) == 2)  # the program, and the first of them
            for one in long:
                one.cancel()
            await asyncio.gather(*long, return_exceptions=True)
            await eventually(lambda: len(children()) == 1)
        assert not children()

    asyncio.run(test())


def test_a_program_that_was_killed_is_started_again() -> None:
    async def test() -> None:
        async with processes() as running:
            for _ in range(2):
                assert (await running.read("a", SHORT)).num_characters == 9
                (started,) = psutil.Process().children()
                started.kill()
                started.wait()

    asyncio.run(test())


@pytest.mark.parametrize("count", [1, 31, 33, 100])
def test_texts_pass_in_parts_of_one_style(count: int) -> None:
    segments = [Segment("a" * 100, "html" if n % 50 else "text") for n in range(count)]
    parts = list(program.parts(segments))
    assert [Segment(t, p.format, p.split_sentences) for p in parts for t in p.texts] == segments
    assert all(len("".join(part.texts)) <= 2000 for part in parts)


def test_the_program_imports_nothing_that_takes_long() -> None:
    found = "{'torch', 'numpy', 'asyncio', 'fastapi', 'pypdf'} & set(sys.modules)"
    code = f"import sys, {program.__name__}; assert not {found}, {found}"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
