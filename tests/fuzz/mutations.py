"""Random damage to bytes and archives, repeatable by its seed."""

from __future__ import annotations

import io
import random
import zipfile

_NASTY = (
    *(b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\r", b"\n\n"),
    *(b"<", b">", b"</", b"<!--", b"<![CDATA[", b"]]>", b"<?xml", b"&#x110000;", b"&#0;", b"&a;"),
    *(b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"{", b"}", b"[[[[", b'"', b"\\", b"\\ud800", b"\\u0000"),
    *(b"-->", b"-1", b"99999999999999999999", b"1e999", b"NaN", b"%s%n", b"--- ", b"```", b"|"),
    *("\u202e".encode(), "\u200b".encode(), "\U000e0001".encode(), "e\u0301".encode()),
)


def mutated(content: bytes, rng: random.Random) -> bytes:
    """At one to four places: a part removed, repeated, with bits flipped, or after nasty bytes.

    One result in five is cut off.
    """
    for _ in range(rng.randint(1, 4)):
        start = rng.randint(0, len(content))
        part = content[start : start + rng.randint(1, 60)]
        flipped = bytes(byte ^ 1 << rng.randrange(8) for byte in part[:8]) + part[8:]
        nasty = rng.choice(_NASTY) * rng.choice((1, 1, 1, 50))
        changed = rng.choice((b"", part * rng.randint(2, 30), flipped, nasty + part))
        content = content[:start] + changed + content[start + len(part) :]
    return content[: rng.randint(0, len(content))] if rng.random() < 0.2 else content


def mutated_archive(content: bytes, rng: random.Random) -> bytes:
    """Damage inside one member of a ZIP archive, which stays an archive; or to its bytes."""
    if rng.random() < 0.3:
        return mutated(content, rng)
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(written, "w") as changed:
        names = archive.namelist()
        chosen, is_removed = rng.choice(names), rng.random() < 0.1
        for name in names:
            member = archive.read(name)
            if name != chosen:
                changed.writestr(name, member, zipfile.ZIP_DEFLATED)
            elif not is_removed:
                changed.writestr(name, mutated(member, rng), zipfile.ZIP_DEFLATED)
    return written.getvalue()
