"""MkDocs hook: replaces markers such as `<!-- table: settings -->` with tables made from the code.

A page therefore cannot disagree with the program. An unknown marker raises KeyError and fails the
build.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from prometheus_client import Metric

from model.bundled import BUNDLED_NAMES
from service.errors import ServiceError
from service.http.schemas import TranslateRequest
from service.observability.metrics import Metrics
from service.settings import Settings

_MARKER = re.compile(r"<!-- table: ([a-z-]+) -->")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """MkDocs calls this with the source of each page."""
    return _MARKER.sub(lambda match: TABLES[match[1]](), markdown)


def settings_table() -> str:
    """Every setting with its flag, environment variable, default and meaning."""
    rows = [
        (
            f"`--{name.replace('_', '-')}`",
            f"`DRAGOMAN_{name.upper()}`",
            f"`{_default(name, field.default)}`",
            field.description or "",
        )
        for name, field in Settings.model_fields.items()
    ]
    return _table(("flag", "variable", "default", "meaning"), rows)


def metrics_table() -> str:
    """Every metric of the server's own with its type, labels and meaning."""
    families = sorted(Metrics().registry.collect(), key=lambda family: family.name)
    own = [family for family in families if family.name.startswith("dragoman_")]
    rows = [(f"`{_exported(family)}`", family.type, family.documentation) for family in own]
    return _table(("metric", "type", "meaning"), rows)


def fields_table() -> str:
    """Every field of a request to /translate."""
    rows = [
        (f"`{name}`", "yes" if field.is_required() else "", field.description or "")
        for name, field in TranslateRequest.model_fields.items()
    ]
    return _table(("field", "required", "meaning"), rows)


def errors_table() -> str:
    """Every error code with its HTTP status and meaning."""
    known = [ServiceError, *_subclasses(ServiceError)]
    kinds = sorted(known, key=lambda kind: (kind.status, kind.code), reverse=True)
    rows = {
        kind.code: (str(kind.status), f"`{kind.code}`", _first_sentence(kind.__doc__))
        for kind in kinds
    }
    return _table(("status", "code", "meaning"), reversed(rows.values()))


TABLES: dict[str, Callable[[], str]] = {
    "settings": settings_table,
    "metrics": metrics_table,
    "fields": fields_table,
    "errors": errors_table,
}


def _default(name: str, value: object) -> str:
    if name == "model":
        return ",".join(BUNDLED_NAMES)
    return "none" if value == () else str(value)


def _exported(family: Metric) -> str:
    return family.name + ("_total" if family.type == "counter" else "")


def _subclasses(kind: type[ServiceError]) -> Iterable[type[ServiceError]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _first_sentence(doc: str | None) -> str:
    return " ".join((doc or "").split("\n\n")[0].split())


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
