"""Random damage to bytes and archives, repeatable by its seed."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable

_NASTY = (
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\r", b"\n\n"),
    *(b"<", b">", b"</", b"<!--", b"<![CDATA[", b"]]>", b"<?xml", b"&#x110000;", b"&#0;", b"&a;"),
    *(b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"{", b"}", b"[[[[", b'"', b"\\", b"\\ud800", b"\\u0000"),
    *(b"-->", b"-1", b"99999999999999999999", b"1e999", b"NaN", b"%s%n", b"--- ", b"```", b"|"),
    *("\u202e".encode(), "\u200b".encode(), "\U000e0001".encode(), "e\u0301".encode()),
)


def mutated(content: bytes, rng: random.Random) -> bytes:
    """One to four kinds of damage, one after the other."""
    for _ in range(rng.randint(1, 4)):
        content = rng.choice(_KINDS)(content, rng)
    return content


def mutated_archive(content: bytes, rng: random.Random) -> bytes:
    """Damage inside one member of a ZIP archive, which stays an archive; or to its bytes."""
    if rng.random() < 0.3:
        return mutated(content, rng)
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(written, "w") as changed:
        names = archive.namelist()
        chosen = rng.choice(names)
        for name in names:
            member = archive.read(name)
            if name == chosen:
                if rng.random() < 0.1:
                    continue
                member = mutated(member, rng)
            changed.writestr(name, member, zipfile.ZIP_DEFLATED)
    return written.getvalue()


def _flip(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        if damaged:
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randint(0, len(content))]


def _remove(content: bytes, rng: random.Random) -> bytes:
    start, end = _span(content, rng)
    return content[:start] + content[end:]


def _double(content: bytes, rng: random.Random) -> bytes:
    start, end = _span(content, rng)
    return content[:end] + content[start:end] * rng.randint(1, 30) + content[end:]


def _move(content: bytes, rng: random.Random) -> bytes:
    start, end = _span(content, rng)
    rest, place = content[:start] + content[end:], rng.randint(0, len(content) - (end - start))
    return rest[:place] + content[start:end] + rest[place:]


def _insert(content: bytes, rng: random.Random) -> bytes:
    place = rng.randint(0, len(content))
    return content[:place] + rng.choice(_NASTY) * rng.choice((1, 1, 1, 50)) + content[place:]


def _span(content: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randint(0, len(content))
    return start, min(len(content), start + rng.randint(1, 60))


_KINDS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_flip, _cut, _remove, _double, _move, _insert),
)
