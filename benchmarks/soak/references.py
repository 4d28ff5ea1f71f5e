"""What every case must be answered with, computed without a server in a process of its own."""

from __future__ import annotations

import dataclasses
import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.process import MODELS
from benchmarks.soak.cases import Case
from benchmarks.soak.documents import Document
from service.http.routes import deeplx, immersive
from service.http.routes.deepl import fields as deepl
from service.http.routes.google import fields as google
from service.http.schemas import TranslateRequest
from service.offline import OfflineOptions, OfflineTranslator

MAX_BEAM_SIZE = 16
"""The server's default, which a case's beam may not pass."""
_JOBS_AT_ONCE = 64
Cases = Mapping[str, Sequence[Case]]

_WANTED: dict[str, Callable[[Any], TranslateRequest]] = {
    "native": TranslateRequest.from_json,
    "deepl": lambda fields: deepl.TextRequest.from_json(fields).wanted(),
    "google": lambda fields: google.TextRequest.from_json(fields).wanted(),
    "deeplx": lambda fields: deeplx.DeepLXRequest.from_json(fields).wanted(MAX_BEAM_SIZE),
    "immersive": lambda fields: immersive.ImmersiveRequest.from_json(fields).wanted(),
}


def with_references(
    cases: Cases, documents: Sequence[Document]
) -> tuple[dict[str, list[Case]], list[Document]]:
    """The same cases and documents with what is expected. The process takes its memory along."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as process:
        return process.submit(_translate, cases, documents).result()


def _translate(
    cases: Cases, documents: Sequence[Document]
) -> tuple[dict[str, list[Case]], list[Document]]:
    options = OfflineOptions(max_beam_size=MAX_BEAM_SIZE)
    with OfflineTranslator(MODELS, options) as translator:
        done = {name: _expected(translator, some) for name, some in cases.items()}
        return done, [_translated(translator, document) for document in documents]


def _expected(translator: OfflineTranslator, cases: Sequence[Case]) -> list[Case]:
    done: list[Case] = []
    for start in range(0, len(cases), _JOBS_AT_ONCE):
        some = cases[start : start + _JOBS_AT_ONCE]
        asked = [_WANTED[case.api](case.offline or case.fields) for case in some]
        results = translator.run_jobs([one.job(None) for one in asked])
        for case, one, texts in zip(some, asked, results, strict=True):
            more = [other for text in texts for other in text.alternatives[: one.alternatives]]
            expected = (*(text.text for text in texts), *more)
            done.append(dataclasses.replace(case, expected=expected))
    return done


def _translated(translator: OfflineTranslator, document: Document) -> Document:
    with TemporaryDirectory() as directory:
        path = Path(directory) / document.name
        path.write_bytes(document.content)
        done = translator.translate_file(path, document.source, document.target, replaces=False)
    return dataclasses.replace(document, expected=done.content)
