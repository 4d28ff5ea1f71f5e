"""Damaged files of every format, and what reading and writing makes of them.

python -m tests.fuzz.document_mutations --mutations 1000 --seed 1
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence

from service.errors import DocumentTooLarge, InvalidDocument, UnsupportedFile
from service.translation.documents.formats import FORMATS, parse_file
from tests.fuzz.mutations import TRUNCATIONS, mutated, mutated_archive, truncated
from tests.service.translation.documents.samples import OPTIONS, SAMPLES, archive, capitals, pdf

MOST_SECONDS = 60
"""A file that takes longer ends the program with a traceback."""
ARCHIVES = (".docx", ".pptx", ".xlsx", ".odt", ".odp", ".epub")
_LAUGHS = "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' if n else '<!ENTITY l0 "ha">' for n in range(10)
)
BILLION_LAUGHS = f"<?xml version='1.0'?><!DOCTYPE a [{_LAUGHS}]><a>&l9;</a>".encode()
QUADRATIC = b"<!DOCTYPE a [<!ENTITY b '" + b"x" * 50_000 + b"'>]><a>" + b"&b;" * 50_000 + b"</a>"
EXTERNAL = b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>"
DEEP = b"<a>" * 200_000
_MEMBERS = {
    ".docx": "word/document.xml",
    ".pptx": "ppt/slides/slide1.xml",
    ".odt": "content.xml",
    ".odp": "content.xml",
    ".epub": "META-INF/container.xml",
}


def bombs() -> list[tuple[str, bytes]]:
    """Names and contents of files that unpack, expand or nest without end."""
    xml = {"laughs": BILLION_LAUGHS, "quadratic": QUADRATIC, "external": EXTERNAL, "deep": DEEP}
    found = [(f"{kind}{suffix}", content) for suffix in FORMATS for kind, content in xml.items()]
    for suffix, member in _MEMBERS.items():
        found += [(f"{kind}{suffix}", archive({member: content})) for kind, content in xml.items()]
        found.append((f"zeros{suffix}", archive({member: b"\0" * 50_000_000})))
        found.append((f"nested{suffix}", archive({member: archive({member: DEEP})})))
        found.append((f"many{suffix}", archive({f"{n}.xml": b"<a/>" for n in range(12_000)})))
    found += [("deep.json", b"[" * 1_000_000), ("deep.md", b"> " * 100_000 + b"a")]
    found += [("comments.md", b'"' * 100_000 + b"<!--" * 100_000)]
    found += [("commented.md", b"<!-- a\\\n" * 50_000 + b"-->" * 50_000)]
    return [*found, ("deep2.md", b"[" * 50_000 + b"](" * 50_000), ("deep3.md", b"*a_ " * 50_000)]


def try_document(name: str, content: bytes) -> str:
    """Read a file, and write it with its own texts and with others -> "refused" or "read".

    Any other error than the refusals of the service is raised.
    """
    try:
        parsed = parse_file(content, name, OPTIONS)
        texts = [segment.text for segment in parsed.segments]
        is_own = parsed.write(texts) == content
        parsed.write([capitals(text) for text in texts])
    except (InvalidDocument, DocumentTooLarge, UnsupportedFile):
        return "refused"
    assert is_own or name.endswith(".pdf"), "its own texts do not give the same file"
    return "read"


def samples() -> dict[str, bytes]:
    """A sound file of every format."""
    return {**SAMPLES, "a.pdf": pdf("Hello world.", "The sea is blue.")}


def damaged(name: str, content: bytes, rng: random.Random) -> bytes:
    return (mutated_archive if name.endswith(ARCHIVES) else mutated)(content, rng)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every file was read or refused in time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=1000, help="of each format but PDF")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    outcomes: Counter[tuple[str, str]] = Counter()
    rng, times, failures = random.Random(options.seed), [], 0
    files = bombs()
    print(f"{len(files)} bombs", flush=True)
    for name, content in samples().items():
        count = options.mutations if not name.endswith(".pdf") else options.mutations // 20
        files += [(name, truncated(content, n, TRUNCATIONS)) for n in range(TRUNCATIONS)]
        files += [(name, damaged(name, content, rng)) for _ in range(count)]
    for name, content in files:
        started = time.process_time()
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        try:
            outcomes[name.rpartition(".")[2], try_document(name, content)] += 1
        except Exception as error:
            failures += 1
            print(f"{name}: {error!r:.300}\n  {content[:300]!r}", flush=True)
        times.append((time.process_time() - started, name, len(content)))
    faulthandler.cancel_dump_traceback_later()
    for (suffix, outcome), number in sorted(outcomes.items()):
        print(f"{suffix:12} {outcome:10} {number:6}")
    print(f"{len(files)} files, {failures} failures; the slowest:")
    for seconds, name, size in sorted(times, reverse=True)[:10]:
        print(f"{seconds:8.2f} s of CPU  {name}, {size} bytes")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
