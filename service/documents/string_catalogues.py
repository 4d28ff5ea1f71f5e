"""Xcode's .xcstrings: JSON, in which a translation stands beside its source.

Other members stay as they are written, so JSON is read with the places of its values.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import regex

from service.documents.json_nodes import Node, read_nodes
from service.documents.segments import (
    Edit,
    FileOptions,
    Place,
    Segment,
    TextFile,
    decode_unicode,
    invalid,
    is_worded,
)

_LAYOUT = regex.compile(r"\s*+\{(?P<space>\s*+)\"(?:[^\"\\]++|\\[\s\S])*+\"(?P<colon>\s*+:\s*+)")
_SURROGATE = regex.compile(r"[\ud800-\udfff]")
"""Half of a pair: it is no text, and JSON writes it as an escape only."""
_MARK = "\0"
_MARKED = json.dumps(_MARK)


def parse(content: bytes, options: FileOptions) -> TextFile:
    """Strings without a translation, or whose translation is `new`; with `replaces` all. Those that
    are stale or not to be translated stay."""
    decoded = decode_unicode(content)
    try:
        places = list(_places(decoded.text, json.loads(decoded.text), options))
    except json.JSONDecodeError as error:
        raise invalid("JSON", f"line {error.lineno}") from None
    except (KeyError, TypeError, AttributeError):
        raise invalid(".xcstrings", "it is not as Xcode writes it") from None
    return TextFile(decoded, places)


def _places(text: str, catalogue: Any, options: FileOptions) -> Iterator[Place]:
    strings, nodes = catalogue["strings"], read_nodes(text).members["strings"].members
    codes = {code for entry in strings.values() for code in entry.get("localizations", ())}
    target = _spelled(options.target, codes)
    writer = _Writer(text, catalogue["sourceLanguage"], target, replaces=options.replaces)
    for key, entry in strings.items():
        yield from writer.places(key, entry, nodes[key])


def _spelled(target: str, codes: Iterable[str]) -> str:
    """The target as the catalogue spells it."""
    from model.text.tags import nearest  # langcodes takes 25 ms to import

    return nearest(target, sorted(codes)) or target


class _Writer:
    """Writes new localizations in a catalogue's layout."""

    def __init__(self, text: str, source: str, target: str, *, replaces: bool) -> None:
        self._source, self._target, self._replaces = source, target, replaces
        layout = _LAYOUT.match(text)
        space: str = layout["space"] if layout else ""
        self._colon = layout["colon"] if layout else ":"
        self._line_end = space[: space.rfind("\n") + 1]
        self._indent = space[len(self._line_end) :]

    def places(self, key: str, entry: Mapping[str, Any], node: Node) -> Iterator[Place]:
        """The places of a string's texts in a localization of the target."""
        known = entry.get("localizations", {})
        is_kept = entry.get("shouldTranslate") is False or entry.get("extractionState") == "stale"
        done = known.get(self._target)
        is_new = done is None or done.get("stringUnit", {}).get("state") == "new"
        if is_kept or not (is_new or self._replaces):
            return
        texts: list[str] = []
        marked = _marked(known.get(self._source) or {"stringUnit": {"value": key}}, texts)
        parts = self._written(marked, 4).split(_MARKED)
        if not texts or len(parts) != len(texts) + 1:
            return
        (start, end, before), after = self._around(node)
        parts[0], parts[-1] = before + parts[0], parts[-1] + after
        ends = [*[""] * (len(texts) - 1), parts.pop()]
        for text, *around in zip(texts, parts, ends, strict=True):
            write = functools.partial(_between, *around)
            yield Place(start, end, Segment(text, "auto"), write, is_filled=True)
            start = end

    def _written(self, value: object, depth: int) -> str:
        """The value as JSON `depth` levels deep."""
        indent = self._indent if self._line_end else None
        written = json.dumps(
            value, ensure_ascii=False, indent=indent, separators=(",", self._colon)
        )
        written = _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", written)
        return written.replace("\n", self._line(depth))

    def _line(self, depth: int) -> str:
        return self._line_end + self._indent * depth

    def _around(self, node: Node) -> tuple[Edit, str]:
        """What is written before the target's localization, and what after it."""
        name = json.dumps(self._target) + self._colon
        known = node.members.get("localizations")
        if known is None:
            (start, end, before), after = self._new_member(node, "localizations", 3)
            before += f'"localizations"{self._colon}{{{self._line(4)}{name}'
            return Edit(start, end, before), f"{self._line(3)}}}{after}"
        if done := known.members.get(self._target):
            return Edit(done.start, done.end, ""), ""
        (start, end, before), after = self._new_member(known, self._target, 4)
        return Edit(start, end, before + name), after

    def _new_member(self, node: Node, key: str, depth: int) -> tuple[Edit, str]:
        """Where an object gets a new member: Xcode sorts them."""
        line, members = self._line(depth), node.members
        if later := [member for name, member in members.items() if name > key]:
            return Edit(later[0].key, later[0].key, ""), f",{line}"
        if members:
            end = max(member.end for member in members.values())
            return Edit(end, end, f",{line}"), ""
        return Edit(node.start + 1, node.end - 1, line), self._line(depth - 1)


def _marked(localization: Mapping[str, Any], texts: list[str]) -> dict[str, Any]:
    """A copy for a person to review, with a mark in place of each text."""
    copy: dict[str, Any] = {}
    for name, value in localization.items():
        if name == "stringUnit":
            text = value["value"]
            if is_text := is_worded(text) and not _SURROGATE.search(text):
                texts.append(text)
            copy[name] = {"state": "needs_review", "value": _MARK if is_text else text}
        else:
            copy[name] = _marked(value, texts) if isinstance(value, dict) else value
    return copy


def _between(before: str, after: str, text: str) -> str:
    return before + json.dumps(text, ensure_ascii=False) + after
