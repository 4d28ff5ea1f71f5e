"""Visits of clients that leave, and of those that send what no server can answer."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Callable
from typing import Any

from benchmarks.soak.scene import Result, Scene, Visit
from benchmarks.soak.translations import streamed_request
from benchmarks.soak.wire import Writer

_LONG = ("paragraph", "list")
_ENDS = ("cancelled", "overloaded", "unknown_id")
"""unknown_id: the request had ended when the cancellation came."""


async def leave_a_stream(scene: Scene) -> Result:
    """Hang up after the first event."""
    async with scene.pool.lent() as connection:
        await connection.begin(streamed_request(scene.writers.plain, scene.case(*_LONG)))
    return Result.LEFT


async def leave_without_waiting(scene: Scene) -> Result:
    """Hang up as soon as the request is sent."""
    case = scene.case(*_LONG)
    async with scene.pool.lent() as connection:
        connection.transport.write(scene.writers.plain.json("/translate", dict(case.fields)))
    return Result.LEFT


async def leave_amid_the_body(scene: Scene) -> Result:
    """Hang up before the request is complete."""
    request = scene.writers.plain.json("/translate", dict(scene.case(*_LONG).fields))
    async with scene.pool.lent() as connection:
        connection.transport.write(request[:-20])
    return Result.LEFT


async def leave_a_file(scene: Scene) -> Result:
    """Hang up while the server translates a file."""
    document = scene.rng.choice(scene.documents)
    fields = {"source": document.source, "target": document.target}
    file = (document.name, document.content)
    async with scene.pool.lent() as connection:
        connection.transport.write(scene.writers.plain.multipart("/translate_file", fields, file))
    return Result.LEFT


async def cancel_over_websocket(scene: Scene) -> Result:
    """Cancel at once or after the first piece; the last message says so, unless the translation
    was faster."""
    asked = scene.sockets.ask(scene.case(*_LONG).fields)
    await asked.send()
    async with contextlib.aclosing(asked.messages()) as messages:
        message: dict[str, Any] = {"type": "token"}
        if scene.rng.random() < 0.5:
            message = await anext(messages)
        if message["type"] == "token":
            await asked.cancel()
        async for later in messages:
            message = later
    if message["type"] == "final" or message.get("code") in _ENDS:
        return Result.LEFT
    return scene.compare("cancel", "", message, "cancelled")


Bad = tuple[Callable[[Writer], bytes], tuple[int, ...]]
_numbers = itertools.count()
_FIELDS = {"q": "Hello.", "source": "en", "target": "de"}


def _changed(allowed: int, **fields: object) -> Bad:
    return lambda writer: writer.json("/translate", {**_FIELDS, **fields}), (allowed,)


def _raw(body: bytes, *allowed: int) -> Bad:
    return lambda writer: writer.request("POST", "/translate", body), allowed


BAD: dict[str, Bad] = {
    "broken JSON": _raw(b'{"q": "Hel', 400),
    "bytes": _raw(bytes(range(256)), 400),
    "no body": _raw(b"", 400),
    "lone surrogate": _raw(b'{"q": "\\ud800", "source": "en", "target": "de"}', 400, 422),
    "deep nesting": _raw(b"[" * 5000, 400),
    "many values": _raw(json.dumps(dict.fromkeys(map(str, range(20_000)))).encode(), 400, 413),
    "unknown language": _changed(400, target="xx"),
    "wrong type": _changed(422, q=5),
    "wide beam": _changed(422, beam_size=1000),
    "no such glossary": _changed(404, glossary="none-such"),
    "too long": _changed(413, q="a" * 30_000),
    "many texts": _changed(413, q=["a"] * 1000),
    "no route": (lambda writer: writer.request("GET", "/no/such/path"), (404,)),
    "wrong method": (lambda writer: writer.request("PUT", "/translate"), (405,)),
    "media type": (
        lambda writer: writer.request("POST", "/translate", b"<a/>", "application/xml"),
        (415,),
    ),
    "wrong key": (
        lambda writer: Writer(writer.host, writer.port, f"drg_{'0' * 12}_{'0' * 48}").json(
            "/translate", _FIELDS
        ),
        (403,),
    ),
    "damaged file": (
        lambda writer: writer.multipart(
            "/translate_file", {"source": "en", "target": "de"}, ("a.docx", b"PK\3\4 no archive")
        ),
        (400,),
    ),
    "no such download": (
        lambda writer: writer.request("GET", f"/download_file/{'0' * 48}.txt"),
        (404,),
    ),
    "deadline": (lambda writer: writer.json("/translate", _too_slow()), (504,)),
}


def _too_slow() -> dict[str, Any]:
    """A request that misses its deadline: its text is new, so the cache cannot answer it."""
    text = f"It is a long way home to house {next(_numbers)}. " * 200
    return {**_FIELDS, "q": text, "deadline_ms": 1}


async def send_bad_input(scene: Scene) -> Result:
    name = scene.rng.choice(list(BAD))
    make, allowed = BAD[name]
    answer = await scene.pool.send(make(scene.writers.plain))
    if answer.status in (503, 429):
        return scene.judge(name, answer) or Result.RIGHT
    return scene.compare(f"bad input: {name}", answer.body, answer.status in allowed, True)


VISITS: dict[str, Visit] = {
    "leave a stream": leave_a_stream,
    "leave at once": leave_without_waiting,
    "leave amid the body": leave_amid_the_body,
    "leave a file": leave_a_file,
    "cancel": cancel_over_websocket,
    "bad input": send_bad_input,
}
