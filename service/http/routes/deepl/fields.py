"""The fields of DeepL's requests, and the translation request that they amount to."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from model.text.languages import MAX_CODE_CHARACTERS
from service.errors import InvalidField, MissingField, NotOffered
from service.http.request_model import RequestModel
from service.http.routes.deepl.ignored_tags import IgnoredTags, parse_tags
from service.http.schemas import TranslateRequest, check_texts
from service.translation.documents.formats import format_of
from service.translation.job import AUTO, SplitSentences

_WITHOUT_EFFECT = {"context", "outline_detection", "splitting_tags", "non_splitting_tags"}
_SPLIT: dict[str, SplitSentences] = {"0": False, "1": True, "nonewlines": "nonewlines"}
_LATENCY, _QUALITY = "latency_optimized", "quality_optimized"


def _flag(value: object) -> object:
    """Forms and older clients write flags as 1 and 0."""
    return bool(value) if value in (0, 1) else value


def _spelled(value: object) -> object:
    """Clients write the digits of split_sentences as a number, a flag or a string."""
    return str(int(value)) if isinstance(value, int) and value in (0, 1) else value


Flag = Annotated[bool, BeforeValidator(_flag)]
Code = Annotated[str, Field(max_length=MAX_CODE_CHARACTERS)]


class DeepLRequest(RequestModel):
    """What translating texts and documents has in common."""

    target_lang: Code
    source_lang: Code | None = None
    formality: Literal["default", "prefer_more", "prefer_less", "more", "less"] = "default"
    glossary_id: str | None = None
    auth_key: str | None = None

    def require_offered(self) -> None:
        """Raises NotOffered or InvalidField if the answer would not be what is asked for."""
        if self.formality in ("more", "less"):
            raise NotOffered(
                f"formality {self.formality} is not supported for target_lang {self.target_lang}; "
                f"prefer_{self.formality} is accepted and has no effect"
            )
        if self.glossary_id and self.source_lang is None:
            raise InvalidField("source_lang must be given with glossary_id")

    @property
    def source(self) -> str:
        return (self.source_lang or AUTO).lower()


class TextRequest(DeepLRequest):
    """The fields of POST /v2/translate."""

    text: Annotated[str | list[str], BeforeValidator(check_texts)]
    context: str | None = None
    split_sentences: Annotated[Literal["0", "1", "nonewlines"], BeforeValidator(_spelled)] = "1"
    preserve_formatting: Flag = False
    tag_handling: Literal["xml", "html"] | None = None
    ignore_tags: Annotated[str | list[str], BeforeValidator(check_texts)] = ""
    splitting_tags: Annotated[str | list[str], BeforeValidator(check_texts)] = ""
    non_splitting_tags: Annotated[str | list[str], BeforeValidator(check_texts)] = ""
    outline_detection: Flag = True
    model_type: (
        Literal["latency_optimized", "quality_optimized", "prefer_quality_optimized"] | None
    ) = None
    show_billed_characters: Flag = False

    @property
    def texts(self) -> list[str]:
        return [self.text] if isinstance(self.text, str) else self.text

    @property
    def model_type_used(self) -> str | None:
        """None unless a type was asked for."""
        if self.model_type is None:
            return None
        return _LATENCY if self.model_type == _LATENCY else _QUALITY

    def without_effect(self) -> list[str]:
        return sorted(self.model_fields_set & _WITHOUT_EFFECT)

    def require_offered(self) -> None:
        super().require_offered()
        if not self.texts:
            raise MissingField("Parameter 'text' not specified.")
        if self.tag_handling is None and (
            self.ignore_tags or self.splitting_tags or self.non_splitting_tags
        ):
            raise InvalidField(
                "ignore_tags, splitting_tags and non_splitting_tags need tag_handling"
            )

    @functools.cached_property
    def ignored_tags(self) -> IgnoredTags:
        """Raises InvalidField."""
        return IgnoredTags(parse_tags(self.ignore_tags))

    def wanted(self) -> TranslateRequest:
        """The same as a translation request. Raises InvalidField."""
        given: dict[str, Any] = {
            "q": [self.ignored_tags.mark(text) for text in self.texts],
            "source": self.source,
            "target": self.target_lang,
            "format": "html" if self.tag_handling else "text",
            "split_sentences": _SPLIT[self.split_sentences],
            "beam_size": 1 if self.model_type == _LATENCY else None,
            "glossary": self.glossary_id,
        }
        return TranslateRequest.from_json(given)


class DocumentRequest(DeepLRequest):
    """The fields of POST /v2/document beside its file."""

    filename: str | None = None
    output_format: str | None = None

    def require_same_format(self, name: str) -> None:
        """Raises NotOffered if a file of this name does not give the format that is asked for."""
        given = format_of(name).suffix.removeprefix(".")
        own = name.rpartition(".")[2].lower()
        if (self.output_format or own).lower() != given:
            raise NotOffered(f"output_format must be {given} for a .{own} file")

    def wanted(self) -> TranslateRequest:
        """The same as a translation request without a text. Raises InvalidField."""
        given = {
            "q": "",
            "source": self.source,
            "target": self.target_lang,
            "glossary": self.glossary_id,
        }
        return TranslateRequest.from_json(given)


class LanguagesRequest(RequestModel):
    """Which languages are asked for."""

    type: Literal["source", "target"] = "source"


class DocumentKey(RequestModel):
    """The secret that belongs to a document."""

    document_key: str


def deepl_source(code: str) -> str:
    """DeepL's spelling of a source language, which has no region."""
    return code.replace("_", "-").partition("-")[0].upper()
