"""Visits that do something else than translate a text: next words, detection, glossaries, files."""

from __future__ import annotations

import itertools
from typing import Any

from benchmarks.soak.cases import TERMS
from benchmarks.soak.documents import Document
from benchmarks.soak.scene import Result, Scene

_numbers = itertools.count()


class SameAsFirst:
    """Asks the same questions over and over; every answer must equal the first one."""

    def __init__(self, path: str, questions: list[dict[str, Any]]) -> None:
        self._path, self._questions = path, questions
        self._first: dict[int, Any] = {}

    async def ask_all(self, scene: Scene) -> None:
        """The first answers, one after the other."""
        for number in range(len(self._questions)):
            await self._ask(scene, number)

    async def __call__(self, scene: Scene) -> Result:
        return await self._ask(scene, scene.rng.randrange(len(self._questions)))

    async def _ask(self, scene: Scene, number: int) -> Result:
        fields = self._questions[number]
        answer = await scene.pool.send(scene.writers.plain.json(self._path, fields))
        if (refused := scene.judge(self._path, answer)) is not None:
            return refused
        body = answer.json()
        return scene.compare(self._path, fields, body, self._first.setdefault(number, body))


def next_words(scene: Scene) -> SameAsFirst:
    """The words after the first half of a translation."""
    chosen = [case for case in scene.cases["sentence"][:40] if len(case.expected[0]) > 8]
    return SameAsFirst(
        "/translate/next",
        [
            {**case.fields, "prefix": case.expected[0][: len(case.expected[0]) // 2].strip()}
            for case in chosen
        ],
    )


def detect(scene: Scene) -> SameAsFirst:
    return SameAsFirst("/detect", [{"q": case.fields["q"]} for case in scene.cases["auto"]])


async def look_around(scene: Scene) -> Result:
    """What pages and clients read when they start."""
    paths = ("/", "/languages", "/frontend/settings", "/health/ready", "/page/limits.json")
    answer = await scene.pool.send(scene.writers.plain.request("GET", scene.rng.choice(paths)))
    return scene.judge("look around", answer) or Result.RIGHT


async def keep_a_glossary(scene: Scene) -> Result:
    """Make one, replace it, read it, remove it."""
    name = f"visit-{next(_numbers)}"
    fields = {"name": name, "source": "en", "target": "de", "entries": TERMS}
    path, writer = f"/glossaries/{name}", scene.writers.plain
    requests = (
        writer.json("/glossaries", fields),
        writer.json(path, fields, "PUT"),
        writer.request("GET", path),
        writer.request("DELETE", path),
    )
    answers = [await scene.pool.send(request) for request in requests]
    statuses = [answer.status for answer in answers]
    if 503 in statuses:
        return Result.REFUSED
    terms = [entry["source"] for entry in answers[2].json()["entries"]]
    expected = ([201, 200, 200, 204], [term["source"] for term in TERMS])
    return scene.compare("glossary", name, (statuses, terms), expected)


async def suggest(scene: Scene) -> Result:
    fields = {"q": f"Suggestion {next(_numbers)}", "s": "Vorschlag", "source": "en", "target": "de"}
    answer = await scene.pool.send(scene.writers.plain.json("/suggest", fields))
    return scene.judge("suggest", answer) or Result.RIGHT


async def translate_a_file(scene: Scene) -> Result:
    """As LibreTranslate's clients do."""
    document, writer = scene.rng.choice(scene.documents), scene.writers.plain
    fields = {"source": document.source, "target": document.target}
    file = (document.name, document.content)
    answer = await scene.pool.send(writer.multipart("/translate_file", fields, file))
    if (refused := scene.judge("file", answer)) is not None:
        return refused
    path = answer.json()["translatedFileUrl"].partition(f":{writer.port}")[2]
    return await _download(scene, document, writer.request("GET", path))


async def translate_a_document(scene: Scene) -> Result:
    """As DeepL's clients do."""
    document, writer = scene.rng.choice(scene.documents), scene.writers.plain
    fields = {"source_lang": document.source.upper(), "target_lang": document.target.upper()}
    if document.name.endswith(".pdf"):
        fields["output_format"] = "txt"  # a PDF gives its text, which a client must ask for
    file = (document.name, document.content)
    answer = await scene.pool.send(writer.multipart("/v2/document", fields, file))
    if (refused := scene.judge("document", answer)) is not None:
        return refused
    made = answer.json()
    path = f"/v2/document/{made['document_id']}/result"
    key = {"document_key": made["document_key"]}
    return await _download(scene, document, writer.json(path, key))


async def _download(scene: Scene, document: Document, request: bytes) -> Result:
    answer = await scene.pool.send(request)
    if (refused := scene.judge("download", answer)) is not None:
        return refused
    return scene.compare("file", document.name, answer.body, document.expected)


def same_as_first(scene: Scene) -> dict[str, SameAsFirst]:
    return {"next words": next_words(scene), "detect": detect(scene)}
