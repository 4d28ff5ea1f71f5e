"""Measure what each kind of request costs: CPU time for each character that it is charged.

    python -m tests.fuzz.prices [--characters 20000] [--model checkpoints/en-de]

A server in this process gets the costliest known input of each kind, after a small one. The time of
the engine's worker is told apart. Documents are read and written here, not in their own processes.
"""

from __future__ import annotations

import argparse
import gc
import sys
import threading
import time
from collections.abc import Callable
from itertools import count, islice
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from service.app import create_app
from service.documents.formats import parse_file
from service.http.access.caller import Caller
from service.models.loading import load_models
from service.settings import Settings
from tests.service.documents.samples import OPTIONS, capitals

Fields = dict[str, Any]
WORKER = "dragoman-worker"
PLAIN = "The old man of % sees a small dog in the garden. "
ALIKE = [{"source": f"{'a ' * (n % 98)}b{n}", "target": "x " * 99 + "x"} for n in range(1000)]
WORDS = [{"source": f"w{n}", "target": f"{'x ' * 98}{n}"} for n in range(1000)]
NESTED = ["a" * length for length in range(1, 101)]


def repeated(part: str, **fields: Any) -> Callable[[int], Fields]:
    """A text of so many characters; every "%" becomes another word, so that no two sentences are
    one for the engine."""

    def made(size: int) -> Fields:
        words = ("".join(chr(97 + number // 26**at % 26) for at in range(3)) for number in count())
        parts = (part.replace("%", word) for word in words)
        length = len(next(parts))
        return {"q": "".join(islice(parts, max(1, size // length))), **fields}

    return made


TEXTS: dict[str, Callable[[int], Fields]] = {
    "plain text": repeated(PLAIN),
    "sentences of a letter": repeated("%. "),
    "lines of a letter": repeated("%\n"),
    "500 texts of a character": lambda size: {"q": [chr(0x4E00 + n) for n in range(500)]},
    "digits": repeated("12345678 % "),
    "placeholders": repeated("{a} % "),
    "marks around words": repeated("**%** "),
    "keep: 100 strings": repeated("a ", keep=NESTED),
    "glossary of 1,000 terms alike": repeated("a ", glossary=ALIKE),
    "glossary, a term each word": lambda size: {
        "q": " ".join(f"w{number % 1000}" for number in range(size // 5)),
        "glossary": WORDS,
    },
    "HTML, a tag each letter": repeated("<b>%</b> ", format="html"),
    "HTML, deep": lambda size: {"q": "<div><b>" * (size // 8 - 1) + "x", "format": "html"},
    "HTML, attributes": repeated('<img alt="a %">', format="html"),
    "source auto": repeated(PLAIN, source="auto"),
    "details": repeated(PLAIN, details=True),
    "details, numbers": repeated("1,5 2.5 % and 3 of 4. ", details=True),
    "details: attention": repeated("A dog. ", details="attention"),
    "details: search": repeated("A dog. ", details="search"),
    "15 alternatives": repeated(PLAIN, alternatives=15),
    "stream": repeated(PLAIN, stream=True),
}
ONE_SENTENCE = ("details: attention", "details: search")
"""Kinds that take one sentence."""
FILES: dict[str, Callable[[int], bytes]] = {
    "items.md": lambda size: b"- ab\n" * size,
    "numbers.md": lambda size: b"- 1\n" * size + b"a",
    "lines.txt": lambda size: b"ab\n\n" * size,
    "pages.html": lambda size: b"<p>ab</p>" * size,
    "cues.srt": lambda size: b"00:00:01,000 --> 00:00:02,000\nab\n\n" * size,
    "strings.json": lambda size: b"[" + b'"ab",' * size + b'"a"]',
    "rows.csv": lambda size: b"ab,cd\n" * size,
}


def write(row: str) -> None:
    sys.stdout.write(f"{row}\n")


def spent_seconds() -> tuple[float, float]:
    """CPU time of the engines' workers, and of all else in the process."""
    workers = (one.ident for one in threading.enumerate() if one.name == WORKER)
    clocks = [time.pthread_getcpuclockid(ident) for ident in workers if ident is not None]
    engine = sum(map(time.clock_gettime, clocks))
    return engine, time.process_time() - engine


def price(client: TestClient, charged: list[float], kind: str, size: int) -> str:
    """Send a request of this kind -> the row of the table."""
    size = 7 if kind in ONE_SENTENCE else size
    for length in (min(size, 100), size):
        fields = {"source": "en", "target": "de", **TEXTS[kind](length)}
        charged.clear()
        before = spent_seconds()
        answer = client.post("/translate", json=fields)
        engine, other = (b - a for a, b in zip(before, spent_seconds(), strict=True))
    row = f"| {kind} | {sum(charged):.0f} | {answer.status_code} |"
    return row + "".join(f" {1000 * s / max(1, sum(charged)):.4f} |" for s in (other, engine))


def file_price(name: str, size: int) -> str:
    """Read a file, and read and write it."""
    content = FILES[name](size)
    started = time.process_time()
    num_characters = sum(len(one.text) for one in parse_file(content, name, OPTIONS).segments)
    parsed = parse_file(content, name, OPTIONS)
    parsed.write([capitals(segment.text) for segment in parsed.segments])
    spent = time.process_time() - started
    return f"| {name} | {num_characters} | {1000 * spent / num_characters:.4f} | {len(content)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--characters", type=int, default=20_000)
    parser.add_argument("--model", type=Path, default=Path("checkpoints/en-de"))
    given = parser.parse_args()
    charged: list[float] = []
    charge = Caller.charge

    async def recorded(self: Caller, num: int, num_weighted: float | None = None) -> None:
        charged.append(num if num_weighted is None else num_weighted)
        await charge(self, num, num_weighted)

    Caller.charge = recorded  # type: ignore[method-assign]
    settings = Settings(
        model=(given.model,),
        threads=1,
        max_waiting_sentences=100_000,
        characters_per_minute=10**12,  # without a limit nothing is charged
    )
    write("| request | charged | status | ms, text and HTTP | ms, engine |\n|---|---|---|---|---|")
    with TestClient(create_app(settings, load_models(settings))) as client:
        gc.freeze()  # as a server does, whose objects no request pays for
        for kind in TEXTS:
            write(price(client, charged, kind, given.characters))
    gc.disable()  # as in the processes of documents
    write("\n| file | charged | ms | bytes |\n|---|---|---|---|")
    for name in FILES:
        write(file_price(name, given.characters))


if __name__ == "__main__":
    main()
