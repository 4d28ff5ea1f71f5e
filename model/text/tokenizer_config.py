"""The tokenizer's configuration in a checkpoint: files, layouts of a sentence, language tags."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from model.text.reserved import MAX_RESERVED
from model.values import is_file_name, is_whole_number, shown

LayoutPart = Literal["source_tag", "target_tag", "prefix", "text", "eos"]
Normalization = Literal["nfc", "none"]


class TokenizerError(ValueError):
    """The tokenizer cannot be built; the message gives the value and the allowed ones."""


def language_tag(language: str) -> str:
    """The control symbol that selects `language` as target (Johnson et al. 2017)."""
    return f"<2{language}>"


@dataclass(frozen=True)
class TokenizerConfig:
    """The `tokenizer` table of a checkpoint's config.json. Values are file names, not paths.

    `source` and `target` are sentencepiece models. If their ids differ from the network's, the
    `..._vocabulary` files are JSON lists of pieces by id. `tags` maps languages to their pieces; if
    it is empty, they are `<2language>`. `source_layout` is the layout of a source sentence, minus
    the tags that the model lacks; a translation begins with the tags of `target_layout`. `control`
    lists non-text pieces other than the tags and the usual four. `reserved` is the number of
    placeholders, and of tags of each kind, in both vocabularies (`model.text.reserved`).
    `prefixes` maps target languages to the text before a source sentence.
    """

    source: str
    target: str
    source_vocabulary: str | None = None
    target_vocabulary: str | None = None
    normalization: Normalization = "nfc"
    source_layout: tuple[LayoutPart, ...] = ("target_tag", "text", "eos")
    target_layout: tuple[LayoutPart, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    control: tuple[str, ...] = ()
    reserved: int = 0
    prefixes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TokenizerConfig:
        """Build from parsed JSON; raises TokenizerError, or KeyError if a file is missing."""
        if not isinstance(values, Mapping):
            raise TokenizerError(f"tokenizer must be a table of options, got {shown(values)}")
        known = [f.name for f in dataclasses.fields(cls)]
        if unknown := sorted(set(values) - set(known)):
            raise TokenizerError(f"unknown tokenizer option {shown(unknown[0])}; known: {known}")
        lists: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in values.items()
        }
        config = cls(lists.pop("source"), lists.pop("target"), **lists)
        config._check()
        return config

    def to_dict(self) -> dict[str, Any]:
        """The values that differ from the defaults, for JSON."""
        defaults = TokenizerConfig("", "")
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {k: v for k, v in values.items() if v != getattr(defaults, k)}

    @property
    def files(self) -> tuple[str, ...]:
        """Every file that the tokenizer reads, without duplicates."""
        names = [self.source, self.target]
        names += [n for n in (self.source_vocabulary, self.target_vocabulary) if n is not None]
        return tuple(name for i, name in enumerate(names) if name not in names[:i])

    def _check(self) -> None:
        for name in self.files:
            if not is_file_name(name):
                raise TokenizerError(
                    f"tokenizer files must lie in the directory itself, got {shown(name)}"
                )
        if self.normalization not in get_args(Normalization):
            allowed = list(get_args(Normalization))
            raise TokenizerError(
                f"normalization must be one of {allowed}, got {shown(self.normalization)}"
            )
        self._check_layouts()
        if not isinstance(self.tags, Mapping) or not isinstance(self.control, tuple):
            raise TokenizerError("tags must map languages to pieces, and control must be a list")
        for piece in (*self.tags, *self.tags.values(), *self.control):
            if not isinstance(piece, str) or not piece:
                raise TokenizerError(f"tags and control must hold pieces, got {shown(piece)}")
        if not isinstance(self.prefixes, Mapping) or not all(
            isinstance(text, str) for text in self.prefixes.values()
        ):
            raise TokenizerError(f"prefixes must map languages to text, got {shown(self.prefixes)}")
        if not is_whole_number(self.reserved) or not 0 <= self.reserved <= MAX_RESERVED:
            raise TokenizerError(
                f"reserved must be a number from 0 to {MAX_RESERVED}, got {shown(self.reserved)}"
            )

    def _check_layouts(self) -> None:
        for layout in (self.source_layout, self.target_layout):
            parts = list(get_args(LayoutPart))
            if not isinstance(layout, tuple) or not all(part in parts for part in layout):
                raise TokenizerError(f"a layout is a list of {parts}, got {shown(layout)}")
        layout = self.source_layout
        if "text" not in layout or len(set(layout)) < len(layout):
            raise TokenizerError(
                f"source_layout must have 'text', and no part twice, got {shown(layout)}"
            )
        if self.target_layout not in ((), ("target_tag",)):
            raise TokenizerError(
                f"target_layout must be empty or ['target_tag'], got {shown(self.target_layout)}"
            )
