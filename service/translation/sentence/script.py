"""Chinese in the characters that the network does not know: it reads and writes simplified ones."""

from __future__ import annotations

from typing import NamedTuple

import regex

from service.translation.language.chinese import to_simplified, to_traditional
from service.translation.sentence.stages import Version

_HAN = regex.compile(r"\p{Han}+")


class Script(NamedTuple):
    """The stage of a sentence in other characters than its translation, or than the network knows:
    `text` as the network reads it, and as it is written. `is_traditional`: the translation is."""

    text: str
    written: str
    is_traditional: bool

    def leave(self, version: Version) -> Version:
        """The translation in the target's characters; what it copies is as the source writes it."""
        if self.is_traditional:
            return version._replace(text=to_traditional(version.text))
        position = 0

        def as_written(copy: regex.Match[str]) -> str:
            nonlocal position
            start = self.text.find(copy.group(), position)
            if start < 0:
                return copy.group()
            position = start + len(copy.group())
            return self.written[start:position]

        return version._replace(text=_HAN.sub(as_written, version.text))


def enter_script(text: str, *, is_traditional: bool) -> Script | None:
    """The stage of a sentence, if it needs one."""
    read = to_simplified(text)
    return Script(read, text, is_traditional) if is_traditional or read != text else None
