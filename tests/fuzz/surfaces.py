"""An OpenAPI document of every surface: what /openapi.json says, and the other APIs' routes, which
stand outside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from service.http.apis import deepl, deepl_languages, google, opus_cat
from service.http.apis.apertium import ApertiumRequest
from service.http.apis.deepl_glossaries import GlossaryRequest
from service.http.apis.deeplx import DeepLXRequest
from service.http.apis.immersive import ImmersiveRequest
from service.http.bodies import FORM, JSON, MULTIPART
from service.http.request_fields import RequestModel

Schema = dict[str, Any]
UPLOADS = ("/translate_file", "/v2/document", "/documents")
_STATUSES = ("400", "401", "403", "404", "405", "413", "415", "422", "429", "431", "456")
_TRIES = ("503", "504")
_TEXT: Schema = {"type": "string"}
_OBJECT: Schema = {"type": "object"}
_ID: Schema = {"type": "string", "minLength": 1, "pattern": "^[A-Za-z0-9_-]+$"}
_CODES: Schema = {"type": "string", "enum": ["ZH", "EN", "DE"]}
_GOOGLE = "/language/translate/v2"


def whole_document(served: Mapping[str, Any], *, has_keys: bool, is_native: bool) -> Schema:
    """The served document, whose examples are choices; with the other routes, if `is_native` only
    those at its paths and without uploads, since no schema says which files are accepted; and, if
    asked for, the key that its routes need."""
    document = _with_choices(dict(served))
    paths = document["paths"]
    if has_keys:
        schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes["key"] = {"type": "http", "scheme": "bearer"}
        for path in ("/translate", "/translate/next", "/detect"):
            paths[path]["post"]["security"] = [{"key": []}]
    for path, method, operation in _operations():
        if path in paths or not is_native:
            paths.setdefault(path, {})[method] = operation
    for path in UPLOADS if is_native else ():
        del paths[path]
    return document


def _with_choices(described: Any) -> Any:
    """A copy in which examples, such as the languages of this server, are the only values."""
    if isinstance(described, list):
        return list(map(_with_choices, described))
    if not isinstance(described, dict):
        return described
    named = {"enum" if name == "examples" else name: one for name, one in described.items()}
    return {name: _with_choices(one) for name, one in named.items()}


def _operations() -> Iterator[tuple[str, str, Schema]]:
    """Path, method and description; what a request holds is what its model takes."""
    post, get = "post", "get"
    yield "/v2/translate", post, _operation(deepl.TextRequest, answer=_with("translations"))
    languages: Schema = {"type": "array"}
    yield "/v2/languages", get, _operation(deepl_languages.LanguagesRequest, (), answer=languages)
    yield "/v2/languages", post, _operation(deepl_languages.LanguagesRequest, answer=languages)
    yield "/v2/usage", get, _operation(answer=_with("character_count"))
    yield "/v2/glossary-language-pairs", get, _operation(answer=_OBJECT)
    glossaries, one = "/v2/glossaries", _with("glossary_id", "name")
    yield glossaries, get, _operation(answer=_with("glossaries"))
    yield glossaries, post, _operation(GlossaryRequest, status="201", answer=one)
    glossary = f"{glossaries}/{{glossary_id}}"
    yield glossary, get, _operation(answer=one, ids=["glossary_id"])
    yield glossary, "delete", _operation(status="204", ids=["glossary_id"])
    entries = _operation(answer=_TEXT, answer_type="text/tab-separated-values", ids=["glossary_id"])
    yield f"{glossary}/entries", get, entries
    for path, model in (
        (_GOOGLE, google.GoogleTextRequest),
        (f"{_GOOGLE}/detect", google.GoogleDetectRequest),
        (f"{_GOOGLE}/languages", google.GoogleLanguagesRequest),
    ):
        yield path, get, _operation(model, (), answer=_with("data"))
        yield path, post, _operation(model, (JSON, FORM, MULTIPART), answer=_with("data"))
    yield "/v1/translate", post, _operation(DeepLXRequest, answer=_with("code", "data"))
    yield "/immersive", post, _operation(ImmersiveRequest, [JSON], answer=_with("translations"))
    yield "/translate", get, _apertium()
    for path in sorted(opus_cat.WORK):
        yield path, get, _operation(opus_cat.OpusCatRequest, (), answer={}, answer_type="*/*")
        yield path, post, _operation(opus_cat.OpusCatRequest, [FORM], answer={}, answer_type="*/*")
    yield "/MTRestService/CheckModelStatus", get, _operation(answer=_TEXT)
    for path in ("/", "/docs"):
        yield path, get, _operation(answer=_TEXT, answer_type="text/html")
    yield "/openapi.json", get, _operation(answer=_OBJECT)


def _apertium() -> Schema:
    """Its path is described, so that what fits the schema must be accepted."""
    operation = _operation(ApertiumRequest, (), answer=_with("responseData"))
    pairs: Schema = {"type": "string", "enum": ["en|de", "zh|en"]}
    for parameter in operation["parameters"]:
        parameter["required"] = True
        if parameter["name"] == "langpair":
            parameter["schema"] = pairs
    return operation


def _with(*names: str) -> Schema:
    return {"type": "object", "required": list(names)}


def _fields(model: type[RequestModel]) -> Schema:
    """The schema of a model with its definitions in their places, and languages that are served."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})

    def inlined(value: Any) -> Any:
        if isinstance(value, dict) and "$ref" in value:
            return inlined(definitions[value["$ref"].rpartition("/")[2]])
        if isinstance(value, dict):
            return {key: inlined(one) for key, one in value.items()}
        return list(map(inlined, value)) if isinstance(value, list) else value

    found: Schema = inlined(schema)
    for name in found["properties"].keys() & {"source", "target", "source_lang", "target_lang"}:
        found["properties"][name] = _CODES
    return found


def _operation(
    model: type[RequestModel] | None = None,
    kinds: Sequence[str] = (JSON, FORM),
    status: str = "200",
    answer: Schema | None = None,
    answer_type: str = JSON,
    ids: Sequence[str] = (),
) -> Schema:
    """One operation. Without kinds of bodies its fields are optional ones of the query."""
    fields = _fields(model) if model else {}
    names = fields.get("properties", {}) if not kinds else {}
    parameters = [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in names.items()
    ]
    parameters += [{"name": name, "in": "path", "required": True, "schema": _ID} for name in ids]
    errors = {code: {"description": "refused"} for code in (*_STATUSES, *_TRIES)}
    content = {} if answer is None else {"content": {answer_type: {"schema": answer}}}
    described: Schema = {
        "parameters": parameters,
        "responses": {status: {"description": "answered", **content}, **errors},
    }
    if kinds and model:
        bodies = {kind: {"schema": fields} for kind in kinds}
        described["requestBody"] = {"required": True, "content": bodies}
    return described
