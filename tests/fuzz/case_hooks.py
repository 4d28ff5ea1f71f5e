"""For schemathesis: gives uploads a file that has a format.

With DRAGOMAN_FUZZ_FILTER requests whose fields contradict each other are left out, which the schema
cannot say.
"""

from __future__ import annotations

import itertools
import os
import random
import zlib
from typing import Any
from urllib.parse import unquote

import schemathesis

from service.documents.formats import FORMATS
from service.http.translate_request import TranslateRequest
from tests.fuzz.mutations import mutated, mutated_archive
from tests.fuzz.surfaces import UPLOADS
from tests.service.documents.samples import SAMPLES

_numbers = itertools.count()
_ARCHIVES = (".docx", ".pptx", ".odt", ".epub")

_FIELDS = set(TranslateRequest.model_fields)
_SAMPLING = ("temperature", "top_k", "top_p", "seed")
_WHOLE = (
    *("alternatives", "beam_size", "top_k", "seed"),
    *("max_length", "no_repeat_ngram_size", "deadline_ms", "k"),
)
_OF_SOME = {"target_prefix", "prefix", "glossary"}
"""What one sentence or a pair of one model may have; the texts and languages decide."""
_PATIENT_MS = 60_000
"""A deadline that any machine meets; with a shorter one 504 may be the right answer."""


@schemathesis.hook
def before_call(
    context: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict[str, Any]
) -> None:
    """Send a damaged sample in place of random bytes, in four of five uploads."""
    rng = random.Random(zlib.crc32(repr(case.body).encode()) + next(_numbers))
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
    fields = [(key, (None, _spelled(value))) for key, value in case.body.items() if key != "file"]
    kwargs["files"] = [*fields, ("file", (name, content))]


def _spelled(value: object) -> str:
    """As forms have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def filter_case(context: schemathesis.HookContext, case: schemathesis.Case) -> bool:
    """Whether the request's parts go together."""
    if case.path.startswith("/glossaries"):
        return _is_storable(case)
    if case.method.upper() != "POST":
        return True
    fields = case.body
    return not isinstance(fields, dict) or (_is_understood(fields, case) and _is_consistent(fields))


def _is_storable(case: schemathesis.Case) -> bool:
    """A glossary as JSON, under a name that a path can have."""
    name = unquote(str((case.path_parameters or {}).get("name", "a")))
    given = case.body.get("name", name) if isinstance(case.body, dict) else name
    return case.media_type in (None, "application/json") and _is_name(name) and _is_name(given)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name.strip()) and name.isprintable() and "/" not in name


def _is_understood(fields: dict[str, Any], case: schemathesis.Case) -> bool:
    """Unknown fields are allowed unless the client prefers them not to be."""
    is_strict = "strict" in str((case.headers or {}).get("Prefer"))
    return not is_strict or fields.keys() <= _FIELDS


def _is_consistent(fields: dict[str, Any]) -> bool:
    given = {name: value for name, value in fields.items() if value is not None}
    deadline = given.get("deadline_ms", _PATIENT_MS)
    can_be_met = not str(deadline).isdecimal() or int(deadline) >= _PATIENT_MS
    is_of_some = _OF_SOME & given.keys() or given.get("details") in ("attention", "search")
    is_fitting = _is_one_search(given) and _is_served(given) and _is_whole(given)
    return is_fitting and not is_of_some and can_be_met


def _is_one_search(given: dict[str, Any]) -> bool:
    """Sampling knows neither beams nor alternatives, and a beam holds the alternatives."""
    beam_size, alternatives = given.get("beam_size"), given.get("alternatives")
    if any(name in given for name in _SAMPLING):
        return not beam_size and not alternatives
    return not beam_size or not alternatives


def _is_whole(given: dict[str, Any]) -> bool:
    """To JSON Schema 0.0 is an integer; the server wants it written as one."""
    return not any(isinstance(given.get(name), float) for name in _WHOLE)


def _is_served(given: dict[str, Any]) -> bool:
    """A model has its own languages only; ours are called by them. A text whose language is asked
    for may be in one that no model has."""
    languages = {str(given.get("source", "auto")), str(given.get("target"))}
    is_offered = "model" not in given or languages <= {*str(given["model"]).split("-")}
    return is_offered and ("target" not in given or "auto" not in languages)


if "DRAGOMAN_FUZZ_FILTER" in os.environ:
    schemathesis.hook(filter_case)
