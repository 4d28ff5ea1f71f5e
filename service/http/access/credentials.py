"""The API key in a request's headers, query or fields, as each API's clients send it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote_plus

from starlette.datastructures import Headers
from starlette.types import Scope

from service.http.error_formats import GOOGLE

KEY_FIELDS = ("api_key", "auth_key")
"""LibreTranslate's field, and DeepL's old one."""
_SCHEMES = ("bearer", "deepl-auth-key")
GOOGLE_HEADER, _GOOGLE_FIELD = "X-Goog-Api-Key", "key"


def key_of_head(scope: Scope) -> str | None:
    """The key in `Authorization`, in Google's header or in the query; None: there is none."""
    headers = Headers(scope=scope)
    scheme, _, given = headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() in _SCHEMES and given.strip():
        return given.strip()
    return headers.get(GOOGLE_HEADER) or _key_of_query(scope)


def key_of_fields(values: object) -> str | None:
    """The key among the fields of a body or a message. An empty one stands for none."""
    if not isinstance(values, Mapping):
        return None
    given = (values.get(name) for name in KEY_FIELDS)
    return next((key for key in given if isinstance(key, str) and key), None)


def _key_of_query(scope: Scope) -> str | None:
    query: bytes = scope["query_string"]
    if b"key=" not in query:
        return None
    names = (*KEY_FIELDS, _GOOGLE_FIELD) if scope["path"].startswith(GOOGLE) else KEY_FIELDS
    for field in query.decode("latin-1").split("&"):
        name, _, value = field.partition("=")
        if name in names and value:
            return unquote_plus(value)
    return None
