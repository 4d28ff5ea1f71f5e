"""Write the tables of settings, metrics, fields and errors into the pages: `make tables`.

A page marks a table by `<!-- table: settings -->` and `<!-- end -->`. With --check nothing is
written, and the exit code is 1 if a page differs from the code.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prometheus_client import Metric
from pydantic.fields import FieldInfo

from service.commands.serve import shown_default
from service.errors import ServiceError
from service.http.translate_request import TranslateRequest
from service.observability.metrics import Metrics
from service.settings import Settings

_DOCS = Path(__file__).parent
_KINDS = {"string": "string", "array": "list", "boolean": "boolean", "integer": "integer",
          "number": "number"}  # fmt: skip
_MARKED = re.compile(r"(?<=<!-- table: )([a-z]+) -->\n.*?(?=<!-- end -->)", re.DOTALL)


def main(arguments: Sequence[str]) -> int:
    """Write every table, or with --check print the pages whose tables are stale -> exit code."""
    is_check = list(arguments) == ["--check"]
    stale = [page for page in sorted(_DOCS.rglob("*.md")) if _is_stale(page)]
    for page in stale:
        if is_check:
            sys.stderr.write(
                f"{page.relative_to(_DOCS.parent)} has an old table: run make tables\n"
            )
        else:
            page.write_text(with_tables(page.read_text("utf-8")), encoding="utf-8")
    return int(is_check and bool(stale))


def with_tables(markdown: str) -> str:
    """A page with the tables of today's code. Raises KeyError for an unknown table."""
    return _MARKED.sub(lambda match: f"{match[1]} -->\n\n{TABLES[match[1]]()}\n\n", markdown)


def settings_table() -> str:
    """Every setting with its flag, default and meaning."""
    rows = [
        (
            f"`--{name.replace('_', '-')}`",
            f"`{shown_default(name, field.default)}`",
            field.description or "",
        )
        for name, field in Settings.model_fields.items()
    ]
    return _table(("flag", "default", "meaning"), rows)


def metrics_table() -> str:
    """Every metric of the server's own with its type and meaning."""
    families = sorted(Metrics().registry.collect(), key=lambda family: family.name)
    own = [family for family in families if family.name.startswith("dragoman_")]
    rows = [(f"`{_exported(family)}`", family.type, family.documentation) for family in own]
    return _table(("metric", "type", "meaning"), rows)


def fields_table() -> str:
    """Every field of a request to /translate, with its type and default."""
    schemas = TranslateRequest.model_json_schema()["properties"]
    rows = [
        (f"`{name}`", _type_and_default(schemas[name], field), field.description or "")
        for name, field in TranslateRequest.model_fields.items()
    ]
    return _table(("field", "type, default", "meaning"), rows)


def _type_and_default(schema: Mapping[str, Any], field: FieldInfo) -> str:
    values = [one.get("type") for one in schema.get("anyOf", [schema])]
    kinds = " or ".join(_KINDS[kind] for kind in dict.fromkeys(values) if kind in _KINDS)
    if field.is_required():
        return f"{kinds}, required"
    return kinds if field.default is None else f"{kinds}, {json.dumps(field.default)}"


def errors_table() -> str:
    """Every error code with its HTTP status and meaning."""
    known: list[type[ServiceError]] = list(ServiceError.kinds())
    rows: dict[str, tuple[str, str, str]] = {}
    for kind in sorted(known, key=lambda kind: (kind.status, kind.code)):
        row = (str(kind.status), f"`{kind.code}`", _first_paragraph(kind.__doc__))
        rows.setdefault(kind.code, row)  # the base comes before classes with the same code
    del rows["limit_exceeded"]  # the base of four others
    return _table(("status", "code", "meaning"), rows.values())


TABLES: dict[str, Callable[[], str]] = {
    "settings": settings_table,
    "metrics": metrics_table,
    "fields": fields_table,
    "errors": errors_table,
}


def _is_stale(page: Path) -> bool:
    markdown = page.read_text("utf-8")
    return with_tables(markdown) != markdown


def _exported(family: Metric) -> str:
    return family.name + ("_total" if family.type == "counter" else "")


def _first_paragraph(doc: str | None) -> str:
    return " ".join((doc or "").split("\n\n")[0].split())


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
