"""Several texts in one message of a chat, as JSON, and their translations in the same form."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any

from pydantic_core import from_json, to_json

from service.translation.job import AUTO
from service.translation.results import TranslationResult

_FENCE, _LINES = "```", "jsonline"
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"(?P<is_key>\s*+:)?')


@dataclass(frozen=True)
class Values:
    """The strings of JSON that are no keys. `between`: what stands around them, and stays."""

    texts: list[str]
    between: list[str]
    target: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)

    def content(self, translations: Sequence[TranslationResult], _: str) -> str:
        """The answer."""
        spelled = (to_json(one.text).decode() for one in translations)
        return "".join(chain.from_iterable(zip_longest(self.between, spelled, fillvalue="")))


@dataclass(frozen=True)
class Segments:
    """The segments of a page, as KISS Translator sends them, with the language to translate them
    into and a glossary."""

    segments: list[dict[str, Any]]
    target: str | None
    options: Mapping[str, object]

    @property
    def texts(self) -> list[str]:
        """Without blank ones, which stay."""
        return [text for one in self.segments if (text := one["text"]).strip()]

    def content(self, translations: Sequence[TranslationResult], source: str) -> str:
        """The answer. `source`: the language that was asked for, or "auto"."""
        translated, rendered = iter(translations), list[dict[str, object]]()
        for segment in self.segments:
            text, language = segment["text"], "" if source == AUTO else source
            if text.strip():
                one = next(translated)
                text, language = one.text, one.detection.language if one.detection else language
            rendered.append({"id": segment["id"], "text": text, "sourceLanguage": language})
        return to_json({"translations": rendered}).decode()


Batch = Values | Segments


def read_batch(message: str) -> Batch | None:
    """The texts of a message that is an object or a list in JSON, or one a line; None: it is none,
    or has no strings."""
    stripped = _unfenced(message.strip())
    if stripped[:1] + stripped[-1:] not in ("{}", "[]", "{]", "[}"):
        return None
    try:
        value = from_json(stripped)
    except ValueError:
        if not all(map(_is_json, stripped.splitlines())):
            return None
        value = None
    return _segments_of(value) or _values_of(stripped)


def _unfenced(message: str) -> str:
    """What is in a fence of JSON that is all of the message, or that ends it as LinguaGacha's does,
    below context that is not translated."""
    before, _, fenced = message.removesuffix(_FENCE).rpartition(_FENCE)
    name, _, json = fenced.partition("\n")
    is_all = not before and (not name or name.startswith("json"))
    is_fenced = message.endswith(_FENCE) and (is_all or name == _LINES)
    return json.strip() if is_fenced else message


def _is_json(line: str) -> bool:
    try:
        return not line.strip() or isinstance(from_json(line), dict | list)
    except ValueError:
        return False


def _segments_of(value: Any) -> Segments | None:
    if not (isinstance(value, dict) and isinstance(target := value.get("targetLanguage"), str)):
        return None
    segments, terms = value.get("segments"), value.get("glossary")
    if not (isinstance(segments, list) and segments and all(map(_is_segment, segments))):
        return None
    return Segments(segments, target, _options_of(terms))


def _is_segment(value: object) -> bool:
    return isinstance(value, dict) and "id" in value and isinstance(value.get("text"), str)


def _options_of(terms: object) -> dict[str, object]:
    """The fields of a request for a glossary, whose terms without a translation stay."""
    if not isinstance(terms, dict):
        return {}
    entries = [{"source": term, "target": target} for term, target in terms.items() if target]
    return {"glossary": entries, "keep": [term for term, target in terms.items() if not target]}


def _values_of(json: str) -> Values | None:
    texts, between, end = list[str](), list[str](), 0
    for one in _STRING.finditer(json):
        if not one["is_key"] and (text := from_json(one[0])).strip():
            texts.append(text)
            between.append(json[end : one.start()])
            end = one.end()
    return Values(texts, [*between, json[end:]]) if texts else None
