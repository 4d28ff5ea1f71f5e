"""Visits that translate text over every API, and compare the answer with the reference."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from benchmarks.soak.cases import Case
from benchmarks.soak.scene import Result, Scene, Visit
from benchmarks.soak.wire import EVENT_STREAM, Writer

_PATHS = {
    "native": "/translate",
    "deepl": "/v2/translate",
    "google": "/language/translate/v2",
    "deeplx": "/v1/translate",
    "immersive": "/immersive",
}
_READERS: dict[str, Callable[[Any], list[str]]] = {
    "native": lambda body: native_texts(body),
    "deepl": lambda body: [one["text"] for one in body["translations"]],
    "google": lambda body: [one["translatedText"] for one in body["data"]["translations"]],
    "deeplx": lambda body: [body["data"], *body["alternatives"]],
    "immersive": lambda body: [one["text"] for one in body["translations"]],
}
_FULL = ("overloaded", "draining", "not_ready")


def native_texts(body: Any) -> list[str]:
    """The translations, then the alternatives of each."""
    translated, more = body["translatedText"], body.get("alternatives", [])
    if isinstance(translated, str):
        return [translated, *more]
    return [*translated, *(other for some in more for other in some)]


def over_json(*kinds: str, who: str = "plain") -> Visit:
    """Cases of these kinds as JSON, with the key of `who`."""

    async def visit(scene: Scene) -> Result:
        case, writer = scene.case(*kinds), getattr(scene.writers, who)
        return await _ask(scene, case, writer.json(_PATHS[case.api], dict(case.fields)))

    return visit


async def _ask(scene: Scene, case: Case, request: bytes) -> Result:
    answer = await scene.pool.send(request)
    if (refused := scene.judge(case.api, answer)) is not None:
        return refused
    got = tuple(_READERS[case.api](answer.json()))
    return scene.compare(case.api, case.fields, got, case.expected)


async def as_form(scene: Scene) -> Result:
    case = scene.case("short", "sentence", "paragraph")
    return await _ask(scene, case, scene.writers.plain.form("/translate", case.fields))


async def as_multipart(scene: Scene) -> Result:
    case = scene.case("short", "sentence", "html")
    fields = {name: str(value) for name, value in case.fields.items()}
    return await _ask(scene, case, scene.writers.plain.multipart("/translate", fields))


async def in_query(scene: Scene) -> Result:
    case = scene.case("short", "sentence")
    path = f"/translate?{urlencode(case.fields)}"
    return await _ask(scene, case, scene.writers.plain.request("POST", path))


async def as_plain_text(scene: Scene) -> Result:
    case = scene.case("short", "sentence", "paragraph")
    rest = {name: value for name, value in case.fields.items() if name != "q"}
    body = case.fields["q"].encode()
    path = f"/translate?{urlencode(rest)}"
    kind = "text/plain; charset=utf-8"
    answer = await scene.pool.send(scene.writers.plain.request("POST", path, body, kind))
    if (refused := scene.judge("plain text", answer)) is not None:
        return refused
    return scene.compare("plain text", case.fields, (answer.body.decode(),), case.expected)


def streamed_request(writer: Writer, case: Case) -> bytes:
    return writer.json("/translate", dict(case.fields), Accept=EVENT_STREAM)


def read_events(body: bytes) -> list[dict[str, Any]]:
    lines = body.decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


async def as_events(scene: Scene) -> Result:
    case = scene.case("short", "sentence", "paragraph", "list", "options", "html", "pivot")
    answer = await scene.pool.send(streamed_request(scene.writers.plain, case))
    if (refused := scene.judge("events", answer)) is not None:
        return refused
    return judge_messages(scene, "events", case, read_events(answer.body))


async def over_websocket(scene: Scene) -> Result:
    case = scene.case("short", "sentence", "paragraph", "list", "options", "html", "pivot")
    asked = scene.sockets.ask(case.fields)
    await asked.send()
    messages = [message async for message in asked.messages()]
    return judge_messages(scene, "websocket", case, messages)


def judge_messages(scene: Scene, kind: str, case: Case, messages: list[dict[str, Any]]) -> Result:
    """The last message has the translation, and the parts before it join to the same."""
    last = messages[-1]
    if last["type"] == "error" and last["code"] in _FULL:
        return Result.REFUSED
    if last["type"] != "final":
        return scene.compare(kind, case.fields, last, "final")
    got = native_texts(last)
    texts = got[: 1 if isinstance(last["translatedText"], str) else len(last["translatedText"])]
    joined = [""] * len(texts)
    for message in messages[:-1]:
        joined[message.get("index") or 0] += message["text"]
    result = scene.compare(kind, case.fields, tuple(got), case.expected)
    is_right = result is Result.RIGHT
    return scene.compare(f"{kind}, joined", case.fields, joined, texts) if is_right else result
