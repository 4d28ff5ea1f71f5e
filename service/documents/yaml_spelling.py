"""How strings are written as values of YAML, in the style that stands there or as "quoted"."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass

import regex
import yaml
from yaml.emitter import Emitter

_RESOLVER = yaml.SafeLoader("")
_EMITTER = Emitter(io.StringIO(), allow_unicode=True)
_STRING = "tag:yaml.org,2002:str"
_UNPRINTABLE = regex.compile(
    r"[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_LINE_ENDS = regex.compile(r"(\n++)")


def is_string(text: str) -> bool:
    """Whether a value without quotes is a string: not a number, a date, nor a symbol of Ruby."""
    is_symbol = text.startswith(":")
    return not is_symbol and _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) == _STRING


def plain(text: str, *, is_flow: bool = False) -> str:
    """Without quotes where they are not needed. `is_flow`: inside brackets or braces."""
    found = _EMITTER.analyze_scalar(text)
    is_allowed = found.allow_flow_plain if is_flow else found.allow_block_plain
    return text if is_allowed and not found.multiline and is_string(text) else double(text)


def single(text: str) -> str:
    """In single quotes, which have no escapes."""
    found = _EMITTER.analyze_scalar(text)
    if found.multiline or not found.allow_single_quoted:
        return double(text)
    return "'" + text.replace("'", "''") + "'"


def double(text: str) -> str:
    """In double quotes, with the escapes of JSON."""
    written = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


@dataclass(frozen=True)
class Block:
    """Writes the lines of a block after its header, without the space before the first line.
    `indent`: the space before others; `is_indented`: the first line may begin with more."""

    indent: str
    line_end: str
    is_folded: bool
    is_indented: bool

    def __call__(self, text: str) -> str:
        text = _UNPRINTABLE.sub(" ", text).strip("\n").rstrip()
        text = text if self.is_indented else text.lstrip()
        if self.is_folded:
            parts = _LINE_ENDS.split(text)
            for number in range(1, len(parts), 2):
                parts[number] += "\n" * (not _is_verbatim(parts[number - 1], parts[number + 1]))
            text = "".join(parts)
        return "\n".join(
            self.indent * (bool(line) and number > 0) + line
            for number, line in enumerate(text.split("\n"))
        ).replace("\n", self.line_end)


def _is_verbatim(*lines: str) -> bool:
    """Whether the line end between two lines is one in the text, too."""
    return any(line.startswith((" ", "\t")) for line in lines)
