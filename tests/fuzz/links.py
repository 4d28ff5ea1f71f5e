"""Links between requests: what one answer names is asked for, changed, used or removed by the next.

A link is reached only if the request before it succeeded, and generated fields seldom do. Therefore
some of the requests at the beginning of a link get the fields that are named here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Schema = dict[str, Any]
Operation = tuple[str, str]
"""A path of the schema, and a method."""
GLOSSARY, DEEPL_GLOSSARY = "/glossaries/{name}", "/v2/glossaries/{glossary_id}"
DOCUMENT, DOWNLOAD = "/v2/document/{document_id}", "/download_file/{name}"
_NAME = {"path.name": "$response.body#/name"}
_GLOSSARY_ID = {"path.glossary_id": "$response.body#/glossary_id"}
_DOCUMENT_ID = {"path.document_id": "$response.body#/document_id"}
_KEY = {"document_key": "$response.body#/document_key"}
_PAIR = {"source": "$response.body#/source", "target": "$response.body#/target"}
_numbers = itertools.count()


class Link(NamedTuple):
    """What follows an answer of this status, and where its parameters and fields come from."""

    source: Operation
    status: str
    target: Operation
    parameters: Mapping[str, str] = {}
    body: Mapping[str, str] | None = None


def _links() -> Iterator[Link]:
    for source, status in (
        (("/glossaries", "post"), "201"),
        ((GLOSSARY, "put"), "200"),
        ((GLOSSARY, "put"), "201"),
    ):
        for method in ("get", "put", "delete"):
            yield Link(source, status, (GLOSSARY, method), _NAME)
        use = {"q": "The house is big.", **_PAIR, "glossary": "$response.body#/name"}
        yield Link(source, status, ("/translate", "post"), body=use)
    made = (("/v2/glossaries", "post"), "201")
    for target in (
        *((DEEPL_GLOSSARY, "get"), (DEEPL_GLOSSARY, "delete")),
        (f"{DEEPL_GLOSSARY}/entries", "get"),
    ):
        yield Link(*made, target, _GLOSSARY_ID)
    deepl = {"text": "The house is big.", "glossary_id": "$response.body#/glossary_id"}
    deepl |= {f"{side}_lang": f"$response.body#/{side}_lang" for side in ("source", "target")}
    yield Link(*made, ("/v2/translate", "post"), body=deepl)
    for path in (DOCUMENT, f"{DOCUMENT}/result"):
        yield Link(("/v2/document", "post"), "200", (path, "post"), _DOCUMENT_ID, _KEY)
    sent_key = {"document_key": "$request.body#/document_key"}
    result = (f"{DOCUMENT}/result", "post")
    yield Link((DOCUMENT, "post"), "200", result, _DOCUMENT_ID, sent_key)
    url = "$response.body#/translatedFileUrl#regex:/download_file/(.+)"
    yield Link(("/translate_file", "post"), "200", (DOWNLOAD, "get"), {"path.name": url})
    sent = {name: f"$request.body#/{name}" for name in ("q", "source", "target")}
    for path in ("/translate", "/suggest"):
        yield Link(("/suggest", "post"), "200", (path, "post"), body=sent)


LINKS = tuple(_links())


def add_links(paths: Schema) -> None:
    """Write the links between operations that these paths have."""
    for link in LINKS:
        path, method = link.source
        target, other = link.target
        if method not in paths.get(path, {}) or other not in paths.get(target, {}):
            continue
        if link.status not in paths[path][method]["responses"]:  # a route that is off
            continue
        reference = target.replace("~", "~0").replace("/", "~1")
        described: Schema = {"operationRef": f"#/paths/{reference}/{other}"}
        described["parameters"] = dict(link.parameters)
        if link.body is not None:
            described["requestBody"] = dict(link.body)
        answer = paths[path][method]["responses"][link.status]
        answer.setdefault("links", {})[f"{other} {target}"] = described


def linked_operations(paths: Schema) -> Schema:
    """Of all paths the operations at the ends of links."""
    ends = {operation for link in LINKS for operation in (link.source, link.target)}
    return {
        path: {method: one for method, one in operations.items() if (path, method) in ends}
        for path, operations in paths.items()
        if any(path == end for end, _ in ends)
    }


def sound_fields(path: str, method: str) -> Schema | None:
    """Fields with which an operation succeeds, new ones at each call; None: any will do."""
    number = next(_numbers)
    pair = {"source": "en", "target": "de"}
    terms = [{"source": "house", "target": f"Heim {number}"}]
    found: dict[Operation, Schema] = {
        ("/glossaries", "post"): {"name": f"fuzzed-{number}", **pair, "entries": terms},
        (GLOSSARY, "put"): {**pair, "entries": terms},
        ("/v2/glossaries", "post"): {
            "name": f"fuzzed-{number}",
            "source_lang": "EN",
            "target_lang": "DE",
            "entries": f"house\tHeim {number}",
            "entries_format": "tsv",
        },
        ("/v2/document", "post"): {"source_lang": "EN", "target_lang": "DE"},
        ("/translate_file", "post"): pair,
        ("/suggest", "post"): {"q": f"House {number}.", "s": f"Heim {number}.", **pair},
    }
    return found.get((path, method.lower()))


class Reached:
    """Knows what the server has stored, and tells which requests are for some of that."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._texts: set[str] = set()

    def label(self, path: str, method: str, parameters: Schema, fields: Schema) -> str | None:
        """The link that the request follows; None: it asks for nothing that was made before."""
        if any(str(value).partition(".")[0] in self._names for value in parameters.values()):
            return f"{method} {path}"
        glossary = str(fields.get("glossary", fields.get("glossary_id")))
        if glossary in self._names and path.endswith("/translate"):
            return f"{method} {path} with a stored glossary"
        if path in ("/translate", "/suggest") and str(fields.get("q")) in self._texts:
            return f"{method} {path} of a suggested text"
        return None

    def add(self, path: str, fields: Schema, answer: Schema) -> None:
        """Remember what an answer of success names."""
        if path == "/suggest":
            self._texts.add(str(fields.get("q")))
        elif path in ("/glossaries", GLOSSARY, "/v2/glossaries", "/v2/document"):
            names = (answer.get(name) for name in ("name", "glossary_id", "document_id"))
            self._names |= {name for name in names if isinstance(name, str)}
        elif path == "/translate_file":
            url = str(answer.get("translatedFileUrl"))
            self._names.add(url.rpartition("/")[2].partition(".")[0])


LABELS = (
    *(f"{method} {GLOSSARY}" for method in ("GET", "PUT", "DELETE")),
    *("POST /translate with a stored glossary", "POST /v2/translate with a stored glossary"),
    *(f"GET {DEEPL_GLOSSARY}", f"GET {DEEPL_GLOSSARY}/entries", f"DELETE {DEEPL_GLOSSARY}"),
    *(f"POST {DOCUMENT}", f"POST {DOCUMENT}/result", f"GET {DOWNLOAD}"),
    *("POST /translate of a suggested text", "POST /suggest of a suggested text"),
)
"""Every link by what it asks for."""
