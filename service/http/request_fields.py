"""The base of all request models, the fields that several have, and the errors of wrong values."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails, PydanticCustomError, from_json, to_json

from model.text.languages import MAX_CODE_CHARACTERS
from service.errors import InvalidField, MissingField, shown
from service.http.json_values import count_values
from service.stores.glossary_rows import MAX_NAME_CHARACTERS
from service.translation.glossary import (
    MAX_TERM_CHARACTERS,
    MAX_TERMS,
    Glossary,
    GlossaryEntry,
    check_entries,
)

JsonSchema = Mapping[str, Any]
NO_SPACE = r"[^\s\x1C-\x1F\x85]"
"""A character that str.strip leaves, for any dialect of regular expressions."""
KEY_FIELDS = ("api_key", "auth_key", "authKey")
"""LibreTranslate's field of a key, DeepL's old one, and that of Subtitle Translator."""
SECRETS = (*KEY_FIELDS, "secret", "document_key")
"""Fields whose values no error shows."""
NO_BOUNDS: Mapping[str, int] = MappingProxyType({})
_MAX_NUMBER_CHARACTERS = 64
_MAX_LANGUAGES = 20
_MOST_VALUES = 4 * MAX_TERMS + 1000
"""Of a list of terms: each is an object of two strings and a flag."""


class RequestModel(BaseModel):
    """A request's fields. Unknown fields are ignored; null means absent, as does an empty string
    unless the field is a text that must be there.

    `spelled_in_json`: fields whose numbers and flags may be strings in JSON, as all may in a form;
    None is all fields. `unreported`: unknown fields and files that are not named in
    X-Ignored-Fields. `names`: those of all fields.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)
    spelled_in_json: ClassVar[frozenset[str] | None] = None
    unreported: ClassVar[tuple[str, ...]] = ()
    names: ClassVar[frozenset[str]]
    _texts: ClassVar[frozenset[str]]
    """The required fields that may be empty: codes and names have a bound, texts have none."""
    _spelled: ClassVar[frozenset[str]]
    _spelled_in_json: ClassVar[frozenset[str]]
    _whole: ClassVar[frozenset[str]]
    """The fields that hold whole numbers, for which JSON Schema allows 8.0."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Make the schema now: in the first request it would block the event loop."""
        super().__pydantic_init_subclass__(**kwargs)
        cls.names, cls._spelled = frozenset(cls.model_fields), _spelled_fields(cls)
        cls._spelled_in_json = cls._spelled & (cls.spelled_in_json or cls._spelled)
        cls._whole = _fields_of_types(cls, ("integer",))
        cls._texts = frozenset(
            name
            for name, field in cls.model_fields.items()
            if field.is_required() and "maxLength" not in value_schema(_properties(cls)[name])
        )

    @classmethod
    def validated(
        cls, values: object, *, is_json: bool = True, greatest: Mapping[str, int] = NO_BOUNDS
    ) -> Self:
        """The model of parsed JSON, or of the fields of a form or query, whose numbers are spelled
        as in JSON. `greatest`: as of `bounded`. Raises MissingField or InvalidField."""
        given, spelled = values, cls._spelled_in_json if is_json else cls._spelled
        if isinstance(values, dict):
            given = {
                name: _parse_spelled(value) if name in spelled else value
                for name, value in values.items()
                if value is not None and name in cls.names and (value != "" or name in cls._texts)
            }
            for name in cls._whole & given.keys():
                if isinstance(value := given[name], float) and value.is_integer():
                    given[name] = int(value)
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise _explained(cls, error, greatest) from error

    def without_effect(self) -> Sequence[str]:
        """Names of given fields that are accepted but change nothing."""
        return ()


def listed(value: str | list[str] | None) -> list[str]:
    """The value of a field that holds a string or a list, as a list."""
    return [value] if isinstance(value, str) else value or []


Texts = str | list[str]
"""A text or a list of texts."""
LanguageCode = Annotated[str, Field(max_length=MAX_CODE_CHARACTERS)]
"""A language code."""
PreferredLanguages = Annotated[
    LanguageCode | Annotated[list[LanguageCode], Field(max_length=_MAX_LANGUAGES)] | None,
    Field(
        description="Languages to expect when detecting: the odds of others are divided by ten. "
        f"At most {_MAX_LANGUAGES} codes; unknown ones are ignored."
    ),
]
"""For source "auto" and /detect."""
_TERM_TEXT: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_TERM_CHARACTERS,
    "pattern": r"^[^\uFFFC]*[^\s\x1C-\x1F\x85\uFFFC][^\uFFFC]*$",
}
"""Not only spaces, and without the mark that stands for kept strings."""
NAME_SCHEMA: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_NAME_CHARACTERS,
    "description": "Name of a stored glossary.",
}


def terms_schema(most: int) -> dict[str, Any]:
    """The JSON schema of a list of terms."""
    flag = {"anyOf": [{"type": "boolean"}, {"type": "null"}]}
    properties = {"source": _TERM_TEXT, "target": _TERM_TEXT, "case_sensitive": flag}
    term = {"type": "object", "required": ["source", "target"], "properties": properties}
    return {"type": "array", "maxItems": most, "items": term}


def parse_terms(value: object, most: int) -> list[GlossaryEntry]:
    """The entries of a parsed JSON list. Raises InvalidField, as `check_entries`."""
    if not isinstance(value, list) or not all(map(_is_term, value)):
        raise InvalidField(
            'entries must be a list of {"source", "target", "case_sensitive"?} with strings'
        )
    entries = [
        GlossaryEntry(term["source"], term["target"], term.get("case_sensitive") or False)
        for term in value
    ]
    check_entries(entries, most)
    return entries


def _is_term(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("source"), str)
        and isinstance(value.get("target"), str)
        and isinstance(value.get("case_sensitive"), bool | None)
    )


def _parse_glossary(value: object) -> Glossary | str:
    if isinstance(value, str) and value.startswith("["):  # a form spells the list in JSON
        value = _parse_list(value)
    if isinstance(value, str):
        if len(value) <= MAX_NAME_CHARACTERS:
            return value
        raise PydanticCustomError(
            "glossary", f"must be a name of at most {MAX_NAME_CHARACTERS} characters, or a list"
        )
    if not isinstance(value, list) or not all(map(_is_term, value)):
        raise PydanticCustomError(
            "glossary",
            'must be the name of a stored glossary or a list of {"source", "target", '
            '"case_sensitive"?}',
        )
    return Glossary(parse_terms(value, MAX_TERMS))


def _parse_list(spelled: str) -> object:
    if count_values(spelled.encode(errors="replace"), _MOST_VALUES) > _MOST_VALUES:
        raise PydanticCustomError(
            "glossary", f"must be JSON of at most {_MOST_VALUES} values where it is a list"
        )
    try:
        return from_json(spelled)
    except ValueError:
        raise PydanticCustomError("glossary", "must be valid JSON where it is a list") from None


GlossaryField = Annotated[
    Glossary | str | None,
    PlainValidator(_parse_glossary),
    WithJsonSchema({"anyOf": [NAME_SCHEMA, terms_schema(MAX_TERMS)]}),
]
"""A list of terms, or the name of a stored glossary."""


def _explained(
    model: type[BaseModel], error: ValidationError, greatest: Mapping[str, int]
) -> MissingField | InvalidField:
    errors = error.errors(include_url=False, include_context=False)
    if errors[0]["type"] == "missing":
        return MissingField(f"Invalid request: missing {errors[0]['loc'][0]} parameter")
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    properties = {
        name: bounded(name, value_schema(schema), greatest)
        for name, schema in _properties(model).items()
    }
    return InvalidField(_explain(errors[0], properties, required))


def _explain(
    first: ErrorDetails, properties: Mapping[str, JsonSchema], required: Sequence[str]
) -> str:
    """Describe an error: the field, the allowed values and the given value.

    `properties` maps each field to the schema of its values; `required` names the required fields.
    """
    if not first["loc"]:
        fields = " and ".join(", ".join(required).rsplit(", ", 1))
        return f"the body must be a JSON object with {fields}, got {shown(first['input'])}"
    field = str(first["loc"][0])
    schema = properties[field]
    if first["type"] == "string_too_long" and "maxLength" in schema:
        most = schema["maxLength"]
        return f"{field} must have at most {most} characters, got {len(first['input'])}"
    if field in SECRETS:
        return f"{field} must be {_allowed_values(schema)}"
    given = shown(first["input"])
    if first["msg"].startswith("must be"):  # an error of our own
        return f"{field} {first['msg']}, got {given}"
    return f"{field} must be {_allowed_values(schema)}, got {given}"


def value_schema(schema: JsonSchema) -> JsonSchema:
    """The schema without its null alternative."""
    values = [s for s in schema.get("anyOf", ()) if s.get("type") != "null"]
    return values[0] if len(values) == 1 else schema


def bounded(name: str, schema: JsonSchema, greatest: Mapping[str, int]) -> JsonSchema:
    """The schema of a field with this server's maximum. `greatest`: the values of the fields that
    a server bounds."""
    if name not in greatest:
        return schema
    return {**schema, "maximum": min(schema["maximum"], greatest[name])}


def _allowed_values(schema: JsonSchema) -> str:
    """The allowed values in words, such as "a whole number from 0 to 15"."""
    if "enum" in schema:
        return " or ".join(to_json(value).decode() for value in schema["enum"])
    match schema.get("type"):
        case "integer":
            return f"a whole number from {schema['minimum']} to {schema['maximum']}"
        case "number":
            return f"a number from {schema['minimum']:g} to {schema['maximum']:g}"
        case "boolean":
            return "true or false"
        case "string":
            return f"a string{_bound(schema, ' of')}"
    strings = next(one for one in schema["anyOf"] if one["type"] == "array")
    count = f"at most {strings['maxItems']} strings" if "maxItems" in strings else "strings"
    return f"a string or a list of {count}{_bound(strings['items'], ', each of')}"


def _bound(schema: JsonSchema, of: str) -> str:
    if "maxLength" not in schema:
        return ""
    blank = " and not only spaces" if schema.get("pattern") == NO_SPACE else ""
    return f"{of} at most {schema['maxLength']} characters{blank}"


@functools.cache
def _properties(model: type[BaseModel]) -> dict[str, dict[str, Any]]:
    properties: dict[str, dict[str, Any]] = model.model_json_schema()["properties"]
    return properties


def _spelled_fields(model: type[BaseModel]) -> frozenset[str]:
    """The fields that can hold numbers or flags."""
    flags = {
        name
        for name, schema in _properties(model).items()
        if True in value_schema(schema).get("enum", ())
    }
    return _fields_of_types(model, ("integer", "number", "boolean")) | flags


def _fields_of_types(model: type[BaseModel], types: Collection[str]) -> frozenset[str]:
    """The fields whose values have one of these types of JSON Schema."""
    schemas = {name: value_schema(schema) for name, schema in _properties(model).items()}
    return frozenset(name for name, schema in schemas.items() if schema.get("type") in types)


def _parse_spelled(text: object) -> object:
    """Parse a number, true or false as in JSON; return anything else unchanged."""
    if not isinstance(text, str) or len(text) > _MAX_NUMBER_CHARACTERS or text != text.strip():
        return text
    try:
        value = from_json(text, allow_inf_nan=False)
    except ValueError:
        return text
    return value if isinstance(value, int | float) else text
