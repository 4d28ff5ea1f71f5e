"""Unknown request fields: listed in a header, or rejected with `Prefer: handling=strict`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from urllib.parse import quote

from fastapi import Request

from service.errors import InvalidField, shown

IGNORED_FIELDS_HEADER = "X-Ignored-Fields"
_MAX_HEADER_CHARACTERS = 256
_AND_MORE = "..."


def report_ignored(request: Request, names: Iterable[str], known: Iterable[str]) -> None:
    """List the fields in the header. Raises InvalidField with `Prefer: handling=strict`.

    Error answers have the header too, because the field may be a misspelt required field.
    """
    names = iter(names)
    first = next(names, None)
    if first is None:
        return
    if _wants_strict_handling(request):
        raise InvalidField(f"unknown field {shown(first)}; known fields: {', '.join(known)}")
    request.state.response_headers[IGNORED_FIELDS_HEADER] = _listed(first, names)


def _listed(first: str, others: Iterable[str]) -> str:
    """As many percent-encoded names as fit, separated by commas; "..." if names are left out."""
    listed: list[str] = []
    room = _MAX_HEADER_CHARACTERS - len(_AND_MORE)
    for name in itertools.chain([first], others):
        encoded = quote(name[:room], safe="")
        room -= len(encoded) + len(", ")
        if room < 0 or not encoded:
            return ", ".join([*listed, _AND_MORE])
        listed.append(encoded)
    return ", ".join(listed)


def _wants_strict_handling(request: Request) -> bool:
    """Parse the Prefer header (RFC 7240)."""
    preferences = ",".join(request.headers.getlist("prefer")).lower().split(",")
    return any(
        preference.partition(";")[0].replace(" ", "").replace('"', "") == "handling=strict"
        for preference in preferences
    )
