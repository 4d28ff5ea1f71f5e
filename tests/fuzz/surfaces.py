"""An OpenAPI document of every surface: what /openapi.json says, and the other APIs' routes, which
stand outside it, with the links between them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from tests.fuzz.links import add_links

Schema = dict[str, Any]
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
UPLOADS = ("/translate_file", "/v2/document")
_SURFACES = {
    "/translate/next": "next words",
    "/translate_file": "files",
    "/download_file": "files",
    "/translate": "translate (native, LibreTranslate)",
    "/detect": "detect",
    "/suggest": "suggest",
    "/glossaries": "glossaries",
    "/v2/document": "DeepL documents",
    "/v2/glossar": "DeepL glossaries",
    "/v2/usage": "usage",
    "/v2": "DeepL texts",
    "/language/translate/v2": "Google",
    "/v1/translate": "DeepLX",
    "/immersive": "Immersive Translate",
}
_STATUSES = ("400", "401", "403", "404", "405", "413", "415", "422", "429", "431", "456")
_TRIES = ("503", "504")
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}
_OBJECT: Schema = {"type": "object"}
_FLAG: Schema = {"type": "boolean"}
_ID: Schema = {"type": "string", "minLength": 1, "pattern": "^[A-Za-z0-9_-]+$"}


def surface_of(path: str) -> str:
    """The surface that a path belongs to."""
    return next((name for start, name in _SURFACES.items() if path.startswith(start)), "server")


def whole_document(served: Mapping[str, Any], *, has_keys: bool, is_native: bool) -> Schema:
    """The served document with links; with the other routes unless `is_native`; and, if asked for,
    the key that its routes need."""
    document = copy.deepcopy(dict(served))
    paths = document["paths"]
    if has_keys:
        schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes["key"] = {"type": "http", "scheme": "bearer"}
        for path in ("/translate", "/translate/next", "/detect"):
            paths[path]["post"]["security"] = [{"key": []}]
    if not is_native:
        codes = [code.upper() for code in ("zh", "en", "de")]
        paths |= _deepl(codes) | _google() | _files(codes) | _small(codes) | _page()
    add_links(paths)
    return document


def _choice(values: Sequence[str]) -> Schema:
    return {"type": "string", "enum": list(values)}


def _object(required: Sequence[str], properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "required": list(required), "properties": dict(properties)}


def _operation(
    body: Schema | None = None,
    kinds: Sequence[str] = (JSON, FORM),
    query: Mapping[str, Schema] | None = None,
    ids: Sequence[str] = (),
    status: str = "200",
    answer: Schema | None = None,
    answer_type: str = JSON,
) -> Schema:
    """One operation; a parameter of the query is optional, an id stands in the path."""
    parameters = [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in (query or {}).items()
    ]
    parameters += [{"name": name, "in": "path", "required": True, "schema": _ID} for name in ids]
    errors = {code: {"description": "refused"} for code in (*_STATUSES, *_TRIES)}
    content = {} if answer is None else {"content": {answer_type: {"schema": answer}}}
    described: Schema = {
        "parameters": parameters,
        "responses": {status: {"description": "answered", **content}, **errors},
    }
    if body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {kind: {"schema": body} for kind in kinds},
        }
    return described


def _deepl(codes: Sequence[str]) -> Schema:
    code = _choice(codes)
    text = _object(
        ["text", "target_lang"],
        {
            "text": _TEXTS,
            "target_lang": code,
            "source_lang": code,
            "formality": _choice(["default", "prefer_more", "prefer_less", "more", "less"]),
            "glossary_id": _TEXT,
            "auth_key": _TEXT,
            "context": _TEXT,
            "split_sentences": _choice(["0", "1", "nonewlines"]),
            "preserve_formatting": _FLAG,
            "tag_handling": _choice(["xml", "html"]),
            "ignore_tags": _TEXTS,
            "splitting_tags": _TEXTS,
            "outline_detection": _FLAG,
            "model_type": _choice(["latency_optimized", "quality_optimized"]),
            "show_billed_characters": _FLAG,
        },
    )
    glossary = _object(
        ["name", "source_lang", "target_lang", "entries"],
        {
            "name": _TEXT,
            "source_lang": code,
            "target_lang": code,
            "entries": _TEXT,
            "entries_format": _choice(["tsv", "csv"]),
        },
    )
    one = _object(["glossary_id", "name"], {"glossary_id": _TEXT, "name": _TEXT})
    document = _object(
        ["file", "target_lang"],
        {
            "file": {"type": "string", "format": "binary"},
            "target_lang": code,
            "source_lang": code,
            "filename": _TEXT,
            "output_format": _TEXT,
            "glossary_id": _TEXT,
        },
    )
    key = _object(["document_key"], {"document_key": _TEXT})
    stored = _object(["document_id", "document_key"], {})
    return {
        "/v2/translate": {"post": _operation(text, answer=_object(["translations"], {}))},
        "/v2/languages": {
            "get": _operation(
                query={"type": _choice(["source", "target"])}, answer={"type": "array"}
            )
        },
        "/v2/usage": {"get": _operation(answer=_object(["character_count"], {}))},
        "/v2/glossary-language-pairs": {"get": _operation(answer=_OBJECT)},
        "/v2/glossaries": {
            "get": _operation(answer=_object(["glossaries"], {})),
            "post": _operation(glossary, status="201", answer=one),
        },
        "/v2/glossaries/{glossary_id}": {
            "get": _operation(ids=["glossary_id"], answer=one),
            "delete": _operation(ids=["glossary_id"], status="204"),
        },
        "/v2/glossaries/{glossary_id}/entries": {
            "get": _operation(
                ids=["glossary_id"], answer=_TEXT, answer_type="text/tab-separated-values"
            )
        },
        "/v2/document": {"post": _operation(document, [MULTIPART], answer=stored)},
        "/v2/document/{document_id}": {
            "post": _operation(key, ids=["document_id"], answer=_object(["status"], {}))
        },
        "/v2/document/{document_id}/result": {
            "post": _operation(
                key, ids=["document_id"], answer={}, answer_type="application/octet-stream"
            )
        },
    }


def _google() -> Schema:
    fields: dict[str, Schema] = {
        "q": _TEXTS,
        "target": _choice(["zh", "en", "de"]),
        "source": _choice(["zh", "en", "de", ""]),
        "format": _choice(["text", "html"]),
        "model": _TEXT,
        "cid": _TEXTS,
        "key": _TEXT,
        "prettyPrint": _TEXT,
    }
    data = _object(["data"], {"data": _OBJECT})
    path = "/language/translate/v2"
    some = {name: fields[name] for name in ("q", "key", "model", "target")}
    wanted = {
        path: (_object(["q", "target"], fields), fields),
        f"{path}/detect": (_object(["q"], some), some),
        f"{path}/languages": (_object([], some), some),
    }
    kinds = (JSON, FORM, MULTIPART)
    return {
        where: {
            "get": _operation(query=query, answer=data),
            "post": _operation(body, kinds, query={"key": _TEXT}, answer=data),
        }
        for where, (body, query) in wanted.items()
    }


def _files(codes: Sequence[str]) -> Schema:
    fields = {
        "file": {"type": "string", "format": "binary"},
        "source": _choice(["auto", *(code.lower() for code in codes)]),
        "target": _choice([code.lower() for code in codes]),
        "replace": _choice(["true", "false", "1", "maybe"]),
        "keep": _TEXT,
        "api_key": _TEXT,
    }
    upload = _operation(
        _object(["file", "source", "target"], fields),
        [MULTIPART],
        answer=_object(["translatedFileUrl"], {"translatedFileUrl": _TEXT}),
    )
    download = _operation(ids=["name"])
    download["responses"]["200"]["content"] = {"*/*": {"schema": {}}}
    return {"/translate_file": {"post": upload}, "/download_file/{name}": {"get": download}}


def _small(codes: Sequence[str]) -> Schema:
    code = _choice(codes)
    deeplx = {
        "text": _TEXT,
        "target_lang": code,
        "source_lang": _choice([*codes, "auto", ""]),
        "tag_handling": _choice(["html", "xml", ""]),
    }
    immersive = {"text_list": _TEXTS, "target_lang": code, "source_lang": _choice(["auto", *codes])}
    return {
        "/v1/translate": {
            "post": _operation(
                _object(["text", "target_lang"], deeplx), answer=_object(["code", "data"], {})
            )
        },
        "/immersive": {
            "post": _operation(
                _object(["text_list", "target_lang"], immersive),
                [JSON],
                answer=_object(["translations"], {}),
            )
        },
    }


def _page() -> Schema:
    return {
        "/": {"get": _operation(answer=_TEXT, answer_type="text/html")},
        "/docs": {"get": _operation(answer=_TEXT, answer_type="text/html")},
        "/openapi.json": {"get": _operation(answer=_OBJECT)},
    }
