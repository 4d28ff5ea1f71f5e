"""Paragraphs of Office Open XML: runs of one look are merged, and looks become pairs of codes.

Word and PowerPoint cut sentences into runs at every change of spelling mark, language or editing
session. Here a run counts only if it looks otherwise than its neighbours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import regex

from service.translation.documents.inline import InlineText, events

_EMPTY = regex.compile(r"<[\w:]++\s*+(?:/>|>\s*+</[\w:]++>)")


@dataclass(frozen=True)
class RunNames:
    """The names of a run and of its text as written; `unseen` matches what in a run's properties
    does not change its look."""

    run: str
    text: str
    unseen: regex.Pattern[str]


@dataclass(frozen=True)
class RunPart:
    """A part of a paragraph: the text of a run, a code, or a tag of a pair such as a link.

    `written`: the escaped text, or how the code or tag is written; `properties`: the text's, as
    written; `closing`: how the pair that `open` begins is ended.
    """

    kind: Literal["text", "single", "stop", "open", "close"]
    written: str = ""
    properties: str = ""
    closing: str = ""


class RunParagraph:
    """The parts of a paragraph as one segment, and the way back to runs."""

    def __init__(self, parts: Iterable[RunPart], names: RunNames) -> None:
        parts = list(parts)
        self._names = names
        self._looks: dict[str, str] = {}
        sizes: Counter[str] = Counter()
        for part in parts:
            if part.kind == "text":
                sizes[self._look(part)] += len(part.written)
        self._base = sizes.most_common(1)[0][0] if sizes else ""
        self._current = self._base
        self._codes: list[RunPart] = []
        self.text = InlineText()
        for part in parts:
            self._add(part)
        self._turn_to(self._base)

    def write(self, translation: str) -> str:
        """The translation as runs."""
        written: list[str] = []
        properties = [self._looks.get(self._base, "")]
        for event in events(translation):
            if event.kind == "text":
                written.append(self._run(event.text, properties[-1]))
                continue
            code, is_end = self._codes[event.number], event.kind == "close"
            if code.kind != "text":
                written.append(code.closing if is_end else code.written)
            elif is_end:
                properties.pop()
            else:
                properties.append(code.properties)
        return "".join(written)

    def _look(self, part: RunPart) -> str:
        """The properties that show; remembers how they are first written."""
        look = self._names.unseen.sub("", part.properties)
        look = "" if _EMPTY.fullmatch(look) else look
        self._looks.setdefault(look, part.properties)
        return look

    def _add(self, part: RunPart) -> None:
        if part.kind == "text":
            self._turn_to(self._look(part))
            self.text.add(part.written)
        elif part.kind == "close":
            self._turn_to(self._base)
            self.text.close()
        else:
            if part.kind != "single":
                self._turn_to(self._base)
            begin = {"open": self.text.open, "single": self.text.single, "stop": self.text.stop}
            begin[part.kind]()
            self._codes.append(part)

    def _turn_to(self, look: str) -> None:
        """End the pair of the current look, and begin that of the next one."""
        if look == self._current:
            return
        if self._current != self._base:
            self.text.close()
        self._current = look
        if look != self._base:
            self.text.open()
            self._codes.append(RunPart("text", properties=self._looks[look]))

    def _run(self, text: str, properties: str) -> str:
        run, name = self._names.run, self._names.text
        space = ' xml:space="preserve"' if run.startswith("w:") and text != text.strip() else ""
        return f"<{run}>{properties}<{name}{space}>{text}</{name}></{run}>"
