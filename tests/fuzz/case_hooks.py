"""For schemathesis: counts the cases of every surface and the links that are followed, gives
uploads a file that has a format, and lets requests succeed that links begin with.

DRAGOMAN_FUZZ_COUNTS names the file of the counts; with DRAGOMAN_FUZZ_FILTER requests whose fields
contradict each other are left out, which the schema cannot say.
"""

from __future__ import annotations

import atexit
import importlib
import itertools
import json
import os
import random
import threading
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis.generation.meta import TestPhase

from service.http.bodies import JSON
from service.translation.documents.formats import FORMATS
from tests.fuzz.links import Reached, sound_fields
from tests.fuzz.mutations import mutated, mutated_archive
from tests.fuzz.surfaces import UPLOADS, surface_of
from tests.service.translation.documents.samples import SAMPLES

_counts: Counter[tuple[str, int]] = Counter()
_followed: Counter[tuple[str, int]] = Counter()
_reached = Reached()
_numbers = itertools.count()
_lock = threading.Lock()
_SOUND_SHARE = 0.7
"""Of requests at the beginning of a link, in the phase that follows links."""
_ARCHIVES = (".docx", ".pptx", ".odt", ".epub")

if "DRAGOMAN_FUZZ_FILTER" in os.environ:
    importlib.import_module("tests.end_to_end.schema_hooks")  # registers its filter


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict[str, Any]
) -> None:
    """Send a damaged sample in place of random bytes, in four of five uploads; and what succeeds,
    in some requests that others follow."""
    rng = random.Random(zlib.crc32(repr(case.body).encode()) + next(_numbers))
    if isinstance(case.body, dict) and case.media_type == "text/plain":
        case.media_type = JSON  # a link's fields are no text, whose answer would look like JSON
    if _is_stateful(case) and rng.random() < _SOUND_SHARE:
        _make_sound(case, kwargs, rng)
        return
    if case.path not in UPLOADS or not isinstance(case.body, dict) or "file" not in case.body:
        return
    if rng.random() < 0.2:
        return
    name = rng.choice(list(SAMPLES))
    content = SAMPLES[name]
    if rng.random() < 0.7:
        content = (mutated_archive if name.endswith(_ARCHIVES) else mutated)(content, rng)
    if rng.random() < 0.1:
        name = f"a{rng.choice(list(FORMATS))}"
    fields = [(key, (None, str(value))) for key, value in case.body.items() if key != "file"]
    kwargs["files"] = [*fields, ("file", (name, content))]


def _is_stateful(case: schemathesis.Case) -> bool:
    """Whether the case is of the phase that follows links, and not wrong on purpose."""
    about = case.meta
    return (
        about is not None
        and about.phase.name is TestPhase.STATEFUL
        and about.generation.mode.is_positive
    )


def _make_sound(case: schemathesis.Case, kwargs: dict[str, Any], rng: random.Random) -> None:
    label = _link_of(case)
    if label is not None and "glossary" in label.rpartition(" with ")[2]:
        used = ("q", "source", "target", "glossary")
        used += ("text", "source_lang", "target_lang", "glossary_id")
        case.body = {name: value for name, value in _fields(case).items() if name in used}
        case.media_type = JSON
    fields = sound_fields(case.path, case.method)
    if fields is None:
        return
    if case.path in UPLOADS:
        name = rng.choice(list(SAMPLES))
        given = [(key, (None, value)) for key, value in fields.items()]
        kwargs["files"] = [*given, ("file", (name, SAMPLES[name]))]
    elif label is None or case.method.upper() == "PUT":
        case.body, case.media_type = fields, JSON


def _link_of(case: schemathesis.Case) -> str | None:
    with _lock:
        parameters = dict(case.path_parameters or {})
        return _reached.label(case.path, case.method.upper(), parameters, _fields(case))


def _fields(case: schemathesis.Case) -> dict[str, Any]:
    return dict(case.body) if isinstance(case.body, dict) else {}


@schemathesis.hook
def after_call(
    context: schemathesis.HookContext,
    case: schemathesis.Case,
    response: schemathesis.Response,
) -> None:
    label = _link_of(case)
    with _lock:
        _counts[surface_of(case.path), response.status_code] += 1
        if label is not None:
            _followed[label, response.status_code] += 1
        if response.status_code in (200, 201) and case.method.upper() in ("POST", "PUT"):
            _reached.add(case.path, _fields(case), _answer(response))


def _answer(response: schemathesis.Response) -> dict[str, Any]:
    try:
        answer = response.json()
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


@atexit.register
def _write_counts() -> None:
    if path := os.environ.get("DRAGOMAN_FUZZ_COUNTS"):
        rows = [
            [[name, status, count] for (name, status), count in counts.items()]
            for counts in (_counts, _followed)
        ]
        Path(path).write_text(json.dumps(rows), encoding="utf-8")
