"""For schemathesis: gives uploads a file that has a format."""

from __future__ import annotations

import itertools
import random
import zlib
from typing import Any

import schemathesis

from service.translation.documents.formats import FORMATS
from tests.fuzz.mutations import mutated, mutated_archive
from tests.fuzz.surfaces import UPLOADS
from tests.service.translation.documents.samples import SAMPLES

_numbers = itertools.count()
_ARCHIVES = (".docx", ".pptx", ".odt", ".epub")


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
    fields = [(key, (None, str(value))) for key, value in case.body.items() if key != "file"]
    kwargs["files"] = [*fields, ("file", (name, content))]
